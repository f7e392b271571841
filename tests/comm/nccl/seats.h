/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/nccl/seats.h
 * @brief A world whose ranks are threads of this process, on the NCCL and the CUDA runtime of ours.
 */
#ifndef RH_TEST_COMM_NCCL_SEATS_H
#define RH_TEST_COMM_NCCL_SEATS_H

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

#include "comm/nccl/fake.h"
#include "roundhouse/comm.h"

/** Most ranks of a world. */
#define SEATS_MAX 4
/** Status of a rank whose rh_comm_init() failed. */
#define SEAT_REFUSED 99

/** In a seat_fn: say what does not hold, and end with 1. */
#define SEAT_CHECK(condition)                                                                                        \
	do {                                                                                                             \
		if (!(condition)) {                                                                                          \
			(void)fprintf(stderr, "rank %d: line %d: %s: %s\n", (int)rh_comm_rank(seat->comm), __LINE__, #condition, \
			              seat->err.text);                                                                           \
			return 1;                                                                                                \
		}                                                                                                            \
	} while (0)

struct seat;

/** What a rank does. @return 0 is good */
typedef int seat_fn(struct seat *seat);

/** A rank: a thread. */
struct seat {
	pthread_t thread;
	struct rh_comm_options options;
	seat_fn *fn;
	struct rh_comm *comm;
	void *stream;
	struct rh_comm_error err; /**< of what the rank did last */
	int status;               /**< of fn, or SEAT_REFUSED */
};

/** Let the library find the libraries of ours. */
void seats_set_libraries(void);
/** Run a world and wait for its end. @param seats what became of each rank */
void seats_run(int32_t world, const char *backend, seat_fn *fn, struct seat *seats);
/** Run worlds of all sizes, in which every rank must do well and nothing of NCCL or CUDA is left. */
void seats_run_worlds(int32_t from, int32_t to, const char *backend, seat_fn *fn);
/** @return an operation on CUDA memory in the seat's stream: f32, sum, in place */
struct rh_comm_op seats_op(const struct seat *seat, int32_t what, void *out, size_t count);

#endif
