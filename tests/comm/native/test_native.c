/* SPDX-License-Identifier: Apache-2.0 */
/* The native backend through the library, with real processes. */
#include <dirent.h>
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

#include "comm/operations.h"
#include "comm/ranks.h"

static void run_worlds(ranks_fn *fn, bool no_shm, int32_t from, int32_t to)
{
	for (int32_t world = from; world <= to; world++) {
		struct ranks_plan plan = {.world = world, .no_shm = no_shm, .fn = fn};

		ranks_run(&plan);
	}
}

static void test_native__collectives_in_shared_memory(void **state)
{
	(void)state;
	run_worlds(operations_collectives, false, 1, 4);
}

static void test_native__collectives_over_tcp(void **state)
{
	(void)state;
	run_worlds(operations_collectives, true, 2, 3);
}

static void test_native__collectives_of_eight(void **state)
{
	(void)state;
	run_worlds(operations_collectives, false, 8, 8);
}

static void test_native__messages(void **state)
{
	(void)state;
	run_worlds(operations_messages, false, 2, 4);
	run_worlds(operations_messages, true, 2, 3);
}

static void test_native__operations_in_flight(void **state)
{
	(void)state;
	run_worlds(operations_in_flight, false, 1, 4);
	run_worlds(operations_in_flight, true, 2, 3);
}

static void test_native__groups(void **state)
{
	(void)state;
	run_worlds(operations_groups, false, 2, 5);
	run_worlds(operations_groups, true, 3, 3);
}

/* All-reduces until something ends them; the exit status is the rank that the error names, plus one. */
static int reduce_for_ever(struct rh_comm *comm, const void *arg)
{
	static float data[100000];
	size_t count = *(const size_t *)arg;
	struct rh_comm_error err = {0};
	int32_t r = 0;

	while (r == 0)
		r = rh_comm_all_reduce(comm, data, count, RH_COMM_F32, RH_COMM_SUM, &err);
	if (r != RH_COMM_EPEER)
		(void)fprintf(stderr, "rank %d: %s\n", (int)rh_comm_rank(comm), err.text);
	/* and everything later ends the same way, at once */
	if (r != RH_COMM_EPEER || rh_comm_all_reduce(comm, data, 1, RH_COMM_F32, RH_COMM_SUM, NULL) != RH_COMM_EPEER)
		return 90;
	return err.rank + 1;
}

/* Names of shared memory that has one. */
static int count_segments(void)
{
	DIR *folder = opendir("/dev/shm");
	const struct dirent *entry;
	int count = 0;

	while (folder && (entry = readdir(folder)))
		count += strncmp(entry->d_name, "rh_comm-", 8) == 0;
	if (folder)
		(void)closedir(folder);
	return count;
}

static void check_death(int32_t victim, bool no_shm, size_t count, useconds_t after)
{
	struct ranks_plan plan = {.world = 3, .no_shm = no_shm, .fn = reduce_for_ever, .arg = &count};
	struct ranks ranks;

	ranks_start(&plan, &ranks);
	(void)usleep(after);
	(void)kill(ranks.pids[victim], SIGKILL);
	assert_int_equal(ranks_wait(&ranks, victim), 128 + SIGKILL);
	for (int32_t rank = 0; rank < plan.world; rank++) {
		int status = rank == victim ? victim + 1 : ranks_wait(&ranks, rank);

		/* killed before the world stood, the others cannot start: they say so */
		assert_true(status == victim + 1 || status == 99);
	}
	assert_int_equal(count_segments(), 0);
}

static void test_native__a_killed_rank_is_named_by_all_others(void **state)
{
	static const size_t counts[] = {1, 1000, 100000};

	(void)state;
	for (int32_t victim = 0; victim < 3; victim++) {
		for (size_t i = 0; i < 3; i++) {
			check_death(victim, false, counts[i], 150000);
			check_death(victim, true, counts[i], 150000);
		}
	}
}

static int abort_or_wait(struct rh_comm *comm, const void *arg)
{
	struct rh_comm_error err = {0};
	int64_t value = 0;
	int32_t r;

	(void)arg;
	if (rh_comm_rank(comm) == 1) {
		(void)usleep(50000);
		rh_comm_abort(comm, "the loss is no number");
	}
	r = rh_comm_all_reduce(comm, &value, 1, RH_COMM_I64, RH_COMM_SUM, &err);
	while (r == 0)
		r = rh_comm_all_reduce(comm, &value, 1, RH_COMM_I64, RH_COMM_SUM, &err);
	return r == RH_COMM_EABORTED && err.rank == 1 && strstr(err.text, "the loss is no number") ? 0 : 1;
}

static void test_native__an_abort_ends_all(void **state)
{
	(void)state;
	run_worlds(abort_or_wait, false, 2, 3);
	run_worlds(abort_or_wait, true, 3, 3);
}

static int wait_too_long(struct rh_comm *comm, const void *arg)
{
	struct rh_comm_op op = {.size = sizeof(op), .what = RH_COMM_BARRIER, .timeout = 300000};
	struct rh_comm_error err = {0};
	int32_t r;

	(void)arg;
	if (rh_comm_rank(comm) == 0)
		(void)usleep(1500000);
	r = rh_comm_run(comm, &op, &err);
	return r == RH_COMM_ETIME ? 0 : 1;
}

static void test_native__a_time_limit_ends_an_operation(void **state)
{
	(void)state;
	run_worlds(wait_too_long, false, 2, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_native__collectives_in_shared_memory),
		cmocka_unit_test(test_native__collectives_over_tcp),
		cmocka_unit_test(test_native__collectives_of_eight),
		cmocka_unit_test(test_native__messages),
		cmocka_unit_test(test_native__operations_in_flight),
		cmocka_unit_test(test_native__groups),
		cmocka_unit_test(test_native__a_killed_rank_is_named_by_all_others),
		cmocka_unit_test(test_native__an_abort_ends_all),
		cmocka_unit_test(test_native__a_time_limit_ends_an_operation),
	};

	return cmocka_run_group_tests_name("comm/native", tests, NULL, NULL);
}
