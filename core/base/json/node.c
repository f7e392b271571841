/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json/node.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/json/build.h"

/*
 * cJSON keeps its allocator in a global; it is set before main(), so that every node, on any thread, comes from where
 * it is given back to.
 */
__attribute__((constructor)) static void node_use_allocator(void)
{
	cJSON_Hooks hooks = {.malloc_fn = rh_json_room_take, .free_fn = rh_json_room_release};

	cJSON_InitHooks(&hooks);
}

static cJSON *node_of(const struct rh_json *json)
{
	return (cJSON *)(uintptr_t)json;
}

static struct rh_json *node_value(cJSON *node)
{
	return (struct rh_json *)node;
}

enum rh_json_type rh_json_type(const struct rh_json *json)
{
	switch (json ? node_of(json)->type & 0xFF : cJSON_Invalid) {
	case cJSON_NULL:
		return RH_JSON_NULL;
	case cJSON_False:
	case cJSON_True:
		return RH_JSON_BOOL;
	case cJSON_Number:
	case cJSON_Raw:
		return RH_JSON_NUMBER;
	case cJSON_String:
		return RH_JSON_STRING;
	case cJSON_Array:
		return RH_JSON_ARRAY;
	case cJSON_Object:
		return RH_JSON_OBJECT;
	default:
		return RH_JSON_ABSENT;
	}
}

const char *rh_json_string(const struct rh_json *json)
{
	return cJSON_GetStringValue(node_of(json));
}

bool rh_json_bool(const struct rh_json *json, bool fallback)
{
	return cJSON_IsBool(node_of(json)) ? cJSON_IsTrue(node_of(json)) : fallback;
}

bool rh_json_integer(const struct rh_json *json, int64_t *ret_value)
{
	const cJSON *node = node_of(json);

	if (cJSON_IsRaw(node))
		return rh_json_digits_whole(node->valuestring, strlen(node->valuestring), ret_value);
	if (!cJSON_IsNumber(node))
		return false;
	*ret_value = (int64_t)node->valuedouble;
	return true;
}

double rh_json_number(const struct rh_json *json, double fallback)
{
	return rh_json_type(json) == RH_JSON_NUMBER ? node_of(json)->valuedouble : fallback;
}

const char *rh_json_number_text(const struct rh_json *json, char buffer[RH_JSON_NUMBER_SIZE])
{
	if (rh_json_type(json) != RH_JSON_NUMBER)
		return NULL;
	if (cJSON_IsRaw(node_of(json)))
		return node_of(json)->valuestring;
	(void)snprintf(buffer, RH_JSON_NUMBER_SIZE, "%" PRId64, (int64_t)node_of(json)->valuedouble);
	return buffer;
}

struct rh_json *rh_json_first(const struct rh_json *json)
{
	return json ? node_value(node_of(json)->child) : NULL;
}

struct rh_json *rh_json_next(const struct rh_json *value)
{
	return node_value(node_of(value)->next);
}

const char *rh_json_key(const struct rh_json *value)
{
	return value ? node_of(value)->string : NULL;
}

struct rh_json *rh_json_get(const struct rh_json *json, const char *key)
{
	/* items of an array have no key, and only arrays and objects have children */
	return node_value(cJSON_GetObjectItemCaseSensitive(node_of(json), key));
}

size_t rh_json_size(const struct rh_json *json)
{
	return (size_t)cJSON_GetArraySize(node_of(json));
}

struct rh_json *rh_json_item(const struct rh_json *json, size_t index)
{
	if (!cJSON_IsArray(node_of(json)) || index > INT_MAX)
		return NULL;
	return node_value(cJSON_GetArrayItem(node_of(json), (int)index));
}

struct rh_json *rh_json_new_object(void)
{
	return node_value(cJSON_CreateObject());
}

struct rh_json *rh_json_new_array(void)
{
	return node_value(cJSON_CreateArray());
}

struct rh_json *rh_json_new_string(const char *text)
{
	return text ? node_value(cJSON_CreateString(text)) : NULL;
}

struct rh_json *rh_json_new_bool(bool value)
{
	return node_value(cJSON_CreateBool(value));
}

struct rh_json *rh_json_new_null(void)
{
	return node_value(cJSON_CreateNull());
}

struct rh_json *rh_json_node_new_number(const struct rh_json_digits *digits)
{
	rh_auto(json) json = node_value(cJSON_CreateNull());

	if (!json || rh_json_node_set_number(json, digits) < 0)
		return NULL;
	return rh_take(json);
}

struct rh_json *rh_json_new_literal(const char *text, size_t length)
{
	struct rh_json_digits digits = {0};

	return rh_json_digits_read(text, length, &digits) < 0 ? NULL : rh_json_node_new_number(&digits);
}

struct rh_json *rh_json_new_integer(int64_t value)
{
	struct rh_json_digits digits = {0};

	rh_json_digits_integer(value, &digits);
	return rh_json_node_new_number(&digits);
}

struct rh_json *rh_json_new_number(double value)
{
	struct rh_json_digits digits = {0};

	rh_json_digits_real(value, &digits);
	return rh_json_node_new_number(&digits);
}

