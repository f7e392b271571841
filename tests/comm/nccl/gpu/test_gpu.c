/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CUDA memory on a real device: one rank, two ranks that share a device (NCCL 2.30 and newer allows that) or have one
 * each, and the way through the host over the native backend. test_gpu.py finds the libraries, and says why this is
 * skipped where there is no device. The same program runs on the runtime of ours, as far as that goes.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "comm/nccl/gpu/device.h"
#include "comm/ranks.h"
#include "comm/reference.h"
#include "comm/values.h"

#define SHARED_DEVICE 23000
/* Several chunks of what goes through the host, and no multiple of one. */
#define LONG 3000017

#define CHECK(condition, words)                                                                \
	do {                                                                                       \
		if (!(condition)) {                                                                    \
			(void)fprintf(stderr, "rank %d: line %d: %s\n", (int)rh_comm_rank(comm), __LINE__, \
			              (words) ? (words) : "");                                             \
			return 1;                                                                          \
		}                                                                                      \
	} while (0)

static int try_one(struct rh_comm *comm, const struct device *device, const struct reference_trial *trial)
{
	size_t size = rh_comm_type_size(trial->type);
	size_t in_count = reference_in_count(trial, rh_comm_world(comm));
	size_t out_bytes = reference_out_count(trial, rh_comm_world(comm)) * size;
	struct rh_comm_error err = {0};
	char *data = malloc((in_count + 1) * size + out_bytes);
	struct rh_comm_op op = {.size = sizeof(op),
	                        .what = trial->what,
	                        .count = trial->count,
	                        .type = trial->type,
	                        .reduce = trial->reduce,
	                        .peer = trial->root,
	                        .memory = RH_COMM_CUDA,
	                        .stream = device->stream};
	void *in;
	int status;

	CHECK(data, "no memory");
	for (size_t i = 0; i < in_count; i++)
		values_put(data, i, trial->type, reference_value(rh_comm_rank(comm), i, trial->reduce));
	in = device_new(device, data, in_count * size);
	op.in = in;
	op.out = device_new(device, NULL, out_bytes);
	CHECK(in && op.out, "no memory on the device");
	CHECK(rh_comm_run(comm, &op, &err) == 0, err.text);
	CHECK(device_take(device, op.out, data, out_bytes), "the result cannot be read");
	CHECK(device->free(in) == 0, "the input cannot be freed");
	status = reference_compare(comm, trial, data);
	free(data);
	return status;
}

static int try_reductions(struct rh_comm *comm, const struct device *device, struct reference_trial *trial)
{
	bool reduces = trial->what == RH_COMM_ALL_REDUCE || trial->what == RH_COMM_REDUCE_SCATTER;

	for (trial->reduce = 1; trial->reduce <= (reduces ? RH_COMM_PROD : 1); trial->reduce++) {
		if (try_one(comm, device, trial) != 0)
			return 1;
	}
	return 0;
}

static int try_refusals(struct rh_comm *comm, const struct device *device)
{
	struct rh_comm_error err = {0};
	struct rh_comm_op op = {.size = sizeof(op),
	                        .what = RH_COMM_ALL_REDUCE,
	                        .count = 1,
	                        .reduce = RH_COMM_SUM,
	                        .memory = RH_COMM_CUDA,
	                        .stream = device->stream};

	op.out = device_new(device, NULL, sizeof(uint64_t));
	CHECK(op.out, "no memory on the device");
	for (op.type = RH_COMM_U8 + 1; op.type <= VALUES_TYPES; op.type++)
		CHECK(rh_comm_run(comm, &op, &err) == RH_COMM_ENOTSUP, "it is not refused");
	CHECK(device->free(op.out) == 0, "the memory cannot be freed");
	return 0;
}

static int try_collectives(struct rh_comm *comm, const struct device *device, size_t count)
{
	struct reference_trial trial = {.root = rh_comm_world(comm) - 1, .count = count};

	for (trial.what = RH_COMM_ALL_REDUCE; trial.what <= RH_COMM_BROADCAST; trial.what++) {
		/* the integers of 16 bits and the unsigned ones of more are refused by name: CUDA memory of theirs is not
		 * reduced */
		for (trial.type = 1; trial.type <= RH_COMM_U8; trial.type++) {
			if (try_reductions(comm, device, &trial) != 0)
				return 1;
		}
	}
	return 0;
}

