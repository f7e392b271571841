/* SPDX-License-Identifier: Apache-2.0 */
/* What nobody should do, and what few do: wrong operations, thousands at once, groups that overlap, two worlds,
 * threads. */
#include <pthread.h>
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

#include "comm/ranks.h"

#define MANY 5000
#define LONGEST 50

static void test_misuse__wrong_operations_are_refused_and_harm_nothing(void **state)
{
	static int32_t buffer[4];
	const struct rh_comm_op fine = {.size = sizeof(fine),
	                                .what = RH_COMM_ALL_REDUCE,
	                                .out = buffer,
	                                .count = 4,
	                                .type = RH_COMM_I32,
	                                .reduce = RH_COMM_SUM};
	static const size_t many[1] = {SIZE_MAX / 4 + 1};
	struct rh_comm_op ops[20];
	static const char *const words[] = {"what",
	                                    "what",
	                                    "type",
	                                    "type",
	                                    "reduce",
	                                    "memory",
	                                    "count",
	                                    "count",
	                                    "count",
	                                    "peer is",
	                                    "in_counts is NULL",
	                                    "out_counts is NULL",
	                                    "out_counts are more",
	                                    "in place",
	                                    "in_counts are more",
	                                    "peer is",
	                                    "not an integer",
	                                    "two ranks or more",
	                                    "count is 0",
	                                    "peer is -2"};
	struct rh_comm_options alone = {.size = sizeof(alone), .has_rank = 1, .rank = 0, .world = 1};
	struct rh_comm_error err = {0};
	struct rh_comm *comm = NULL;

	(void)state;
	assert_int_equal(rh_comm_init(&alone, &comm, &err), 0);
	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
		ops[i] = fine;
	ops[0].what = 0;
	ops[1].what = RH_COMM_REDUCE_SCATTER_V + 1;
	ops[2].type = 0;
	ops[3].type = RH_COMM_F8_E5M2 + 1;
	ops[4].reduce = 0;
	ops[5].memory = 2;
	/* of which four bytes each are nothing at all, or almost nothing */
	ops[6].count = SIZE_MAX / 4 + 1;
	ops[7].count = SIZE_MAX / 4 + 2;
	ops[8].count = SIZE_MAX / 8 + 1;
	ops[9].what = RH_COMM_BROADCAST;
	ops[9].peer = 1;
	ops[10].what = RH_COMM_REDUCE_SCATTER_V;
	ops[11].what = RH_COMM_GATHER_V;
	ops[12].what = RH_COMM_ALL_GATHER_V;
	ops[12].out_counts = many;
	for (int i = 17; i < 20; i++) {
		ops[i].what = i == 19 ? RH_COMM_SEND : RH_COMM_RECV;
		ops[i].peer = RH_COMM_ANY_RANK;
	}
	ops[18].count = 0;
	ops[13].what = RH_COMM_ALL_TO_ALL;
	ops[14].what = RH_COMM_SCATTER_V;
	ops[14].in_counts = many;
	ops[15].what = RH_COMM_REDUCE;
	ops[15].peer = -1;
	ops[16].type = RH_COMM_BF16;
	ops[16].reduce = RH_COMM_BOR;
	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		struct rh_comm_request *request = NULL;

		ops[i].in = ops[i].out;
		assert_int_equal(rh_comm_run(comm, &ops[i], &err), RH_COMM_EINVAL);
		if (!strstr(err.text, words[i]))
			fail_msg("%zu: %s", i, err.text);
		assert_int_equal(rh_comm_post(comm, &ops[i], &request, &err), RH_COMM_EINVAL);
		assert_int_equal(rh_comm_post_batch(comm, &ops[i], 1, &request, &err), RH_COMM_EINVAL);
	}
	ops[0] = fine;
	ops[0].out = NULL;
	assert_int_equal(rh_comm_run(comm, &ops[0], &err), RH_COMM_EINVAL);
	ops[0].count = 0;
	assert_int_equal(rh_comm_run(comm, &ops[0], &err), 0);
	assert_int_equal(rh_comm_run(comm, &fine, &err), 0);
	rh_comm_free(comm);
}

