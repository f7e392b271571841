/* SPDX-License-Identifier: Apache-2.0 */
#include "base/map.h"

#include <stdint.h>

#include <string.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/os/random.h"

/* Slots of an empty map's index; a power of two. */
#define MAP_FIRST_SLOTS 16
/* Values of a slot besides the number of an entry plus MAP_SLOT_FIRST. */
#define MAP_SLOT_EMPTY 0
#define MAP_SLOT_REMOVED 1
#define MAP_SLOT_FIRST 2

/* A key with its value; a removed one has neither. */
struct map_entry {
	char *key;
	void *value;
	uint64_t hash;
};

/*
 * Entries are in an array in insertion order; the index is an open-addressed table of their numbers. Removed
 * entries stay as holes until the next growth, so that a walk's cursor stays valid.
 */
struct rh_map {
	struct rh_hash_key key;
	struct map_entry *entries; /* room for slot_count / 2 */
	uint32_t *slots;
	size_t slot_count;
	size_t used; /* entries, holes included */
	size_t size;
};

struct rh_map *rh_map_new(void)
{
	struct rh_map *map = rh_alloc(sizeof(*map));

	if (map)
		rh_random_of_process(map->key.half);
	return map;
}

void rh_map_free(struct rh_map *map)
{
	if (!map)
		return;
	for (size_t i = 0; i < map->used; i++)
		rh_free(map->entries[i].key);
	rh_free(map->entries);
	rh_free(map->slots);
	rh_free(map);
}

/* @return the slot that holds `key`, or NULL */
static uint32_t *map_find(const struct rh_map *map, const char *key, uint64_t hash)
{
	size_t mask = map->slot_count - 1;

	if (map->slot_count == 0)
		return NULL;
	for (size_t at = hash & mask; map->slots[at] != MAP_SLOT_EMPTY; at = (at + 1) & mask) {
		const struct map_entry *entry;

		if (map->slots[at] == MAP_SLOT_REMOVED)
			continue;
		entry = &map->entries[map->slots[at] - MAP_SLOT_FIRST];
		if (entry->hash == hash && strcmp(entry->key, key) == 0)
			return &map->slots[at];
	}
	return NULL;
}

static void map_index(uint32_t *slots, size_t slot_count, uint64_t hash, size_t number)
{
	size_t mask = slot_count - 1, at = hash & mask;

	while (slots[at] >= MAP_SLOT_FIRST)
		at = (at + 1) & mask;
	slots[at] = (uint32_t)number + MAP_SLOT_FIRST;
}

/* Rebuild without holes, in a table that is at most a quarter full. */
static int map_grow(struct rh_map *map)
{
	size_t slot_count = MAP_FIRST_SLOTS;
	struct map_entry *entries;
	uint32_t *slots;
	size_t used = 0;

	while (slot_count / 4 <= map->size)
		slot_count *= 2;
	if (slot_count > UINT32_MAX / 2)
		return RH_ENOMEM;
	entries = rh_alloc_array(slot_count / 2, sizeof(*entries));
	slots = rh_alloc_array(slot_count, sizeof(*slots));
	if (!entries || !slots) {
		rh_free(entries);
		rh_free(slots);
		return RH_ENOMEM;
	}
	for (size_t i = 0; i < map->used; i++) {
		if (!map->entries[i].key)
			continue;
		entries[used] = map->entries[i];
		map_index(slots, slot_count, entries[used].hash, used);
		used++;
	}
	rh_free(map->entries);
	rh_free(map->slots);
	map->entries = entries;
	map->slots = slots;
	map->slot_count = slot_count;
	map->used = used;
	return 0;
}

void *rh_map_get(const struct rh_map *map, const char *key)
{
	const uint32_t *slot = map_find(map, key, rh_hash_keyed(&map->key, key, strlen(key)));

	return slot ? map->entries[*slot - MAP_SLOT_FIRST].value : NULL;
}

static int map_insert(struct rh_map *map, const char *key, uint64_t hash, void *value)
{
	char *copy;

	if (map->used >= map->slot_count / 2 && map_grow(map) < 0)
		return RH_ENOMEM;
	copy = rh_strdup(key);
	if (!copy)
		return RH_ENOMEM;
	map->entries[map->used] = (struct map_entry){.key = copy, .value = value, .hash = hash};
	map_index(map->slots, map->slot_count, hash, map->used);
	map->used++;
	map->size++;
	return 0;
}

int rh_map_set(struct rh_map *map, const char *key, void *value, void **ret_old)
{
	uint64_t hash = rh_hash_keyed(&map->key, key, strlen(key));
	const uint32_t *slot = map_find(map, key, hash);
	void *old = NULL;

	if (slot) {
		old = map->entries[*slot - MAP_SLOT_FIRST].value;
		map->entries[*slot - MAP_SLOT_FIRST].value = value;
	} else if (map_insert(map, key, hash, value) < 0) {
		return RH_ENOMEM;
	}
	if (ret_old)
		*ret_old = old;
	return 0;
}

void *rh_map_remove(struct rh_map *map, const char *key)
{
	uint32_t *slot = map_find(map, key, rh_hash_keyed(&map->key, key, strlen(key)));
	struct map_entry *entry;
	void *value;

	if (!slot)
		return NULL;
	entry = &map->entries[*slot - MAP_SLOT_FIRST];
	value = entry->value;
	rh_free(entry->key);
	*entry = (struct map_entry){0};
	*slot = MAP_SLOT_REMOVED;
	map->size--;
	return value;
}

size_t rh_map_size(const struct rh_map *map)
{
	return map->size;
}

bool rh_map_next(const struct rh_map *map, size_t *cursor, const char **ret_key, void **ret_value)
{
	while (*cursor < map->used) {
		const struct map_entry *entry = &map->entries[(*cursor)++];

		if (!entry->key)
			continue;
		if (ret_key)
			*ret_key = entry->key;
		if (ret_value)
			*ret_value = entry->value;
		return true;
	}
	return false;
}
