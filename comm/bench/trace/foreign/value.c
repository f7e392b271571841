/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/bench/trace/foreign/value.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_BYTES ((size_t)64 << 10)
#define ALIGNMENT 16

/* Begin of each block; behind it is its memory. */
struct block {
	_Alignas(ALIGNMENT) struct block *next;
};

void rh_values_deinit(struct rh_values *values)
{
	struct block *block = values->blocks;

	while (block) {
		struct block *next = block->next;

		free(block);
		block = next;
	}
	*values = (struct rh_values){0};
}

void *rh_values_take(struct rh_values *values, size_t bytes)
{
	size_t whole = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
	char *memory;

	if (bytes > RH_VALUES_BYTES_MOST || values->total + whole > RH_VALUES_BYTES_MOST)
		return NULL;
	if (!values->blocks || whole > values->size - values->used) {
		size_t size = whole > BLOCK_BYTES ? whole : BLOCK_BYTES;
		struct block *block = calloc(1, sizeof(*block) + size);

		if (!block)
			return NULL;
		block->next = values->blocks;
		values->blocks = block;
		values->size = size;
		values->used = 0;
	}
	memory = (char *)values->blocks + sizeof(struct block) + values->used;
	values->used += whole;
	values->total += whole;
	return memory;
}

struct rh_value *rh_value_new(struct rh_values *values, enum rh_value_kind kind)
{
	static struct rh_value *const none[1];
	struct rh_value *value = rh_values_take(values, sizeof(*value));

	if (value)
		*value = (struct rh_value){.kind = kind, .text = "", .items = (struct rh_value **)none};
	return value;
}

struct rh_value *rh_value_text(struct rh_values *values, const char *bytes, size_t length)
{
	struct rh_value *value = rh_value_new(values, RH_VALUE_TEXT);
	char *copy = value ? rh_values_take(values, length + 1) : NULL;

	if (!copy)
		return NULL;
	memcpy(copy, bytes, length);
	value->text = copy;
	return value;
}

bool rh_value_append(struct rh_values *values, struct rh_value *list, struct rh_value *item)
{
	if (list->count == list->room) {
		size_t room = list->room > 0 ? 2 * list->room : 4;
		struct rh_value **items = rh_values_take(values, room * sizeof(struct rh_value *));

		if (!items)
			return false;
		memcpy(items, list->items, list->count * sizeof(struct rh_value *));
		list->items = items;
		list->room = room;
	}
	list->items[list->count++] = item;
	return true;
}

const struct rh_value *rh_value_get(const struct rh_value *map, const char *key)
{
	for (size_t i = 0; map && map->kind == RH_VALUE_MAP && i + 1 < map->count; i += 2) {
		if (map->items[i]->kind == RH_VALUE_TEXT && strcmp(map->items[i]->text, key) == 0)
			return map->items[i + 1];
	}
	return NULL;
}

const char *rh_value_as_text(const struct rh_value *value)
{
	return value && value->kind == RH_VALUE_TEXT ? value->text : "";
}

int64_t rh_value_as_number(const struct rh_value *value, int64_t otherwise)
{
	char *end;
	long long number;

	if (value && (value->kind == RH_VALUE_NUMBER || value->kind == RH_VALUE_FLAG))
		return value->integer;
	errno = 0;
	number = strtoll(rh_value_as_text(value), &end, 10);
	return errno == 0 && *end == '\0' && *rh_value_as_text(value) != '\0' ? number : otherwise;
}

const struct rh_value *rh_value_at(const struct rh_value *list, size_t index)
{
	return list && list->kind == RH_VALUE_LIST && index < list->count ? list->items[index] : NULL;
}
