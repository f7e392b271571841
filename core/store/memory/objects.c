/* SPDX-License-Identifier: Apache-2.0 */
#include "store/memory/objects.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/os/random.h"

struct rh_memory_version *rh_memory_version_ref(struct rh_memory_version *version)
{
	if (version)
		version->refs++;
	return version;
}

void rh_memory_version_unref(struct rh_memory_version *version)
{
	if (!version || --version->refs > 0)
		return;
	rh_free(version->text);
	rh_json_free(version->tree);
	rh_free(version);
}

static void trees_forget(struct rh_memory_version *version)
{
	rh_json_free(version->tree);
	version->tree = NULL;
	rh_memory_version_unref(version);
}

void rh_memory_trees_drop(struct rh_memory_trees *trees, struct rh_memory_version *version)
{
	for (size_t i = trees->count; i-- > 0;) {
		if (trees->items[i] != version)
			continue;
		memmove(trees->items + i, trees->items + i + 1, (trees->count - i - 1) * sizeof(*trees->items));
		trees->count--;
		trees_forget(version);
		return;
	}
}

void rh_memory_trees_trim(struct rh_memory_trees *trees, size_t keep)
{
	size_t drop = trees->count > keep ? trees->count - keep : 0;

	if (drop == 0)
		return;
	for (size_t i = 0; i < drop; i++)
		trees_forget(trees->items[i]);
	memmove(trees->items, trees->items + drop, keep * sizeof(*trees->items));
	trees->count = keep;
}

static int trees_add(struct rh_memory_trees *trees, struct rh_memory_version *version)
{
	if (trees->count == trees->capacity) {
		size_t capacity = trees->capacity ? trees->capacity * 2 : 2 * (size_t)RH_MEMORY_TREES_KEPT;
		struct rh_memory_version **items = rh_realloc_array(trees->items, capacity, sizeof(struct rh_memory_version *));

		if (!items)
			return RH_ENOMEM;
		trees->items = items;
		trees->capacity = capacity;
	}
	trees->items[trees->count++] = rh_memory_version_ref(version);
	return 0;
}

const struct rh_json *rh_memory_version_look(struct rh_memory_trees *trees, struct rh_memory_version *version)
{
	rh_auto(json) tree = NULL;

	if (version->tree)
		return version->tree;
	if (rh_json_parse(version->text, strlen(version->text), &tree, NULL) < 0 || trees_add(trees, version) < 0)
		return NULL;
	version->tree = rh_take(tree);
	return version->tree;
}

static const struct rh_json *objects_owners_of(const struct rh_json *tree)
{
	return rh_json_get(rh_json_get(tree, "metadata"), "ownerReferences");
}

struct rh_memory_version *rh_memory_version_new(struct rh_memory_trees *trees, struct rh_json *tree)
{
	rh_auto(json) guard = tree;
	rh_auto_free char *text = rh_json_text(tree);
	struct rh_memory_version *version = text ? rh_alloc(sizeof(*version)) : NULL;

	if (!version)
		return NULL;
	version->refs = 1;
	version->has_owners = rh_json_size(objects_owners_of(tree)) > 0;
	version->text = rh_take(text);
	if (trees_add(trees, version) == 0)
		version->tree = rh_take(guard);
	return version;
}

int rh_memory_objects_init(struct rh_memory_objects *objects)
{
	*objects = (struct rh_memory_objects){
		.by_key = rh_map_new(),
		.by_uid = rh_map_new(),
		.owners = rh_map_new(),
		.trees = rh_alloc(sizeof(struct rh_memory_trees)),
	};
	if (!objects->by_key || !objects->by_uid || !objects->owners || !objects->trees) {
		rh_memory_objects_deinit(objects);
		return RH_ENOMEM;
	}
	objects->seed = rh_random_seed();
	return 0;
}

static void objects_free(struct rh_memory_object *object)
{
	rh_free(object->key);
	rh_free(object->uid);
	rh_memory_version_unref(object->now);
	rh_free(object);
}