/* What is in the caller's stream before the operation is seen by it. */
static int try_order(struct rh_comm *comm, const struct device *device)
{
	uint8_t *host = calloc(LONG, 1);
	uint8_t *data = device_new(device, host, LONG);
	struct rh_comm_error err = {0};
	struct rh_comm_op op = {.size = sizeof(op),
	                        .what = RH_COMM_ALL_REDUCE,
	                        .out = data,
	                        .count = LONG,
	                        .type = RH_COMM_U8,
	                        .reduce = RH_COMM_SUM,
	                        .memory = RH_COMM_CUDA,
	                        .stream = device->stream};

	CHECK(host && data, "no memory");
	for (int round = 1; round < 4; round++) {
		CHECK(device->fill(data, round, LONG, device->stream) == 0, "cudaMemsetAsync");
		CHECK(rh_comm_run(comm, &op, &err) == 0, err.text);
	}
	CHECK(device_take(device, data, host, LONG), "the result cannot be read");
	for (size_t i = 0; i < LONG; i++)
		CHECK(host[i] == 3 * rh_comm_world(comm), "what the stream had to do first was not done");
	free(host);
	return 0;
}

/* Both send first. */
static int try_exchange(struct rh_comm *comm, const struct device *device, size_t count)
{
	int32_t rank = rh_comm_rank(comm);
	float *host = malloc(count * sizeof(*host));
	struct rh_comm_error err = {0};
	struct rh_comm_request *requests[2];
	struct rh_comm_op op = {.size = sizeof(op),
	                        .what = RH_COMM_SEND,
	                        .count = count,
	                        .type = RH_COMM_F32,
	                        .peer = 1 - rank,
	                        .memory = RH_COMM_CUDA,
	                        .stream = device->stream};
	void *out;

	CHECK(host, "no memory");
	for (size_t i = 0; i < count; i++)
		host[i] = (float)(rank + (int)(i % 1000));
	out = device_new(device, host, count * sizeof(*host));
	op.in = out;
	CHECK(rh_comm_post(comm, &op, &requests[0], &err) == 0, err.text);
	op.what = RH_COMM_RECV;
	op.out = device_new(device, NULL, count * sizeof(*host));
	CHECK(rh_comm_post(comm, &op, &requests[1], &err) == 0, err.text);
	CHECK(rh_comm_wait(requests[0], &err) == 0, err.text);
	CHECK(rh_comm_wait(requests[1], &err) == 0, err.text);
	CHECK(device_take(device, op.out, host, count * sizeof(*host)), "the result cannot be read");
	for (size_t i = 0; i < count; i++)
		CHECK(host[i] == (float)(1 - rank + (int)(i % 1000)), "the message is another");
	CHECK(device->free(out) == 0, "the message cannot be freed");
	free(host);
	return 0;
}

static int on_device(struct rh_comm *comm, const void *arg)
{
	struct device device = {0};
	const char *wrong = device_open(&device, rh_comm_local_rank(comm));
	size_t count = *(const size_t *)arg;

	CHECK(!wrong, wrong);
	if (try_collectives(comm, &device, 1001) != 0 || try_refusals(comm, &device) != 0 || try_order(comm, &device) != 0)
		return 1;
	if (rh_comm_world(comm) == 2 && try_exchange(comm, &device, count) != 0)
		return 2;
	for (int32_t type = RH_COMM_F32; type <= RH_COMM_BF16; type++) {
		const struct reference_trial trial = {RH_COMM_ALL_REDUCE, type, RH_COMM_SUM, 0, count};

		if (try_one(comm, &device, &trial) != 0)
			return 3;
	}
	device_close(&device);
	return 0;
}