static void many_op(struct rh_comm *comm, int k, int32_t *data, struct rh_comm_op *op)
{
	*op = (struct rh_comm_op){.size = sizeof(*op),
	                          .what = k % 11 == 10 ? RH_COMM_BARRIER
	                                  : k % 5 == 4 ? RH_COMM_BROADCAST
	                                               : RH_COMM_ALL_REDUCE,
	                          .in = data,
	                          .out = data,
	                          .count = (size_t)(k * 13 % LONGEST),
	                          .type = RH_COMM_I32,
	                          .reduce = RH_COMM_SUM,
	                          .peer = k % rh_comm_world(comm)};
	for (size_t i = 0; i < op->count; i++)
		data[i] = k + rh_comm_rank(comm) + (int32_t)i;
}

static bool many_is_right(struct rh_comm *comm, int k, const struct rh_comm_op *op)
{
	const int32_t *data = op->out;
	int32_t world = rh_comm_world(comm);

	for (size_t i = 0; i < op->count; i++) {
		int32_t sum = world * (k + (int32_t)i) + world * (world - 1) / 2;
		int32_t own = k + rh_comm_rank(comm) + (int32_t)i;
		int32_t wanted = op->what == RH_COMM_ALL_REDUCE  ? sum
		                 : op->what == RH_COMM_BROADCAST ? k + op->peer + (int32_t)i
		                                                 : own;

		if (data[i] != wanted)
			return false;
	}
	return true;
}

/* Thousands in flight, waited for in another order than posted. */
static int post_many(struct rh_comm *comm, const void *arg)
{
	static struct rh_comm_request *requests[MANY];
	static struct rh_comm_op ops[MANY];
	static int32_t data[MANY][LONGEST];
	struct rh_comm_error err = {0};

	(void)arg;
	for (int k = 0; k < MANY; k++) {
		many_op(comm, k, data[k], &ops[k]);
		if (rh_comm_post(comm, &ops[k], &requests[k], &err) != 0)
			return 1;
	}
	for (int k = 0; k < MANY; k++) {
		int at = (k * 7 + MANY - 1) % MANY;

		if (rh_comm_wait(requests[at], &err) != 0 || !many_is_right(comm, at, &ops[at])) {
			(void)fprintf(stderr, "operation %d: %s\n", at, err.text);
			return 2;
		}
	}
	return 0;
}

static void test_misuse__thousands_outstanding(void **state)
{
	(void)state;
	for (int no_shm = 0; no_shm < 2; no_shm++) {
		struct ranks_plan plan = {.world = 3, .no_shm = no_shm != 0, .fn = post_many};

		ranks_run(&plan);
	}
}

/* Every rank is in several groups, alone in one of them, and has operations in flight in all of them at once. */
static int use_groups(struct rh_comm *comm, const void *arg)
{
	static const int32_t members[][3] = {{0, 1, 2}, {3, 2, 1}, {0, 3, -1}, {1, 3, -1}, {-1, -1, -1}};
	enum { GROUPS = 5, ROUNDS = 20 };
	struct rh_comm *groups[GROUPS] = {NULL};
	struct rh_comm_request *requests[GROUPS][ROUNDS] = {{NULL}};
	int64_t values[GROUPS][ROUNDS];
	struct rh_comm_error err = {0};
	int32_t own = rh_comm_rank(comm);

	(void)arg;
	for (int g = 0; g < GROUPS; g++) {
		int32_t ranks[3];
		int32_t count = 0;
		bool in = false;

		for (int i = 0; i < 3; i++) {
			int32_t rank = g == GROUPS - 1 && i == 0 ? own : members[g][i];

			if (rank >= 0)
				ranks[count++] = rank;
			in |= rank == own;
		}
		if (in && rh_comm_group(comm, ranks, count, &groups[g], &err) != 0)
			return 1;
	}
	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < GROUPS; i++) {
			/* each rank in another order: those of different groups have none */
			int g = (i + own) % GROUPS;
			struct rh_comm_op op = {.size = sizeof(op),
			                        .what = RH_COMM_ALL_REDUCE,
			                        .out = &values[g][round],
			                        .count = 1,
			                        .type = RH_COMM_I64,
			                        .reduce = RH_COMM_SUM};

			values[g][round] = 1000 * g + round;
			if (groups[g] && rh_comm_post(groups[g], &op, &requests[g][round], &err) != 0)
				return 2;
		}
	}
	for (int g = GROUPS - 1; g >= 0; g--) {
		for (int round = ROUNDS - 1; groups[g] && round >= 0; round--) {
			if (rh_comm_wait(requests[g][round], &err) != 0)
				return 3;
			if (values[g][round] != (int64_t)(1000 * g + round) * rh_comm_world(groups[g]))
				return 4;
		}
		rh_comm_free(groups[g]);
	}
	return 0;
}

