/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CUDA memory that goes through pinned host memory in chunks, on a CUDA runtime of ours (fake_cuda.c): ranks are
 * threads, memory is the host's, and copies move only when somebody asks.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "comm/nccl/thread_ranks.h"

/* What the library puts into one chunk, and has under way at once. */
#define CHUNK_BYTES ((size_t)2 * 1024 * 1024)
#define CHUNK (CHUNK_BYTES / sizeof(float))
#define DEPTH 4
/* Some chunks, the last of which is short. */
#define LONG (5 * CHUNK + 77)
#define WAIT_ROUNDS 60000

/* Data that the ranks of a world share outside of it. */
static atomic_int *shared_word(void)
{
	static atomic_int word;

	return &word;
}

static void pause_shortly(void)
{
	static const struct timespec pause = {0, 1000000};

	(void)nanosleep(&pause, NULL);
}

/* Wait until so many copies have begun, a minute at most. */
static bool await_copies(int begun)
{
	for (int i = 0; i < WAIT_ROUNDS && fake_copies().begun < begun; i++)
		pause_shortly();
	return fake_copies().begun >= begun;
}

static bool await_word(int value)
{
	for (int i = 0; i < WAIT_ROUNDS && atomic_load(shared_word()) < value; i++)
		pause_shortly();
	return atomic_load(shared_word()) >= value;
}

static float *vector_new(size_t count, float first)
{
	float *data = malloc(count * sizeof(*data));

	assert_non_null(data);
	for (size_t i = 0; i < count; i++)
		data[i] = first + (float)(i % 1000);
	return data;
}

/* @return whether element i is `first` + `times` (i % 1000), counted from element `from` on */
static bool vector_is(const float *data, size_t count, size_t from, float first, float times)
{
	for (size_t i = 0; i < count; i++) {
		if (data[i] != first + times * (float)((from + i) % 1000))
			return false;
	}
	return true;
}

static int try_all_reduce(struct thread_rank *self)
{
	int32_t world = rh_comm_world(self->comm);
	float *in = vector_new(LONG, 1);
	float *out = vector_new(LONG, 0);
	struct rh_comm_op op = thread_ranks_op(self, RH_COMM_ALL_REDUCE, out, LONG);

	op.in = in;
	THREAD_RANK_CHECK(rh_comm_run(self->comm, &op, &self->err) == 0);
	THREAD_RANK_CHECK(vector_is(out, LONG, 0, (float)world, (float)world));
	THREAD_RANK_CHECK(vector_is(in, LONG, 0, 1, 1));
	op.in = NULL;
	op.out = in;
	THREAD_RANK_CHECK(rh_comm_run(self->comm, &op, &self->err) == 0);
	THREAD_RANK_CHECK(vector_is(in, LONG, 0, (float)world, (float)world));
	free(in);
	free(out);
	return 0;
}

static int try_gather(struct thread_rank *self)
{
	size_t world = (size_t)rh_comm_world(self->comm);
	float *all = vector_new(world * LONG, 0);
	float *own = vector_new(LONG, (float)rh_comm_rank(self->comm));
	struct rh_comm_op op = thread_ranks_op(self, RH_COMM_ALL_GATHER, all, LONG);

	op.in = own;
	THREAD_RANK_CHECK(rh_comm_run(self->comm, &op, &self->err) == 0);
	for (size_t rank = 0; rank < world; rank++)
		THREAD_RANK_CHECK(vector_is(all + rank * LONG, LONG, 0, (float)rank, 1));
	free(all);
	free(own);
	return 0;
}

static int try_scatter(struct thread_rank *self)
{
	size_t world = (size_t)rh_comm_world(self->comm);
	float *all = vector_new(world * LONG, 2);
	float *own = vector_new(LONG, 0);
	struct rh_comm_op op = thread_ranks_op(self, RH_COMM_REDUCE_SCATTER, own, LONG);

	op.in = all;
	THREAD_RANK_CHECK(rh_comm_run(self->comm, &op, &self->err) == 0);
	THREAD_RANK_CHECK(vector_is(own, LONG, (size_t)rh_comm_rank(self->comm) * LONG, 2 * (float)world, (float)world));
	free(all);
	free(own);
	return 0;
}

