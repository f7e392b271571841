/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/native/wakeup.h
 * @brief Futexes in shared memory on which ranks of one host sleep.
 *
 * Use: native_wakeup_arm(), check once more for progress, native_wakeup_wait(). A signal between arm and wait ends the
 * wait at once. Signalling costs no system call while the rank is awake.
 */
#ifndef RH_COMM_NATIVE_WAKEUP_H
#define RH_COMM_NATIVE_WAKEUP_H

#include <stdatomic.h>
#include <stdint.h>

/** One cache line pair: neighbours are fetched together. */
#define NATIVE_LINE 128

/** One rank's futex, in shared memory. All zero is ready for use. */
struct native_wakeup {
	_Alignas(NATIVE_LINE) _Atomic uint32_t signals; /**< signals so far; the futex */
	_Atomic uint32_t asleep;                        /**< not 0: the rank wants to be signalled */
};

struct native_segment;

/** Signal one rank after progress that it may wait for. Wakes it if it sleeps. Any thread. */
void native_wakeup_signal(struct native_wakeup *wakeup);
/** Signal all other ranks of the segment. */
void native_wakeup_signal_all(const struct native_segment *segment);
/** Request signals from now on. @return a ticket for native_wakeup_wait() */
uint32_t native_wakeup_arm(struct native_wakeup *wakeup);
/** Sleep until a signal has come since @p ticket, at most @p time microseconds. May return early. */
void native_wakeup_wait(struct native_wakeup *wakeup, uint32_t ticket, int64_t time);

#endif
