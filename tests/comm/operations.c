/* SPDX-License-Identifier: Apache-2.0 */
/* Runs in the rank processes, where a failure is an exit status: cmocka lives in the parent. */
#include "comm/operations.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comm/core/check.h"
#include "comm/reference.h"
#include "comm/values.h"

#define GUARD 64
#define PENDING 12
#define LONG 50000
#define TENSORS 120
#define TENSOR_BYTES 40000

/* One collective as it is tried. */
struct trial {
	struct reference_trial of;
	size_t offset; /* bytes that the buffers are off alignment */
	bool in_place;
};

static int compare(struct rh_comm *comm, const struct trial *trial, const char *out)
{
	const char *end = out + reference_out_count(&trial->of, rh_comm_world(comm)) * rh_comm_type_size(trial->of.type);

	if (reference_compare(comm, &trial->of, out) != 0)
		return 1;
	for (size_t i = 0; i < GUARD; i++)
		CHECK(end[i] == 0x5a);
	return 0;
}

static int try_one(struct rh_comm *comm, const struct trial *trial)
{
	struct rh_comm_error err = {0};
	int32_t world = rh_comm_world(comm);
	size_t size = rh_comm_type_size(trial->of.type);
	size_t longest = trial->of.count * (size_t)world * size + trial->offset + GUARD;
	char *in = malloc(longest);
	char *out = malloc(longest);
	struct rh_comm_op op = {.size = sizeof(op),
	                        .what = trial->of.what,
	                        .in = in + trial->offset,
	                        .out = out + trial->offset,
	                        .count = trial->of.count,
	                        .type = trial->of.type,
	                        .reduce = trial->of.reduce,
	                        .peer = trial->of.root};
	int status;

	CHECK(in && out);
	memset(out, 0x5a, longest);
	for (size_t i = 0; i < reference_in_count(&trial->of, world); i++)
		values_put(in + trial->offset, i, trial->of.type, reference_value(rh_comm_rank(comm), i, trial->of.reduce));
	if (trial->in_place) {
		memcpy(out + trial->offset, in + trial->offset, trial->of.count * size);
		op.in = op.out;
	}
	CHECK_DONE(rh_comm_run(comm, &op, &err));
	status = compare(comm, trial, out + trial->offset);
	free(in);
	free(out);
	return status;
}

static int try_counts(struct rh_comm *comm, struct trial *trial)
{
	static const size_t counts[] = {0, 1, 2, 3, 17, 255, 1000, 4099, 70001};

	for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
		/* the long way through every chunk is the same for every reduction */
		if (counts[i] > LONG && trial->of.reduce > RH_COMM_AVG)
			continue;
		trial->of.count = counts[i];
		trial->offset = i % 3 == 2 ? rh_comm_type_size(trial->of.type) : 0;
		trial->of.root = (int32_t)(i % (size_t)rh_comm_world(comm));
		trial->in_place = (trial->of.what == RH_COMM_ALL_REDUCE || trial->of.what == RH_COMM_BROADCAST) && i % 2 == 1;
		if (try_one(comm, trial) != 0)
			return 1;
	}
	return 0;
}

/* Every type and every reduction is tried, but of the integers that differ in length alone not every pair. */
static bool worth_it(int32_t type, int32_t reduce)
{
	if ((type <= RH_COMM_U8 || values_is_float(type)) && reduce <= RH_COMM_PROD)
		return true;
	return !values_is_float(type) && (reduce == RH_COMM_SUM || reduce == RH_COMM_BAND + type % 3);
}

int operations_collectives(struct rh_comm *comm, const void *arg)
{
	struct rh_comm_op barrier = {.size = sizeof(barrier), .what = RH_COMM_BARRIER};
	struct rh_comm_error err = {0};
	struct trial trial = {0};

	(void)arg;
	for (trial.of.what = RH_COMM_ALL_REDUCE; trial.of.what <= RH_COMM_BROADCAST; trial.of.what++) {
		bool reduces = trial.of.what <= RH_COMM_REDUCE_SCATTER;

		for (trial.of.type = 1; trial.of.type <= VALUES_TYPES; trial.of.type++) {
			for (trial.of.reduce = 1; trial.of.reduce <= (reduces ? RH_COMM_BXOR : 1); trial.of.reduce++) {
				if (worth_it(trial.of.type, trial.of.reduce) && try_counts(comm, &trial) != 0)
					return 1;
			}
		}
		CHECK_DONE(rh_comm_run(comm, &barrier, &err));
	}
	return 0;
}

