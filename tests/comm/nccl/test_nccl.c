/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The logic of the backend nccl through the library, on an NCCL and a CUDA runtime of ours (fake_*.c): ranks are
 * threads, memory is the host's. It says nothing of speed or of the real NCCL.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "comm/nccl/thread_ranks.h"
#include "comm/values.h"

#define COUNT 300

/* What the ranks 1, 2, … come to. */
static int reduced(int32_t reduce, int32_t world)
{
	int sum = world * (world + 1) / 2;
	int product = 1;

	for (int32_t rank = 0; rank < world; rank++)
		product *= rank + 1;
	switch (reduce) {
	case RH_COMM_SUM:
		return sum;
	case RH_COMM_AVG:
		return sum / world;
	case RH_COMM_MIN:
		return 1;
	case RH_COMM_MAX:
		return world;
	default:
		return product;
	}
}

static int try_type(struct thread_rank *self, int32_t type, int32_t reduce)
{
	char data[COUNT * 8];
	char wanted[COUNT * 8];
	int32_t world = rh_comm_world(self->comm);
	struct rh_comm_op op = thread_ranks_op(self, RH_COMM_ALL_REDUCE, data, COUNT);

	/* averages that are no whole number are tried elsewhere */
	if (reduce == RH_COMM_AVG && world % 2 == 0 && type <= RH_COMM_BF16)
		return 0;
	op.type = type;
	op.reduce = reduce;
	for (size_t i = 0; i < COUNT; i++) {
		values_put(data, i, type, rh_comm_rank(self->comm) + 1);
		values_put(wanted, i, type, reduced(reduce, world));
	}
	THREAD_RANK_CHECK(rh_comm_run(self->comm, &op, &self->err) == 0);
	THREAD_RANK_CHECK(memcmp(data, wanted, COUNT * rh_comm_type_size(type)) == 0);
	return 0;
}

static int try_types(struct thread_rank *self)
{
	for (int32_t type = RH_COMM_F32; type <= RH_COMM_U8; type++) {
		for (int32_t reduce = RH_COMM_SUM; reduce <= RH_COMM_PROD; reduce++) {
			if (try_type(self, type, reduce) != 0)
				return 1;
		}
	}
	return 0;
}

static void test_nccl__reduces_every_type(void **state)
{
	(void)state;
	thread_ranks_run_worlds(1, THREAD_RANKS_MAX, "nccl", try_types);
}

static int try_moves(struct thread_rank *self)
{
	int32_t rank = rh_comm_rank(self->comm);
	int32_t world = rh_comm_world(self->comm);
	float all[THREAD_RANKS_MAX * 2] = {0};
	float own[2] = {(float)rank, 7};
	struct rh_comm_op gather = thread_ranks_op(self, RH_COMM_ALL_GATHER, all, 2);
	struct rh_comm_op scatter = thread_ranks_op(self, RH_COMM_REDUCE_SCATTER, own, 2);
	struct rh_comm_op broadcast = thread_ranks_op(self, RH_COMM_BROADCAST, own, 2);
	struct rh_comm_op barrier = thread_ranks_op(self, RH_COMM_BARRIER, NULL, 0);

	gather.in = own;
	THREAD_RANK_CHECK(rh_comm_run(self->comm, &gather, &self->err) == 0);
	for (int32_t i = 0; i < world; i++)
		THREAD_RANK_CHECK(all[2 * i] == (float)i && all[2 * i + 1] == 7);
	scatter.in = all;
	THREAD_RANK_CHECK(rh_comm_run(self->comm, &scatter, &self->err) == 0);
	THREAD_RANK_CHECK(own[0] == (float)(rank * world) && own[1] == (float)(7 * world));
	broadcast.peer = world - 1;
	THREAD_RANK_CHECK(rh_comm_run(self->comm, &broadcast, &self->err) == 0);
	THREAD_RANK_CHECK(own[0] == (float)((world - 1) * world));
	THREAD_RANK_CHECK(rh_comm_run(self->comm, &barrier, &self->err) == 0);
	gather.count = 0;
	THREAD_RANK_CHECK(rh_comm_run(self->comm, &gather, &self->err) == 0);
	return 0;
}

