/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file engine/carry/child/children.h
 * @brief Cached pods, Services and further objects, and the job that each belongs to; for core/engine/carry.
 */
#ifndef RH_ENGINE_CARRY_CHILD_CHILDREN_H
#define RH_ENGINE_CARRY_CHILD_CHILDREN_H

#include "base/map.h"
#include "engine/carry/child/child.h"
#include "engine/world.h"

struct rh_engine;
struct rh_entry;
struct rh_inflight;

/** One observed pod, Service or further object. */
struct rh_cached {
	struct rh_pod *pod;        /**< a pod, owned; else NULL */
	struct rh_child *child;    /**< any other object, owned; else NULL */
	struct rh_entry *entry;    /**< its job's entry, while the engine's index has it; else NULL */
	struct rh_cached *chain;   /**< next one in the index */
	struct rh_written *output; /**< what was read of a pod's logs; owned; NULL: nothing */
	bool stopping;             /**< its delete is in flight, or done and not yet observed */
};

/** The watched children of one job. */
struct rh_entry_children {
	struct rh_map *pods;     /**< name to struct rh_cached */
	struct rh_map *services; /**< likewise */
	bool cleans;             /**< of a job that has finished for good: further ones that appear are to go, too */
};

/** @return whether the engine has seen this object before, as of whatever job */
bool rh_children_has_seen(const struct rh_engine *engine, const struct rh_json *object);
/** Free a cached object; the engine's index drops it. NULL is allowed. */
void rh_cached_free(struct rh_cached *cached);
RH_DEFINE_CLEANUP(cached);
/** @return its UID, borrowed; "" while it is unknown */
static inline const char *rh_cached_uid(const struct rh_cached *cached)
{
	return cached->pod ? cached->pod->uid : cached->child->uid;
}
/** Set whether a delete of @p cached is in flight. */
void rh_cached_set_stopping(struct rh_cached *cached, bool stopping);
/** Free all values of @p map, which are struct rh_cached, and empty it. */
void rh_cached_clear_map(struct rh_map *map);

/** @return whether the labels of a pod or Service in the job's namespace name the job */
bool rh_children_is_labelled(const struct rh_entry *entry, const struct rh_json *object);
/** Add @p cached, which one of the entry's maps holds, to the engine's index. */
void rh_children_index(struct rh_entry *entry, struct rh_cached *cached);
/** Free an indexed object that was deleted or left its job, and make the job due. The entry may be freed. */
void rh_children_remove(struct rh_cached *cached);
/**
 * A watched object belongs to @p entry now (NULL: to no job): remove it from any other job. @return false when a newer
 * version of the object is known: @p object is to be ignored
 */
bool rh_children_unroute(struct rh_engine *engine, const struct rh_entry *entry, const struct rh_json *object);
/**
 * Parse a pod again as it is now. @param output what was read of its logs; taken
 * @return 0, also when the cache is newer, or RH_ENOMEM
 */
int rh_children_reread(struct rh_cached *cached, struct rh_written *output, const struct rh_json *object);
/** Store the object that a create or get returned, unless the cache is newer. @return 0 or RH_ENOMEM */
int rh_children_store(struct rh_inflight *inflight, const struct rh_json *object);
/**
 * Store an observed pod or Service of the job and remove it from any other job. @return 1, 0 when the cache is not
 * older, or RH_ENOMEM
 */
int rh_children_observe(struct rh_entry *entry, bool service, const struct rh_json *object);

#endif