void rh_memory_objects_deinit(struct rh_memory_objects *objects)
{
	size_t cursor = 0;
	void *object;

	while (objects->by_key && rh_map_next(objects->by_key, &cursor, NULL, &object))
		objects_free(object);
	if (objects->trees) {
		rh_memory_trees_trim(objects->trees, 0);
		rh_free(objects->trees->items);
		rh_free(objects->trees);
	}
	rh_map_free(objects->by_key);
	rh_map_free(objects->by_uid);
	rh_map_free(objects->owners);
	*objects = (struct rh_memory_objects){0};
}

struct rh_memory_object *rh_memory_objects_find(const struct rh_memory_objects *objects, const char *key)
{
	return rh_map_get(objects->by_key, key);
}

struct rh_memory_object *rh_memory_objects_add(struct rh_memory_objects *objects, const char *key, const char *uid)
{
	struct rh_memory_object *object = rh_alloc(sizeof(*object));

	if (!object)
		return NULL;
	object->key = rh_strdup(key);
	object->uid = rh_strdup(uid);
	if (object->key && object->uid && rh_map_set(objects->by_key, key, object, NULL) == 0) {
		if (rh_map_set(objects->by_uid, uid, object, NULL) == 0)
			return object;
		(void)rh_map_remove(objects->by_key, key);
	}
	objects_free(object);
	return NULL;
}

void rh_memory_objects_remove(struct rh_memory_objects *objects, struct rh_memory_object *object)
{
	(void)rh_map_remove(objects->by_key, object->key);
	(void)rh_map_remove(objects->by_uid, object->uid);
	objects_free(object);
}

/* The map holds pointers; a count is stored as one. */
static void objects_count_owner(struct rh_memory_objects *objects, const char *uid, int by)
{
	intptr_t count = (intptr_t)rh_map_get(objects->owners, uid) + by;

	if (count <= 0)
		(void)rh_map_remove(objects->owners, uid);
	else
		(void)rh_map_set(objects->owners, uid, (void *)count, NULL);
}

void rh_memory_objects_count(struct rh_memory_objects *objects, const struct rh_json *tree, int by)
{
	for (const struct rh_json *owner = rh_json_first(objects_owners_of(tree)); owner; owner = rh_json_next(owner)) {
		const char *uid = rh_json_string(rh_json_get(owner, "uid"));

		if (uid)
			objects_count_owner(objects, uid, by);
	}
}

static void objects_print_seed(const struct rh_memory_objects *objects, char *buffer, size_t size)
{
	(void)snprintf(buffer, size, "%08" PRIx32 "-%04" PRIx32 "-4%03" PRIx32 "-8%03" PRIx32 "-",
	               (uint32_t)(objects->seed >> 32), (uint32_t)(objects->seed >> 16 & 0xFFFF),
	               (uint32_t)(objects->seed & 0xFFF), (uint32_t)(objects->seed >> 4 & 0xFFF));
}

void rh_memory_objects_next_uid(struct rh_memory_objects *objects, char buffer[RH_MEMORY_UID_SIZE])
{
	char seed[RH_MEMORY_UID_SIZE];

	objects_print_seed(objects, seed, sizeof(seed));
	(void)snprintf(buffer, RH_MEMORY_UID_SIZE, "%.24s%012" PRIx64, seed, ++objects->uids & UINT64_C(0xFFFFFFFFFFFF));
}

/* An owner that this store never had does not count. */
static bool objects_was_ours(const struct rh_memory_objects *objects, const char *uid)
{
	char seed[RH_MEMORY_UID_SIZE];

	objects_print_seed(objects, seed, sizeof(seed));
	return rh_starts_with(uid, seed);
}

bool rh_memory_objects_orphaned(struct rh_memory_objects *objects, const struct rh_memory_object *object)
{
	const struct rh_json *tree = rh_memory_version_look(objects->trees, object->now);
	const struct rh_json *owners = objects_owners_of(tree);

	if (rh_json_size(owners) == 0)
		return false;
	for (const struct rh_json *owner = rh_json_first(owners); owner; owner = rh_json_next(owner)) {
		const char *uid = rh_json_string(rh_json_get(owner, "uid"));

		if (!uid || !objects_was_ours(objects, uid) || rh_map_get(objects->by_uid, uid))
			return false;
	}
	return true;
}