static void test_nccl__moves_between_ranks(void **state)
{
	(void)state;
	thread_ranks_run_worlds(1, THREAD_RANKS_MAX, "nccl", try_moves);
}

/* A kernel of the caller that is not done yet writes what is to be summed. */
static int follow_kernel(struct thread_rank *self)
{
	float data[COUNT];

	for (int round = 0; round < 5; round++) {
		struct rh_comm_op op = thread_ranks_op(self, RH_COMM_ALL_REDUCE, data, COUNT);

		memset(data, 0, sizeof(data));
		fake_kernel(self->stream, data, COUNT, (float)(rh_comm_rank(self->comm) + round), 20);
		THREAD_RANK_CHECK(rh_comm_run(self->comm, &op, &self->err) == 0);
		THREAD_RANK_CHECK(data[0] == (float)(1 + 2 * round) && data[COUNT - 1] == data[0]);
	}
	return 0;
}

static void test_nccl__takes_part_in_the_order_of_the_stream(void **state)
{
	(void)state;
	thread_ranks_run_worlds(2, 2, "nccl", follow_kernel);
}

/* Both send first: in one group neither waits for the other. */
static int exchange(struct thread_rank *self)
{
	int32_t peer = 1 - rh_comm_rank(self->comm);
	float out[6] = {0};
	float in[6] = {0};
	struct rh_comm_request *requests[6];

	for (int round = 0; round < 4; round++) {
		for (int i = 0; i < 6; i++) {
			bool sends = i < 3;
			float *at = sends ? &out[i] : &in[i];
			struct rh_comm_op op = thread_ranks_op(self, sends ? RH_COMM_SEND : RH_COMM_RECV, at, 1);

			*at = (float)(100 * round + 10 * peer + i);
			op.peer = peer;
			THREAD_RANK_CHECK(rh_comm_post(self->comm, &op, &requests[i], &self->err) == 0);
		}
		for (int i = 5; i >= 0; i--)
			THREAD_RANK_CHECK(rh_comm_wait(requests[i], &self->err) == 0);
		for (int i = 0; i < 3; i++)
			THREAD_RANK_CHECK(in[3 + i] == (float)(100 * round + 10 * (1 - peer) + i));
	}
	return 0;
}

static void test_nccl__messages_go_as_groups(void **state)
{
	(void)state;
	thread_ranks_run_worlds(2, 2, "nccl", exchange);
}

static int many_outstanding(struct thread_rank *self)
{
	enum { PENDING = 9 };
	struct rh_comm_request *requests[PENDING];
	float data[PENDING][4];
	float world = (float)rh_comm_world(self->comm);

	for (int k = 0; k < PENDING; k++) {
		struct rh_comm_op op = thread_ranks_op(self, RH_COMM_ALL_REDUCE, data[k], 4);

		for (int i = 0; i < 4; i++)
			data[k][i] = (float)(k + i);
		THREAD_RANK_CHECK(rh_comm_post(self->comm, &op, &requests[k], &self->err) == 0);
	}
	for (int k = 0; k < PENDING; k++) {
		int at = (k * 5 + 3) % PENDING;

		THREAD_RANK_CHECK(rh_comm_wait(requests[at], &self->err) == 0);
		for (int i = 0; i < 4; i++)
			THREAD_RANK_CHECK(data[at][i] == (float)(at + i) * world);
	}
	return 0;
}

static void test_nccl__many_may_be_outstanding(void **state)
{
	(void)state;
	thread_ranks_run_worlds(2, 3, "nccl", many_outstanding);
}

static int use_groups(struct thread_rank *self)
{
	static const int32_t ranks[] = {2, 0};
	struct rh_comm *group = NULL;
	float value[1] = {(float)rh_comm_rank(self->comm) + 1};
	struct rh_comm_op op = thread_ranks_op(self, RH_COMM_ALL_REDUCE, value, 1);

	if (rh_comm_rank(self->comm) != 1) {
		THREAD_RANK_CHECK(rh_comm_group(self->comm, ranks, 2, &group, &self->err) == 0);
		THREAD_RANK_CHECK(rh_comm_run(group, &op, &self->err) == 0);
		THREAD_RANK_CHECK(value[0] == 4);
		rh_comm_free(group);
	}
	THREAD_RANK_CHECK(rh_comm_run(self->comm, &op, &self->err) == 0);
	return value[0] == 10 ? 0 : 1;
}

