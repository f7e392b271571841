/* SPDX-License-Identifier: Apache-2.0 */
#include "job/manifest.h"

#include <stdbool.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/os/file.h"
#include "base/yaml.h"
#include "job/fields.h"
#include "job/values/names.h"

/* One read: the objects of a text that are being added. */
struct manifest_read {
	struct rh_manifest *manifest;
	struct rh_map *seen; /* identities of all objects, each with its source */
	struct rh_error *err;
};

void rh_manifest_deinit(struct rh_manifest *manifest)
{
	for (size_t i = 0; i < manifest->count; i++) {
		rh_json_free(manifest->items[i].object);
		rh_free(manifest->items[i].source);
	}
	rh_free(manifest->items);
	*manifest = (struct rh_manifest){0};
}

static const char *manifest_namespace(const struct rh_json *object)
{
	const char *namespace_ = rh_json_string_at(object, "metadata.namespace");

	return namespace_ && *namespace_ ? namespace_ : "default";
}

static const char *manifest_text(const struct rh_json *object, const char *path)
{
	const char *text = rh_json_string_at(object, path);

	return text ? text : "";
}

/* metadata.generateName; NULL where the object has a name, or neither. */
static const char *manifest_generate_name(const struct rh_json *object)
{
	const char *base = rh_json_string_at(object, "metadata.generateName");

	return base && *base && !*manifest_text(object, "metadata.name") ? base : NULL;
}

/* Identity, unique among all objects; the separator cannot be part of a kind or name that an API server accepts. */
static char *manifest_identity(const struct rh_json *object)
{
	return rh_asprintf("%s\n%s\n%s", rh_fields_text_or_empty(object, "kind"), manifest_namespace(object),
	                   manifest_text(object, "metadata.name"));
}

static int manifest_require_text(const struct rh_json *object, const char *key, const struct rh_place *up,
                                 struct rh_error *err)
{
	struct rh_place place = rh_place_member(up, key);
	struct rh_fields fields = {object, up, err};
	const char *text = "";
	rh_auto_str path = {0};
	int r = rh_fields_text(&fields, key, &text);

	if (r != 0 || *text)
		return r;
	rh_place_print(&place, false, &path);
	return rh_fail(err, RH_EINVAL, "%s: Required value", rh_str_text(&path));
}

static int manifest_check_names(const struct rh_json *metadata, const struct rh_place *place, struct rh_error *err)
{
	struct rh_fields fields = {metadata, place, err};
	const char *namespace_ = NULL;
	const char *name = "";
	int r = rh_fields_text(&fields, "name", &name);

	if (r != 0 || (r = rh_fields_text(&fields, "namespace", &namespace_)) != 0 || *name)
		return r;
	if (rh_fields_present(rh_json_get(metadata, "generateName")))
		return manifest_require_text(metadata, "generateName", place, err);
	return manifest_require_text(metadata, "name", place, err);
}

static int manifest_check(const struct rh_json *object, struct rh_error *err)
{
	struct rh_place place = rh_place_member(NULL, "metadata");
	struct rh_fields fields = {object, NULL, err};
	const struct rh_json *metadata = NULL;
	int r;

	if (rh_json_type(object) != RH_JSON_OBJECT)
		return rh_fail(err, RH_EINVAL, "it must be a map with apiVersion, kind and metadata, not of type %s",
		               rh_json_type_name(object));
	if ((r = manifest_require_text(object, "apiVersion", NULL, err)) != 0 ||
	    (r = manifest_require_text(object, "kind", NULL, err)) != 0 ||
	    (r = rh_fields_object(&fields, "metadata", &metadata)) != 0)
		return r;
	return manifest_check_names(metadata, &place, err);
}

