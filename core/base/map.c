/* SPDX-License-Identifier: Apache-2.0 */
#include "base/map.h"

#include <stdint.h>

#include <string.h>
#include <sys/random.h>

#include "base/os/clock.h"

/* Slots of an empty map's index; a power of two. */
#define MAP_FIRST_SLOTS 16
/* What a slot holds besides the number of an entry plus MAP_SLOT_FIRST. */
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
 * Entries stand in insertion order in an array; the index is an open-addressed table of their numbers. Removed
 * entries stay as holes until the next growth, so that a walk's cursor stays valid.
 */
struct rh_map {
	uint64_t seed[2];
	struct map_entry *entries; /* room for slot_count / 2 */
	uint32_t *slots;
	size_t slot_count;
	size_t used; /* entries, holes included */
	size_t size;
};

uint64_t rh_hash(const void *bytes, size_t length)
{
	const unsigned char *b = bytes;
	uint64_t hash = UINT64_C(0xCBF29CE484222325);

	for (size_t i = 0; i < length; i++)
		hash = (hash ^ b[i]) * UINT64_C(0x100000001B3);
	return hash;
}

static uint64_t map_rotate(uint64_t x, int bits)
{
	return x << bits | x >> (64 - bits);
}

static void map_sip_round(uint64_t v[4])
{
	v[0] += v[1];
	v[1] = map_rotate(v[1], 13) ^ v[0];
	v[0] = map_rotate(v[0], 32);
	v[2] += v[3];
	v[3] = map_rotate(v[3], 16) ^ v[2];
	v[0] += v[3];
	v[3] = map_rotate(v[3], 21) ^ v[0];
	v[2] += v[1];
	v[1] = map_rotate(v[1], 17) ^ v[2];
	v[2] = map_rotate(v[2], 32);
}

static void map_sip_word(uint64_t v[4], uint64_t word)
{
	v[3] ^= word;
	map_sip_round(v);
	v[0] ^= word;
}

/* SipHash-1-3 (Aumasson and Bernstein, "SipHash: a fast short-input PRF"), as hash maps of other languages use it. */
static uint64_t map_hash(const struct rh_map *map, const char *key, size_t length)
{
	uint64_t v[4] = {map->seed[0] ^ UINT64_C(0x736F6D6570736575), map->seed[1] ^ UINT64_C(0x646F72616E646F6D),
	                 map->seed[0] ^ UINT64_C(0x6C7967656E657261), map->seed[1] ^ UINT64_C(0x7465646279746573)};
	uint64_t word;
	size_t done = 0;

	for (; length - done >= sizeof(word); done += sizeof(word)) {
		memcpy(&word, key + done, sizeof(word));
		map_sip_word(v, word);
	}
	word = 0;
	memcpy(&word, key + done, length - done);
	map_sip_word(v, word | (uint64_t)length << 56);
	v[2] ^= 0xFF;
	for (int i = 0; i < 3; i++)
		map_sip_round(v);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

static void map_seed(struct rh_map *map)
{
	/* Early in a boot there may be no randomness yet: a clock is better than a constant. */
	if (getrandom(map->seed, sizeof(map->seed), GRND_NONBLOCK) == (ssize_t)sizeof(map->seed))
		return;
	map->seed[0] = (uint64_t)rh_clock_monotonic();
	map->seed[1] = (uint64_t)(uintptr_t)map;
}

struct rh_map *rh_map_new(void)
{
	struct rh_map *map = rh_alloc(sizeof(*map));

	if (map)
		map_seed(map);
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
	const uint32_t *slot = map_find(map, key, map_hash(map, key, strlen(key)));

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
	uint64_t hash = map_hash(map, key, strlen(key));
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
	uint32_t *slot = map_find(map, key, map_hash(map, key, strlen(key)));
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
