/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/nccl/thread_ranks.h
 * @brief A world whose ranks are threads of this process, on the NCCL and the CUDA runtime of ours.
 */
#ifndef RH_TEST_COMM_NCCL_THREAD_RANKS_H
#define RH_TEST_COMM_NCCL_THREAD_RANKS_H

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

#include "comm/nccl/fake.h"
#include "roundhouse/comm.h"

/** Most ranks of a world. */
#define THREAD_RANKS_MAX 4
/** Status of a rank whose rh_comm_init() failed. */
#define THREAD_RANK_INIT_FAILED 99

/** In a thread_rank_fn: say what does not hold, and end with 1. */
#define THREAD_RANK_CHECK(condition)                                                                                 \
	do {                                                                                                             \
		if (!(condition)) {                                                                                          \
			(void)fprintf(stderr, "rank %d: line %d: %s: %s\n", (int)rh_comm_rank(self->comm), __LINE__, #condition, \
			              self->err.text);                                                                           \
			return 1;                                                                                                \
		}                                                                                                            \
	} while (0)

struct thread_rank;

/** What a rank does. @return 0 is good */
typedef int thread_rank_fn(struct thread_rank *self);

/** A rank: a thread. */
struct thread_rank {
	pthread_t thread;
	struct rh_comm_options options;
	thread_rank_fn *fn;
	struct rh_comm *comm;
	void *stream;
	struct rh_comm_error err; /**< of what the rank did last */
	int status;               /**< of fn, or THREAD_RANK_INIT_FAILED */
};

/** Let the library find the libraries of ours. */
void thread_ranks_set_libraries(void);
/** Run a world and wait for its end. @param ranks what became of each rank */
void thread_ranks_run(int32_t world, const char *backend, thread_rank_fn *fn, struct thread_rank *ranks);
/** Run worlds of all sizes, in which every rank must do well and nothing of NCCL or CUDA is left. */
void thread_ranks_run_worlds(int32_t from, int32_t to, const char *backend, thread_rank_fn *fn);
/** @return an operation on CUDA memory in the self's stream: f32, sum, in place */
struct rh_comm_op thread_ranks_op(const struct thread_rank *self, int32_t what, void *out, size_t count);

#endif
