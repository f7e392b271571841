/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file engine/carry/child/objects.h
 * @brief Further objects: those that a plugin desires beside pods and Services; for core/engine/carry.
 */
#ifndef RH_ENGINE_CARRY_CHILD_OBJECTS_H
#define RH_ENGINE_CARRY_CHILD_OBJECTS_H

#include "base/error.h"
#include "base/map.h"
#include "engine/plan.h"
#include "store/store.h"

struct rh_engine;
struct rh_entry;

/** The further objects of one job. */
struct rh_entry_objects {
	struct rh_map *known;       /**< "apiVersion/kind/name" to struct rh_cached: those that exist */
	struct rh_json *desired;    /**< those that the job needs, an array; owned; NULL: not yet built */
	int desired_state;          /**< for which state of the job */
	bool desired_from_pods;     /**< they depend on single pods, too */
	uint64_t desired_pods_hash; /**< then: on phase and readiness of which pods */
	bool checked;               /**< it is known which of them exist */
	bool forbidden;             /**< all that is unknown may not be read: the rest of the job goes on */
	bool stale;                 /**< those that serve pods are to be checked again */
	size_t checks;              /**< checks in flight */
	int64_t checked_at;         /**< time of the last check; microseconds */
	int64_t check_at;           /**< when to check again while it is not known; microseconds */
	uint32_t check_failures;    /**< checks in a row that did not complete */
};

/** A check is sent. */
void rh_objects_begin_check(struct rh_entry *entry);
/** A check did not find out whether its object exists. @param denied reading it is forbidden */
void rh_objects_fail_check(struct rh_entry *entry, bool denied);
/** A check has completed; after the last one the job is due. */
void rh_objects_end_check(struct rh_entry *entry);
/** The job was deleted or replaced: forget its objects, except watched ones, and its checks. */
void rh_objects_forget(struct rh_entry *entry);
/** The spec has changed: build the desired objects, and check them, again. */
void rh_objects_invalidate(struct rh_entry *entry);
/** Remove an object from the cache: it does not exist, or has another owner. Without memory engine->lost is set. */
void rh_objects_remove(struct rh_entry *entry, const struct rh_resource *resource, const char *name);
/** Free what is desired: it is built again. */
void rh_objects_forget_desired(struct rh_entry *entry);

/** @return whether the job needs further objects that serve its pods */
bool rh_objects_serve_pods(const struct rh_entry *entry);
/** @return whether objects of @p api_version and @p kind are watched, and so need no check */
bool rh_objects_is_watched(const struct rh_engine *engine, const char *api_version, const char *kind);
/** @return the resource of an object, borrowed from the engine, or NULL when memory is out */
const struct rh_resource *rh_objects_resource(struct rh_engine *engine, const char *api_version, const char *kind);
/** Free what rh_objects_resource() made. */
void rh_objects_free_resources(struct rh_engine *engine);
/**
 * Store a further object in the cache, unless a newer version is known. @param hash of what was written; 0: unknown
 * @return 0 or RH_ENOMEM
 */
int rh_objects_store(struct rh_entry *entry, const struct rh_json *object, uint64_t hash);

#endif
