/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"

#include <string.h>

#include "base/json/node.h"
#include "base/map.h"
#include "base/str.h"

/* Objects with more members are worth a hash map. */
#define JSON_WALK_MAX 16

static bool json_is(const struct rh_json *json, enum rh_json_type type)
{
	return rh_json_type(json) == type;
}

const char *rh_json_type_name(const struct rh_json *json)
{
	static const char *const names[] = {"absent", "null", "boolean", "number", "string", "array", "object"};
	int64_t value;

	return rh_json_integer(json, &value) ? "integer" : names[rh_json_type(json)];
}

/* Members of an object by key. @return NULL where walking is as good, or memory is out */
struct rh_map *rh_json_index(const struct rh_json *object)
{
	rh_auto(map) index = NULL;

	if (rh_json_size(object) <= JSON_WALK_MAX)
		return NULL;
	index = rh_map_new();
	if (!index)
		return NULL;
	for (struct rh_json *member = rh_json_first(object); member; member = rh_json_next(member))
		if (rh_map_set(index, rh_json_key(member), member, NULL) < 0)
			return NULL;
	return rh_take(index);
}

struct rh_json *rh_json_get_by(const struct rh_json *object, const struct rh_map *index, const char *key)
{
	return index ? rh_map_get(index, key) : rh_json_get(object, key);
}

/* Most objects that are compared have the same order, so an index is only made when the orders part. */
static bool json_members_equal(const struct rh_json *a, const struct rh_json *b)
{
	const struct rh_json *x = rh_json_first(a), *y = rh_json_first(b);
	rh_auto(map) index = NULL;

	for (; x && y && strcmp(rh_json_key(x), rh_json_key(y)) == 0; x = rh_json_next(x), y = rh_json_next(y))
		if (!rh_json_equal(x, y))
			return false;
	if (x)
		index = rh_json_index(b);
	for (; x; x = rh_json_next(x)) {
		const char *key = rh_json_key(x);

		y = rh_json_get_by(b, index, key);
		if (!y || !rh_json_equal(x, y))
			return false;
	}
	return true;
}

static bool json_items_equal(const struct rh_json *a, const struct rh_json *b)
{
	const struct rh_json *x = rh_json_first(a), *y = rh_json_first(b);

	for (; x && y; x = rh_json_next(x), y = rh_json_next(y))
		if (!rh_json_equal(x, y))
			return false;
	return !x && !y;
}

/* Integers are compared as they are, others as the double that Kubernetes makes of them. */
static bool json_numbers_equal(const struct rh_json *a, const struct rh_json *b)
{
	int64_t x = 0, y = 0;
	bool x_whole = rh_json_integer(a, &x), y_whole = rh_json_integer(b, &y);

	if (x_whole || y_whole)
		return x_whole && y_whole && x == y;
	return rh_json_number(a, 0) == rh_json_number(b, 0);
}

bool rh_json_equal(const struct rh_json *a, const struct rh_json *b)
{
	if (rh_json_type(a) != rh_json_type(b))
		return false;
	switch (rh_json_type(a)) {
	case RH_JSON_BOOL:
		return rh_json_bool(a, false) == rh_json_bool(b, false);
	case RH_JSON_NUMBER:
		return json_numbers_equal(a, b);
	case RH_JSON_STRING:
		return strcmp(rh_json_string(a), rh_json_string(b)) == 0;
	case RH_JSON_ARRAY:
		return json_items_equal(a, b);
	case RH_JSON_OBJECT:
		return rh_json_size(a) == rh_json_size(b) && json_members_equal(a, b);
	case RH_JSON_ABSENT:
	case RH_JSON_NULL:
	default:
		return true;
	}
}

static struct rh_json *json_get_n(const struct rh_json *json, const char *key, size_t length)
{
	if (!json_is(json, RH_JSON_OBJECT))
		return NULL;
	for (struct rh_json *member = rh_json_first(json); member; member = rh_json_next(member)) {
		const char *name = rh_json_key(member);

		if (strncmp(name, key, length) == 0 && name[length] == '\0')
			return member;
	}
	return NULL;
}

/* One step in brackets: [12] or ["a.b/c"]. */
static struct rh_json *json_item_near(const struct rh_json *list, size_t index, struct rh_json_spot *spot)
{
	bool near = spot && spot->list == list && spot->item && spot->index <= index;
	struct rh_json *item = near ? spot->item : rh_json_item(list, 0);
	size_t at = near ? spot->index : 0;

	for (; item && at < index; at++)
		item = rh_json_next(item);
	if (spot && item)
		*spot = (struct rh_json_spot){list, item, index};
	return item;
}

static struct rh_json *json_at_bracket(const struct rh_json *json, const char **path, struct rh_json_spot *spot)
{
	const char *start = *path + 1, *end;
	size_t index = 0;