/* Rank 1 is not there for the second one: it aborts, or dies. The first one shows that all is well till then. */
static int without_rank_1(struct rh_comm *comm, const void *arg)
{
	bool dies = *(const bool *)arg;
	struct device device = {0};
	const char *wrong = device_open(&device, rh_comm_local_rank(comm));
	const struct reference_trial trial = {RH_COMM_ALL_REDUCE, RH_COMM_F32, RH_COMM_SUM, 0, LONG};
	struct rh_comm_error err = {0};
	struct rh_comm_op op = {.size = sizeof(op),
	                        .what = RH_COMM_ALL_REDUCE,
	                        .count = LONG,
	                        .type = RH_COMM_F32,
	                        .reduce = RH_COMM_SUM,
	                        .memory = RH_COMM_CUDA};
	int32_t r;

	CHECK(!wrong, wrong);
	if (try_one(comm, &device, &trial) != 0)
		return 1;
	op.stream = device.stream;
	op.out = device_new(&device, NULL, LONG * sizeof(float));
	if (rh_comm_rank(comm) == 1) {
		(void)usleep(300000);
		if (dies)
			(void)raise(SIGKILL);
		rh_comm_abort(comm, "the loss is no number");
	}
	r = rh_comm_run(comm, &op, &err);
	CHECK(r == (dies ? RH_COMM_EPEER : RH_COMM_EABORTED) && err.rank == 1, err.text);
	CHECK(device.free(op.out) == 0, "what an operation that failed had cannot be freed");
	device_close(&device);
	return 0;
}

static const char *const shared[] = {"NCCL_MULTI_RANK_GPU_ENABLE=1", "NCCL_MAX_CTAS=4", "NCCL_SOCKET_IFNAME=lo", NULL};

/* @return how two ranks get along: NULL, or why not */
static const char *why_not_two(void)
{
	static char words[100];

	if (device_count() > 1 || device_nccl_version() >= SHARED_DEVICE)
		return NULL;
	(void)snprintf(words, sizeof(words), "there is one device, and NCCL %d cannot share it (2.30 and newer can)",
	               device_nccl_version());
	return words;
}

static void run_two(ranks_fn *fn, const void *arg)
{
	const char *why = why_not_two();
	struct ranks_plan plan = {.world = 2, .backend = "nccl", .env = shared, .fn = fn, .arg = arg};

	if (why) {
		print_message("SKIPPED: two ranks with NCCL: %s\n", why);
		skip();
	}
	ranks_run(&plan);
}

static const size_t long_count = LONG;
static const size_t short_count = 33;

static void test_gpu__one_rank_with_nccl(void **state)
{
	struct ranks_plan plan = {.world = 1, .backend = "nccl", .fn = on_device, .arg = &long_count};

	(void)state;
	ranks_run(&plan);
}

static void test_gpu__two_ranks_with_nccl(void **state)
{
	(void)state;
	run_two(on_device, &short_count);
	run_two(on_device, &long_count);
}

static void test_gpu__an_abort_ends_what_nccl_waits_for(void **state)
{
	static const bool dies = false;

	(void)state;
	run_two(without_rank_1, &dies);
}

static void check_death(const struct ranks_plan *plan)
{
	struct ranks ranks;

	ranks_start(plan, &ranks);
	assert_int_equal(ranks_wait(&ranks, 0), 0);
	assert_int_equal(ranks_wait(&ranks, 1), 128 + SIGKILL);
}

static void test_gpu__a_death_is_named(void **state)
{
	static const bool dies = true;
	struct ranks_plan plan = {.world = 2, .backend = "native", .fn = without_rank_1, .arg = &dies};

	(void)state;
	check_death(&plan);
	if (why_not_two())
		return;
	plan.backend = "nccl";
	plan.env = shared;
	check_death(&plan);
}

static void test_gpu__through_the_host(void **state)
{
	static const bool dies = false;

	(void)state;
	for (int32_t world = 1; world <= 3; world++) {
		struct ranks_plan plan = {.world = world, .backend = "native", .fn = on_device, .arg = &long_count};

		ranks_run(&plan);
		plan.no_shm = true;
		ranks_run(&plan);
		plan.fn = without_rank_1;
		plan.arg = &dies;
		if (world == 2)
			ranks_run(&plan);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gpu__one_rank_with_nccl),
		cmocka_unit_test(test_gpu__two_ranks_with_nccl),
		cmocka_unit_test(test_gpu__an_abort_ends_what_nccl_waits_for),
		cmocka_unit_test(test_gpu__a_death_is_named),
		cmocka_unit_test(test_gpu__through_the_host),
	};

	(void)setenv("RH_COMM_PATH", RH_COMM_MODULES, 1);
	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	if (device_count() == 0) {
		print_message("SKIPPED: no CUDA device, or no CUDA runtime (RH_COMM_CUDART)\n");
		return 77;
	}
	return cmocka_run_group_tests_name("comm/nccl/gpu", tests, NULL, NULL);
}
