/* SPDX-License-Identifier: Apache-2.0 */
#include "job/cel/value.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/crypto/base64.h"
#include "base/mem.h"
#include "base/os/clock.h"
#include "job/cel/functions/duration.h"

#define VALUE_BLOCK_SIZE 4096
#define VALUE_ROOM_MAX (16u << 20)

struct rh_cel_block {
	struct rh_cel_block *next;
	size_t used, size;
	_Alignas(16) char bytes[];
};

void rh_cel_room_deinit(struct rh_cel_room *room)
{
	while (room->blocks) {
		struct rh_cel_block *block = room->blocks;

		room->blocks = block->next;
		rh_free(block);
	}
	*room = (struct rh_cel_room){0};
}

static bool value_grow(struct rh_cel_room *room, size_t size)
{
	size_t bytes = size > VALUE_BLOCK_SIZE ? size : VALUE_BLOCK_SIZE;
	struct rh_cel_block *block;

	if (room->used + bytes > (room->limit ? room->limit : VALUE_ROOM_MAX)) {
		room->full = true;
		return false;
	}
	block = rh_alloc(sizeof(*block) + bytes);
	if (!block) {
		room->failed = true;
		return false;
	}
	block->next = room->blocks;
	block->size = bytes;
	room->blocks = block;
	room->used += bytes;
	return true;
}

void *rh_cel_room_take(struct rh_cel_room *room, size_t size)
{
	void *taken;

	if (size > VALUE_ROOM_MAX) {
		room->full = true;
		return NULL;
	}
	size = (size + 15) & ~(size_t)15;
	if ((!room->blocks || room->blocks->size - room->blocks->used < size) && !value_grow(room, size))
		return NULL;
	taken = room->blocks->bytes + room->blocks->used;
	room->blocks->used += size;
	return taken;
}

const char *rh_cel_kind_name(enum rh_cel_kind kind)
{
	static const char *const names[] = {"dyn",       "error",    "null_type", "bool",          "int",
	                                    "uint",      "double",   "string",    "bytes",         "duration",
	                                    "timestamp", "quantity", "net.IP",    "net.CIDR",      "kubernetes.URL",
	                                    "list",      "map",      "object",    "optional_type", "type"};

	return names[kind];
}

struct rh_cel_value rh_cel_error(const char *why)
{
	return (struct rh_cel_value){.kind = RH_CEL_ERROR, .text = {why, strlen(why)}};
}

struct rh_cel_value rh_cel_no_overload(void)
{
	struct rh_cel_value error = rh_cel_error("no such overload");

	error.text.no_overload = true;
	return error;
}

struct rh_cel_value rh_cel_error_about(struct rh_cel_room *room, const char *what, const char *which)
{
	char text[200];
	struct rh_cel_value why;

	(void)snprintf(text, sizeof(text), "%s: %.140s", what, which);
	why = rh_cel_string(room, text, strlen(text));
	why.kind = RH_CEL_ERROR;
	return why;
}

struct rh_cel_value rh_cel_error_number(struct rh_cel_room *room, const char *what, int64_t which)
{
	char text[24];

	(void)snprintf(text, sizeof(text), "%" PRId64, which);
	return rh_cel_error_about(room, what, text);
}

struct rh_cel_value rh_cel_bool(bool flag)
{
	return (struct rh_cel_value){.kind = RH_CEL_BOOL, .flag = flag};
}

struct rh_cel_value rh_cel_integer(enum rh_cel_kind kind, int64_t integer)
{
	return (struct rh_cel_value){.kind = kind, .integer = integer};
}

struct rh_cel_value rh_cel_string(struct rh_cel_room *room, const char *data, size_t length)
{
	char *copy = rh_cel_room_take(room, length + 1);

	if (!copy)
		return rh_cel_error("out of memory");
	if (length)
		memcpy(copy, data, length);
	return (struct rh_cel_value){.kind = RH_CEL_STRING, .text = {copy, length}};
}

struct rh_cel_value rh_cel_optional(struct rh_cel_room *room, const struct rh_cel_value *value)
{
	struct rh_cel_value *copy = value ? rh_cel_room_take(room, sizeof(*copy)) : NULL;

	if (value && !copy)
		return rh_cel_error("out of memory");
	if (value)
		*copy = *value;
	return (struct rh_cel_value){.kind = RH_CEL_OPTIONAL, .items = copy, .count = copy ? 1 : 0};
}

