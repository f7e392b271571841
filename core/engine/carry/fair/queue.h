/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file engine/carry/fair/queue.h
 * @brief The work queue: a heap of timers that has each key at most once, and back-off for each key.
 *
 * Keys that are due at once (RH_QUEUE_NOW) are taken in fair turns: each belongs to a flow (those of one namespace),
 * and a flow of one key waits for one key of each other flow, however many those have. This is start-time fair queuing;
 * within a flow the order is first in, first out. Memory for a key is allocated when it joins, so that no later call
 * can fail.
 */
#ifndef RH_ENGINE_CARRY_FAIR_QUEUE_H
#define RH_ENGINE_CARRY_FAIR_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** A time that is always due. */
#define RH_QUEUE_NOW INT64_C(0)

/** Keys that share their turns. All zero: a new flow. */
struct rh_queue_flow {
	uint64_t turn; /**< of its key that was queued last */
};

/** A key; a member of the struct that is queued. All zero: not queued. */
struct rh_queue_item {
	int64_t at;                 /**< when it is due, microseconds */
	uint64_t turn;              /**< order of keys that are due at once */
	uint64_t order;             /**< order of keys with the same time and turn */
	size_t place;               /**< in the heap, from 1; 0: not queued */
	uint32_t failures;          /**< since the last rh_queue_forgive() */
	bool late;                  /**< after all keys with the same time that are not late */
	struct rh_queue_flow *flow; /**< borrowed while the item is queued; NULL: the common one */
};

/** A queue. Empty: all zero except the two back-off times. */
struct rh_queue {
	struct rh_queue_item **heap; /**< earliest first */
	size_t count;
	size_t capacity;
	size_t members;              /**< keys that may be queued */
	struct rh_queue_flow common; /**< of items without a flow */
	uint64_t turn;               /**< of the item that was taken last */
	uint64_t orders;             /**< items queued so far */
	int64_t backoff_first;       /**< first wait after a failure, microseconds */
	int64_t backoff_max;
};

/** Free what the queue holds; its items are the caller's. */
void rh_queue_deinit(struct rh_queue *queue);
/** Make room for one more key. @return 0 or RH_ENOMEM */
int rh_queue_join(struct rh_queue *queue);
/** Remove @p item, which has joined, for good. */
void rh_queue_leave(struct rh_queue *queue, struct rh_queue_item *item);
/** Make @p item due no later than @p at, microseconds. */
void rh_queue_add(struct rh_queue *queue, struct rh_queue_item *item, int64_t at);
/** Remove the next due item. @return it, borrowed, or NULL when none is due at @p now, microseconds */
struct rh_queue_item *rh_queue_take(struct rh_queue *queue, int64_t now);
/** @return when the next item is due, microseconds; RH_NEVER for an empty queue */
int64_t rh_queue_next(const struct rh_queue *queue);
/** @return the back-off after failure number @p failures (0 is the first), microseconds: doubles up to backoff_max */
int64_t rh_queue_wait(const struct rh_queue *queue, uint32_t failures);
/** Count a failure of @p item, and queue it with back-off. */
void rh_queue_fail(struct rh_queue *queue, struct rh_queue_item *item, int64_t now);
/** Reset the failures of an item. */
void rh_queue_forgive(struct rh_queue_item *item);

#endif
