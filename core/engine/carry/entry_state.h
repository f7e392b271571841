/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file engine/carry/entry_state.h
 * @brief One job with all that the engine knows about it; for core/engine/carry.
 *
 * The members that are structs belong to one module each, which is named in their type: other modules go through the
 * functions of its header where they change something.
 */
#ifndef RH_ENGINE_CARRY_ENTRY_STATE_H
#define RH_ENGINE_CARRY_ENTRY_STATE_H

#include "engine/carry/child/children.h"
#include "engine/carry/child/objects.h"
#include "engine/carry/engine_state.h"
#include "engine/carry/events.h"
#include "engine/carry/fair/queue.h"
#include "engine/carry/job/bodies.h"
#include "engine/carry/job/progress.h"
#include "engine/carry/job/trees.h"
#include "engine/carry/lookup/lookup.h"
#include "engine/carry/request/inflight.h"
#include "engine/carry/request/refusals.h"
#include "engine/carry/request/stalls.h"

struct rh_invalid_job;

/** A job. There is also an entry while only children of a job exist. */
struct rh_entry {
	struct rh_queue_item item; /**< in engine->queue; first, so that a queue's item is its entry */
	struct rh_engine *engine;
	const struct rh_engine_kind *kind;
	char *key; /**< in engine->entries */
	char *namespace_;
	char *name;
	struct rh_share *share;       /**< of its namespace */
	struct rh_entry *unused_next; /**< in engine->unused */

	/* job/cache.c */
	char *uid;          /**< of the job; NULL: the job does not exist */
	uint64_t revision;  /**< its resourceVersion; 0: not a number */
	struct rh_job *job; /**< NULL: none exists, it is invalid, it has finished for good, or the tree cache evicted it */
	struct rh_ledger *ledger;       /**< of the job, owned; NULL without a job */
	struct rh_invalid_job *invalid; /**< the job cannot be read (invalid.c); owned; NULL: it can */
	bool refresh;                   /**< the job is to be read again before the next decision */
	bool unused;                    /**< the entry is in engine->unused */
	uint32_t flags;                 /**< of the engine's owner, see struct rh_engine_change */

	struct rh_entry_tree tree;
	struct rh_entry_children children;
	struct rh_entry_inflight inflight;
	struct rh_map *backoffs; /**< "verb/kind/name" to struct rh_backoff (backoff.c) */
	struct rh_entry_refusals refusals;
	struct rh_entry_objects objects;
	struct rh_entry_lookups lookups;
	struct rh_entry_progress progress;
	struct rh_entry_bodies bodies;
	struct rh_entry_events events;
	struct rh_entry_stalls stalls;
};

#endif