struct rh_cel_value rh_cel_list(const struct rh_cel_value *items, size_t count)
{
	return (struct rh_cel_value){.kind = RH_CEL_LIST, .items = items, .count = count};
}

static enum rh_cel_kind value_kind_of_string(const char *format)
{
	if (rh_text_equal(format, "byte"))
		return RH_CEL_BYTES;
	if (rh_text_equal(format, "duration"))
		return RH_CEL_DURATION;
	if (rh_text_equal(format, "date") || rh_text_equal(format, "date-time") || rh_text_equal(format, "datetime"))
		return RH_CEL_TIMESTAMP;
	return RH_CEL_STRING;
}

enum rh_cel_kind rh_cel_kind_of_schema(const struct rh_json *schema)
{
	const char *type = rh_json_string(rh_json_get(schema, "type"));

	if (!type || rh_json_bool(rh_json_get(schema, "x-kubernetes-int-or-string"), false))
		return RH_CEL_DYN;
	if (strcmp(type, "string") == 0)
		return value_kind_of_string(rh_json_string(rh_json_get(schema, "format")));
	if (strcmp(type, "integer") == 0)
		return RH_CEL_INT;
	if (strcmp(type, "number") == 0)
		return RH_CEL_DOUBLE;
	if (strcmp(type, "boolean") == 0)
		return RH_CEL_BOOL;
	if (strcmp(type, "array") == 0)
		return RH_CEL_LIST;
	return rh_json_get(schema, "additionalProperties") ? RH_CEL_MAP : RH_CEL_OBJECT;
}

static struct rh_cel_value value_of_number(const struct rh_json *json, enum rh_cel_kind kind)
{
	int64_t integer;

	if (kind != RH_CEL_DOUBLE && rh_json_integer(json, &integer))
		return rh_cel_integer(RH_CEL_INT, integer);
	return (struct rh_cel_value){.kind = RH_CEL_DOUBLE, .number = rh_json_number(json, 0)};
}

static struct rh_cel_value value_of_time(const char *text, bool date)
{
	char whole[64];
	int64_t time;

	(void)snprintf(whole, sizeof(whole), "%.40s%s", text, date ? "T00:00:00Z" : "");
	return rh_time_parse(whole, &time, NULL) == 0 ? rh_cel_integer(RH_CEL_TIMESTAMP, time)
	                                              : rh_cel_error("invalid time");
}

static struct rh_cel_value value_of_string(struct rh_cel_room *room, const struct rh_json *json,
                                           const struct rh_json *schema)
{
	const char *text = rh_json_string(json);
	enum rh_cel_kind kind = rh_cel_kind_of_schema(schema);
	struct rh_cel_value value = {.kind = RH_CEL_STRING, .text = {text, strlen(text)}};
	size_t length = 0;
	int64_t nanoseconds;
	char *bytes;

	if (kind == RH_CEL_TIMESTAMP)
		return value_of_time(text, rh_text_equal(rh_json_string(rh_json_get(schema, "format")), "date"));
	if (kind == RH_CEL_DURATION)
		return rh_cel_duration_parse(text, &nanoseconds) ? rh_cel_integer(kind, nanoseconds)
		                                                 : rh_cel_error("invalid duration");
	if (kind != RH_CEL_BYTES)
		return value;
	bytes = rh_cel_room_take(room, rh_base64_room(strlen(text)));
	if (!bytes || !rh_base64_decode(text, bytes, &length))
		return rh_cel_error("invalid base64");
	value.kind = RH_CEL_BYTES;
	value.text.data = bytes;
	value.text.length = length;
	return value;
}

static struct rh_cel_value value_of_array(struct rh_cel_room *room, const struct rh_json *json,
                                          const struct rh_json *schema)
{
	size_t count = rh_json_size(json), i = 0;
	struct rh_cel_value *items = rh_cel_room_take(room, count * sizeof(*items));

	if (!items)
		return rh_cel_error("out of memory");
	for (const struct rh_json *item = rh_json_first(json); item; item = rh_json_next(item))
		items[i++] = rh_cel_of_json(room, item, rh_json_get(schema, "items"));
	return (struct rh_cel_value){.kind = RH_CEL_LIST, .items = items, .count = count, .json = json};
}

