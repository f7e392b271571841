/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/nccl/fake.h
 * @brief Handles for tests on the NCCL and CUDA runtime of ours that work on host memory (fake_cuda.c, fake_nccl.c).
 *
 * Streams are rows of tasks that move only when somebody asks an event; ranks are threads of one process.
 */
#ifndef RH_TEST_COMM_NCCL_FAKE_H
#define RH_TEST_COMM_NCCL_FAKE_H

#include <stdbool.h>
#include <stddef.h>

/** What became of copies and pinned memory since fake_copies_reset(). */
struct fake_copies {
	int begun;
	int done;
	size_t longest;     /**< bytes of one copy */
	size_t pinned_most; /**< bytes of pinned memory that there were at once */
};

/** @return a stream */
void *fake_stream_new(void);
/** Free it. */
void fake_stream_free(void *stream);
/** Put a kernel into a stream: when its turn has come @p polls times, @p value is written @p count times to @p data. */
void fake_kernel(void *stream, float *data, size_t count, float value, int polls);
/** The next operation with number @p number (0 …) of every communicator fails while it is under way; -1: none. */
void fake_fail_at(int number);
/** The copy with number @p number (1 …) from now on fails, at once or, @p later, while it is under way; 0: none. */
void fake_fail_copy(int number, bool later);
/** The pinned block with number @p number (1 …) from now on cannot be had; 0: none. */
void fake_fail_pinned(int number);
/** Move all streams by so many tasks. */
void fake_move(int times);
/** Copies that have begun do not end until this is called with false. */
void fake_hold_copies(bool hold);
/** Begin to count anew. */
void fake_copies_reset(void);
/** @return the counts */
struct fake_copies fake_copies(void);
/** @return how many communicators, events, streams and pinned blocks have been made and not ended yet */
int fake_alive(void);
/** @return how many calls broke a rule of NCCL or CUDA: a call while another was in progress, a wrong flag, … */
int fake_misuses(void);

#endif
