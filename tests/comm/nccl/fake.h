/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/nccl/fake.h
 * @brief Handles for tests on the NCCL and CUDA runtime of ours that work on host memory (fake.c).
 *
 * Streams are rows of tasks that move only when somebody asks an event; ranks are threads of one process.
 */
#ifndef RH_TEST_COMM_NCCL_FAKE_H
#define RH_TEST_COMM_NCCL_FAKE_H

#include <stddef.h>

/** @return a stream */
void *fake_stream_new(void);
/** Free it. */
void fake_stream_free(void *stream);
/** Put a kernel into a stream: when its turn has come @p polls times, @p value is written @p count times to @p data. */
void fake_kernel(void *stream, float *data, size_t count, float value, int polls);
/** The next operation with number @p number (0 …) of every communicator fails while it is under way; -1: none. */
void fake_fail_at(int number);
/** @return how many communicators and events have been made and not ended yet */
int fake_alive(void);
/** @return how many calls broke a rule of NCCL: a call while another was in progress, a wrong configuration, … */
int fake_misuses(void);

#endif
