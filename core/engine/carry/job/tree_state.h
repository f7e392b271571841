/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file engine/carry/job/tree_state.h
 * @brief The parsed tree of a job and the list of all of them, with their limits; for core/engine/carry.
 */
#ifndef RH_ENGINE_CARRY_JOB_TREE_STATE_H
#define RH_ENGINE_CARRY_JOB_TREE_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/carry/fair/queue.h"

/** Jobs that keep their trees, in addition to those that are in use. */
#define RH_TREES_MAX 64
/** Bytes of all trees, those in use included. A job waits until its tree fits, or until it is the only one. */
#define RH_TREES_BYTES ((size_t)8 << 20)
/** A job whose tree has more bytes is not kept as text when it is evicted: it is read again when it is due. */
#define RH_TREES_TEXT_WEIGHT ((size_t)128 << 10)
/** Bytes of all texts; jobs beyond that are read again, too. */
#define RH_TREES_TEXT_BYTES ((size_t)24 << 20)

struct rh_engine;
struct rh_entry;

/** All trees: a list in order of use, and totals. */
struct rh_tree_cache {
	struct rh_entry *least_recent;
	struct rh_entry *most_recent;
	size_t count;
	size_t bytes;            /**< of all trees, and of the jobs that are being read again */
	size_t namespaces;       /**< that have some of these bytes */
	size_t text_bytes;       /**< lengths of all texts */
	struct rh_queue waiting; /**< entries whose trees wait for room */
};

/** The tree of one job. */
struct rh_entry_tree {
	struct rh_queue_item waiting; /**< in the cache's queue */
	char *text;                   /**< the job's object, in place of the evicted job; owned; NULL: not printed */
	char *expansion;              /**< replica types from its plugin, of a job without a tree; owned; NULL: none kept */
	size_t weight;                /**< bytes of the tree, or of the last one */
	size_t reserved;              /**< bytes that count in the cache's total for this entry */
	uint64_t spec_hash;           /**< of a job that is unread: detects a change of its spec */
	bool unread;                  /**< evicted without a text, because it is large: it is read again when it is due */
	bool present;                 /**< it is in the list */
	struct rh_entry *used_after;  /**< next more recently used, and */
	struct rh_entry *used_before; /**< next less recently used one */
};

/** @return whether the job is known without its tree: as text, or by its identity alone */
static inline bool rh_entry_tree_is_evicted(const struct rh_entry_tree *tree)
{
	return tree->text || tree->unread;
}

/** @return rh_request.answer_size of a request about the job, bytes */
static inline size_t rh_entry_tree_answer_size(const struct rh_entry_tree *tree)
{
	return tree->weight > RH_TREES_TEXT_WEIGHT ? tree->weight : 0;
}

#endif
