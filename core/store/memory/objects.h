/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file store/memory/objects.h
 * @brief The objects of a memory store and their versions; for core/store/memory.
 *
 * An object is kept as text, which takes a tenth of the memory of its tree, and is parsed while it is in use. A version
 * is immutable; a reference to it keeps that state of the object.
 */
#ifndef RH_STORE_MEMORY_OBJECTS_H
#define RH_STORE_MEMORY_OBJECTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "base/map.h"

/** Trees that are kept after a delivery, so that successive watches share one. */
#define RH_MEMORY_TREES_KEPT 8
/** Room for the key of an object, terminating zero included; names that need more are refused. */
#define RH_MEMORY_KEY_SIZE 768
/** Room for a UID, terminating zero included. */
#define RH_MEMORY_UID_SIZE 40

/** One version of an object. */
struct rh_memory_version {
	uint32_t refs;
	bool has_owners;      /**< the object names some in its ownerReferences */
	char *text;           /**< owned */
	struct rh_json *tree; /**< owned; NULL while it is not in use */
};

/** An object: its key and its newest version. */
struct rh_memory_object {
	char *key; /**< "v1/Pod/default/mnist-master-0"; owned */
	char *uid; /**< owned */
	struct rh_memory_version *now;
};

/** The versions whose trees exist, least recently used first. Each holds a reference. */
struct rh_memory_trees {
	struct rh_memory_version **items;
	size_t count;
	size_t capacity;
};

/** All objects of a store. */
struct rh_memory_objects {
	struct rh_map *by_key;
	struct rh_map *by_uid;
	struct rh_map *owners; /**< UID to the number of objects that name it in their ownerReferences */
	struct rh_memory_trees *trees;
	uint64_t seed;     /**< first half of every UID of this store */
	uint64_t uids;     /**< UIDs given out */
	uint64_t revision; /**< resourceVersion given out last */
};

/** Make @p objects empty. @return 0 or RH_ENOMEM */
int rh_memory_objects_init(struct rh_memory_objects *objects);
/** Free what @p objects holds. */
void rh_memory_objects_deinit(struct rh_memory_objects *objects);
/** Give out a UID that is new, in the form of a UUID. */
void rh_memory_objects_next_uid(struct rh_memory_objects *objects, char buffer[RH_MEMORY_UID_SIZE]);
/** @return the object at @p key, borrowed, or NULL */
struct rh_memory_object *rh_memory_objects_find(const struct rh_memory_objects *objects, const char *key);
/** Add an object with no version yet. @return it, borrowed, or NULL when memory is out */
struct rh_memory_object *rh_memory_objects_add(struct rh_memory_objects *objects, const char *key, const char *uid);
/** Take out and free the object at @p object->key. */
void rh_memory_objects_remove(struct rh_memory_objects *objects, struct rh_memory_object *object);
/**
 * Count the owners that @p tree names; @p by is 1 when the tree is added and -1 when it is removed. Without memory an
 * owner is not counted, and its objects are not collected.
 */
void rh_memory_objects_count(struct rh_memory_objects *objects, const struct rh_json *tree, int by);
/** @return whether @p object is owned, by owners of this store, and all of them are gone. False when memory is out */
bool rh_memory_objects_orphaned(struct rh_memory_objects *objects, const struct rh_memory_object *object);

/** @return a version of @p tree (taken) with one reference, or NULL when memory is out */
struct rh_memory_version *rh_memory_version_new(struct rh_memory_trees *trees, struct rh_json *tree);
/** @return @p version with one reference more; NULL for NULL */
struct rh_memory_version *rh_memory_version_ref(struct rh_memory_version *version);
/** Drop a reference; the last one frees the version. NULL is allowed. */
void rh_memory_version_unref(struct rh_memory_version *version);
/** @return the tree, borrowed until rh_memory_trees_trim(), or NULL when memory is out */
const struct rh_json *rh_memory_version_look(struct rh_memory_trees *trees, struct rh_memory_version *version);
/** Free the tree of @p version. */
void rh_memory_trees_drop(struct rh_memory_trees *trees, struct rh_memory_version *version);
/** Free all trees but the @p keep most recently used ones. */
void rh_memory_trees_trim(struct rh_memory_trees *trees, size_t keep);

#endif
