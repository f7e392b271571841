/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file engine/carry/queue.h
 * @brief When to look at what: one heap of timers, in which each key stands at most once, and back-off by key.
 *
 * Room for a key is made when it joins, so that nothing that comes later can fail for lack of memory.
 */
#ifndef RH_ENGINE_CARRY_QUEUE_H
#define RH_ENGINE_CARRY_QUEUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** A time that is always due. */
#define RH_QUEUE_NOW INT64_C(0)

/** What a key needs to stand in a queue; a member of what the key stands for. All zero is "not queued". */
struct rh_queue_item {
	int64_t at;        /**< when it is due, microseconds */
	uint64_t turn;     /**< among those that are due at the same time: the lower the earlier */
	size_t place;      /**< in the heap, from 1; 0: not queued */
	uint32_t failures; /**< since the last rh_queue_forgive() */
	bool late;         /**< among those that are due at the same time, after all that are not late */
};

/** A queue. All zero but the two waits is the empty one. */
struct rh_queue {
	struct rh_queue_item **heap; /**< earliest first */
	size_t count;
	size_t capacity;
	size_t members; /**< keys that may be queued */
	uint64_t turns;
	int64_t backoff_first; /**< first wait after a failure, microseconds */
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
