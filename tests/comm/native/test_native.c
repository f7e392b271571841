/* SPDX-License-Identifier: Apache-2.0 */
/* The native backend through the library, with real processes. */
#include <sched.h>
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

#include "comm/any_source.h"
#include "comm/core/context.h"
#include "comm/exchanges.h"
#include "comm/native/copy.h"
#include "comm/operations.h"
#include "comm/ranks.h"
#include "comm/values.h"

static void test_native__collectives_in_shared_memory(void **state)
{
	(void)state;
	ranks_run_worlds(NULL, operations_collectives, false, 1, 4);
}

static void test_native__collectives_over_tcp(void **state)
{
	(void)state;
	ranks_run_worlds(NULL, operations_collectives, true, 2, 3);
}

static void test_native__collectives_of_eight(void **state)
{
	(void)state;
	ranks_run_worlds(NULL, operations_collectives, false, 8, 8);
}

static void test_native__messages(void **state)
{
	(void)state;
	ranks_run_worlds(NULL, operations_messages, false, 2, 4);
	ranks_run_worlds(NULL, operations_messages, true, 2, 3);
}

static void test_native__receives_from_any_rank(void **state)
{
	static const struct ranks_plan hosts = {.world = 5, .places = "ABABA", .fn = any_source_seeded};

	(void)state;
	ranks_run_worlds(NULL, any_source_seeded, false, 2, 6);
	ranks_run_worlds(NULL, any_source_seeded, true, 2, 4);
	ranks_run(&hosts);
}

static void test_native__exchanges(void **state)
{
	static const struct ranks_plan hosts = {.world = 5, .places = "ABABA", .fn = exchanges_seeded};

	(void)state;
	ranks_run_worlds(NULL, exchanges_seeded, false, 1, 3);
	ranks_run_worlds(NULL, exchanges_seeded, false, 5, 5);
	ranks_run_worlds(NULL, exchanges_seeded, true, 2, 3);
	ranks_run(&hosts);
}

static void test_native__counts_that_do_not_agree_are_named(void **state)
{
	(void)state;
	exchanges_check_counts("native", false);
	exchanges_check_counts("native", true);
}

static void test_native__operations_outstanding(void **state)
{
	(void)state;
	ranks_run_worlds(NULL, operations_outstanding, false, 1, 4);
	ranks_run_worlds(NULL, operations_outstanding, true, 2, 3);
}

static void test_native__groups(void **state)
{
	(void)state;
	ranks_run_worlds(NULL, operations_groups, false, 2, 5);
	ranks_run_worlds(NULL, operations_groups, true, 3, 3);
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
	ranks_run_worlds(NULL, operations_batches, true, 2, 2);
}

/* Every operation once; the rest where hosts are more, or have different numbers of ranks. */
static void test_native__hosts_with_several_ranks(void **state)
{
	static const struct {
		int32_t world;
		int32_t hosts;
		ranks_fn *fn;
	} rows[] = {
		{4, 2, operations_collectives}, {4, 2, operations_outstanding}, {5, 2, operations_outstanding},
		{5, 2, operations_groups},      {6, 3, operations_outstanding}, {6, 3, operations_messages},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct ranks_plan plan = {.world = rows[i].world, .hosts = rows[i].hosts, .fn = rows[i].fn};

		ranks_run(&plan);
	}
}

/* Different numbers of ranks on the hosts, and ranks of a host that do not stand in a row. */
static const char *const uneven[] = {"AAB", "AABBB", "ABABA", "ABCCC"};

/* @return how many ranks of these have host `host`, or, with 0, how many the smallest host has */
static int32_t count_places(const char *places, char host)
{
	int32_t least = RANKS_MAX;
	int32_t count = 0;

	for (const char *at = places; *at && host; at++)
		count += *at == host;
	for (const char *at = places; *at && !host; at++) {
		int32_t other = count_places(places, *at);

		least = other < least ? other : least;
	}
	return host ? count : least;
}