static int manifest_grow(struct rh_manifest *manifest)
{
	size_t capacity = manifest->capacity ? 2 * manifest->capacity : 4;
	struct rh_manifest_object *items;

	if (manifest->count < manifest->capacity)
		return 0;
	items = rh_realloc_array(manifest->items, capacity, sizeof(*items));
	if (!items)
		return RH_ENOMEM;
	manifest->items = items;
	manifest->capacity = capacity;
	return 0;
}

/* Remember the source of the object, or refuse it when another has its identity. */
static int manifest_note(struct manifest_read *read, const struct rh_json *object, char *source)
{
	rh_auto_free char *identity = manifest_identity(object);
	const char *earlier;

	if (!identity)
		return rh_fail_oom(read->err);
	earlier = rh_map_get(read->seen, identity);
	if (earlier)
		return rh_fail(read->err, RH_EINVAL, "%s %s/%s already exists, in %s", rh_fields_text_or_empty(object, "kind"),
		               manifest_namespace(object), manifest_text(object, "metadata.name"), earlier);
	if (rh_map_set(read->seen, identity, source, NULL) != 0)
		return rh_fail_oom(read->err);
	return 0;
}

/* Give an object the next name that no other one has. */
static int manifest_make_name(struct manifest_read *read, struct rh_json *object, const char *base)
{
	char name[RH_NAME_SIZE];
	bool taken = true;

	while (taken) {
		rh_auto_free char *identity = NULL;

		(void)rh_name_generate(base, read->manifest->suffix++, name);
		if (rh_json_set_string(rh_json_get(object, "metadata"), "name", name) < 0 ||
		    !(identity = manifest_identity(object)))
			return rh_fail_oom(read->err);
		taken = rh_map_get(read->seen, identity) != NULL;
	}
	return 0;
}

/* Takes @p object. */
static int manifest_add_object(struct manifest_read *read, const char *source, struct rh_json *object)
{
	struct rh_manifest *manifest = read->manifest;
	rh_auto(json) owned = object;
	rh_auto_free char *copy = NULL;
	const char *base = NULL;
	int r = manifest_check(object, read->err);

	if (r != 0)
		return rh_wrap(read->err, r, "%s", source);
	base = manifest_generate_name(object);
	if (base && manifest_make_name(read, object, base) != 0)
		return RH_ENOMEM;
	copy = rh_strdup(source);
	if (!copy || manifest_grow(manifest) != 0)
		return rh_fail_oom(read->err);
	r = manifest_note(read, object, copy);
	if (r != 0)
		return r == RH_ENOMEM ? r : rh_wrap(read->err, r, "%s", source);
	manifest->items[manifest->count++] = (struct rh_manifest_object){rh_take(owned), rh_take(copy), base != NULL};
	return 0;
}

/* "List" of v1, and the typed ones: "PyTorchJobList". */
static bool manifest_is_list(const struct rh_json *object)
{
	const char *kind = rh_fields_text_or_empty(object, "kind");
	size_t length = strlen(kind);

	return length >= 4 && strcmp(kind + length - 4, "List") == 0 &&
	       rh_json_type(rh_json_get(object, "items")) == RH_JSON_ARRAY;
}

/* Takes @p object. A list in a list is refused, so that no input makes this call itself deeply. */
static int manifest_add(struct manifest_read *read, const char *source, struct rh_json *object)
{
	rh_auto(json) list = object;
	struct rh_json *items = rh_json_get(list, "items");
	struct rh_json *item;
	int r = 0;

	if (!manifest_is_list(list))
		return manifest_add_object(read, source, rh_take(list));
	for (size_t number = 1; r == 0 && (item = rh_json_detach_item(items, 0)); number++) {
		rh_auto_free char *place = rh_asprintf("%s, item %zu", source, number);

		if (!place) {
			rh_json_free(item);
			return rh_fail_oom(read->err);
		}
		if (manifest_is_list(item)) {
			rh_json_free(item);
			return rh_fail(read->err, RH_EINVAL, "%s: a List must not contain another List", place);
		}
		r = manifest_add_object(read, place, item);
	}
	return r;
}

