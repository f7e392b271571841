/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file engine/carry/queue.h
 * @brief When to look at what: one heap of timers, in which each key stands at most once, and back-off by key.
 *
 * Keys that are due at once (RH_QUEUE_NOW) are taken in fair turns: each belongs to a flow (those of one namespace),
 * and a flow of one key waits for one key of each other flow, however many those have. This is start-time fair queuing;
 * within a flow the order is first in, first out. Room for a key is made when it joins, so that nothing that comes
 * later can fail for lack of memory.
 */
#ifndef RH_ENGINE_CARRY_QUEUE_H
#define RH_ENGINE_CARRY_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** A time that is always due. */
#define RH_QUEUE_NOW INT64_C(0)

/** Keys that share their turns. All zero is one that has had none. */
struct rh_queue_flow {
	uint64_t turn; /**< of its key that was queued last */
};

/** What a key needs to stand in a queue; a member of what the key stands for. All zero is "not queued". */
struct rh_queue_item {
	int64_t at;                 /**< when it is due, microseconds */
	uint64_t turn;              /**< among those that are due at once: the lower the earlier */
	uint64_t order;             /**< among those of the same time and turn: likewise */
	size_t place;               /**< in the heap, from 1; 0: not queued */
	uint32_t failures;          /**< since the last rh_queue_forgive() */
	bool late;                  /**< among those that are due at the same time, after all that are not late */
	struct rh_queue_flow *flow; /**< borrowed while the item is queued; NULL: the one of all that have none */
};

/** A queue. All zero but the two waits is the empty one. */
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
/** Take @p item out for good; it had joined. */
void rh_queue_leave(struct rh_queue *queue, struct rh_queue_item *item);
/** Have @p item looked at no later than @p at; what is due earlier stays so. */
void rh_queue_add(struct rh_queue *queue, struct rh_queue_item *item, int64_t at);
/** Take out the next that is due. @return it, or NULL when nothing is due at @p now */
struct rh_queue_item *rh_queue_take(struct rh_queue *queue, int64_t now);
/** @return when the next is due; RH_NEVER for an empty queue */
int64_t rh_queue_next(const struct rh_queue *queue);
/** @return how long to wait after failure number @p failures (0 is the first): doubles each time, up to the longest */
int64_t rh_queue_wait(const struct rh_queue *queue, uint32_t failures);
/** Queue @p item again after one more failure. */
void rh_queue_fail(struct rh_queue *queue, struct rh_queue_item *item, int64_t now);
/** Forget failures. */
void rh_queue_forgive(struct rh_queue_item *item);

#endif
