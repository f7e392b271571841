/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/core/trace/waits.h
 * @brief For how long a rank has waited for operations, kept while they are posted and end (pace.h says what for).
 *
 * A rank waits for an operation from its latest post, or the end of one before, to its end. What it posted ahead is not
 * waited for until then. All operations count, also those of groups: who comes late because it had to wait elsewhere is
 * not slow.
 */
#ifndef RH_COMM_CORE_TRACE_WAITS_H
#define RH_COMM_CORE_TRACE_WAITS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "comm/core/trace/pace.h"

/** The end of a collective of the world, in ticks. */
struct rh_comm_waits_mark {
	uint64_t number;
	int64_t waited;
	int64_t ended;
};

/** All zero: nothing was posted. Ticks are those of rh_comm_trace_ticks(). */
struct rh_comm_waits {
	_Atomic int64_t latest; /**< when an operation was last posted or ended; any thread */
	_Atomic int64_t waited; /**< ticks so far; two threads that end operations at once may lose one of both */
	/* of the world's own context, under its lock */
	uint64_t common;                                     /**< collectives that all ranks wait for, ended so far */
	uint32_t shift;                                      /**< each 2^shift of them is marked */
	uint32_t count;                                      /**< marks since the latest report */
	struct rh_comm_waits_mark marks[RH_COMM_PACE_MARKS]; /**< by number */
	/* of rh_comm_waits_take() alone */
	struct rh_comm_waits_mark base;   /**< the latest mark that was reported, */
	struct rh_comm_pace_mark base_ns; /**< and the same in nanoseconds */
	int64_t clock_ticks;              /**< at the latest report; 0: there was none */
	int64_t clock_ns;                 /**< likewise, on the monotonic clock */
};

/** Note that an operation is posted. */
static inline void rh_comm_waits_post(struct rh_comm_waits *waits, int64_t ticks)
{
	atomic_store_explicit(&waits->latest, ticks, memory_order_relaxed);
}

/** Note that an operation has ended. */
static inline void rh_comm_waits_end(struct rh_comm_waits *waits, int64_t ticks)
{
	int64_t wait = ticks - atomic_load_explicit(&waits->latest, memory_order_relaxed);
	int64_t waited = atomic_load_explicit(&waits->waited, memory_order_relaxed);

	if (wait <= 0)
		return;
	atomic_store_explicit(&waits->waited, waited + wait, memory_order_relaxed);
	atomic_store_explicit(&waits->latest, ticks, memory_order_relaxed);
}

/** Keep a mark, and fewer of them once there are too many. With the lock of the world's own context. */
void rh_comm_waits_keep(struct rh_comm_waits *waits, int64_t ticks);

/** Note the end of a collective that all ranks wait for, after rh_comm_waits_end(). With that lock. */
static inline void rh_comm_waits_mark(struct rh_comm_waits *waits, int64_t ticks)
{
	if ((++waits->common & ((UINT64_C(1) << waits->shift) - 1)) == 0)
		rh_comm_waits_keep(waits, ticks);
}

/**
 * Take the marks since the latest call. With that lock; one thread.
 * @param ns now, on the monotonic clock, nanoseconds. @param ticks the same moment
 * @param ret_marks room for RH_COMM_PACE_MARKS. @return how many there are
 */
size_t rh_comm_waits_take(struct rh_comm_waits *waits, int64_t ns, int64_t ticks, struct rh_comm_pace_mark *ret_marks);

#endif
