/* SPDX-License-Identifier: Apache-2.0 */
#include "local/pod/places.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/os/file.h"

void rh_places_deinit(struct rh_places *places)
{
	for (size_t i = 0; i < places->count; i++) {
		rh_free(places->items[i].from);
		rh_free(places->items[i].to);
	}
	rh_free(places->items);
	*places = (struct rh_places){0};
}

static bool places_has_dots(const char *path)
{
	while (*path) {
		size_t length = strcspn(path, "/");

		if (length == 2 && strncmp(path, "..", 2) == 0)
			return true;
		path += length;
		path += strspn(path, "/");
	}
	return false;
}

/* mountPath without doubled slashes and without one at the end; a relative one starts at the root. */
static char *places_clean(const char *path)
{
	rh_auto_str clean = {0};

	while (*path) {
		size_t length;

		path += strspn(path, "/");
		length = strcspn(path, "/");
		if (length > 0 && !(length == 1 && *path == '.')) {
			rh_str_append(&clean, "/");
			rh_str_append_bytes(&clean, path, length);
		}
		path += length;
	}
	return rh_str_take(&clean);
}

/* subPath, or subPathExpr with its references resolved. */
static int places_sub_path(const struct rh_json *mount, const struct rh_environment *environment, struct rh_str *out,
                           struct rh_error *err)
{
	const char *path = rh_json_string(rh_json_get(mount, "subPath"));
	const char *expression = rh_json_string(rh_json_get(mount, "subPathExpr"));

	if (path)
		rh_str_append(out, path);
	else if (expression)
		rh_environment_expand(environment, expression, RH_ENV_FROM, out);
	if (out->failed)
		return rh_fail_oom(err);
	if (rh_str_text(out)[0] == '/' || places_has_dots(rh_str_text(out)))
		return rh_fail(err, RH_EINVAL, "subPath \"%s\" must be relative and without \"..\"", rh_str_text(out));
	return 0;
}

/* A folder that a subPath names is made when it is missing, as a kubelet does. */
static int places_resolve(const struct rh_volume *volume, const char *sub_path, char **ret_from, struct rh_error *err)
{
	rh_auto_free char *from = NULL;
	struct stat st;
	int r = 0;

	from = *sub_path ? rh_asprintf("%s/%s", volume->path, sub_path) : rh_strdup(volume->path);
	if (!from)
		return rh_fail_oom(err);
	if (*sub_path && !volume->memory && stat(from, &st) < 0) {
		if (volume->read_only)
			return rh_fail(err, RH_EINVAL, "subPath \"%s\" is not in the volume", sub_path);
		r = rh_dir_make_exact(from, 0755, err);
	}
	if (r == 0)
		*ret_from = rh_take(from);
	return r;
}

static int places_add(const struct rh_volume *volume, const struct rh_json *mount,
                      const struct rh_environment *environment, struct rh_place *place, struct rh_error *err)
{
	const char *path = rh_json_string(rh_json_get(mount, "mountPath"));
	rh_auto_str sub_path = {0};
	int r;

	if (!path || places_has_dots(path))
		return rh_fail(err, RH_EINVAL, "mountPath must be a path without \"..\"");
	place->volume = volume->name;
	place->to = places_clean(path);
	if (!place->to)
		return rh_fail_oom(err);
	if (!*place->to)
		return rh_fail(err, RH_EINVAL, "mountPath must not be the root");
	r = places_sub_path(mount, environment, &sub_path, err);
	if (r == 0 && sub_path.length > 0 && volume->memory)
		r = rh_fail(err, RH_EINVAL,
		            "a subPath in a volume in memory is not supported on one machine; remove subPath or medium");
	if (r == 0)
		r = places_resolve(volume, rh_str_text(&sub_path), &place->from, err);
	place->read_only = volume->read_only || rh_json_bool(rh_json_get(mount, "readOnly"), false);
	return r;
}

static int places_compare(const void *a, const void *b)
{
	const struct rh_place *x = a;
	const struct rh_place *y = b;
	size_t lx = strlen(x->to);
	size_t ly = strlen(y->to);

	return lx != ly ? (lx < ly ? -1 : 1) : strcmp(x->to, y->to);
}