const struct rh_json *rh_cel_schema(const struct rh_json *definitions, const struct rh_json *schema)
{
	const char *ref = rh_json_string(rh_json_get(schema, "$ref"));

	return ref ? rh_json_get(definitions, ref) : schema;
}

struct rh_cel_value rh_cel_of_json(struct rh_cel_room *room, const struct rh_json *json, const struct rh_json *schema)
{
	schema = rh_cel_schema(room->definitions, schema);
	switch ((int)rh_json_type(json)) {
	case RH_JSON_BOOL:
		return rh_cel_bool(rh_json_bool(json, false));
	case RH_JSON_NUMBER:
		return value_of_number(json, rh_cel_kind_of_schema(schema));
	case RH_JSON_STRING:
		return value_of_string(room, json, schema);
	case RH_JSON_ARRAY:
		return value_of_array(room, json, schema);
	case RH_JSON_OBJECT:
		return (struct rh_cel_value){.kind = RH_CEL_MAP, .json = json, .schema = schema};
	default:
		return (struct rh_cel_value){.kind = RH_CEL_NULL};
	}
}

static bool value_is_number(const struct rh_cel_value *value)
{
	return value->kind == RH_CEL_INT || value->kind == RH_CEL_UINT || value->kind == RH_CEL_DOUBLE;
}

/* exact for all 64 bits */
static long double value_wide(const struct rh_cel_value *value)
{
	if (value->kind == RH_CEL_INT)
		return (long double)value->integer;
	return value->kind == RH_CEL_UINT ? (long double)value->natural : (long double)value->number;
}

static bool value_is_text(const struct rh_cel_value *value)
{
	return value->kind == RH_CEL_STRING || value->kind == RH_CEL_BYTES || value->kind == RH_CEL_TYPE;
}

static int value_order_texts(const struct rh_cel_value *a, const struct rh_cel_value *b)
{
	size_t length = a->text.length < b->text.length ? a->text.length : b->text.length;
	int order = length ? memcmp(a->text.data, b->text.data, length) : 0;

	return order ? order : (a->text.length > b->text.length) - (a->text.length < b->text.length);
}

bool rh_cel_order(const struct rh_cel_value *a, const struct rh_cel_value *b, int *ret_order)
{
	if (value_is_number(a) && value_is_number(b)) {
		long double x = value_wide(a), y = value_wide(b);

		*ret_order = (x > y) - (x < y);
		return x == x && y == y;
	}
	if (a->kind != b->kind)
		return false;
	if (value_is_text(a)) {
		*ret_order = value_order_texts(a, b);
		return true;
	}
	if (a->kind == RH_CEL_BOOL) {
		*ret_order = a->flag - b->flag;
		return true;
	}
	*ret_order = (a->integer > b->integer) - (a->integer < b->integer);
	return a->kind == RH_CEL_DURATION || a->kind == RH_CEL_TIMESTAMP || a->kind == RH_CEL_QUANTITY;
}

static bool value_lists_equal(struct rh_cel_room *room, const struct rh_cel_value *a, const struct rh_cel_value *b)
{
	for (size_t i = 0; i < a->count; i++) {
		if (a->count != b->count || !rh_cel_equal(room, &a->items[i], &b->items[i]))
			return false;
	}
	return a->count == b->count;
}

static bool value_maps_equal(struct rh_cel_room *room, const struct rh_cel_value *a, const struct rh_cel_value *b)
{
	struct rh_cel_value keys = rh_cel_map_keys(room, a);

	if (rh_cel_size(a) != rh_cel_size(b) || keys.kind == RH_CEL_ERROR)
		return false;
	for (size_t i = 0; i < keys.count; i++) {
		struct rh_cel_value x, y;

		if (!rh_cel_map_get(room, a, &keys.items[i], &x) || !rh_cel_map_get(room, b, &keys.items[i], &y) ||
		    !rh_cel_equal(room, &x, &y))
			return false;
	}
	return true;
}