static int try_broadcast(struct thread_rank *self)
{
	int32_t root = rh_comm_world(self->comm) - 1;
	float *data = vector_new(LONG, rh_comm_rank(self->comm) == root ? 9 : 0);
	struct rh_comm_op op = thread_ranks_op(self, RH_COMM_BROADCAST, data, LONG);

	op.peer = root;
	THREAD_RANK_CHECK(rh_comm_run(self->comm, &op, &self->err) == 0);
	THREAD_RANK_CHECK(vector_is(data, LONG, 0, 9, 1));
	free(data);
	return 0;
}

/* To the next rank, from the one before. */
static int try_messages(struct thread_rank *self)
{
	int32_t world = rh_comm_world(self->comm);
	int32_t rank = rh_comm_rank(self->comm);
	float *out = vector_new(LONG, (float)rank);
	float *in = vector_new(LONG, 0);
	struct rh_comm_op send = thread_ranks_op(self, RH_COMM_SEND, out, LONG);
	struct rh_comm_op recv = thread_ranks_op(self, RH_COMM_RECV, in, LONG);
	struct rh_comm_request *requests[2];

	send.peer = (rank + 1) % world;
	recv.peer = (rank + world - 1) % world;
	if (world > 1) {
		THREAD_RANK_CHECK(rh_comm_post(self->comm, &send, &requests[0], &self->err) == 0);
		THREAD_RANK_CHECK(rh_comm_post(self->comm, &recv, &requests[1], &self->err) == 0);
		THREAD_RANK_CHECK(rh_comm_wait(requests[1], &self->err) == 0);
		THREAD_RANK_CHECK(rh_comm_wait(requests[0], &self->err) == 0);
		THREAD_RANK_CHECK(vector_is(in, LONG, 0, (float)recv.peer, 1));
	}
	free(out);
	free(in);
	return 0;
}

static int try_long(struct thread_rank *self)
{
	static thread_rank_fn *const all[] = {try_all_reduce, try_gather, try_scatter, try_broadcast, try_messages};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		if (all[i](self) != 0)
			return 1;
	}
	return 0;
}

static void test_stage__long_vectors_go_in_chunks(void **state)
{
	(void)state;
	for (int32_t world = 1; world < THREAD_RANKS_MAX; world++) {
		fake_copies_reset();
		thread_ranks_run_worlds(world, world, "native", try_long);
		assert_true(fake_copies().longest <= CHUNK_BYTES);
		/* the slots of one operation are those of the next; two lengths of them at most */
		assert_true(fake_copies().pinned_most <= (size_t)world * 2 * DEPTH * CHUNK_BYTES);
		assert_int_equal(fake_copies().begun, fake_copies().done);
	}
}

/* Rank 1 comes once rank 0 has copied all that may be under way, though nothing has travelled yet. */
static int copy_ahead(struct thread_rank *self)
{
	float *data = vector_new(LONG, 1);
	struct rh_comm_op op = thread_ranks_op(self, RH_COMM_ALL_REDUCE, data, LONG);
	struct rh_comm_request *request = NULL;

	if (rh_comm_rank(self->comm) == 1)
		THREAD_RANK_CHECK(await_copies(DEPTH) && await_word(1));
	THREAD_RANK_CHECK(rh_comm_post(self->comm, &op, &request, &self->err) == 0);
	if (rh_comm_rank(self->comm) == 0) {
		THREAD_RANK_CHECK(await_copies(DEPTH));
		for (int i = 0; i < 1000; i++)
			THREAD_RANK_CHECK(rh_comm_test(request, &self->err) == RH_COMM_BUSY);
		THREAD_RANK_CHECK(fake_copies().begun == DEPTH);
		atomic_store(shared_word(), 1);
	}
	THREAD_RANK_CHECK(rh_comm_wait(request, &self->err) == 0);
	THREAD_RANK_CHECK(vector_is(data, LONG, 0, 2, 2));
	free(data);
	return 0;
}

static void test_stage__the_next_chunks_are_copied_while_one_travels(void **state)
{
	(void)state;
	fake_copies_reset();
	atomic_store(shared_word(), 0);
	thread_ranks_run_worlds(2, 2, "native", copy_ahead);
	/* each of six chunks of each rank once to the host and once back */
	assert_int_equal(fake_copies().begun, 2 * 6 * 2);
}

