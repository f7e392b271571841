/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "base/json/build.h"
#include "base/json/node.h"
#include "base/json/scan.h"

/* From this many members on, keys are looked up in a hash map. */
#define JSON_KEYS_WALK_MAX 16

/* A tree that cJSON has made, beside the text that it was made of. */
struct json_finish {
	struct rh_json_scan *scan;
	size_t keys;      /* that were passed in the tree */
	size_t at;        /* in the readable text: what follows the last number */
	const char *text; /* the readable text */
	int depth;
};

void rh_json_keys_deinit(struct rh_json_keys *keys)
{
	rh_map_free(keys->map);
	*keys = (struct rh_json_keys){0};
}

bool rh_json_keys_have(const struct rh_json_keys *keys, const struct rh_json *object, const char *key)
{
	return keys->map ? rh_map_get(keys->map, key) != NULL : rh_json_get(object, key) != NULL;
}

/* Start the map with the members that are there already. */
static int json_keys_index(struct rh_json_keys *keys, const struct rh_json *object)
{
	rh_auto(map) map = rh_map_new();

	if (!map)
		return RH_ENOMEM;
	for (struct rh_json *member = rh_json_first(object); member; member = rh_json_next(member))
		if (rh_map_set(map, rh_json_key(member), member, NULL) < 0)
			return RH_ENOMEM;
	keys->map = rh_take(map);
	return 0;
}

/* Note a member that was added after the others. */
static int json_keys_note(struct rh_json_keys *keys, const struct rh_json *object, const char *key,
                          struct rh_json *value)
{
	keys->count++;
	if (keys->map)
		return rh_map_set(keys->map, key, value, NULL);
	return keys->count > JSON_KEYS_WALK_MAX ? json_keys_index(keys, object) : 0;
}

int rh_json_keys_add(struct rh_json_keys *keys, struct rh_json *object, const char *key, struct rh_json *value)
{
	int r = rh_json_add(object, key, value);

	return r < 0 ? r : json_keys_note(keys, object, key, value);
}

/* @return the first byte of key `number` (from 1) of the text */
static size_t json_key_offset(const struct json_finish *finish, size_t number)
{
	const char *text = finish->text, *key = text;

	while (number > 0) {
		key = text = strchr(text, '"');
		text += rh_json_scan_string(text);
		number -= text[strspn(text, " \t\r\n")] == ':';
	}
	return finish->scan->start + (size_t)(key - finish->text);
}

static int json_fail_twice(struct json_finish *finish, const char *key)
{
	char what[192];

	snprintf(what, sizeof(what), "the key \"%.128s\" stands twice in one object", finish->scan->secret ? "..." : key);
	return rh_json_scan_fail(finish->scan, json_key_offset(finish, finish->keys), what);
}

/* Set the next number of the tree to what the text has. */
static int json_finish_number(struct json_finish *finish, struct rh_json *number)
{
	const struct rh_json_scan *scan = finish->scan;
	struct rh_json_digits digits = {0};
	size_t offset, length;
	int r;

	for (char c = finish->text[finish->at]; c != '-' && (c < '0' || c > '9'); c = finish->text[finish->at])
		finish->at += c == '"' ? rh_json_scan_string(finish->text + finish->at) : 1;
	offset = scan->start + finish->at;
	length = rh_json_scan_number(scan->text + offset, scan->end - offset);
	finish->at += length;
	r = rh_json_digits_read(scan->text + offset, length, &digits);
	return r < 0 ? r : rh_json_node_set_number(number, &digits);
}

static int json_finish_value(struct json_finish *finish, struct rh_json *json);

/* @param map of the members before; NULL: the object is small. @return 0, 1: the key was there, RH_ENOMEM */
static int json_finish_key(const struct rh_json *object, struct rh_json *member, struct rh_map *map)
{
	const char *key = rh_json_key(member);

	if (!map)
		return rh_json_get(object, key) != member;
	if (rh_map_get(map, key))
		return 1;
	return rh_map_set(map, key, member, NULL);
}