static int check_levels(struct rh_comm *comm, const void *arg)
{
	const char *places = arg;
	const struct rh_comm_hierarchy *levels = comm->hierarchy;
	int32_t own = count_places(places, places[comm->rank]);
	int32_t least = count_places(places, 0);

	if (!levels || levels->intra->size != own || levels->slices != least || comm->local_world != own)
		return 1;
	return (levels->inter != NULL) == (comm->local_rank < least) ? 0 : 2;
}

static int try_all(struct rh_comm *comm, const void *arg)
{
	static ranks_fn *const all[] = {operations_outstanding, operations_groups, operations_batches};

	if (check_levels(comm, arg) != 0)
		return 1;
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		if (all[i](comm, NULL) != 0)
			return 2;
	}
	return 0;
}

static void run_places(ranks_fn *fn, const char *const *places, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct ranks_plan plan = {.world = (int32_t)strlen(places[i]), .places = places[i], .fn = fn, .arg = places[i]};

		ranks_run(&plan);
	}
}

static void test_native__hosts_with_different_numbers_of_ranks(void **state)
{
	(void)state;
	run_places(try_all, uneven, sizeof(uneven) / sizeof(*uneven));
	run_places(operations_collectives, &uneven[1], 1);
}

/* Numbers whose sum depends on the order in which they are added. */
static void fill_roughly(char *data, size_t count, int32_t type, int32_t rank)
{
	static const float scales[] = {1.0F, 1e-3F, 3e3F};
	uint32_t seed = (uint32_t)rank * 7919 + 13;
	/* float8 e4m3 ends at 448 */
	float scale = rh_comm_type_size(type) == 1 ? 0x1p-3F : 1.0F;

	for (size_t i = 0; i < count; i++) {
		float value;

		seed = seed * 1664525U + 1013904223U;
		value = ((float)(seed >> 9) / 8388608.0F - 0.5F) * scales[seed % 3] * scale;
		values_put_float(data, i, type, value);
	}
}

/* @return 0: rank 0 has the same bytes */
static int compare_with_root(struct rh_comm *comm, const char *data, char *other, size_t bytes)
{
	struct rh_comm_op op = {
		.size = sizeof(op), .what = RH_COMM_BROADCAST, .in = data, .out = other, .count = bytes, .type = RH_COMM_U8};

	return rh_comm_run(comm, &op, NULL) == 0 && memcmp(data, other, bytes) == 0 ? 0 : 1;
}

static int try_bits(struct rh_comm *comm, int32_t type, size_t count)
{
	size_t bytes = count * rh_comm_type_size(type);
	char *data[3] = {malloc(bytes), malloc(bytes), malloc(bytes)};
	int status = 0;

	for (int i = 0; i < 2; i++) {
		fill_roughly(data[i], count, type, rh_comm_rank(comm));
		if (rh_comm_all_reduce(comm, data[i], count, type, RH_COMM_AVG, NULL) != 0)
			return 1;
	}
	if (memcmp(data[0], data[1], bytes) != 0)
		status = 2;
	if (compare_with_root(comm, data[0], data[2], bytes) != 0)
		status = 3;
	for (int i = 0; i < 3; i++)
		free(data[i]);
	return status;
}

static int same_bits(struct rh_comm *comm, const void *arg)
{
	static const size_t counts[] = {1, 2, 7, 1000, 70001, 600001};

	(void)arg;
	for (int32_t type = RH_COMM_F32; type <= VALUES_TYPES; type++) {
		for (size_t i = 0; values_is_float(type) && i < sizeof(counts) / sizeof(*counts); i++) {
			int status = try_bits(comm, type, counts[i]);

			if (status != 0) {
				(void)fprintf(stderr, "type %d, %zu elements: %d\n", (int)type, counts[i], status);
				return 1;
			}
		}
	}
	return 0;
}