static void test_nccl__groups_have_communicators_of_their_own(void **state)
{
	(void)state;
	thread_ranks_run_worlds(3, 3, "nccl", use_groups);
}

int cudaSetDevice(int device);
int cudaGetDevice(int *device);

/* The communicator is on device 1; the caller goes on with 0, and finds it current after every call. */
static int change_device(struct thread_rank *self)
{
	float value[1] = {1};
	struct rh_comm_op op = thread_ranks_op(self, RH_COMM_ALL_REDUCE, value, 1);
	int device = -1;

	(void)cudaSetDevice(1);
	THREAD_RANK_CHECK(rh_comm_run(self->comm, &op, &self->err) == 0);
	(void)cudaGetDevice(&device);
	THREAD_RANK_CHECK(device == 1);
	(void)cudaSetDevice(0);
	THREAD_RANK_CHECK(rh_comm_run(self->comm, &op, &self->err) == 0);
	(void)cudaGetDevice(&device);
	THREAD_RANK_CHECK(device == 0 && value[0] == 4);
	return 0;
}

static void test_nccl__leaves_the_callers_device_current(void **state)
{
	(void)state;
	thread_ranks_run_worlds(2, 2, "nccl", change_device);
}

static int fail_later(struct thread_rank *self)
{
	float value[1] = {1};
	struct rh_comm_op op = thread_ranks_op(self, RH_COMM_ALL_REDUCE, value, 1);
	int32_t r = 0;

	for (int i = 0; i < 2; i++)
		THREAD_RANK_CHECK(rh_comm_run(self->comm, &op, &self->err) == 0);
	r = rh_comm_run(self->comm, &op, &self->err);
	THREAD_RANK_CHECK(r == RH_COMM_EBACKEND);
	THREAD_RANK_CHECK(strstr(self->err.text, "remote process exited"));
	THREAD_RANK_CHECK(rh_comm_run(self->comm, &op, &self->err) == RH_COMM_EBACKEND);
	return 0;
}

static void test_nccl__an_error_that_comes_later_ends_the_operation(void **state)
{
	(void)state;
	fake_fail_at(2);
	thread_ranks_run_worlds(2, 3, "nccl", fail_later);
	fake_fail_at(-1);
}

static int abort_one(struct thread_rank *self)
{
	float value[1] = {1};
	struct rh_comm_op op = thread_ranks_op(self, RH_COMM_ALL_REDUCE, value, 1);

	THREAD_RANK_CHECK(rh_comm_run(self->comm, &op, &self->err) == 0);
	if (rh_comm_rank(self->comm) == 1)
		rh_comm_abort(self->comm, "the loss is no number");
	THREAD_RANK_CHECK(rh_comm_run(self->comm, &op, &self->err) == RH_COMM_EABORTED);
	THREAD_RANK_CHECK(self->err.rank == 1 && strstr(self->err.text, "the loss is no number"));
	return 0;
}

static void test_nccl__an_abort_ends_kernels_that_wait(void **state)
{
	(void)state;
	thread_ranks_run_worlds(2, 3, "nccl", abort_one);
}

/* The error where CUDA memory cannot be moved. */
static int is_refused(struct thread_rank *self)
{
	float value[1] = {1};
	struct rh_comm_op op = thread_ranks_op(self, RH_COMM_ALL_REDUCE, value, 1);

	THREAD_RANK_CHECK(strcmp(rh_comm_backend_name(self->comm), "native") == 0);
	THREAD_RANK_CHECK(rh_comm_all_reduce(self->comm, value, 1, RH_COMM_F32, RH_COMM_SUM, &self->err) == 0);
	THREAD_RANK_CHECK(value[0] == 2);
	THREAD_RANK_CHECK(rh_comm_run(self->comm, &op, &self->err) == RH_COMM_ENOTSUP);
	/* which is no reason to end the world */
	THREAD_RANK_CHECK(rh_comm_all_reduce(self->comm, value, 1, RH_COMM_F32, RH_COMM_SUM, NULL) == 0);
	return strstr(self->err.text, "CUDA memory cannot be moved here") ? 0 : 1;
}

