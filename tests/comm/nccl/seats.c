/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/nccl/seats.h"

#include <stdlib.h>

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "comm/ranks.h"

void seats_set_libraries(void)
{
	(void)setenv("RH_COMM_CUDART", RH_FAKE_NCCL, 1);
	(void)setenv("RH_COMM_NCCL_LIBRARY", RH_FAKE_NCCL, 1);
}

static void *seat_run(void *arg)
{
	struct seat *seat = arg;

	seat->stream = fake_stream_new();
	if (rh_comm_init(&seat->options, &seat->comm, &seat->err) != 0) {
		seat->status = SEAT_REFUSED;
	} else {
		seat->status = seat->fn(seat);
		rh_comm_free(seat->comm);
	}
	fake_stream_free(seat->stream);
	return NULL;
}

void seats_run(int32_t world, const char *backend, seat_fn *fn, struct seat *seats)
{
	int port = ranks_free_port();

	for (int32_t rank = 0; rank < world; rank++) {
		seats[rank] = (struct seat){.fn = fn,
		                            .options = {.size = sizeof(seats[rank].options),
		                                        .has_rank = 1,
		                                        .rank = rank,
		                                        .world = world,
		                                        .backend = backend,
		                                        .host = "127.0.0.1",
		                                        .port = port}};
		assert_int_equal(pthread_create(&seats[rank].thread, NULL, seat_run, &seats[rank]), 0);
	}
	for (int32_t rank = 0; rank < world; rank++)
		assert_int_equal(pthread_join(seats[rank].thread, NULL), 0);
}

void seats_run_worlds(int32_t from, int32_t to, const char *backend, seat_fn *fn)
{
	struct seat seats[SEATS_MAX];

	for (int32_t world = from; world <= to; world++) {
		seats_run(world, backend, fn, seats);
		for (int32_t rank = 0; rank < world; rank++) {
			if (seats[rank].status == SEAT_REFUSED)
				(void)fprintf(stderr, "init: %s\n", seats[rank].err.text);
			assert_int_equal(seats[rank].status, 0);
		}
		assert_int_equal(fake_alive(), 0);
		assert_int_equal(fake_misuses(), 0);
	}
}

struct rh_comm_op seats_op(const struct seat *seat, int32_t what, void *out, size_t count)
{
	return (struct rh_comm_op){.size = sizeof(struct rh_comm_op),
	                           .what = what,
	                           .out = out,
	                           .count = count,
	                           .type = RH_COMM_F32,
	                           .reduce = RH_COMM_SUM,
	                           .memory = RH_COMM_CUDA,
	                           .stream = seat->stream};
}