bool rh_cel_equal(struct rh_cel_room *room, const struct rh_cel_value *a, const struct rh_cel_value *b)
{
	int order;

	if (a->kind == RH_CEL_NULL || b->kind == RH_CEL_NULL)
		return a->kind == b->kind;
	if (a->kind == b->kind && (a->kind == RH_CEL_LIST || a->kind == RH_CEL_OPTIONAL))
		return value_lists_equal(room, a, b);
	if (a->kind == RH_CEL_MAP && b->kind == RH_CEL_MAP)
		return value_maps_equal(room, a, b);
	if (a->kind == b->kind && (a->kind == RH_CEL_IP || a->kind == RH_CEL_CIDR || a->kind == RH_CEL_URL))
		return value_order_texts(a, b) == 0;
	return rh_cel_order(a, b, &order) && order == 0;
}

int64_t rh_cel_size(const struct rh_cel_value *value)
{
	int64_t count = 0;

	switch ((int)value->kind) {
	case RH_CEL_STRING:
		for (size_t i = 0; i < value->text.length; i++)
			count += ((unsigned char)value->text.data[i] & 0xC0) != 0x80;
		return count;
	case RH_CEL_BYTES:
		return (int64_t)value->text.length;
	case RH_CEL_LIST:
		return (int64_t)value->count;
	case RH_CEL_MAP:
		return (int64_t)(value->json ? rh_json_size(value->json) : value->count);
	default:
		return -1;
	}
}

static const struct rh_json *value_field_schema(const struct rh_json *schema, const char *key)
{
	const struct rh_json *known = rh_json_get(rh_json_get(schema, "properties"), key);

	return known ? known : rh_json_get(schema, "additionalProperties");
}

bool rh_cel_map_get(struct rh_cel_room *room, const struct rh_cel_value *map, const struct rh_cel_value *key,
                    struct rh_cel_value *ret_value)
{
	if (map->json) {
		const struct rh_json *found = NULL;

		if (key->kind == RH_CEL_STRING && !memchr(key->text.data, '\0', key->text.length))
			found = rh_json_get(map->json, key->text.data);
		/* null counts as absent: the API server drops it */
		if (!found || rh_json_type(found) == RH_JSON_NULL)
			return false;
		*ret_value = rh_cel_of_json(room, found, value_field_schema(map->schema, key->text.data));
		return true;
	}
	for (size_t i = 0; i < map->count; i++) {
		if (!rh_cel_equal(room, &map->items[2 * i], key))
			continue;
		*ret_value = map->items[2 * i + 1];
		return true;
	}
	return false;
}

struct rh_cel_value rh_cel_map_keys(struct rh_cel_room *room, const struct rh_cel_value *map)
{
	size_t count = (size_t)rh_cel_size(map), i = 0;
	struct rh_cel_value *keys = rh_cel_room_take(room, count * sizeof(*keys));

	if (!keys)
		return rh_cel_error("out of memory");
	for (const struct rh_json *member = rh_json_first(map->json); member; member = rh_json_next(member)) {
		const char *key = rh_json_key(member);

		keys[i++] = (struct rh_cel_value){.kind = RH_CEL_STRING, .text = {key, strlen(key)}};
	}
	for (; i < count; i++)
		keys[i] = map->items[2 * i];
	return rh_cel_list(keys, count);
}

const char *rh_cel_unescape(struct rh_cel_room *room, const char *name)
{
	static const char *const escapes[][2] = {
		{"__underscores__", "__"}, {"__dot__", "."}, {"__dash__", "-"}, {"__slash__", "/"}};
	size_t length = strlen(name), to = 0;
	char *plain = strstr(name, "__") ? rh_cel_room_take(room, length + 1) : NULL;

	if (!plain)
		return name;
	/* __namespace__ is a word of CEL */
	if (length > 4 && rh_starts_with(name, "__") && strcmp(name + length - 2, "__") == 0 && !strstr(name + 2, "__d") &&
	    strstr(name + 2, "__") == name + length - 2 && strcmp(name, "__dot__") != 0 && strcmp(name, "__dash__") != 0 &&
	    strcmp(name, "__slash__") != 0 && strcmp(name, "__underscores__") != 0) {
		memcpy(plain, name + 2, length - 4);
		return plain;
	}
	while (*name) {
		size_t i = 0;

		while (i < 4 && !rh_starts_with(name, escapes[i][0]))
			i++;
		if (i == 4) {
			plain[to++] = *name++;
			continue;
		}
		memcpy(plain + to, escapes[i][1], strlen(escapes[i][1]));
		to += strlen(escapes[i][1]);
		name += strlen(escapes[i][0]);
	}
	return plain;
}
