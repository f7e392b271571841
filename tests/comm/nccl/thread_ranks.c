/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/nccl/thread_ranks.h"

#include <stdlib.h>

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "comm/ranks.h"

void thread_ranks_set_libraries(void)
{
	(void)setenv("RH_COMM_CUDART", RH_FAKE_NCCL, 1);
	(void)setenv("RH_COMM_NCCL_LIBRARY", RH_FAKE_NCCL, 1);
}

static void *thread_ranks_main(void *arg)
{
	struct thread_rank *self = arg;

	self->stream = fake_stream_new();
	if (rh_comm_init(&self->options, &self->comm, &self->err) != 0) {
		self->status = THREAD_RANK_INIT_FAILED;
	} else {
		self->status = self->fn(self);
		rh_comm_free(self->comm);
	}
	fake_stream_free(self->stream);
	return NULL;
}

void thread_ranks_run(int32_t world, const char *backend, thread_rank_fn *fn, struct thread_rank *ranks)
{
	int port = ranks_free_port();

	for (int32_t rank = 0; rank < world; rank++) {
		ranks[rank] = (struct thread_rank){.fn = fn,
		                                   .options = {.size = sizeof(ranks[rank].options),
		                                               .has_rank = 1,
		                                               .rank = rank,
		                                               .world = world,
		                                               .backend = backend,
		                                               .host = "127.0.0.1",
		                                               .port = port}};
		assert_int_equal(pthread_create(&ranks[rank].thread, NULL, thread_ranks_main, &ranks[rank]), 0);
	}
	for (int32_t rank = 0; rank < world; rank++)
		assert_int_equal(pthread_join(ranks[rank].thread, NULL), 0);
}

void thread_ranks_run_worlds(int32_t from, int32_t to, const char *backend, thread_rank_fn *fn)
{
	struct thread_rank ranks[THREAD_RANKS_MAX];

	for (int32_t world = from; world <= to; world++) {
		thread_ranks_run(world, backend, fn, ranks);
		for (int32_t rank = 0; rank < world; rank++) {
			if (ranks[rank].status == THREAD_RANK_INIT_FAILED)
				(void)fprintf(stderr, "init: %s\n", ranks[rank].err.text);
			assert_int_equal(ranks[rank].status, 0);
		}
		assert_int_equal(fake_alive(), 0);
		assert_int_equal(fake_misuses(), 0);
	}
}

struct rh_comm_op thread_ranks_op(const struct thread_rank *self, int32_t what, void *out, size_t count)
{
	return (struct rh_comm_op){.size = sizeof(struct rh_comm_op),
	                           .what = what,
	                           .out = out,
	                           .count = count,
	                           .type = RH_COMM_F32,
	                           .reduce = RH_COMM_SUM,
	                           .memory = RH_COMM_CUDA,
	                           .stream = self->stream};
}
