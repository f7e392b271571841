/* SPDX-License-Identifier: Apache-2.0 */
/* The backend ucx through the library, with real processes, over shared memory and over TCP. */
#include <dirent.h>
#include <signal.h>
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

#include "comm/operations.h"
#include "comm/ranks.h"

static void run_worlds(ranks_fn *fn, bool no_shm, int32_t from, int32_t to)
{
	for (int32_t world = from; world <= to; world++) {
		struct ranks_plan plan = {.world = world, .no_shm = no_shm, .backend = "ucx", .fn = fn};

		ranks_run(&plan);
	}
}

static int check_name(struct rh_comm *comm, const void *arg)
{
	(void)arg;
	return strcmp(rh_comm_backend_name(comm), "ucx") == 0 ? 0 : 1;
}

static void test_ucx__is_the_backend(void **state)
{
	(void)state;
	run_worlds(check_name, false, 1, 2);
}

static void test_ucx__collectives_in_shared_memory(void **state)
{
	(void)state;
	run_worlds(operations_collectives, false, 2, 4);
}

static void test_ucx__collectives_over_tcp(void **state)
{
	(void)state;
	run_worlds(operations_collectives, true, 2, 3);
}

static void test_ucx__collectives_of_eight(void **state)
{
	(void)state;
	run_worlds(operations_collectives, false, 8, 8);
}

static void test_ucx__messages(void **state)
{
	(void)state;
	run_worlds(operations_messages, false, 2, 4);
	run_worlds(operations_messages, true, 2, 3);
}

static void test_ucx__operations_in_flight(void **state)
{
	(void)state;
	run_worlds(operations_in_flight, false, 2, 4);
	run_worlds(operations_in_flight, true, 2, 3);
}

static void test_ucx__groups(void **state)
{
	(void)state;
	run_worlds(operations_groups, false, 2, 5);
	run_worlds(operations_groups, true, 3, 3);
}

/* Who dies, and in which operations. */
struct death {
	int32_t victim;
	size_t count;
};

/* All-reduces until something ends them; the exit status is the rank that the error names, plus one. */
static int reduce_until_death(struct rh_comm *comm, const void *arg)
{
	static float data[100000];
	const struct death *death = arg;
	struct rh_comm_error err = {0};
	int32_t r = 0;

	for (int i = 0; r == 0; i++) {
		if (i == 30 && rh_comm_rank(comm) == death->victim)
			(void)raise(SIGKILL);
		r = rh_comm_all_reduce(comm, data, death->count, RH_COMM_F32, RH_COMM_SUM, &err);
	}
	if (r != RH_COMM_EPEER)
		(void)fprintf(stderr, "rank %d: %s\n", (int)rh_comm_rank(comm), err.text);
	return r == RH_COMM_EPEER ? err.rank + 1 : 90;
}

/* Names in shared memory that UCX left. */
static int count_litter(void)
{
	DIR *folder = opendir("/dev/shm");
	const struct dirent *entry;
	int count = 0;

	while (folder && (entry = readdir(folder)))
		count += strncmp(entry->d_name, "ucx_", 4) == 0;
	if (folder)
		(void)closedir(folder);
	return count;
}

static void check_death(int32_t victim, bool no_shm, size_t count)
{
	struct death death = {victim, count};
	struct ranks_plan plan = {.world = 3, .no_shm = no_shm, .backend = "ucx", .fn = reduce_until_death, .arg = &death};
	int litter = count_litter();
	struct ranks ranks;

	ranks_start(&plan, &ranks);
	for (int32_t rank = 0; rank < plan.world; rank++)
		assert_int_equal(ranks_wait(&ranks, rank), rank == victim ? 128 + SIGKILL : victim + 1);
	assert_int_equal(count_litter(), litter);
}

static void test_ucx__a_killed_rank_is_named_by_all_others(void **state)
{
	(void)state;
	for (int32_t victim = 0; victim < 3; victim++) {
		check_death(victim, false, victim == 1 ? 1 : 100000);
		check_death(victim, true, victim == 1 ? 1 : 100000);
	}
}