/* What rank `from` sends to rank `to` under a tag. */
static int32_t letter(int32_t from, int32_t to, uint32_t tag, size_t i)
{
	return from * 1000000 + to * 10000 + (int32_t)tag * 100 + (int32_t)(i % 97);
}

static int exchange(struct rh_comm *comm, int32_t peer, size_t count, int32_t *buffers)
{
	struct rh_comm_request *requests[4] = {NULL};
	struct rh_comm_error err = {0};
	int32_t rank = rh_comm_rank(comm);

	for (uint32_t tag = 0; tag < 2; tag++) {
		int32_t *out = buffers + tag * count;
		struct rh_comm_op send = {.size = sizeof(send),
		                          .what = RH_COMM_SEND,
		                          .in = out,
		                          .count = count,
		                          .type = RH_COMM_I32,
		                          .peer = peer,
		                          .tag = tag};
		/* asked for in the other order */
		struct rh_comm_op recv = {.size = sizeof(recv),
		                          .what = RH_COMM_RECV,
		                          .out = buffers + (3 - tag) * count,
		                          .count = count,
		                          .type = RH_COMM_I32,
		                          .peer = peer,
		                          .tag = 1 - tag};

		for (size_t i = 0; i < count; i++)
			out[i] = letter(rank, peer, tag, i);
		CHECK_DONE(rh_comm_post(comm, &send, &requests[tag * 2], &err));
		CHECK_DONE(rh_comm_post(comm, &recv, &requests[tag * 2 + 1], &err));
	}
	for (int i = 3; i >= 0; i--)
		CHECK_DONE(rh_comm_wait(requests[i], &err));
	for (uint32_t tag = 0; tag < 2; tag++) {
		for (size_t i = 0; i < count; i++)
			CHECK(buffers[(2 + tag) * count + i] == letter(peer, rank, tag, i));
	}
	return 0;
}

int operations_messages(struct rh_comm *comm, const void *arg)
{
	static const size_t counts[] = {1, 100, 30000, 300000};

	(void)arg;
	for (size_t c = 0; c < sizeof(counts) / sizeof(*counts); c++) {
		int32_t *buffers = malloc(4 * counts[c] * sizeof(*buffers));

		CHECK(buffers);
		for (int32_t distance = 1; distance < rh_comm_world(comm); distance++) {
			int32_t peer = rh_comm_rank(comm) ^ distance;

			if (peer < rh_comm_world(comm) && exchange(comm, peer, counts[c], buffers) != 0)
				return 1;
		}
		free(buffers);
	}
	return 0;
}

int operations_outstanding(struct rh_comm *comm, const void *arg)
{
	struct rh_comm_request *requests[PENDING];
	struct rh_comm_error err = {0};
	float *data[PENDING];
	float world = (float)rh_comm_world(comm);

	(void)arg;
	for (int k = 0; k < PENDING; k++) {
		size_t count = k % 3 == 0 ? 10 : k % 3 == 1 ? 5000 : 200000;
		struct rh_comm_op op = {
			.size = sizeof(op), .what = RH_COMM_ALL_REDUCE, .count = count, .type = RH_COMM_F32, .reduce = RH_COMM_SUM};

		data[k] = malloc(count * sizeof(float));
		CHECK(data[k]);
		for (size_t i = 0; i < count; i++)
			data[k][i] = (float)k;
		op.out = data[k];
		CHECK_DONE(rh_comm_post(comm, &op, &requests[k], &err));
	}
	for (int k = 0; k < PENDING; k++) {
		int at = (k * 5 + 3) % PENDING;
		size_t count = at % 3 == 0 ? 10 : at % 3 == 1 ? 5000 : 200000;
		int32_t status = RH_COMM_BUSY;

		while (k % 2 == 0 && status == RH_COMM_BUSY)
			status = rh_comm_test(requests[at], &err);
		CHECK_DONE(k % 2 == 0 ? status : rh_comm_wait(requests[at], &err));
		for (size_t i = 0; i < count; i++)
			CHECK(data[at][i] == (float)at * world);
		free(data[at]);
	}
	return 0;
}

/* Tensor `k` of a batch: types and lengths that make runs of several kinds, and one that fits no bucket. */
static void batch_op(struct rh_comm_op *op, size_t k, char *data)
{
	static const size_t counts[] = {3, 17, 1, 0, 400, 64, 5000};

	*op = (struct rh_comm_op){.size = sizeof(*op),
	                          .what = k % 23 == 22 ? RH_COMM_BROADCAST : RH_COMM_ALL_REDUCE,
	                          .out = data,
	                          .count = counts[k % 7],
	                          .type = k % 20 < 12 ? RH_COMM_F32 : RH_COMM_I64,
	                          .reduce = k % 40 < 30 ? RH_COMM_SUM : RH_COMM_MAX,
	                          .peer = 0};
}

