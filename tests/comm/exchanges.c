/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/exchanges.h"

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

#include "comm/reference.h"
#include "comm/values.h"
#include "random.h"

#define ROUNDS 120
#define PENDING 4
#define GUARD 64

/* One operation as all ranks post it, and what this rank has for it. */
struct trial {
	struct reference_trial of;
	size_t counts[RANKS_MAX][RANKS_MAX]; /* what a rank has for another one */
	bool in_place;
	size_t in_counts[RANKS_MAX];
	size_t out_counts[RANKS_MAX];
	char *in;
	char *out;
	size_t out_count;
	struct rh_comm_op op;
	struct rh_comm_request *request;
};

static size_t next_count(uint64_t *seed)
{
	static const size_t counts[] = {0, 0, 1, 2, 3, 17, 255, 4099};
	size_t number = test_random(seed);

	/* longer than a segment, now and then */
	return number % 40 == 39 ? 70001 : counts[number % 8];
}

static void choose(struct trial *trial, uint64_t *seed, int32_t world)
{
	trial->of.what = RH_COMM_ALL_TO_ALL + (int32_t)(test_random(seed) % 9);
	trial->of.type = 1 + (int32_t)(test_random(seed) % VALUES_TYPES);
	trial->of.reduce =
		1 + (int32_t)(test_random(seed) % (values_is_float(trial->of.type) ? RH_COMM_PROD : RH_COMM_BXOR));
	trial->of.root = (int32_t)(test_random(seed) % (uint32_t)world);
	trial->of.count = next_count(seed);
	trial->in_place = test_random(seed) % 3 == 0;
	for (int32_t from = 0; from < world; from++) {
		for (int32_t to = 0; to < world; to++)
			trial->counts[from][to] = next_count(seed);
	}
}

/* Elements that `from` has for `to`. */
static size_t given(const struct trial *trial, int32_t from, int32_t to)
{
	switch (trial->of.what) {
	case RH_COMM_ALL_TO_ALL_V:
		return trial->counts[from][to];
	case RH_COMM_GATHER:
	case RH_COMM_REDUCE:
		return to == trial->of.root ? trial->of.count : 0;
	case RH_COMM_GATHER_V:
		return to == trial->of.root ? trial->counts[from][0] : 0;
	case RH_COMM_SCATTER:
		return from == trial->of.root ? trial->of.count : 0;
	case RH_COMM_SCATTER_V:
		return from == trial->of.root ? trial->counts[0][to] : 0;
	case RH_COMM_ALL_GATHER_V:
		return trial->counts[from][0];
	case RH_COMM_REDUCE_SCATTER_V:
		return trial->counts[0][to];
	default:
		return trial->of.count;
	}
}

static bool reduces(const struct trial *trial)
{
	return trial->of.what == RH_COMM_REDUCE || trial->of.what == RH_COMM_REDUCE_SCATTER_V;
}

/* Whether the input is one part, which goes to every rank that takes it. */
static bool has_one_part(const struct trial *trial)
{
	return trial->of.what == RH_COMM_ALL_GATHER_V || trial->of.what == RH_COMM_REDUCE ||
	       trial->of.what == RH_COMM_GATHER || trial->of.what == RH_COMM_GATHER_V;
}

static int value(const struct trial *trial, int32_t from, int32_t to, size_t i)
{
	return (int)(((size_t)from * 31 + (has_one_part(trial) ? 0 : (size_t)to * 7) + i) % 100);
}

/* The input of this rank. @return its elements */
static size_t fill(const struct trial *trial, int32_t rank, int32_t world, char *in)
{
	size_t at = 0;

	for (int32_t to = 0; to < world; to++) {
		size_t count = given(trial, rank, to);

		if (has_one_part(trial) && trial->of.what != RH_COMM_ALL_GATHER_V && to != trial->of.root)
			continue;
		for (size_t i = 0; i < count; i++, at++)
			values_put(in, at, trial->of.type,
			           reduces(trial) ? reference_value(rank, at, trial->of.reduce) : value(trial, rank, to, i));
		if (has_one_part(trial))
			break;
	}
	return at;
}

static size_t count_in(const struct trial *trial, int32_t rank, int32_t world)
{
	size_t total = 0;

	for (int32_t to = 0; to < world; to++)
		total += given(trial, rank, to);
	return total;
}

