/* SPDX-License-Identifier: Apache-2.0 */
/* The native backend through the library, with real processes. */
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

static void test_native__batches(void **state)
{
	static const char *const sizes[] = {"RH_COMM_FUSION=0", "RH_COMM_FUSION=1000", "RH_COMM_FUSION=4194304"};

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		const char *const env[] = {sizes[i], NULL};
		struct ranks_plan plan = {.world = 2 + (int32_t)i % 2, .env = env, .fn = operations_batches};

		ranks_run(&plan);
	}
	run_worlds(operations_batches, true, 2, 2);
}

/* Every operation once; the rest where hosts are more, or have different numbers of ranks. */
static void test_native__hosts_with_several_ranks(void **state)
{
	static const struct {
		int32_t world;
		int32_t hosts;
		ranks_fn *fn;
	} rows[] = {
		{4, 2, operations_collectives}, {4, 2, operations_in_flight}, {5, 2, operations_in_flight},
		{5, 2, operations_groups},      {6, 3, operations_in_flight}, {6, 3, operations_messages},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct ranks_plan plan = {.world = rows[i].world, .hosts = rows[i].hosts, .fn = rows[i].fn};

		ranks_run(&plan);
	}
}

static void test_native__algorithms_by_table(void **state)
{
	static const char *const tables[] = {
		"RH_COMM_TUNE=allreduce:@ring",
		"RH_COMM_TUNE=allreduce:@doubling",
		"RH_COMM_TUNE=@staged:chunk=1k",
		"RH_COMM_TUNE=allreduce:0-inf:@flat",
		"RH_COMM_TUNE=chunk=3#allreduce:4k-inf:@ring:chunk=512",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++) {
		const char *const env[] = {tables[i], NULL};
		struct ranks_plan plan = {.world = 3, .env = env, .fn = operations_in_flight};

		ranks_run(&plan);
		plan.world = 4;
		plan.hosts = 2;
		ranks_run(&plan);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_native__collectives_in_shared_memory),
		cmocka_unit_test(test_native__collectives_over_tcp),
		cmocka_unit_test(test_native__collectives_of_eight),
		cmocka_unit_test(test_native__messages),
		cmocka_unit_test(test_native__operations_in_flight),
		cmocka_unit_test(test_native__groups),
		cmocka_unit_test(test_native__batches),
		cmocka_unit_test(test_native__hosts_with_several_ranks),
		cmocka_unit_test(test_native__algorithms_by_table),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests_name("comm/native", tests, NULL, NULL);
}
