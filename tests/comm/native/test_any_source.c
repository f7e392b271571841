/* SPDX-License-Identifier: Apache-2.0 */
/* A receive from any rank ends when a rank dies, when nobody is left who could send, and at its time limit. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "comm/ranks.h"

static struct rh_comm_op any_op(struct rh_comm *comm, int32_t *data, int32_t *source)
{
	bool receives = rh_comm_rank(comm) == 0;

	return (struct rh_comm_op){.size = sizeof(struct rh_comm_op),
	                           .what = receives ? RH_COMM_RECV : RH_COMM_SEND,
	                           .out = data,
	                           .count = 1,
	                           .type = RH_COMM_I32,
	                           .peer = receives ? RH_COMM_ANY_RANK : 0,
	                           .tag = 3,
	                           .source = source};
}

/* Rank 0 receives from any rank until something ends it, rank 1 sends, rank 2 does nothing. The exit status is the rank
 * that the error names, plus one. */
static int receive_for_ever(struct rh_comm *comm, const void *arg)
{
	int32_t data = 0;
	int32_t source = RH_COMM_NO_RANK;
	struct rh_comm_op op = any_op(comm, &data, &source);
	const struct rh_comm_op barrier = {.size = sizeof(barrier), .what = RH_COMM_BARRIER};
	struct rh_comm_error err = {0};
	int32_t r = 0;

	(void)arg;
	if (rh_comm_rank(comm) == 2)
		r = rh_comm_run(comm, &barrier, &err);
	while (r == 0) {
		r = rh_comm_run(comm, &op, &err);
		if (r == 0 && rh_comm_rank(comm) == 0 && source != 1)
			return 91;
	}
	return r == RH_COMM_EPEER ? err.rank + 1 : 90;
}

static void test_any_source__a_sender_killed_while_one_receives_from_any_rank(void **state)
{
	(void)state;
	for (int i = 0; i < 6; i++) {
		struct ranks_plan plan = {.world = 3, .no_shm = i % 2 == 1, .fn = receive_for_ever};
		struct ranks ranks;
		int32_t victim = 1 + i / 2 % 2;

		ranks_start(&plan, &ranks);
		ranks_await_ready(&ranks);
		(void)kill(ranks.pids[victim], SIGKILL);
		assert_int_equal(ranks_wait(&ranks, victim), 128 + SIGKILL);
		assert_int_equal(ranks_wait(&ranks, 0), victim + 1);
		assert_int_equal(ranks_wait(&ranks, 3 - victim), victim + 1);
	}
}

/* Ranks 1 and 2 send one message each, and leave; rank 0 waits for a third one. */
static int receive_one_more(struct rh_comm *comm, const void *arg)
{
	int32_t data = rh_comm_rank(comm);
	int32_t source = RH_COMM_NO_RANK;
	struct rh_comm_op op = any_op(comm, &data, &source);
	struct rh_comm_error err = {0};
	int32_t r = rh_comm_run(comm, &op, &err);
	int32_t first = source;

	(void)arg;
	if (rh_comm_rank(comm) != 0)
		return r == 0 ? 0 : 90;
	if (r == 0)
		r = rh_comm_run(comm, &op, &err);
	if (r != 0 || first < 1 || source != 3 - first || data != source)
		return 91;
	r = rh_comm_run(comm, &op, &err);
	if (r == RH_COMM_EPEER && err.rank > 0 && (strstr(err.text, "the last of all") || strstr(err.text, "all others")))
		return 0;
	(void)fprintf(stderr, "%s\n", err.text);
	return 92;
}

static void test_any_source__nobody_is_left_who_could_send(void **state)
{
	(void)state;
	ranks_run_worlds(NULL, receive_one_more, false, 3, 3);
	ranks_run_worlds(NULL, receive_one_more, true, 3, 3);
}

/* The group of all but rank 0, which stays: its members leave it, and one of them waits there. */
static int receive_in_group(struct rh_comm *comm, const void *arg)
{
	static const int32_t ranks[] = {1, 2, 3};
	const struct rh_comm_op barrier = {.size = sizeof(barrier), .what = RH_COMM_BARRIER};
	struct rh_comm_error err = {0};
	struct rh_comm *group = NULL;
	int32_t data = 0;
	int32_t r = 0;

	(void)arg;
	if (rh_comm_rank(comm) > 0 && rh_comm_group(comm, ranks, 3, &group, &err) != 0)
		return 90;
	if (rh_comm_rank(comm) == 1) {
		struct rh_comm_op op = any_op(group, &data, NULL);

		r = rh_comm_run(group, &op, &err);
		rh_comm_free(group);
	} else {
		rh_comm_free(group);
		r = rh_comm_run(comm, &barrier, &err);
	}
	if (r == RH_COMM_EPEER && err.rank > 1 && strstr(err.text, "the last of all"))
		return 0;
	(void)fprintf(stderr, "%d: %s\n", (int)r, err.text);
	return 91;
}

static void test_any_source__nobody_is_left_in_the_group(void **state)
{
	(void)state;
	ranks_run_worlds(NULL, receive_in_group, false, 4, 4);
}

/* Rank 0 gives up while rank 1 waits for it; who waits for any rank takes no processor meanwhile. */
static int receive_nothing(struct rh_comm *comm, const void *arg)
{
	int32_t data = 0;
	struct rh_comm_op op = any_op(comm, &data, NULL);
	const struct rh_comm_op barrier = {.size = sizeof(barrier), .what = RH_COMM_BARRIER};
	struct rh_comm_error err = {0};
	clock_t before = clock();
	int32_t r;

	(void)arg;
	op.timeout = 2000000;
	r = rh_comm_run(comm, rh_comm_rank(comm) == 0 ? &op : &barrier, &err);
	if (clock() - before > CLOCKS_PER_SEC)
		return 90;
	if (r == RH_COMM_ETIME && strstr(err.text, "receive of rank 0 from any rank, tag 3, was not done within"))
		return 0;
	(void)fprintf(stderr, "%s\n", err.text);
	return 91;
}

static void test_any_source__nobody_sends_in_time(void **state)
{
	(void)state;
	ranks_run_worlds(NULL, receive_nothing, false, 2, 2);
	ranks_run_worlds(NULL, receive_nothing, true, 3, 3);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_any_source__a_sender_killed_while_one_receives_from_any_rank),
		cmocka_unit_test(test_any_source__nobody_is_left_who_could_send),
		cmocka_unit_test(test_any_source__nobody_is_left_in_the_group),
		cmocka_unit_test(test_any_source__nobody_sends_in_time),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests_name("comm/native/any_source", tests, NULL, NULL);
}
