/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json_node.h"

#include <stddef.h>
#include <string.h>

#define NODE_ALIGN _Alignof(struct rh_json)

static size_t node_round(size_t size)
{
	return (size + NODE_ALIGN - 1) / NODE_ALIGN * NODE_ALIGN;
}

static void node_free_chunks(struct rh_json_chunk *chunk)
{
	while (chunk) {
		struct rh_json_chunk *next = chunk->next;

		rh_free(chunk);
		chunk = next;
	}
}

void rh_json_room_deinit(struct rh_json_room *room)
{
	node_free_chunks(room->first);
	*room = (struct rh_json_room){0};
}

static struct rh_json_chunk *node_add_chunk(struct rh_json_room *room, size_t size)
{
	size_t total = size > room->step ? size : room->step;
	/* not zeroed: most of it is written at once */
	struct rh_json_chunk *chunk = rh_realloc_array(NULL, 1, sizeof(*chunk) + total);

	if (!chunk)
		return NULL;
	*chunk = (struct rh_json_chunk){.size = total};
	*(room->last ? &room->last->next : &room->first) = chunk;
	room->last = chunk;
	return chunk;
}

/* @return bytes that are not zeroed, or NULL when memory is out */
static void *node_take(struct rh_json_room *room, size_t size)
{
	struct rh_json_chunk *chunk = room->last;
	char *at;

	size = node_round(size);
	if (!chunk || chunk->size - chunk->used < size)
		chunk = node_add_chunk(room, size);
	if (!chunk)
		return NULL;
	at = (char *)chunk->data + chunk->used;
	chunk->used += size;
	return at;
}

struct rh_json *rh_json_room_value(struct rh_json_room *room, enum rh_json_type type)
{
	bool root = !room->first;
	struct rh_json *json = node_take(room, sizeof(*json));

	if (json)
		*json = (struct rh_json){.type = (unsigned char)type, .hold = root ? RH_JSON_ROOT : RH_JSON_LENT};
	return json;
}

char *rh_json_room_text(struct rh_json_room *room, const char *text, size_t length)
{
	char *copy = node_take(room, length + 1);

	if (!copy)
		return NULL;
	memcpy(copy, text, length);
	copy[length] = '\0';
	return copy;
}

void rh_json_link(struct rh_json *parent, struct rh_json *value)
{
	value->next = NULL;
	*(parent->is.list.last ? &parent->is.list.last->next : &parent->is.list.first) = value;
	parent->is.list.last = value;
}

static struct rh_json_chunk *node_room(struct rh_json *root)
{
	return (struct rh_json_chunk *)(void *)((char *)root - offsetof(struct rh_json_chunk, data));
}

void rh_json_free(struct rh_json *json)
{
	struct rh_json *next;

	if (!json)
		return;
	if (!json->key_lent)
		rh_free(json->key);
	for (struct rh_json *child = rh_json_first(json); child; child = next) {
		next = child->next;
		rh_json_free(child);
	}
	if (json->hold == RH_JSON_OWN)
		rh_free(json);
	else if (json->hold == RH_JSON_ROOT)
		node_free_chunks(node_room(json));
}

static bool node_has_text(const struct rh_json *json)
{
	return json->type == RH_JSON_STRING || (json->type == RH_JSON_NUMBER && json->form == RH_JSON_BEYOND);
}

static size_t node_measure(const struct rh_json *json, bool keyed)
{
	size_t size = sizeof(*json);

	if (keyed && json->key)
		size += node_round(strlen(json->key) + 1);
	if (node_has_text(json))
		size += node_round(strlen(json->is.text) + 1);
	for (const struct rh_json *child = rh_json_first(json); child; child = child->next)
		size += node_measure(child, true);
	return size;
}

size_t rh_json_weight(const struct rh_json *json)
{
	return json ? node_measure(json, false) : 0;
}

/* The room has place for it all. */
static struct rh_json *node_copy(struct rh_json_room *room, const struct rh_json *json, bool keyed)
{
	struct rh_json *copy = rh_json_room_value(room, (enum rh_json_type)json->type);

	if (!copy)
		return NULL;
	if (keyed && json->key) {
		copy->key = rh_json_room_text(room, json->key, strlen(json->key));
		copy->key_lent = true;
	}
	copy->form = json->form;
	if (node_has_text(json))
		copy->is.text = rh_json_room_text(room, json->is.text, strlen(json->is.text));
	else if (json->type == RH_JSON_NUMBER || json->type == RH_JSON_BOOL)
		copy->is = json->is;
	for (const struct rh_json *child = rh_json_first(json); child; child = child->next)
		rh_json_link(copy, node_copy(room, child, true));
	return copy;
}

struct rh_json *rh_json_copy(const struct rh_json *json)
{
	struct rh_json_room room = {0};

	if (!json)
		return NULL;
	room.step = node_measure(json, false);
	return node_copy(&room, json, false);
}

struct rh_json *rh_json_node_new(enum rh_json_type type, size_t more)
{
	struct rh_json *json = rh_alloc(sizeof(*json) + more);

	if (json)
		json->type = (unsigned char)type;
	return json;
}

struct rh_json *rh_json_node_new_text(enum rh_json_type type, const char *text, size_t length)
{
	struct rh_json *json = rh_json_node_new(type, length + 1);

	if (!json)
		return NULL;
	json->is.text = (char *)(json + 1);
	memcpy(json->is.text, text, length);
	json->is.text[length] = '\0';
	return json;
}

struct rh_json *rh_json_new_object(void)
{
	return rh_json_node_new(RH_JSON_OBJECT, 0);
}

struct rh_json *rh_json_new_array(void)
{
	return rh_json_node_new(RH_JSON_ARRAY, 0);
}

struct rh_json *rh_json_new_string(const char *text)
{
	return text ? rh_json_node_new_text(RH_JSON_STRING, text, strlen(text)) : NULL;
}

struct rh_json *rh_json_new_bool(bool value)
{
	struct rh_json *json = rh_json_node_new(RH_JSON_BOOL, 0);

	if (json)
		json->is.truth = value;
	return json;
}

struct rh_json *rh_json_new_null(void)
{
	return rh_json_node_new(RH_JSON_NULL, 0);
}