static void test_misuse__groups_that_overlap(void **state)
{
	(void)state;
	for (int no_shm = 0; no_shm < 2; no_shm++) {
		struct ranks_plan plan = {.world = 4, .no_shm = no_shm != 0, .fn = use_groups};

		ranks_run(&plan);
	}
}

/* What the main thread waits in when another one aborts. */
enum phase { IN_ALL_REDUCE, IN_LONG_ALL_REDUCE, IN_RECEIVE, IN_GROUP, IN_MANY, PHASES };

static void *abort_soon(void *arg)
{
	/* nothing shows that the main thread waits by now; earlier would be right, too */
	(void)usleep(30000);
	rh_comm_abort(arg, "aborted by another thread");
	return NULL;
}

static int32_t wait_in(struct rh_comm *comm, enum phase phase, struct rh_comm_error *err)
{
	static float data[400000];
	static const int32_t all[] = {0, 1, 2};
	struct rh_comm_op op = {
		.size = sizeof(op), .what = RH_COMM_RECV, .out = data, .count = 9, .type = RH_COMM_F32, .peer = 0};
	struct rh_comm_request *requests[100] = {NULL};
	struct rh_comm *group = NULL;
	int32_t r = 0;
	int posted = 0;

	if (phase == IN_RECEIVE)
		return rh_comm_run(comm, &op, err);
	if (phase == IN_GROUP)
		return rh_comm_group(comm, all, 3, &group, err);
	if (phase != IN_MANY)
		return rh_comm_all_reduce(comm, data, phase == IN_ALL_REDUCE ? 1 : 400000, RH_COMM_F32, RH_COMM_SUM, err);
	op.what = RH_COMM_ALL_REDUCE;
	op.reduce = RH_COMM_SUM;
	for (; posted < 100 && r == 0; posted += r == 0) {
		op.in = op.out = data + (ptrdiff_t)posted * 4000;
		op.count = 4000;
		r = rh_comm_post(comm, &op, &requests[posted], err);
	}
	for (int i = 0; i < posted; i++)
		r = rh_comm_wait(requests[i], err);
	return r;
}

/* Rank 0 takes no part; rank 1 aborts from a thread while it waits for rank 0 itself. */
static int abort_from_a_thread(struct rh_comm *comm, const void *arg)
{
	enum phase phase = *(const enum phase *)arg;
	struct rh_comm_error err = {0};
	struct rh_comm_op barrier = {.size = sizeof(barrier), .what = RH_COMM_BARRIER};
	pthread_t thread;
	int32_t r = rh_comm_run(comm, &barrier, &err);
	bool aborts = rh_comm_rank(comm) == 1;

	if (aborts && pthread_create(&thread, NULL, abort_soon, comm) != 0)
		return 1;
	if (rh_comm_rank(comm) == 0) {
		while (r == 0) {
			struct rh_comm_op op = {
				.size = sizeof(op), .what = RH_COMM_SEND, .in = &phase, .count = 0, .type = RH_COMM_U8, .peer = 1};

			/* as a program that computes between two sends */
			(void)usleep(1000);
			r = rh_comm_run(comm, &op, &err);
		}
	} else {
		r = wait_in(comm, phase, &err);
	}
	if (aborts)
		(void)pthread_join(thread, NULL);
	if (r != RH_COMM_EABORTED || err.rank != 1 || !strstr(err.text, "aborted by another thread")) {
		(void)fprintf(stderr, "rank %d, phase %d: %d %s\n", (int)rh_comm_rank(comm), (int)phase, (int)r, err.text);
		return 2;
	}
	return 0;
}