static size_t count_out(const struct trial *trial, int32_t rank, int32_t world)
{
	size_t total = 0;

	for (int32_t from = 0; from < world && !reduces(trial); from++)
		total += given(trial, from, rank);
	return reduces(trial) ? given(trial, rank, rank) : total;
}

static void set_op(struct trial *trial, int32_t rank, int32_t world)
{
	size_t own = trial->of.count;

	for (int32_t other = 0; other < world; other++) {
		trial->in_counts[other] = given(trial, rank, other);
		trial->out_counts[other] = given(trial, other, rank);
	}
	if (trial->of.what == RH_COMM_GATHER_V)
		own = trial->counts[rank][0];
	else if (trial->of.what == RH_COMM_SCATTER_V)
		own = trial->counts[0][rank];
	trial->op = (struct rh_comm_op){.size = sizeof(trial->op),
	                                .what = trial->of.what,
	                                .in = trial->in,
	                                .out = trial->out_count > 0 ? trial->out : NULL,
	                                .count = own,
	                                .type = trial->of.type,
	                                .reduce = trial->of.reduce,
	                                .peer = trial->of.root,
	                                .in_counts = trial->in_counts,
	                                .out_counts = trial->out_counts};
}

/* Where the input lies in the output, if it is to be there. */
static void set_in_place(struct trial *trial, int32_t rank, size_t bytes)
{
	bool root = trial->of.root == rank;
	size_t before = 0;

	if (!trial->in_place || trial->out_count == 0)
		return;
	if (trial->of.what != RH_COMM_ALL_GATHER_V &&
	    (!root ||
	     (trial->of.what != RH_COMM_GATHER && trial->of.what != RH_COMM_GATHER_V && trial->of.what != RH_COMM_REDUCE)))
		return;
	for (int32_t other = 0; other < rank && trial->of.what != RH_COMM_REDUCE; other++)
		before += trial->out_counts[other];
	memcpy(trial->out + before * rh_comm_type_size(trial->of.type), trial->in, bytes);
	trial->op.in = NULL;
}

static int32_t post(struct rh_comm *comm, struct trial *trial, struct rh_comm_error *err)
{
	int32_t rank = rh_comm_rank(comm);
	int32_t world = rh_comm_world(comm);
	size_t size = rh_comm_type_size(trial->of.type);
	size_t bytes;

	trial->out_count = count_out(trial, rank, world);
	trial->in = calloc(count_in(trial, rank, world) + 1, size);
	trial->out = malloc(trial->out_count * size + GUARD);
	if (!trial->in || !trial->out)
		return RH_COMM_ENOMEM;
	memset(trial->out, 0x5a, trial->out_count * size + GUARD);
	bytes = fill(trial, rank, world, trial->in) * size;
	set_op(trial, rank, world);
	set_in_place(trial, rank, bytes);
	return rh_comm_post(comm, &trial->op, &trial->request, err);
}

static int differs(const struct rh_comm *comm, const struct trial *trial, size_t at, double wanted)
{
	double got = values_take(trial->out, at, trial->of.type);

	if (values_are_close(got, wanted, trial->of.type))
		return 0;
	(void)fprintf(stderr, "rank %d of %d: what %d type %d reduce %d root %d: [%zu] is %g, not %g\n",
	              (int)rh_comm_rank(comm), (int)rh_comm_world(comm), (int)trial->of.what, (int)trial->of.type,
	              (int)trial->of.reduce, (int)trial->of.root, at, got, wanted);
	return 1;
}

static int compare(const struct rh_comm *comm, const struct trial *trial)
{
	int32_t rank = rh_comm_rank(comm);
	size_t first = 0;
	size_t at = 0;

	for (int32_t to = 0; to < rank && trial->of.what == RH_COMM_REDUCE_SCATTER_V; to++)
		first += given(trial, rank, to);
	for (; reduces(trial) && at < trial->out_count; at++) {
		if (differs(comm, trial, at, reference_reduced(&trial->of, rh_comm_world(comm), first + at)) != 0)
			return 1;
	}
	for (int32_t from = 0; from < rh_comm_world(comm) && !reduces(trial); from++) {
		for (size_t i = 0; i < given(trial, from, rank); i++, at++) {
			if (differs(comm, trial, at, value(trial, from, rank, i)) != 0)
				return 1;
		}
	}
	for (size_t i = 0; i < GUARD; i++) {
		if (trial->out[trial->out_count * rh_comm_type_size(trial->of.type) + i] != 0x5a)
			return 2;
	}
	return 0;
}

