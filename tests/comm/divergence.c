/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/divergence.h"

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

#define LONGEST 60000
#define ROUNDS 5
/* Worlds that run at the same time. */
#define BATCH 6

/* What the ranks post, and what one of them does instead. */
struct divergence {
	struct rh_comm_op op;
	struct rh_comm_op other;
	const char *text; /* both sides of the message: the odd rank and another one */
};

/* Which of it a world does. */
struct divergence_plan {
	const struct divergence *divergence;
	int32_t odd;
};

#define OP(is, number, of, how, root)                                                                      \
	{                                                                                                      \
		.size = sizeof(struct rh_comm_op), .what = (is), .count = (number), .type = (of), .reduce = (how), \
		.peer = (root)                                                                                     \
	}
#define SUM_OF(number) OP(RH_COMM_ALL_REDUCE, number, RH_COMM_F32, RH_COMM_SUM, 0)

static const size_t lists[][3] = {{1, 2, 3}, {1, 3, 2}};

static const struct divergence rows[] = {
	{SUM_OF(4), OP(RH_COMM_ALL_REDUCE, 4, RH_COMM_I32, RH_COMM_SUM, 0), "all-reduce of 4 i32, sum"},
	{SUM_OF(4), OP(RH_COMM_ALL_REDUCE, 4, RH_COMM_F32, RH_COMM_MAX, 0), "all-reduce of 4 f32, max"},
	{SUM_OF(4), SUM_OF(5), "all-reduce of 5 f32, sum"},
	{SUM_OF(4), OP(RH_COMM_BARRIER, 0, 0, 0, 0), "barrier"},
	{SUM_OF(1000), SUM_OF(500), "all-reduce of 500 f32, sum"},
	{SUM_OF(LONGEST), SUM_OF(4), "all-reduce of 4 f32, sum"},
	{SUM_OF(LONGEST), OP(RH_COMM_ALL_REDUCE, LONGEST, RH_COMM_I32, RH_COMM_MIN, 0), "all-reduce of 60000 i32, min"},
	{SUM_OF(LONGEST), OP(RH_COMM_ALL_GATHER, 9, RH_COMM_F64, 0, 0), "all-gather of 9 f64"},
	{SUM_OF(10), SUM_OF(0), "all-reduce of 0 f32, sum"},
	{OP(RH_COMM_BROADCAST, 10, RH_COMM_U8, 0, 0), OP(RH_COMM_BROADCAST, 10, RH_COMM_U8, 0, 1),
     "broadcast of 10 u8 from rank 1"},
	{OP(RH_COMM_REDUCE_SCATTER, 100, RH_COMM_I64, RH_COMM_PROD, 0),
     OP(RH_COMM_REDUCE_SCATTER, 100, RH_COMM_I64, RH_COMM_AVG, 0), "reduce-scatter of 100 i64, avg"},
	{OP(RH_COMM_ALL_GATHER, 100, RH_COMM_BF16, 0, 0), OP(RH_COMM_ALL_GATHER, 100, RH_COMM_F16, 0, 0),
     "all-gather of 100 f16"},
	{OP(RH_COMM_GATHER, 10, RH_COMM_U8, 0, 0), OP(RH_COMM_GATHER, 10, RH_COMM_U8, 0, 1), "gather of 10 u8 to rank 1"},
	{OP(RH_COMM_REDUCE, 10, RH_COMM_F32, RH_COMM_SUM, 0), OP(RH_COMM_REDUCE, 10, RH_COMM_F32, RH_COMM_SUM, 1),
     "reduce of 10 f32, sum to rank 1"},
	{OP(RH_COMM_ALL_GATHER_V, 0, RH_COMM_F32, 0, 0), OP(RH_COMM_ALL_GATHER_V, 0, RH_COMM_F32, 0, 0),
     "all-gather-v of 6 f32 in all"},
	{OP(RH_COMM_ALL_TO_ALL, 10, RH_COMM_F32, 0, 0), OP(RH_COMM_ALL_TO_ALL, 11, RH_COMM_F32, 0, 0),
     "all-to-all of 11 f32"},
	{OP(RH_COMM_SCATTER, 10, RH_COMM_F32, 0, 0), OP(RH_COMM_SCATTER, 10, RH_COMM_F64, 0, 0),
     "scatter of 10 f64 from rank 0"},
};

#define ROWS (sizeof(rows) / sizeof(*rows))