static int check_tensor(struct rh_comm *comm, const struct rh_comm_op *op)
{
	const struct reference_trial trial = {.what = op->what, .type = op->type, .reduce = op->reduce, .count = op->count};

	for (size_t i = 0; i < op->count; i++)
		CHECK(values_take(op->out, i, op->type) ==
		      reference_expected(&trial, rh_comm_world(comm), rh_comm_rank(comm), i));
	return 0;
}

int operations_batches(struct rh_comm *comm, const void *arg)
{
	struct rh_comm_error err = {0};
	struct rh_comm_request *requests[2] = {NULL};
	struct rh_comm_op ops[2 * TENSORS];
	char *data = calloc((size_t)2 * TENSORS, TENSOR_BYTES);

	(void)arg;
	CHECK(data);
	for (size_t k = 0; k < (size_t)2 * TENSORS; k++) {
		batch_op(&ops[k], k, data + k * TENSOR_BYTES);
		for (size_t i = 0; i < ops[k].count; i++)
			values_put(ops[k].out, i, ops[k].type, reference_value(rh_comm_rank(comm), i, ops[k].reduce));
	}
	/* two in flight, waited for in the other order */
	CHECK_DONE(rh_comm_post_batch(comm, ops, TENSORS, &requests[0], &err));
	CHECK_DONE(rh_comm_post_batch(comm, ops + TENSORS, TENSORS, &requests[1], &err));
	CHECK_DONE(rh_comm_wait(requests[1], &err));
	CHECK_DONE(rh_comm_wait(requests[0], &err));
	for (size_t k = 0; k < (size_t)2 * TENSORS; k++) {
		if (check_tensor(comm, &ops[k]) != 0)
			return 1;
	}
	CHECK_DONE(rh_comm_post_batch(comm, NULL, 0, &requests[0], &err));
	CHECK_DONE(rh_comm_wait(requests[0], &err));
	ops[1].type = 99;
	CHECK(rh_comm_post_batch(comm, ops, 2, &requests[0], &err) == RH_COMM_EINVAL);
	free(data);
	return 0;
}

/* The group's first two ranks make one of their own, the other way round. */
static int try_inner_group(struct rh_comm *comm)
{
	static const int32_t ranks[] = {1, 0};
	struct rh_comm_error err = {0};
	struct rh_comm *inner = NULL;
	int64_t value = rh_comm_rank(comm) + 1;

	if (rh_comm_rank(comm) > 1)
		return 0;
	CHECK_DONE(rh_comm_group(comm, ranks, 2, &inner, &err));
	CHECK(rh_comm_rank(inner) == 1 - rh_comm_rank(comm));
	CHECK_DONE(rh_comm_all_reduce(inner, &value, 1, RH_COMM_I64, RH_COMM_PROD, &err));
	CHECK(value == 2);
	rh_comm_free(inner);
	return 0;
}

static int try_group(struct rh_comm *comm, const int32_t *ranks, int32_t count, int64_t sum)
{
	struct rh_comm_error err = {0};
	struct rh_comm *group = NULL;
	int64_t value = rh_comm_rank(comm);

	CHECK_DONE(rh_comm_group(comm, ranks, count, &group, &err));
	CHECK(rh_comm_world(group) == count);
	CHECK(ranks[rh_comm_rank(group)] == rh_comm_rank(comm));
	CHECK_DONE(rh_comm_all_reduce(group, &value, 1, RH_COMM_I64, RH_COMM_SUM, &err));
	CHECK(value == sum);
	if (count > 1 && try_inner_group(group) != 0)
		return 1;
	rh_comm_free(group);
	return 0;
}

int operations_groups(struct rh_comm *comm, const void *arg)
{
	int32_t world = rh_comm_world(comm);
	int32_t own = rh_comm_rank(comm);
	int32_t half[RANKS_MAX];
	int32_t back[RANKS_MAX];
	int32_t count = 0;
	int64_t sum = 0;

	(void)arg;
	for (int32_t rank = 0; rank < world; rank++) {
		back[rank] = world - 1 - rank;
		if (rank % 2 == own % 2) {
			half[count++] = rank;
			sum += rank;
		}
	}
	/* ranks of one half make a group more than the others */
	for (int32_t times = 0; times < 2 + own % 2; times++) {
		if (try_group(comm, half, count, sum) != 0)
			return 1;
	}
	return try_group(comm, back, world, (int64_t)world * (world - 1) / 2);
}