static int manifest_add_documents(struct manifest_read *read, const char *source, struct rh_json *documents)
{
	size_t count = rh_json_size(documents);
	int r = 0;

	for (size_t number = 1; number <= count && r == 0; number++) {
		rh_auto_free char *place = count == 1 ? rh_strdup(source) : rh_asprintf("%s, document %zu", source, number);

		if (!place)
			return rh_fail_oom(read->err);
		r = manifest_add(read, place, rh_json_detach_item(documents, 0));
	}
	return r;
}

static int manifest_note_all(struct manifest_read *read)
{
	for (size_t i = 0; i < read->manifest->count; i++) {
		struct rh_manifest_object *item = &read->manifest->items[i];
		int r = manifest_note(read, item->object, item->source);

		if (r != 0)
			return r;
	}
	return 0;
}

int rh_manifest_parse(struct rh_manifest *manifest, const char *source, const char *text, size_t length,
                      struct rh_error *err)
{
	rh_auto(json) documents = NULL;
	rh_auto(map) seen = rh_map_new();
	struct manifest_read read = {manifest, seen, err};
	int r = rh_yaml_parse(text, length, &documents, err);

	if (r != 0)
		return r == RH_ENOMEM ? r : rh_wrap(err, r, "%s", source);
	if (rh_json_size(documents) == 0)
		return rh_fail(err, RH_EINVAL, "%s: has no object; write at least one job", source);
	if (!seen)
		return rh_fail_oom(err);
	r = manifest_note_all(&read);
	return r != 0 ? r : manifest_add_documents(&read, source, documents);
}

/* A file that is not there may be misspelt. */
static int manifest_suggest(const char *path, struct rh_error *err)
{
	rh_auto_free char *near = rh_path_nearest(".", path);

	if (near)
		return rh_fail(err, RH_ENOENT, "cannot open \"%s\": there is no such file; did you mean \"%s\"?", path, near);
	return rh_fail(err, RH_ENOENT, "cannot open \"%s\": there is no such file", path);
}

int rh_manifest_read(struct rh_manifest *manifest, const char *path, struct rh_error *err)
{
	const char *source = strcmp(path, "-") == 0 ? "standard input" : path;
	rh_auto_free char *text = NULL;
	size_t length = 0;
	int r;

	if (strstr(path, "://"))
		return rh_fail(err, RH_EINVAL,
		               "\"%s\" is an address, not a file; fetch it, as by curl -L ... | roundhouse ... -", path);
	r = rh_file_read(path, RH_MANIFEST_FILE_MAX, &text, &length, err);
	if (r == RH_ENOENT)
		return manifest_suggest(path, err);
	return r != 0 ? r : rh_manifest_parse(manifest, source, text, length, err);
}

const struct rh_json *rh_manifest_find(const struct rh_manifest *manifest, const char *kind, const char *namespace_,
                                       const char *name)
{
	for (size_t i = 0; i < manifest->count; i++) {
		const struct rh_json *object = manifest->items[i].object;

		if (strcmp(rh_fields_text_or_empty(object, "kind"), kind) == 0 &&
		    strcmp(manifest_namespace(object), namespace_) == 0 &&
		    strcmp(manifest_text(object, "metadata.name"), name) == 0)
			return object;
	}
	return NULL;
}

int rh_manifest_move(struct rh_manifest *to, struct rh_manifest *from)
{
	int r = 0;

	for (size_t i = 0; i < from->count && r == 0; i++) {
		struct rh_manifest_object *item = &from->items[i];

		if (rh_manifest_find(to, rh_fields_text_or_empty(item->object, "kind"), manifest_namespace(item->object),
		                     manifest_text(item->object, "metadata.name")))
			continue;
		r = manifest_grow(to);
		if (r < 0)
			break;
		to->items[to->count++] = *item;
		*item = (struct rh_manifest_object){0};
	}
	rh_manifest_deinit(from);
	return r;
}