/* A chunk is a message: rank 1 sends the next one when the one before is on its way to rank 0's device. */
static int land_early(struct thread_rank *self)
{
	float *data = vector_new(3 * CHUNK, 5);
	struct rh_comm_op op = thread_ranks_op(self, RH_COMM_RECV, data, 3 * CHUNK);

	op.peer = 1 - rh_comm_rank(self->comm);
	op.tag = 3;
	if (rh_comm_rank(self->comm) == 0) {
		memset(data, 0, 3 * CHUNK * sizeof(*data));
		THREAD_RANK_CHECK(rh_comm_run(self->comm, &op, &self->err) == 0);
		THREAD_RANK_CHECK(vector_is(data, 3 * CHUNK, 0, 5, 1));
	}
	for (int i = 0; i < 3 && rh_comm_rank(self->comm) == 1; i++) {
		op.what = RH_COMM_SEND;
		op.memory = RH_COMM_HOST;
		op.count = CHUNK;
		op.in = data + (size_t)i * CHUNK;
		THREAD_RANK_CHECK(await_copies(i));
		THREAD_RANK_CHECK(rh_comm_run(self->comm, &op, &self->err) == 0);
	}
	free(data);
	return 0;
}

static void test_stage__a_chunk_lands_while_the_next_travels(void **state)
{
	(void)state;
	fake_copies_reset();
	thread_ranks_run_worlds(2, 2, "native", land_early);
	assert_int_equal(fake_copies().begun, 3);
}

/* Ranks whose devices are busy for different times keep the order of what they posted. */
static int keep_order(struct thread_rank *self)
{
	enum { PENDING = 6 };
	struct rh_comm_request *requests[PENDING];
	float *data[PENDING];
	int32_t rank = rh_comm_rank(self->comm);
	float sum = (float)(rh_comm_world(self->comm) * (rh_comm_world(self->comm) - 1)) / 2;

	for (int k = 0; k < PENDING; k++) {
		size_t count = k % 3 == 0 ? LONG : 33;
		struct rh_comm_op op = thread_ranks_op(self, RH_COMM_ALL_REDUCE, NULL, count);

		data[k] = vector_new(count, 0);
		op.out = data[k];
		op.memory = k % 2 == 0 ? RH_COMM_CUDA : RH_COMM_HOST;
		if (op.memory == RH_COMM_CUDA)
			fake_kernel(self->stream, data[k], count, (float)(rank + k), 30 * rank);
		for (size_t i = 0; i < count && op.memory == RH_COMM_HOST; i++)
			data[k][i] = (float)(rank + k);
		THREAD_RANK_CHECK(rh_comm_post(self->comm, &op, &requests[k], &self->err) == 0);
	}
	for (int k = PENDING - 1; k >= 0; k--) {
		THREAD_RANK_CHECK(rh_comm_wait(requests[k], &self->err) == 0);
		THREAD_RANK_CHECK(data[k][0] == sum + (float)(k * rh_comm_world(self->comm)) && data[k][32] == data[k][0]);
		THREAD_RANK_CHECK(k % 3 != 0 || data[k][LONG - 1] == data[k][0]);
		free(data[k]);
	}
	return 0;
}

static void test_stage__what_follows_a_long_one_does_not_overtake_it(void **state)
{
	(void)state;
	thread_ranks_run_worlds(1, 3, "native", keep_order);
}

/* A long message, then short ones under the same tag and under another, which need not wait. */
static int keep_order_of_messages(struct thread_rank *self)
{
	bool sends = rh_comm_rank(self->comm) == 0;
	float *data = vector_new(LONG, 1);
	float word[2] = {sends ? 11.0F : 0, sends ? 12.0F : 0};
	struct rh_comm_op op = thread_ranks_op(self, sends ? RH_COMM_SEND : RH_COMM_RECV, data, LONG);
	struct rh_comm_request *requests[3];

	op.peer = sends ? 1 : 0;
	THREAD_RANK_CHECK(rh_comm_post(self->comm, &op, &requests[0], &self->err) == 0);
	op.count = 1;
	for (int i = 0; i < 2; i++) {
		op.in = op.out = &word[i];
		op.tag = (uint32_t)i;
		THREAD_RANK_CHECK(rh_comm_post(self->comm, &op, &requests[1 + i], &self->err) == 0);
	}
	for (int i = 2; i >= 0; i--)
		THREAD_RANK_CHECK(rh_comm_wait(requests[i], &self->err) == 0);
	THREAD_RANK_CHECK(word[0] == 11 && word[1] == 12 && vector_is(data, LONG, 0, 1, 1));
	free(data);
	return 0;
}