/* Some at once, waited for in the other order. */
static int try_some(struct rh_comm *comm, uint64_t *seed)
{
	static struct trial trials[PENDING];
	struct rh_comm_error err = {0};
	int status = 0;

	for (int i = 0; i < PENDING && status == 0; i++) {
		choose(&trials[i], seed, rh_comm_world(comm));
		if (post(comm, &trials[i], &err) != 0)
			status = 3;
	}
	for (int i = PENDING - 1; i >= 0 && status == 0; i--) {
		status = rh_comm_wait(trials[i].request, &err) == 0 ? compare(comm, &trials[i]) : 4;
		free(trials[i].in);
		free(trials[i].out);
	}
	if (status > 1)
		(void)fprintf(stderr, "rank %d: %d: %s\n", (int)rh_comm_rank(comm), status, err.text);
	return status;
}

int exchanges_seeded(struct rh_comm *comm, const void *arg)
{
	int32_t ranks[RANKS_MAX];
	struct rh_comm *group = NULL;
	uint64_t seed = 7;
	int status = 0;

	(void)arg;
	for (int32_t rank = 0; rank < rh_comm_world(comm); rank++)
		ranks[rank] = rh_comm_world(comm) - 1 - rank;
	if (rh_comm_group(comm, ranks, rh_comm_world(comm), &group, NULL) != 0)
		return 5;
	for (int round = 0; round < ROUNDS && status == 0; round++)
		status = try_some(round % 4 == 3 ? group : comm, &seed);
	rh_comm_free(group);
	return status;
}

/* Rank 1 has `has` elements for rank 0, which expects `wants`. */
struct disagreement {
	int32_t what;
	size_t has;
	size_t wants;
};

static int post_other_counts(struct rh_comm *comm, const void *arg)
{
	static int32_t in[64];
	static int32_t out[64];
	const struct disagreement *row = arg;
	const struct rh_comm_op barrier = {.size = sizeof(barrier), .what = RH_COMM_BARRIER};
	int32_t rank = rh_comm_rank(comm);
	bool scatters = row->what == RH_COMM_SCATTER_V;
	size_t in_counts[] = {rank == 1 ? row->has : 2, 2, 2};
	size_t out_counts[] = {2, rank == 0 ? row->wants : 2, 2};
	struct rh_comm_op op = {.size = sizeof(op),
	                        .what = row->what,
	                        .in = in,
	                        .out = out,
	                        .count = scatters ? row->wants : row->has,
	                        .type = RH_COMM_I32,
	                        .peer = scatters ? 1 : 0,
	                        .in_counts = in_counts,
	                        .out_counts = out_counts};
	struct rh_comm_error err = {0};
	char text[100];
	int32_t r;

	if (rank != (scatters ? 0 : 1))
		op.count = 2;
	r = rh_comm_run(comm, &op, &err);
	/* who has nothing to do with it finds out with the next one */
	if (r == 0)
		r = rh_comm_run(comm, &barrier, &err);
	(void)snprintf(text, sizeof(text), "rank 1 has %zu elements for rank 0, which expects %zu", row->has, row->wants);
	if (r == RH_COMM_EINVAL && err.rank == 1 && strstr(err.text, text))
		return 0;
	(void)fprintf(stderr, "rank %d, what %d: %d, rank %d, %s\n", (int)rank, (int)row->what, (int)r, (int)err.rank,
	              err.text);
	return 1;
}

void exchanges_check_counts(const char *backend, bool no_shm)
{
	static const struct disagreement rows[] = {{RH_COMM_ALL_TO_ALL_V, 5, 4}, {RH_COMM_ALL_TO_ALL_V, 0, 4},
	                                           {RH_COMM_ALL_TO_ALL_V, 3, 0}, {RH_COMM_GATHER_V, 0, 1},
	                                           {RH_COMM_GATHER_V, 9, 8},     {RH_COMM_SCATTER_V, 1, 0},
	                                           {RH_COMM_SCATTER_V, 6, 7}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct ranks_plan plan = {
			.world = 3, .no_shm = no_shm, .backend = backend, .fn = post_other_counts, .arg = &rows[i]};

		ranks_run(&plan);
	}
}