static int json_finish_members(struct json_finish *finish, struct rh_json *object)
{
	bool many = rh_json_size(object) > JSON_KEYS_WALK_MAX;
	rh_auto(map) map = many ? rh_map_new() : NULL;
	int r = many && !map ? RH_ENOMEM : 0;

	for (struct rh_json *member = rh_json_first(object), *next; member && r == 0; member = next) {
		int twice = json_finish_key(object, member, map);

		next = rh_json_next(member);
		finish->keys++;
		if (twice < 0)
			return twice;
		if (twice > 0 && !finish->scan->lenient)
			return json_fail_twice(finish, rh_json_key(member));
		r = json_finish_value(finish, member);
		if (twice > 0)
			rh_json_node_drop(object, member);
	}
	return r;
}

static int json_finish_items(struct json_finish *finish, const struct rh_json *array)
{
	int r = 0;

	for (struct rh_json *item = rh_json_first(array); item && r == 0; item = rh_json_next(item))
		r = json_finish_value(finish, item);
	return r;
}

/* A value that is nested too deeply is empty, and becomes null. */
static int json_finish_nested(struct json_finish *finish, struct rh_json *json)
{
	int r;

	if (finish->depth == RH_JSON_DEPTH_MAX) {
		rh_json_node_set_null(json);
		return 0;
	}
	finish->depth++;
	r = rh_json_type(json) == RH_JSON_ARRAY ? json_finish_items(finish, json) : json_finish_members(finish, json);
	finish->depth--;
	return r;
}

static int json_finish_value(struct json_finish *finish, struct rh_json *json)
{
	switch (rh_json_type(json)) {
	case RH_JSON_NUMBER:
		return finish->scan->odd_numbers > 0 ? json_finish_number(finish, json) : 0;
	case RH_JSON_ARRAY:
	case RH_JSON_OBJECT:
		return json_finish_nested(finish, json);
	case RH_JSON_ABSENT:
	case RH_JSON_NULL:
	case RH_JSON_BOOL:
	case RH_JSON_STRING:
	default:
		return 0;
	}
}

/* Let cJSON make the tree, and do what it cannot. */
static int json_build(struct rh_json_scan *scan, struct rh_json **ret_json)
{
	struct json_finish finish = {.scan = scan, .text = rh_json_scan_readable(scan)};
	rh_auto(json) json = NULL;
	struct rh_json_room room;
	int r = RH_ENOMEM;

	if (rh_json_node_open(&room, &scan->need) < 0)
		return rh_fail_oom(scan->err);
	json = rh_json_node_parse(finish.text, scan->end - scan->start);
	if (json)
		r = json_finish_value(&finish, json);
	rh_json_room_close(&room);
	if (r < 0)
		return r == RH_ENOMEM ? rh_fail_oom(scan->err) : r;
	*ret_json = rh_take(json);
	return 0;
}

int rh_json_parse_span(struct rh_json_span *span, struct rh_json **ret_json, struct rh_error *err)
{
	rh_auto_json_scan scan = {
		.text = span->text,
		.at = span->start,
		.end = span->end,
		.values = span->values,
		.lenient = span->lenient,
		.secret = span->secret,
		.err = err,
	};
	int r = rh_json_scan(&scan);

	span->values = scan.values;
	return r < 0 ? r : json_build(&scan, ret_json);
}

int rh_json_parse(const char *text, size_t length, struct rh_json **ret_json, struct rh_error *err)
{
	struct rh_json_span span = {.text = text, .start = 0, .end = length, .values = SIZE_MAX};

	return rh_json_parse_span(&span, ret_json, err);
}

int rh_json_parse_lenient(const char *text, size_t length, struct rh_json **ret_json, struct rh_error *err)
{
	struct rh_json_span span = {.text = text, .start = 0, .end = length, .values = SIZE_MAX, .lenient = true};

	return rh_json_parse_span(&span, ret_json, err);
}