int rh_json_node_set_number(struct rh_json *json, const struct rh_json_digits *digits)
{
	cJSON *node = node_of(json);

	node->type = cJSON_Number;
	cJSON_SetNumberValue(node, digits->value);
	if (!digits->text)
		return 0;
	node->valuestring = rh_json_room_take(digits->length + 1);
	if (!node->valuestring)
		return RH_ENOMEM;
	memcpy(node->valuestring, digits->text, digits->length);
	node->valuestring[digits->length] = '\0';
	node->type = cJSON_Raw;
	return 0;
}

void rh_json_node_set_null(struct rh_json *json)
{
	node_of(json)->type = cJSON_NULL;
}

void rh_json_free(struct rh_json *json)
{
	cJSON_Delete(node_of(json));
}

static void node_wipe(const cJSON *node)
{
	if (node->valuestring)
		explicit_bzero(node->valuestring, strlen(node->valuestring));
	for (const cJSON *child = node->child; child; child = child->next)
		node_wipe(child);
}

void rh_json_free_secret(struct rh_json *json)
{
	if (json)
		node_wipe(node_of(json));
	rh_json_free(json);
}

void rh_json_node_need(struct rh_json_need *need, size_t size)
{
	rh_json_need_text(need, size, sizeof(cJSON));
}

int rh_json_node_open(struct rh_json_room *room, const struct rh_json_need *need)
{
	return rh_json_room_open(room, need, sizeof(cJSON));
}

static void node_measure(const cJSON *node, struct rh_json_need *need)
{
	need->values++;
	if (node->string)
		rh_json_node_need(need, strlen(node->string) + 1);
	if (node->valuestring)
		rh_json_node_need(need, strlen(node->valuestring) + 1);
	for (const cJSON *child = node->child; child; child = child->next)
		node_measure(child, need);
}

/* @return the value alone, without its key and what follows it */
static cJSON node_alone(const struct rh_json *json)
{
	cJSON alone = *node_of(json);

	alone.next = alone.prev = NULL;
	alone.string = NULL;
	return alone;
}

size_t rh_json_weight(const struct rh_json *json)
{
	struct rh_json_need need = {0};
	cJSON alone;

	if (!json)
		return 0;
	alone = node_alone(json);
	node_measure(&alone, &need);
	return rh_json_need_bytes(&need, sizeof(cJSON));
}

struct rh_json *rh_json_copy(const struct rh_json *json)
{
	struct rh_json_need need = {0};
	struct rh_json_room room;
	cJSON alone, *copy;

	if (!json)
		return NULL;
	alone = node_alone(json);
	node_measure(&alone, &need);
	if (rh_json_node_open(&room, &need) < 0)
		return NULL;
	copy = cJSON_Duplicate(&alone, true);
	rh_json_room_close(&room);
	return node_value(copy);
}

struct rh_json *rh_json_node_parse(const char *text, size_t length)
{
	return node_value(cJSON_ParseWithLength(text, length));
}

char *rh_json_node_print(const struct rh_json *json)
{
	return cJSON_PrintUnformatted(node_of(json));
}

int rh_json_add(struct rh_json *object, const char *key, struct rh_json *value)
{
	if (value && cJSON_IsObject(node_of(object)) && cJSON_AddItemToObject(node_of(object), key, node_of(value)))
		return 0;
	rh_json_free(value);
	return RH_ENOMEM;
}

/* Give a value the key that another loses, or none. */
static void node_move_key(cJSON *value, cJSON *from)
{
	rh_json_room_release(value->string);
	value->string = from ? from->string : NULL;
	if (from)
		from->string = NULL;
}

void rh_json_node_replace(struct rh_json *parent, struct rh_json *old, struct rh_json *value)
{
	/* the library's own way to replace a member copies the key, and does not look whether it could */
	node_move_key(node_of(value), node_of(old));
	cJSON_ReplaceItemViaPointer(node_of(parent), node_of(old), node_of(value));
}

int rh_json_append(struct rh_json *array, struct rh_json *value)
{
	if (!value || !cJSON_IsArray(node_of(array))) {
		rh_json_free(value);
		return RH_ENOMEM;
	}
	node_move_key(node_of(value), NULL);
	cJSON_AddItemToArray(node_of(array), node_of(value));
	return 0;
}

void rh_json_node_drop(struct rh_json *parent, struct rh_json *child)
{
	cJSON_Delete(cJSON_DetachItemViaPointer(node_of(parent), node_of(child)));
}

/* A value in the room of a tree cannot leave it; the caller gets a copy. */
static struct rh_json *node_detach(struct rh_json *from, struct rh_json *value)
{
	struct rh_json *copy;

	if (!value)
		return NULL;
	if (!rh_json_room_holds(value)) {
		cJSON_DetachItemViaPointer(node_of(from), node_of(value));
		node_move_key(node_of(value), NULL);
		return value;
	}
	copy = rh_json_copy(value);
	if (copy)
		rh_json_node_drop(from, value);
	return copy;
}

struct rh_json *rh_json_detach(struct rh_json *object, const char *key)
{
	return node_detach(object, rh_json_get(object, key));
}

struct rh_json *rh_json_detach_item(struct rh_json *array, size_t index)
{
	return node_detach(array, rh_json_item(array, index));
}