/* All do the same for a while; then one does not. Whoever got through that finds out with the next one. */
static int post_divergent(struct rh_comm *comm, const void *arg)
{
	static char in[LONGEST * sizeof(double)];
	static char out[RANKS_MAX * LONGEST * sizeof(double)];
	const struct divergence_plan *plan = arg;
	const struct rh_comm_op barrier = {.size = sizeof(barrier), .what = RH_COMM_BARRIER};
	bool odd = rh_comm_rank(comm) == plan->odd;
	struct rh_comm_op op = odd ? plan->divergence->other : plan->divergence->op;
	struct rh_comm_error err = {0};
	char name[30];
	int32_t r = 0;

	op.in = in;
	op.out = out;
	op.out_counts = lists[odd];
	for (int i = 0; i < ROUNDS && r == 0; i++)
		r = rh_comm_run(comm, &barrier, &err);
	if (r == 0)
		r = rh_comm_run(comm, &op, &err);
	if (r == 0)
		r = rh_comm_run(comm, &barrier, &err);
	(void)snprintf(name, sizeof(name), "rank %d %.14s", (int)plan->odd, plan->divergence->text);
	if (r == RH_COMM_EINVAL && err.rank == plan->odd && strstr(err.text, plan->divergence->text) &&
	    strstr(err.text, name) && strstr(err.text, "as number 6: "))
		return 0;
	(void)fprintf(stderr, "rank %d: %s by rank %d: %d, rank %d, %s\n", (int)rh_comm_rank(comm), plan->divergence->text,
	              (int)plan->odd, (int)r, (int)err.rank, err.text);
	return 1;
}

void divergence_check(const char *backend, bool no_shm)
{
	static struct divergence_plan plans[ROWS];
	struct ranks worlds[ROWS];

	for (size_t from = 0; from < ROWS; from += BATCH) {
		size_t end = from + BATCH < ROWS ? from + BATCH : ROWS;

		for (size_t i = from; i < end; i++) {
			/* of two it is the second who is called odd */
			struct ranks_plan plan = {.world = i % 4 == 3 ? 2 : 3,
			                          .no_shm = no_shm,
			                          .backend = backend,
			                          .fn = post_divergent,
			                          .arg = &plans[i]};

			plans[i] = (struct divergence_plan){&rows[i], plan.world == 2 ? 1 : (int32_t)(i % 3)};
			ranks_start(&plan, &worlds[i]);
		}
		for (size_t i = from; i < end; i++) {
			for (int32_t rank = 0; rank < worlds[i].world; rank++)
				assert_int_equal(ranks_wait(&worlds[i], rank), 0);
		}
	}
}

/*
 * Ranks 2 and 1 are a group, in which they are 0 and 1. Messages have the numbers of the world, and say which group it
 * is: of what was posted, and of what a backend found out by itself.
 */
static int diverge_in_group(struct rh_comm *comm, const void *arg)
{
	static const int32_t ranks[] = {2, 1};
	static const struct rh_comm_op ops[][2] = {
		{OP(RH_COMM_BROADCAST, 10, RH_COMM_U8, 0, 0), OP(RH_COMM_BROADCAST, 10, RH_COMM_U8, 0, 1)},
		{OP(RH_COMM_SEND, 5, RH_COMM_U8, 0, 1), OP(RH_COMM_RECV, 10, RH_COMM_U8, 0, 0)}};
	static char bytes[10];
	struct rh_comm_op barrier = {.size = sizeof(barrier), .what = RH_COMM_BARRIER};
	bool messages = *(const bool *)arg;
	bool odd = rh_comm_rank(comm) == 1;
	struct rh_comm_op op = ops[messages][odd];
	struct rh_comm_error err = {0};
	struct rh_comm *group = NULL;
	bool good;

	op.in = bytes;
	op.out = bytes;
	/* who is not a member has come, too: an error ends its start, else */
	if (rh_comm_run(comm, &barrier, &err) != 0)
		return 2;
	if (rh_comm_rank(comm) > 0 && rh_comm_group(comm, ranks, 2, &group, &err) == 0 &&
	    rh_comm_run(group, &op, &err) == 0)
		(void)rh_comm_run(group, &barrier, &err);
	if (messages)
		good = !odd || strstr(err.text, ": rank 2 of the group of ranks 2, 1: a message has another length");
	else
		good = !group || (strstr(err.text, " of the group of ranks ") && strstr(err.text, "rank 1 broadcast") &&
		                  strstr(err.text, "from rank 2") && strstr(err.text, "from rank 1"));
	if (!good)
		(void)fprintf(stderr, "rank %d: %s\n", (int)rh_comm_rank(comm), err.text);
	if (odd || !group)
		(void)rh_comm_run(comm, &barrier, &err);
	rh_comm_free(group);
	return good ? 0 : 1;
}

void divergence_check_group(const char *backend, bool no_shm)
{
	static const bool messages[] = {false, true};

	for (size_t i = 0; i < 2; i++) {
		struct ranks_plan plan = {
			.world = 3, .no_shm = no_shm, .backend = backend, .fn = diverge_in_group, .arg = &messages[i]};

		ranks_run(&plan);
	}
}

/* Where a rank is stopped. */
enum place { IN_WORLD, IN_GROUP, IN_GROUPING, IN_BATCH, IN_ALL_TO_ALL_V, IN_REDUCE_SCATTER_V, PLACES };

struct stop_plan {
	enum place place;
	int32_t victim;
};

/* @return the group of all but the rank that is neither the victim nor the one after it */
static int32_t make_group(struct rh_comm *comm, int32_t victim, struct rh_comm **ret_group, struct rh_comm_error *err)
{
	const int32_t ranks[] = {(victim + 1) % 3, victim};

	return rh_comm_group(comm, ranks, 2, ret_group, err);
}

