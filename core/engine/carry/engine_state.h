/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file engine/carry/engine_state.h
 * @brief The engine itself: its watches, its queue of due jobs, and the parts of its modules; for core/engine/carry.
 */
#ifndef RH_ENGINE_CARRY_ENGINE_STATE_H
#define RH_ENGINE_CARRY_ENGINE_STATE_H

#include "base/map.h"
#include "engine/carry/child/index.h"
#include "engine/carry/events.h"
#include "engine/carry/fair/queue.h"
#include "engine/carry/fair/share.h"
#include "engine/carry/job/trees.h"
#include "engine/carry/request/logs.h"
#include "engine/engine.h"

struct rh_engine_watch;
struct rh_lookup_watch;

/** A watched kind of job. */
struct rh_engine_kind {
	const struct rh_kind *kind;
	struct rh_resource resource;
	char *api_version; /**< of the resource; owned */
	bool synced;       /**< its initial list is complete; jobs of the kind are not decided about before */
	bool shared;       /**< its resource has other versions, served here or not */
};

/** The engine. Members below the blank line belong to the module named in their type. */
struct rh_engine {
	struct rh_engine_options options;
	int64_t now;            /**< wall-clock microseconds of the current step */
	struct rh_queue queue;  /**< entries that are due */
	struct rh_map *entries; /**< "controller/namespace/name" to struct rh_entry (entry.c) */
	struct rh_engine_kind *kinds;
	size_t kind_count;
	struct rh_engine_watch *watches;
	struct rh_lookup_watch *lookup_watches; /**< of objects that jobs name (signals.c) */
	struct rh_map *looked_up;               /**< objects that jobs name, by key, to struct rh_shared (shared.c) */
	size_t looked_up_bytes;                 /**< of these, as jobs see or saw them */
	size_t unsynced;                        /**< watches whose initial list is incomplete */
	size_t shared_unsynced;                 /**< of these, the watches that concern jobs of every kind */
	size_t requests;                        /**< submitted to the store and not completed */
	struct rh_entry *unused;                /**< entries that may be freed, see rh_entry_release() */
	bool lost; /**< a watch event was dropped for lack of memory: everything is listed again */

	struct rh_index index;    /**< watched pods, Services and PodGroups of all entries */
	struct rh_map *shares;    /**< namespace to struct rh_share (share.c) */
	struct rh_map *resources; /**< "apiVersion/kind" to struct rh_resource of further objects (objects.c); owned */
	struct rh_creates creates;
	struct rh_event_queue events;
	struct rh_tree_cache trees;
	struct rh_log_queue logs;
};

/** Submit a request and count it in engine->requests; the callback decrements that. @return as rh_store.submit */
int rh_engine_submit(struct rh_engine *engine, struct rh_request *request, rh_done_fn *done, void *arg,
                     uint64_t *ret_id);
/** Cancel a request that rh_engine_submit() sent. */
void rh_engine_cancel(struct rh_engine *engine, uint64_t id);

#endif