	if (*start == '"') {
		end = strstr(start + 1, "\"]");
		if (!end)
			return NULL;
		*path = end + 2;
		return json_get_n(json, start + 1, (size_t)(end - start - 1));
	}
	for (end = start; *end >= '0' && *end <= '9'; end++)
		if (__builtin_mul_overflow(index, 10u, &index) || __builtin_add_overflow(index, (size_t)(*end - '0'), &index))
			return NULL;
	if (end == start || *end != ']')
		return NULL;
	*path = end + 1;
	return json_item_near(json, index, spot);
}

struct rh_json *rh_json_at_near(const struct rh_json *json, const char *path, struct rh_json_spot *spot)
{
	struct rh_json *at = (struct rh_json *)(uintptr_t)json;
	bool first = true;

	for (; at && *path != '\0'; first = false) {
		if (*path == '[') {
			at = json_at_bracket(at, &path, spot);
			continue;
		}
		if (first != (*path != '.'))
			return NULL;
		path += !first;
		size_t length = strcspn(path, ".[");

		at = length > 0 ? json_get_n(at, path, length) : NULL;
		path += length;
	}
	return at;
}

struct rh_json *rh_json_at(const struct rh_json *json, const char *path)
{
	return rh_json_at_near(json, path, NULL);
}

const char *rh_json_string_at(const struct rh_json *json, const char *path)
{
	return rh_json_string(rh_json_at(json, path));
}

struct rh_json *rh_json_find(const struct rh_json *list, const char *key, const char *text)
{
	struct rh_json *item = text ? rh_json_first(list) : NULL;

	while (item && !rh_text_equal(rh_json_string(rh_json_get(item, key)), text))
		item = rh_json_next(item);
	return item;
}

int rh_json_set(struct rh_json *object, const char *key, struct rh_json *value)
{
	struct rh_json *old = rh_json_get(object, key);

	if (!old)
		return rh_json_add(object, key, value);
	if (!value)
		return RH_ENOMEM;
	rh_json_node_replace(object, old, value);
	return 0;
}

int rh_json_set_string(struct rh_json *object, const char *key, const char *text)
{
	return rh_json_set(object, key, rh_json_new_string(text));
}

int rh_json_set_integer(struct rh_json *object, const char *key, int64_t value)
{
	return rh_json_set(object, key, rh_json_new_integer(value));
}

int rh_json_set_bool(struct rh_json *object, const char *key, bool value)
{
	return rh_json_set(object, key, rh_json_new_bool(value));
}

int rh_json_set_item(struct rh_json *array, size_t index, struct rh_json *value)
{
	struct rh_json *old = rh_json_item(array, index);

	if (!old)
		return rh_json_append(array, value);
	if (!value)
		return RH_ENOMEM;
	rh_json_node_replace(array, old, value);
	return 0;
}

void rh_json_remove(struct rh_json *object, const char *key)
{
	struct rh_json *member = rh_json_get(object, key);

	if (member)
		rh_json_node_drop(object, member);
}

void rh_json_drop_nulls(struct rh_json *json)
{
	bool members = json_is(json, RH_JSON_OBJECT);

	for (struct rh_json *child = rh_json_first(json), *next; child; child = next) {
		next = rh_json_next(child);
		if (members && json_is(child, RH_JSON_NULL))
			rh_json_node_drop(json, child);
		else
			rh_json_drop_nulls(child);
	}
}

static struct rh_json *json_ensure(struct rh_json *object, const char *key, enum rh_json_type type)
{
	struct rh_json *member = rh_json_get(object, key), *made;

	if (member && !json_is(member, RH_JSON_NULL))
		return json_is(member, type) ? member : NULL;
	made = type == RH_JSON_OBJECT ? rh_json_new_object() : rh_json_new_array();
	return rh_json_set(object, key, made) < 0 ? NULL : made;
}

struct rh_json *rh_json_ensure_object(struct rh_json *object, const char *key)
{
	return json_ensure(object, key, RH_JSON_OBJECT);
}

struct rh_json *rh_json_ensure_array(struct rh_json *object, const char *key)
{
	return json_ensure(object, key, RH_JSON_ARRAY);
}

static int json_merge_member(struct rh_json *target, const struct rh_json *change)
{
	const char *key = rh_json_key(change);
	struct rh_json *member = rh_json_get(target, key);
	int r;

	if (json_is(change, RH_JSON_NULL)) {
		rh_json_remove(target, key);
		return 0;
	}
	if (!json_is(change, RH_JSON_OBJECT))
		return rh_json_set(target, key, rh_json_copy(change));
	if (!json_is(member, RH_JSON_OBJECT)) {
		r = rh_json_set(target, key, rh_json_new_object());
		if (r < 0)
			return r;
		member = rh_json_get(target, key);
	}
	return rh_json_merge(member, change);
}

int rh_json_merge(struct rh_json *target, const struct rh_json *patch)
{
	if (!json_is(patch, RH_JSON_OBJECT))
		return 0;
	for (const struct rh_json *change = rh_json_first(patch); change; change = rh_json_next(change)) {
		int r = json_merge_member(target, change);

		if (r < 0)
			return r;
	}
	return 0;
}