static void test_stage__messages_of_a_tag_keep_their_order(void **state)
{
	(void)state;
	thread_ranks_run_worlds(2, 2, "native", keep_order_of_messages);
}

static int fail_copy(struct thread_rank *self)
{
	float *data = vector_new(LONG, 1);
	struct rh_comm_op op = thread_ranks_op(self, RH_COMM_ALL_REDUCE, data, LONG);

	int32_t r = rh_comm_run(self->comm, &op, &self->err);

	/* when it is the other rank's last copy we are done with the first one */
	if (r == 0)
		r = rh_comm_run(self->comm, &op, &self->err);
	THREAD_RANK_CHECK(r == RH_COMM_EBACKEND && strstr(self->err.text, "cop"));
	THREAD_RANK_CHECK(rh_comm_run(self->comm, &op, &self->err) == RH_COMM_EBACKEND);
	free(data);
	return 0;
}

/* Each copy of two ranks in turn, as it begins and while it is under way. */
static void test_stage__a_copy_that_fails_ends_all_ranks_with_its_words(void **state)
{
	(void)state;
	for (int number = 1; number <= 2 * 6 * 2; number++) {
		fake_fail_copy(number, number % 2 == 0);
		thread_ranks_run_worlds(2, 2, "native", fail_copy);
	}
	fake_fail_copy(0, false);
}

static int use_little_memory(struct thread_rank *self)
{
	if (rh_comm_rank(self->comm) == 0)
		fake_fail_pinned(3);
	return try_all_reduce(self);
}

static int use_no_memory(struct thread_rank *self)
{
	float value[1] = {1};
	struct rh_comm_op op = thread_ranks_op(self, RH_COMM_ALL_REDUCE, value, 1);

	fake_fail_pinned(1);
	THREAD_RANK_CHECK(rh_comm_run(self->comm, &op, &self->err) == RH_COMM_EBACKEND);
	THREAD_RANK_CHECK(strstr(self->err.text, "no pinned host memory: fake CUDA error"));
	return 0;
}

static void test_stage__less_pinned_memory_means_fewer_chunks_at_once(void **state)
{
	(void)state;
	thread_ranks_run_worlds(1, 1, "native", use_little_memory);
	thread_ranks_run_worlds(1, 1, "native", use_no_memory);
	fake_fail_pinned(0);
}

/* Rank 0 is in the middle of it; rank 1 never comes. */
static int abort_in_the_middle(struct thread_rank *self)
{
	float *data = vector_new(LONG, 1);
	struct rh_comm_op op = thread_ranks_op(self, RH_COMM_ALL_REDUCE, data, LONG);

	if (rh_comm_rank(self->comm) == 1) {
		THREAD_RANK_CHECK(await_copies(1));
		rh_comm_abort(self->comm, "the loss is no number");
	}
	THREAD_RANK_CHECK(rh_comm_run(self->comm, &op, &self->err) == RH_COMM_EABORTED);
	THREAD_RANK_CHECK(self->err.rank == 1 && strstr(self->err.text, "the loss is no number"));
	/* what the device has begun ends; nothing reads or writes the vector after this */
	fake_hold_copies(false);
	fake_move(100);
	free(data);
	return 0;
}

static void test_stage__an_abort_ends_it_in_the_middle(void **state)
{
	(void)state;
	for (int held = 0; held < 2; held++) {
		fake_copies_reset();
		fake_hold_copies(held == 1);
		thread_ranks_run_worlds(2, 2, "native", abort_in_the_middle);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stage__long_vectors_go_in_chunks),
		cmocka_unit_test(test_stage__the_next_chunks_are_copied_while_one_travels),
		cmocka_unit_test(test_stage__a_chunk_lands_while_the_next_travels),
		cmocka_unit_test(test_stage__what_follows_a_long_one_does_not_overtake_it),
		cmocka_unit_test(test_stage__messages_of_a_tag_keep_their_order),
		cmocka_unit_test(test_stage__a_copy_that_fails_ends_all_ranks_with_its_words),
		cmocka_unit_test(test_stage__less_pinned_memory_means_fewer_chunks_at_once),
		cmocka_unit_test(test_stage__an_abort_ends_it_in_the_middle),
	};

	(void)setenv("RH_COMM_PATH", RH_COMM_MODULES, 1);
	(void)setenv("RH_COMM_LOG", "off", 1);
	thread_ranks_set_libraries();
	return cmocka_run_group_tests_name("comm/nccl/stage", tests, NULL, NULL);
}