static int32_t reduce_batch(struct rh_comm *comm, struct rh_comm_error *err)
{
	static int32_t values[2];
	struct rh_comm_op ops[2] = {OP(RH_COMM_ALL_REDUCE, 1, RH_COMM_I32, RH_COMM_SUM, 0),
	                            OP(RH_COMM_ALL_REDUCE, 1, RH_COMM_I32, RH_COMM_SUM, 0)};
	struct rh_comm_request *request = NULL;
	int32_t r;

	ops[0].out = &values[0];
	ops[1].out = &values[1];
	r = rh_comm_post_batch(comm, ops, 2, &request, err);
	return r < 0 ? r : rh_comm_wait(request, err);
}

/* An element of each rank for each other one. */
static int32_t exchange(struct rh_comm *comm, int32_t what, struct rh_comm_error *err)
{
	static const size_t counts[] = {1, 1, 1};
	static int32_t in[3];
	static int32_t out[3];
	struct rh_comm_op op = OP(what, 0, RH_COMM_I32, RH_COMM_SUM, 0);

	op.in = in;
	op.out = out;
	op.in_counts = counts;
	op.out_counts = counts;
	return rh_comm_run(comm, &op, err);
}

/* What waits for the victim. */
static int32_t wait_for_victim(struct rh_comm *comm, struct rh_comm *group, const struct stop_plan *plan,
                               struct rh_comm_error *err)
{
	int32_t value = 1;
	struct rh_comm *made = NULL;

	if (plan->place == IN_GROUPING)
		return make_group(comm, plan->victim, &made, err);
	if (plan->place == IN_BATCH)
		return reduce_batch(comm, err);
	if (plan->place >= IN_ALL_TO_ALL_V)
		return exchange(comm, plan->place == IN_ALL_TO_ALL_V ? RH_COMM_ALL_TO_ALL_V : RH_COMM_REDUCE_SCATTER_V, err);
	return rh_comm_all_reduce(plan->place == IN_GROUP ? group : comm, &value, 1, RH_COMM_I32, RH_COMM_SUM, err);
}

static int stop_victim(struct rh_comm *comm, const void *arg)
{
	const struct stop_plan *plan = arg;
	const struct rh_comm_op barrier = {.size = sizeof(barrier), .what = RH_COMM_BARRIER, .timeout = -1};
	struct rh_comm_error err = {0};
	struct rh_comm *group = NULL;
	bool member = rh_comm_rank(comm) == plan->victim || rh_comm_rank(comm) == (plan->victim + 1) % 3;
	bool waits = member || plan->place == IN_WORLD || plan->place >= IN_BATCH;
	int32_t r = 0;

	if (plan->place == IN_GROUP && member)
		r = make_group(comm, plan->victim, &group, &err);
	if (r == 0)
		r = rh_comm_run(comm, &barrier, &err);
	if (r == 0 && rh_comm_rank(comm) == plan->victim)
		(void)raise(SIGSTOP);
	if (r == 0 && waits)
		r = wait_for_victim(comm, group, plan, &err);
	/* the others get the error, too, unless rank 0 is the victim */
	if (r == 0 && plan->victim != 0)
		r = rh_comm_run(comm, &barrier, &err);
	rh_comm_free(group);
	if (r == 0 && !waits)
		return 0;
	if (r == RH_COMM_ETIME && err.rank == plan->victim && strstr(err.text, "stopped or throttled"))
		return 0;
	(void)fprintf(stderr, "rank %d, place %d, victim %d: %d, rank %d, %s\n", (int)rh_comm_rank(comm), (int)plan->place,
	              (int)plan->victim, (int)r, (int)err.rank, err.text);
	return 1;
}

/* The victim itself has nobody to say that it was stopped. */
static void end_stopped(struct ranks *ranks, int32_t victim)
{
	for (int32_t rank = 0; rank < ranks->world; rank++) {
		if (rank != victim)
			assert_int_equal(ranks_wait(ranks, rank), 0);
	}
	(void)kill(ranks->pids[victim], SIGKILL);
	assert_int_equal(ranks_wait(ranks, victim), 128 + SIGKILL);
}

void divergence_check_stopped(const char *backend, bool no_shm)
{
	static const char *const env[] = {"RH_COMM_TIMEOUT=3", "RH_COMM_INIT_TIMEOUT=8", NULL};
	static struct stop_plan plans[PLACES * 3];
	struct ranks worlds[PLACES * 3];

	for (size_t from = 0; from < PLACES * 3; from += BATCH) {
		for (size_t i = from; i < from + BATCH; i++) {
			struct ranks_plan plan = {
				.world = 3, .no_shm = no_shm, .backend = backend, .env = env, .fn = stop_victim, .arg = &plans[i]};

			plans[i] = (struct stop_plan){(enum place)(i / 3), (int32_t)(i % 3)};
			ranks_start(&plan, &worlds[i]);
		}
		for (size_t i = from; i < from + BATCH; i++)
			end_stopped(&worlds[i], plans[i].victim);
	}
}