/* Rank 1 aborts while messages of all sizes are under way that nobody will ever meet. */
static int abort_with_messages(struct rh_comm *comm, const void *arg)
{
	static char data[4][1 << 20];
	struct rh_comm_request *requests[4] = {NULL};
	struct rh_comm_error err = {0};
	const struct rh_comm_op barrier = {.size = sizeof(barrier), .what = RH_COMM_BARRIER};
	int32_t peer = 1 - rh_comm_rank(comm);
	int posted = 0;

	(void)arg;
	/* once it is done, nobody is in rh_comm_init() any more */
	if (rh_comm_run(comm, &barrier, &err) != 0 && err.code != RH_COMM_EABORTED)
		return 4;
	for (uint32_t i = 0; i < 4; i++) {
		struct rh_comm_op op = {.size = sizeof(op),
		                        .what = i % 2 ? RH_COMM_SEND : RH_COMM_RECV,
		                        .out = data[i],
		                        .count = sizeof(data[i]),
		                        .type = RH_COMM_U8,
		                        .peer = peer,
		                        .tag = i};

		posted += rh_comm_post(comm, &op, &requests[i], &err) == 0;
	}
	if (rh_comm_rank(comm) == 1)
		rh_comm_abort(comm, "the loss is no number");
	else if (posted < 4 && err.code != RH_COMM_EABORTED)
		return 1;
	for (int i = 0; i < posted; i++) {
		if (rh_comm_wait(requests[i], &err) != RH_COMM_EABORTED || err.rank != 1)
			return 2;
	}
	return strstr(err.text, "the loss is no number") ? 0 : 3;
}

static void test_ucx__an_abort_ends_what_is_under_way(void **state)
{
	(void)state;
	run_worlds(abort_with_messages, false, 2, 2);
	run_worlds(abort_with_messages, true, 2, 2);
}

/* The two sides of a message disagree on its length, by arg bytes more at the sender. */
static int disagree(struct rh_comm *comm, const void *arg)
{
	static char data[70000];
	bool sends = rh_comm_rank(comm) == 0;
	struct rh_comm_op op = {.size = sizeof(op),
	                        .what = sends ? RH_COMM_SEND : RH_COMM_RECV,
	                        .out = data,
	                        .count = (size_t)(*(const int *)arg + (sends ? 0 : 100)),
	                        .type = RH_COMM_U8,
	                        .peer = sends};
	struct rh_comm_op barrier = {.size = sizeof(barrier), .what = RH_COMM_BARRIER};
	struct rh_comm_error err = {0};
	int32_t r = rh_comm_run(comm, &op, &err);

	/* a small one is gone before the receiver sees it */
	if (sends && r == 0)
		r = rh_comm_run(comm, &barrier, &err);
	return r == RH_COMM_EINVAL && strstr(err.text, "another length") ? 0 : 1;
}

static void test_ucx__lengths_must_agree(void **state)
{
	static const int lengths[] = {10, 200, 60000};

	(void)state;
	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		struct ranks_plan plan = {.world = 2, .backend = "ucx", .fn = disagree, .arg = &lengths[i]};

		ranks_run(&plan);
	}
}

static int unreachable(struct rh_comm *comm, const void *arg)
{
	(void)comm;
	(void)arg;
	return 0;
}

/* With no transport that leads to another process the start fails, and says what to look at. */
static void test_ucx__without_a_transport_the_start_fails(void **state)
{
	struct ranks_plan plan = {.world = 2, .backend = "ucx", .fn = unreachable};
	struct ranks ranks;

	(void)state;
	assert_int_equal(setenv("RH_COMM_UCX_TLS", "self", 1), 0);
	ranks_start(&plan, &ranks);
	assert_int_equal(unsetenv("RH_COMM_UCX_TLS"), 0);
	for (int32_t rank = 0; rank < plan.world; rank++)
		assert_int_equal(ranks_wait(&ranks, rank), 99);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ucx__is_the_backend),
		cmocka_unit_test(test_ucx__collectives_in_shared_memory),
		cmocka_unit_test(test_ucx__collectives_over_tcp),
		cmocka_unit_test(test_ucx__collectives_of_eight),
		cmocka_unit_test(test_ucx__messages),
		cmocka_unit_test(test_ucx__operations_in_flight),
		cmocka_unit_test(test_ucx__groups),
		cmocka_unit_test(test_ucx__a_killed_rank_is_named_by_all_others),
		cmocka_unit_test(test_ucx__an_abort_ends_what_is_under_way),
		cmocka_unit_test(test_ucx__lengths_must_agree),
		cmocka_unit_test(test_ucx__without_a_transport_the_start_fails),
	};

	if (setenv("RH_COMM_PATH", RH_COMM_MODULES, 1) < 0)
		return 1;
	return cmocka_run_group_tests_name("comm/ucx", tests, NULL, NULL);
}
