/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file engine/carry/fair/share.h
 * @brief The share of each namespace in what all use: turns in the queues, creates in flight, and memory for the trees
 * of jobs; for core/engine/carry.
 */
#ifndef RH_ENGINE_CARRY_FAIR_SHARE_H
#define RH_ENGINE_CARRY_FAIR_SHARE_H

#include <stdbool.h>

#include "engine/carry/fair/queue.h"

/** Bytes that the bodies of creates in flight may take, parsed; the one that exceeds them is still sent. */
#define RH_SHARE_CREATE_BYTES ((size_t)8 << 20)

struct rh_engine;

/** Creates of children that are in flight, over all jobs. */
struct rh_creates {
	size_t count;
	size_t bytes;              /**< of their bodies, parsed */
	struct rh_queue throttled; /**< entries whose creates wait until others complete */
};

/** What the jobs of one namespace share; it exists while the engine has an entry of the namespace. */
struct rh_share {
	size_t entries;                      /**< of the namespace */
	size_t creating;                     /**< its creates of children in flight */
	size_t tree_bytes;                   /**< of its jobs in engine->trees.bytes */
	struct rh_queue_flow due;            /**< its turns in engine->queue */
	struct rh_queue_flow throttled;      /**< in engine->creates.throttled */
	struct rh_queue_flow tree_queue;     /**< in engine->trees.waiting */
	struct rh_queue_flow pending_events; /**< in engine->events.pending */
	char namespace_[];
};

/** @return the share of a namespace, which the caller holds until it is released; NULL when memory is out */
struct rh_share *rh_share_acquire(struct rh_engine *engine, const char *namespace_);
/** Release a share. NULL is allowed. */
void rh_share_release(struct rh_engine *engine, struct rh_share *share);
/** @return whether the namespace may have one more create in flight now */
bool rh_share_may_create(const struct rh_engine *engine, const struct rh_share *share);
/** Count a create of @p bytes, parsed, that is sent now. */
void rh_share_begin_create(struct rh_engine *engine, struct rh_share *share, size_t bytes);
/** Take a create of @p bytes, parsed, off the counts: it has completed, or is cancelled. */
void rh_share_end_create(struct rh_engine *engine, struct rh_share *share, size_t bytes);

#endif
