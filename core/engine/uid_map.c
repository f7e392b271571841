/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/uid_map.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/str.h"

/* Longest key and UID that are read. */
#define UID_MAP_TEXT_MAX 512

static void uid_map_free(struct rh_uid_entry *entry)
{
	rh_free(entry->key);
	rh_free(entry->uid);
}

void rh_uid_map_deinit(struct rh_uid_map *map)
{
	for (size_t i = 0; i < map->count; i++)
		uid_map_free(&map->items[i]);
	rh_free(map->items);
	*map = (struct rh_uid_map){0};
}

/* @return the first place whose key does not sort before @p key */
static size_t uid_map_place(const struct rh_uid_map *map, const char *key)
{
	size_t place = 0;

	while (place < map->count && strcmp(map->items[place].key, key) < 0)
		place++;
	return place;
}

static bool uid_map_has(const struct rh_uid_map *map, size_t place, const char *key)
{
	return place < map->count && strcmp(map->items[place].key, key) == 0;
}

const char *rh_uid_map_find(const struct rh_uid_map *map, const char *key)
{
	size_t place = uid_map_place(map, key);

	return uid_map_has(map, place, key) ? map->items[place].uid : NULL;
}

static int uid_map_replace(struct rh_uid_entry *entry, const char *uid)
{
	char *copy = rh_strdup(uid);

	if (!copy)
		return RH_ENOMEM;
	rh_free(entry->uid);
	entry->uid = copy;
	return 0;
}

int rh_uid_map_set(struct rh_uid_map *map, const char *key, const char *uid)
{
	size_t place = uid_map_place(map, key);
	struct rh_uid_entry made = {NULL, NULL};
	struct rh_uid_entry *items;

	if (uid_map_has(map, place, key))
		return uid_map_replace(&map->items[place], uid);
	if (map->count == RH_UID_MAP_MAX)
		return 0;
	items = rh_realloc_array(map->items, map->count + 1, sizeof(*items));
	if (!items)
		return RH_ENOMEM;
	map->items = items;
	made = (struct rh_uid_entry){rh_strdup(key), rh_strdup(uid)};
	if (!made.key || !made.uid) {
		uid_map_free(&made);
		return RH_ENOMEM;
	}
	memmove(items + place + 1, items + place, (map->count - place) * sizeof(*items));
	items[place] = made;
	map->count++;
	return 0;
}

void rh_uid_map_remove(struct rh_uid_map *map, size_t place)
{
	uid_map_free(&map->items[place]);
	map->count--;
	memmove(map->items + place, map->items + place + 1, (map->count - place) * sizeof(*map->items));
}

int rh_uid_map_copy(struct rh_uid_map *to, const struct rh_uid_map *from)
{
	for (size_t i = 0; i < from->count; i++) {
		if (rh_uid_map_set(to, from->items[i].key, from->items[i].uid) < 0)
			return RH_ENOMEM;
	}
	return 0;
}

bool rh_uid_map_equal(const struct rh_uid_map *a, const struct rh_uid_map *b)
{
	if (a->count != b->count)
		return false;
	for (size_t i = 0; i < a->count; i++) {
		if (strcmp(a->items[i].key, b->items[i].key) != 0 || strcmp(a->items[i].uid, b->items[i].uid) != 0)
			return false;
	}
	return true;
}

int rh_uid_map_put(const struct rh_uid_map *map, struct rh_json *root, const char *name)
{
	struct rh_json *json = map->count > 0 ? rh_json_ensure_object(root, name) : root;

	for (size_t i = 0; json && i < map->count; i++) {
		if (rh_json_set_string(json, map->items[i].key, map->items[i].uid) < 0)
			return RH_ENOMEM;
	}
	return json ? 0 : RH_ENOMEM;
}

int rh_uid_map_get(struct rh_uid_map *map, const struct rh_json *json)
{
	if (rh_json_type(json) != RH_JSON_OBJECT)
		return 0;
	for (const struct rh_json *item = rh_json_first(json); item; item = rh_json_next(item)) {
		const char *uid = rh_json_string(item);

		if (uid && strlen(uid) <= UID_MAP_TEXT_MAX && strlen(rh_json_key(item)) <= UID_MAP_TEXT_MAX &&
		    rh_uid_map_set(map, rh_json_key(item), uid) < 0)
			return RH_ENOMEM;
	}
	return 0;
}