struct refusal {
	const char *name;
	const char *variable;
	const char *value;
	const char *words;
	bool staged; /* there is a device, so memory goes through the host */
};

static const struct refusal refusals[] = {
	{"an old driver", "FAKE_CUDA_DEVICES", "-1", "no CUDA device: CUDA driver version is insufficient", false},
	{"no device", "FAKE_CUDA_DEVICES", "0", "no CUDA device: no CUDA-capable device is detected", false},
	{"an old NCCL", "FAKE_NCCL_VERSION", "21300", "NCCL is of version 21300", true},
	{"no NCCL", "RH_COMM_NCCL_LIBRARY", "/nonexistent/libnccl.so.2", "no NCCL (libnccl.so.2) is found", true},
	{"another library as NCCL", "RH_COMM_NCCL_LIBRARY", "libm.so.6", "NCCL has no ncclGetVersion", true},
	{"no CUDA runtime", "RH_COMM_CUDART", "/nonexistent/libcudart.so", "no CUDA runtime", false},
	{"no such CUDA runtime", "RH_COMM_CUDART", "libm.so.6", "the CUDA runtime has no cudaGetDeviceCount", false},
};

/* With auto host memory still works; with nccl rh_comm_init() fails with the reason. */
static void test_nccl__missing_libraries_are_named(void **state)
{
	struct thread_rank ranks[2];

	(void)state;
	for (size_t i = 0; i < sizeof(refusals) / sizeof(*refusals); i++) {
		const struct refusal *refusal = &refusals[i];

		print_message("%s\n", refusal->name);
		(void)setenv(refusal->variable, refusal->value, 1);
		thread_ranks_run(2, "auto", refusal->staged ? try_types : is_refused, ranks);
		assert_int_equal(ranks[0].status, 0);
		assert_int_equal(ranks[1].status, 0);
		assert_true(refusal->staged || strstr(ranks[0].err.text, refusal->words));
		thread_ranks_run(2, "nccl", is_refused, ranks);
		assert_int_equal(ranks[0].status, THREAD_RANK_INIT_FAILED);
		assert_int_equal(ranks[1].status, THREAD_RANK_INIT_FAILED);
		assert_non_null(strstr(ranks[0].err.text, refusal->words));
		(void)unsetenv(refusal->variable);
		thread_ranks_set_libraries();
	}
}

static int do_all(struct thread_rank *self)
{
	static thread_rank_fn *const all[] = {try_types, try_moves, many_outstanding, follow_kernel, exchange, use_groups};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		bool of_two = all[i] == follow_kernel || all[i] == exchange;
		bool of_three = all[i] == use_groups;
		int32_t world = rh_comm_world(self->comm);

		if ((!of_two || world == 2) && (!of_three || world == 3) && all[i](self) != 0)
			return 1;
	}
	return 0;
}

/* Another backend moves CUDA memory through pinned memory of the host. */
static void test_nccl__other_backends_go_through_the_host(void **state)
{
	(void)state;
	thread_ranks_run_worlds(1, THREAD_RANKS_MAX, "native", do_all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nccl__reduces_every_type),
		cmocka_unit_test(test_nccl__moves_between_ranks),
		cmocka_unit_test(test_nccl__takes_part_in_the_order_of_the_stream),
		cmocka_unit_test(test_nccl__messages_go_as_groups),
		cmocka_unit_test(test_nccl__many_may_be_outstanding),
		cmocka_unit_test(test_nccl__groups_have_communicators_of_their_own),
		cmocka_unit_test(test_nccl__leaves_the_callers_device_current),
		cmocka_unit_test(test_nccl__an_error_that_comes_later_ends_the_operation),
		cmocka_unit_test(test_nccl__an_abort_ends_kernels_that_wait),
		cmocka_unit_test(test_nccl__missing_libraries_are_named),
		cmocka_unit_test(test_nccl__other_backends_go_through_the_host),
	};

	(void)setenv("RH_COMM_PATH", RH_COMM_MODULES, 1);
	(void)setenv("RH_COMM_LOG", "off", 1);
	thread_ranks_set_libraries();
	return cmocka_run_group_tests_name("comm/nccl", tests, NULL, NULL);
}