int rh_places_make(const struct rh_volumes *volumes, const struct rh_json *container,
                   const struct rh_environment *environment, struct rh_places *places, struct rh_error *err)
{
	const struct rh_json *list = rh_json_get(container, "volumeMounts");
	const char *name = rh_json_string(rh_json_get(container, "name"));

	places->items = rh_alloc_array(rh_json_size(list), sizeof(*places->items));
	if (!places->items)
		return rh_fail_oom(err);
	for (const struct rh_json *mount = rh_json_first(list); mount; mount = rh_json_next(mount)) {
		const char *volume_name = rh_json_string(rh_json_get(mount, "name"));
		const struct rh_volume *volume = volume_name ? rh_volumes_find(volumes, volume_name) : NULL;
		int r;

		if (!volume)
			return rh_fail(err, RH_EINVAL,
			               "container \"%s\": volumeMounts names a volume \"%s\" that the pod does not have", name,
			               volume_name ? volume_name : "");
		r = places_add(volume, mount, environment, &places->items[places->count++], err);
		if (r < 0)
			return rh_wrap(err, r, "container \"%s\": volumeMount \"%s\"", name, volume_name);
	}
	qsort(places->items, places->count, sizeof(*places->items), places_compare);
	return 0;
}

void rh_places_drop_same(struct rh_places *places, const struct rh_volumes *volumes)
{
	size_t kept = 0;

	for (size_t i = 0; i < places->count; i++) {
		struct rh_place *place = &places->items[i];
		const struct rh_volume *volume = rh_volumes_find(volumes, place->volume);
		bool same = strcmp(place->from, place->to) == 0;
		bool writable = volume && volume->empty && access(place->to, W_OK | X_OK) == 0;

		if (!same && !writable) {
			places->items[kept++] = *place;
			continue;
		}
		rh_free(place->from);
		rh_free(place->to);
	}
	places->count = kept;
}

/* Whether a path that starts after `before` is a whole one: not the end of a longer path, as in "$HOME/data". */
static bool places_starts(char before)
{
	return strchr(" \t\n=:,;\"'`([{<>|&@", before) != NULL;
}

/* Whether a path ends before `behind`, which is not part of a file's name. */
static bool places_ends(char behind)
{
	return !isalnum((unsigned char)behind) && (behind == '\0' || !strchr("_-.", behind));
}

/* The place that `path` is in, or NULL. The longest fits best. */
static const struct rh_place *places_above(const struct rh_places *places, const char *path)
{
	for (size_t i = places->count; i > 0; i--) {
		const struct rh_place *place = &places->items[i - 1];
		size_t length = strlen(place->to);

		if (strncmp(path, place->to, length) == 0 && (path[length] == '/' || path[length] == '\0'))
			return place;
	}
	return NULL;
}

char *rh_places_translate(const struct rh_places *places, const char *text)
{
	const struct rh_place *place = places_above(places, text);

	return place ? rh_asprintf("%s%s", place->from, text + strlen(place->to)) : rh_strdup(text);
}

bool rh_places_cover(const struct rh_places *places, const char *path)
{
	const struct rh_place *place = places_above(places, path);

	return place && strcmp(place->from, place->to) != 0;
}

static bool places_is_named(const struct rh_place *place, const char *text)
{
	size_t length = strlen(place->to);

	for (const char *at = strstr(text, place->to); at; at = strstr(at + 1, place->to)) {
		if ((at == text || places_starts(at[-1])) && places_ends(at[length]))
			return true;
	}
	return false;
}

const struct rh_place *rh_places_named(const struct rh_places *places, const char *text)
{
	for (size_t i = places->count; i > 0; i--) {
		if (places_is_named(&places->items[i - 1], text))
			return &places->items[i - 1];
	}
	return NULL;
}

struct rh_json *rh_places_json(const struct rh_places *places)
{
	rh_auto(json) list = rh_json_new_array();

	for (size_t i = 0; list && i < places->count; i++) {
		const struct rh_place *place = &places->items[i];
		struct rh_json *item = rh_json_new_object();

		if (rh_json_append(list, item) < 0 || rh_json_set_string(item, "from", place->from) < 0 ||
		    rh_json_set_string(item, "to", place->to) < 0 || rh_json_set_bool(item, "readOnly", place->read_only) < 0)
			return NULL;
	}
	return rh_take(list);
}
