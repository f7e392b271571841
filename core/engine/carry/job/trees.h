/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file engine/carry/job/trees.h
 * @brief The cache of parsed jobs: least recently used ones give up their JSON tree; for core/engine/carry.
 */
#ifndef RH_ENGINE_CARRY_JOB_TREES_H
#define RH_ENGINE_CARRY_JOB_TREES_H

#include <stdbool.h>

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

/** Make the job, whose tree was set or used, the most recently used one. */
void rh_trees_mark_used(struct rh_entry *entry);
/** Evict least recently used trees until at most @p most are kept, those in use excepted. */
void rh_trees_evict(struct rh_engine *engine, size_t most);
/** Parse the text of an evicted job again. @return 0 or RH_ENOMEM */
int rh_trees_hydrate(struct rh_entry *entry);
/**
 * @return whether a tree of @p weight bytes fits for @p entry; others are evicted for it as far as possible. What is
 * spare beyond RH_TREES_BYTES is divided among the namespaces that have trees
 */
bool rh_trees_has_room(const struct rh_entry *entry, size_t weight);
/** Queue the job, which has no tree, until one fits. */
void rh_trees_await_room(struct rh_entry *entry);
/** Make queued jobs due whose trees may fit now. */
void rh_trees_admit(struct rh_engine *engine);
/** @return whether rh_trees_admit() would admit any */
bool rh_trees_may_admit(const struct rh_engine *engine);
/** Count @p bytes for the entry in the cache's total, in place of the previous number. */
void rh_trees_reserve(struct rh_entry *entry, size_t bytes);
/** Free the text. */
void rh_trees_forget_text(struct rh_entry *entry);
/** Take the entry out of the list: its tree is gone. */
void rh_trees_forget(struct rh_entry *entry);
/** Likewise, free the text, and reserve nothing: the job is gone, or has finished for good. */
void rh_trees_forget_job(struct rh_entry *entry);

#endif
