/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/core/trace/ring.h
 * @brief The trace of a rank: a ring of its latest operations, in memory of the process or in a file that outlives it.
 *
 * Writers are the threads that post and end operations; none of them waits for another. What they keep of waits
 * (waits.h) stays in memory of the process.
 */
#ifndef RH_COMM_CORE_TRACE_RING_H
#define RH_COMM_CORE_TRACE_RING_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "comm/core/trace/format.h"
#include "comm/core/trace/waits.h"
#include "roundhouse/comm.h"

/** A ring that is open. All zero: none. */
struct rh_comm_trace {
	struct rh_comm_trace_head *head;
	struct rh_comm_trace_entry *entries;
	uint64_t mask; /**< of places */
	size_t length; /**< bytes of the mapping */
	struct rh_comm_waits waits;
};

/** What a ring is opened for. Texts are borrowed. */
struct rh_comm_trace_origin {
	const char *folder; /**< for the file; "": no file */
	const char *job;    /**< "": none */
	int32_t rank;       /**< in the world */
	int32_t world;      /**< number of ranks */
};

/**
 * Open a ring. A file of that name is replaced; only this user may read it.
 * @return 0; RH_COMM_EINVAL naming RH_COMM_TRACE and the file; RH_COMM_ENOMEM
 */
int32_t rh_comm_trace_open(const struct rh_comm_trace_origin *origin, struct rh_comm_trace *ret_trace,
                           struct rh_comm_error *err);
/** Mark that the rank leaves, and unmap it; the file stays. All zero is allowed. */
void rh_comm_trace_close(struct rh_comm_trace *trace);
/** Note a group, whose ranks are ranks of the world. One thread at a time. Without room only its size is noted. */
void rh_comm_trace_add_group(struct rh_comm_trace *trace, uint64_t name, const int32_t *ranks, int32_t size);
/** Note what time it is: once a second, so that ticks can be translated after the process has died. One thread. */
void rh_comm_trace_note_time(struct rh_comm_trace *trace);
/** Note what rank 0 found about the pace of all ranks. One thread. */
void rh_comm_trace_note_pace(struct rh_comm_trace *trace, const struct rh_comm_pace *pace);
/** @return microseconds since that moment; the pace of ticks is known after some milliseconds */
int64_t rh_comm_trace_since(const struct rh_comm_trace *trace, int64_t ticks);

/** @return the monotonic clock, nanoseconds */
static inline int64_t rh_comm_trace_nanoseconds(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/** @return a clock that costs less than the system's; its unit is the processor's */
static inline int64_t rh_comm_trace_ticks(void)
{
#if defined(__x86_64__)
	return (int64_t)__builtin_ia32_rdtsc();
#elif defined(__aarch64__)
	int64_t ticks;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
	return ticks;
#else
	return rh_comm_trace_nanoseconds();
#endif
}

/** @return the entry for a place */
static inline struct rh_comm_trace_entry *rh_comm_trace_at(const struct rh_comm_trace *trace, uint64_t place)
{
	return &trace->entries[(place - 1) & trace->mask];
}

/** @return struct rh_comm_trace_entry.kind */
static inline uint32_t rh_comm_trace_kind(const struct rh_comm_op *op, enum rh_comm_trace_state state)
{
	return ((uint32_t)op->what & 255) | ((uint32_t)op->type & 255) << 8 | ((uint32_t)op->reduce & 255) << 16 |
	       (uint32_t)state << 24;
}

/**
 * Note an operation that is posted.
 * @param group name; 0: the world. @param number of a collective; 0: none yet. @param peer rank in the world
 * @return its place, for rh_comm_trace_start() and rh_comm_trace_end()
 */
static inline uint64_t rh_comm_trace_post(struct rh_comm_trace *trace, const struct rh_comm_op *op, uint64_t group,
                                          uint64_t number, int32_t peer)
{
	uint64_t place = atomic_fetch_add_explicit(&trace->head->posted, 1, memory_order_relaxed) + 1;
	struct rh_comm_trace_entry *entry = rh_comm_trace_at(trace, place);
	int64_t ticks = rh_comm_trace_ticks();

	rh_comm_waits_post(&trace->waits, ticks);
	atomic_store_explicit(&entry->place, 0, memory_order_relaxed);
	/* who reads along sees a place only with what belongs to it; where the processor reorders, almost always */
	atomic_signal_fence(memory_order_seq_cst);
	atomic_store_explicit(&entry->group, group, memory_order_relaxed);
	atomic_store_explicit(&entry->number, number, memory_order_relaxed);
	atomic_store_explicit(&entry->count, op->count, memory_order_relaxed);
	atomic_store_explicit(&entry->begun, ticks, memory_order_relaxed);
	atomic_store_explicit(&entry->ended, 0, memory_order_relaxed);
	atomic_store_explicit(&entry->kind, rh_comm_trace_kind(op, RH_COMM_TRACE_POSTED), memory_order_relaxed);
	atomic_store_explicit(&entry->peer, peer, memory_order_relaxed);
	atomic_store_explicit(&entry->tag, op->tag, memory_order_relaxed);
	atomic_store_explicit(&entry->status, RH_COMM_BUSY, memory_order_relaxed);
	atomic_store_explicit(&entry->place, place, memory_order_release);
	return place;
}

/** Note that the backend has it. @param number of a collective; 0: a message */
static inline void rh_comm_trace_start(struct rh_comm_trace *trace, uint64_t place, const struct rh_comm_op *op,
                                       uint64_t number)
{
	struct rh_comm_trace_entry *entry = rh_comm_trace_at(trace, place);

	/* else later ones have taken its place */
	if (atomic_load_explicit(&entry->place, memory_order_relaxed) != place)
		return;
	atomic_store_explicit(&entry->number, number, memory_order_relaxed);
	atomic_store_explicit(&entry->kind, rh_comm_trace_kind(op, RH_COMM_TRACE_STARTED), memory_order_relaxed);
}

/** Note that it is done. @param status 0 or RH_COMM_E*. @return now, in ticks */
static inline int64_t rh_comm_trace_end(struct rh_comm_trace *trace, uint64_t place, const struct rh_comm_op *op,
                                        int32_t status)
{
	struct rh_comm_trace_entry *entry = rh_comm_trace_at(trace, place);
	int64_t ticks = rh_comm_trace_ticks();

	rh_comm_waits_end(&trace->waits, ticks);
	if (atomic_load_explicit(&entry->place, memory_order_relaxed) != place)
		return ticks;
	atomic_store_explicit(&entry->ended, ticks, memory_order_relaxed);
	atomic_store_explicit(&entry->status, status, memory_order_relaxed);
	atomic_store_explicit(&entry->kind, rh_comm_trace_kind(op, RH_COMM_TRACE_DONE), memory_order_relaxed);
	return ticks;
}

#endif
