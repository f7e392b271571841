/* SPDX-License-Identifier: Apache-2.0 */
#include "job/lookups/found.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "base/yaml.h"

/* Note what is wrong first. @param detail taken; NULL: memory is out. @return 0 or RH_ENOMEM */
static int found_blame(struct rh_found *found, const char *path, char *detail)
{
	rh_auto_free char *text = detail;

	if (found->flaw)
		return 0;
	found->flaw_path = rh_strdup(path);
	if (!text || !found->flaw_path)
		return RH_ENOMEM;
	found->flaw = rh_take(text);
	return 0;
}

/*
 * Split a path into that of the map and the key in it, at the end: data.a, data["a.yaml"].
 * @param[out] ret_key owned by the caller, like what is returned; both NULL when memory is out
 */
static char *found_split(const char *path, char **ret_key)
{
	const char *bracket = path[strlen(path) - 1] == ']' ? strrchr(path, '[') : NULL;
	const char *dot = bracket ? bracket : strrchr(path, '.');
	rh_auto_free char *key = NULL;
	char *map;

	if (bracket)
		key = rh_strndup(bracket + 2, strlen(bracket) - strlen("[\"\"]"));
	else
		key = rh_strdup(dot ? dot + 1 : path);
	map = key ? rh_strndup(path, dot ? (size_t)(dot - path) : 0) : NULL;
	*ret_key = map ? rh_take(key) : NULL;
	return map;
}

/* Put the value that the text at @p path stands for in its place. */
static int found_parse_value(struct rh_found *found, const char *path)
{
	rh_auto_free char *key = NULL;
	rh_auto_free char *map = found_split(path, &key);
	struct rh_json *object = map ? rh_json_at(found->object, map) : NULL;
	const char *text = map ? rh_json_string(rh_json_get(object, key)) : NULL;
	rh_auto(json) documents = NULL;
	struct rh_error reason = {0};
	int r = text ? rh_yaml_parse_secret(text, strlen(text), &documents, &reason) : 0;

	if (!map || r == RH_ENOMEM)
		return RH_ENOMEM;
	if (!text)
		return 0;
	if (r == 0 && rh_json_size(documents) == 1)
		return rh_json_set(object, key, rh_json_detach_item(documents, 0));
	return found_blame(found, path,
	                   rh_asprintf("Invalid value: it must be one document of YAML or JSON%s%s", r < 0 ? ": " : "",
	                               r < 0 ? reason.message : ""));
}

/* What no plugin needs, and what it must not see. */
static void found_trim(struct rh_json *object, bool metadata)
{
	static const char *const kept[] = {"apiVersion", "kind", "metadata"};
	struct rh_json *member, *next;

	rh_json_remove(rh_json_get(object, "metadata"), "managedFields");
	for (member = rh_json_first(object); member && metadata; member = next) {
		const char *key = rh_json_key(member);

		next = rh_json_next(member);
		if (strcmp(key, kept[0]) != 0 && strcmp(key, kept[1]) != 0 && strcmp(key, kept[2]) != 0)
			rh_json_remove(object, key);
	}
}

static int found_fill(struct rh_found *found, const struct rh_json *parse)
{
	size_t weight = rh_json_weight(found->object);
	int r = 0;

	if (weight > RH_LOOKUP_WEIGHT_MAX)
		return found_blame(
			found, "",
			rh_asprintf("Too long: it takes %zu bytes of memory and may take %zu", weight, RH_LOOKUP_WEIGHT_MAX));
	for (const struct rh_json *at = rh_json_first(parse); at && r == 0; at = rh_json_next(at))
		r = found_parse_value(found, rh_json_string(at));
	return r;
}

/* @param object taken; NULL: memory is out */
static struct rh_found *found_wrap(struct rh_json *object)
{
	struct rh_found *found = object ? rh_alloc(sizeof(*found)) : NULL;

	if (!found) {
		rh_json_free(object);
		return NULL;
	}
	found->object = object;
	found->users = 1;
	return found;
}

int rh_found_new(const struct rh_json *object, bool metadata, const struct rh_json *parse, size_t *total,
                 struct rh_found **ret_found)
{
	struct rh_found *found = found_wrap(rh_json_copy(object));

	if (!found)
		return RH_ENOMEM;
	found_trim(found->object, metadata);
	if (found_fill(found, parse) < 0) {
		rh_found_drop(found);
		return RH_ENOMEM;
	}
	found->weight = rh_json_weight(found->object);
	found->total = total;
	if (total)
		*total += found->weight;
	*ret_found = found;
	return 0;
}

int rh_found_take(struct rh_json *object, struct rh_found **ret_found)
{
	*ret_found = found_wrap(object);
	return *ret_found ? 0 : RH_ENOMEM;
}

struct rh_found *rh_found_share(struct rh_found *found)
{
	found->users++;
	return found;
}

void rh_found_drop(struct rh_found *found)
{
	if (!found || --found->users > 0)
		return;
	if (found->total)
		*found->total -= found->weight;
	rh_json_free(found->object);
	rh_free(found->flaw_path);
	rh_free(found->flaw);
	rh_free(found);
}