static void test_misuse__an_abort_from_a_thread_ends_every_wait(void **state)
{
	(void)state;
	for (int no_shm = 0; no_shm < 2; no_shm++) {
		for (enum phase phase = IN_ALL_REDUCE; phase < PHASES; phase++) {
			struct ranks_plan plan = {.world = 3, .no_shm = no_shm != 0, .fn = abort_from_a_thread, .arg = &phase};

			ranks_run(&plan);
		}
	}
}

/* A second world in the same processes, in which the ranks are in the other order; the first one goes before it. */
static int join_twice(struct rh_comm *comm, const void *arg)
{
	struct rh_comm_options options = {.size = sizeof(options),
	                                  .has_rank = 1,
	                                  .rank = rh_comm_world(comm) - 1 - rh_comm_rank(comm),
	                                  .world = rh_comm_world(comm),
	                                  .host = "127.0.0.1",
	                                  .port = *(const int *)arg};
	struct rh_comm_error err = {0};
	struct rh_comm *second = NULL;
	int32_t value[2] = {1, 2};

	(void)unsetenv("RH_COMM_RANK");
	(void)unsetenv("RH_COMM_WORLD");
	(void)unsetenv("RH_COMM_PORT");
	if (rh_comm_init(&options, &second, &err) != 0) {
		(void)fprintf(stderr, "%s\n", err.text);
		return 1;
	}
	for (int i = 0; i < 100; i++) {
		value[0] = 1;
		value[1] = 2;
		if (rh_comm_all_reduce(comm, &value[0], 1, RH_COMM_I32, RH_COMM_SUM, &err) != 0 ||
		    rh_comm_all_reduce(second, &value[1], 1, RH_COMM_I32, RH_COMM_SUM, &err) != 0)
			return 2;
		if (value[0] != rh_comm_world(comm) || value[1] != 2 * rh_comm_world(comm))
			return 3;
	}
	/* all ranks have left the loop; an abort of the second context does not abort the first */
	if (rh_comm_all_reduce(comm, &value[0], 1, RH_COMM_I32, RH_COMM_SUM, &err) != 0)
		return 6;
	if (rh_comm_rank(second) == 0)
		rh_comm_abort(second, "enough");
	value[0] = 1;
	if (rh_comm_all_reduce(comm, &value[0], 1, RH_COMM_I32, RH_COMM_SUM, &err) != 0)
		return 4;
	rh_comm_free(second);
	return rh_comm_all_reduce(comm, &value[0], 1, RH_COMM_I32, RH_COMM_SUM, &err) == 0 ? 0 : 5;
}

static void test_misuse__two_worlds_in_one_process(void **state)
{
	(void)state;
	for (int no_shm = 0; no_shm < 2; no_shm++) {
		int port = ranks_free_port();
		struct ranks_plan plan = {.world = 3, .no_shm = no_shm != 0, .fn = join_twice, .arg = &port};

		ranks_run(&plan);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_misuse__wrong_operations_are_refused_and_harm_nothing),
		cmocka_unit_test(test_misuse__thousands_outstanding),
		cmocka_unit_test(test_misuse__groups_that_overlap),
		cmocka_unit_test(test_misuse__an_abort_from_a_thread_ends_every_wait),
		cmocka_unit_test(test_misuse__two_worlds_in_one_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
