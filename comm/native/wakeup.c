/* SPDX-License-Identifier: Apache-2.0 */
/* Who has nothing to do sleeps on a futex in the shared memory; who makes progress wakes those that sleep. */
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "comm/native/segment.h"

static void wakeup_signal(struct native_wakeup *wakeup)
{
	if (atomic_load_explicit(&wakeup->asleep, memory_order_relaxed) == 0)
		return;
	atomic_store_explicit(&wakeup->asleep, 0, memory_order_relaxed);
	atomic_fetch_add_explicit(&wakeup->signals, 1, memory_order_release);
	(void)syscall(SYS_futex, &wakeup->signals, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void native_wakeup_signal(struct native_wakeup *wakeup)
{
	/* a rank that begins to sleep after this check must see the progress */
	atomic_thread_fence(memory_order_seq_cst);
	wakeup_signal(wakeup);
}

void native_wakeup_signal_all(const struct native_segment *segment)
{
	atomic_thread_fence(memory_order_seq_cst);
	for (int32_t rank = 0; rank < segment->world; rank++) {
		if (rank != segment->rank)
			wakeup_signal(&native_segment_progress(segment, rank)->wakeup);
	}
}

uint32_t native_wakeup_arm(struct native_wakeup *wakeup)
{
	uint32_t signals = atomic_load_explicit(&wakeup->signals, memory_order_acquire);

	atomic_store_explicit(&wakeup->asleep, 1, memory_order_seq_cst);
	atomic_thread_fence(memory_order_seq_cst);
	return signals;
}

void native_wakeup_wait(struct native_wakeup *wakeup, uint32_t ticket, int64_t time)
{
	struct timespec limit = {time / 1000000, time % 1000000 * 1000};

	(void)syscall(SYS_futex, &wakeup->signals, FUTEX_WAIT, ticket, &limit, NULL, 0);
}