static void test_native__all_ranks_have_the_same_bits_and_have_them_again(void **state)
{
	static const char *const places[] = {"AAA", "ABC", "AABB", "ABABA"};

	(void)state;
	run_places(same_bits, places, sizeof(places) / sizeof(*places));
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
		struct ranks_plan plan = {.world = 3, .env = env, .fn = operations_outstanding};

		ranks_run(&plan);
		plan.world = 4;
		plan.hosts = 2;
		ranks_run(&plan);
	}
}

static int check_crowded(struct rh_comm *comm, const void *arg)
{
	return comm->world->crowded == *(const bool *)arg ? 0 : 1;
}

/* @return whether this process may run on two processors at least; they are given */
static bool find_processors(int *ret_processors)
{
	cpu_set_t set;
	int found = 0;

	assert_int_equal(sched_getaffinity(0, sizeof(set), &set), 0);
	for (int i = 0; i < CPU_SETSIZE && found < 2; i++) {
		if (CPU_ISSET(i, &set))
			ret_processors[found++] = i;
	}
	return found == 2;
}

/* As mpirun does it: each rank sees one processor, and has it for itself or not. */
static void test_native__bound_ranks_are_crowded_on_one_processor_only(void **state)
{
	const bool no = false;
	const bool yes = true;
	int own[2];
	int same[2];

	(void)state;
	if (!find_processors(own)) {
		print_message("SKIPPED: this process may run on one processor only\n");
		skip();
	}
	same[0] = same[1] = own[0];
	ranks_run(&(struct ranks_plan){.world = 2, .processors = own, .fn = check_crowded, .arg = &no});
	ranks_run(&(struct ranks_plan){.world = 2, .processors = same, .fn = check_crowded, .arg = &yes});
}

/* Each byte arrives and none beside them, wherever they lie. */
static void test_native__copies_for_others_are_exact(void **state)
{
	static const size_t lengths[] = {0, 1, 63, 2047, 2048, 2049, 2111, 2112, 5000, 8192};
	static unsigned char from[9000];
	static unsigned char to[9000];
	static unsigned char wanted[9000];

	(void)state;
	for (size_t i = 0; i < sizeof(from); i++)
		from[i] = (unsigned char)(i * 7 + i / 256 + 1);
	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths) * 64; i++) {
		size_t length = lengths[i / 64];
		size_t at = i % 64;

		memset(to, 0, sizeof(to));
		memset(wanted, 0, sizeof(wanted));
		memcpy(wanted + at, from + 3 * at % 64, length);
		native_copy_for_others(to + at, from + 3 * at % 64, length);
		native_copy_settle();
		assert_memory_equal(to, wanted, sizeof(to));
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_native__collectives_in_shared_memory),
		cmocka_unit_test(test_native__collectives_over_tcp),
		cmocka_unit_test(test_native__collectives_of_eight),
		cmocka_unit_test(test_native__messages),
		cmocka_unit_test(test_native__receives_from_any_rank),
		cmocka_unit_test(test_native__exchanges),
		cmocka_unit_test(test_native__counts_that_do_not_agree_are_named),
		cmocka_unit_test(test_native__operations_outstanding),
		cmocka_unit_test(test_native__groups),
		cmocka_unit_test(test_native__batches),
		cmocka_unit_test(test_native__hosts_with_several_ranks),
		cmocka_unit_test(test_native__hosts_with_different_numbers_of_ranks),
		cmocka_unit_test(test_native__all_ranks_have_the_same_bits_and_have_them_again),
		cmocka_unit_test(test_native__algorithms_by_table),
		cmocka_unit_test(test_native__bound_ranks_are_crowded_on_one_processor_only),
		cmocka_unit_test(test_native__copies_for_others_are_exact),
	};

	if (argc > 1)
		cmocka_set_test_filter(argv[1]);
	return cmocka_run_group_tests_name("comm/native", tests, NULL, NULL);
}
