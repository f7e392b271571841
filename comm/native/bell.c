/* SPDX-License-Identifier: Apache-2.0 */
/* Who has nothing to do sleeps on a futex in the shared memory; who makes progress wakes those that sleep. */
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "comm/native/native.h"

static void bell_ring(struct native_bell *bell)
{
	if (atomic_load_explicit(&bell->asleep, memory_order_relaxed) == 0)
		return;
	atomic_store_explicit(&bell->asleep, 0, memory_order_relaxed);
	atomic_fetch_add_explicit(&bell->rung, 1, memory_order_release);
	(void)syscall(SYS_futex, &bell->rung, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void native_bell_ring(struct native_bell *bell)
{
	/* the news must be seen by who sleeps after we have looked */
	atomic_thread_fence(memory_order_seq_cst);
	bell_ring(bell);
}

void native_bell_ring_all(const struct native_segment *segment)
{
	atomic_thread_fence(memory_order_seq_cst);
	for (int32_t rank = 0; rank < segment->world; rank++) {
		if (rank != segment->rank)
			bell_ring(&native_segment_progress(segment, rank)->bell);
	}
}

uint32_t native_bell_arm(struct native_bell *bell)
{
	uint32_t rung = atomic_load_explicit(&bell->rung, memory_order_acquire);

	atomic_store_explicit(&bell->asleep, 1, memory_order_seq_cst);
	atomic_thread_fence(memory_order_seq_cst);
	return rung;
}

void native_bell_sleep(struct native_bell *bell, uint32_t rung, int64_t time)
{
	struct timespec limit = {time / 1000000, time % 1000000 * 1000};

	(void)syscall(SYS_futex, &bell->rung, FUTEX_WAIT, rung, &limit, NULL, 0);
}
