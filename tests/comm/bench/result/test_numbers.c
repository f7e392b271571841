/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/bench/result/numbers.h"
#include "comm/bench/result/result.h"

#include <string.h>

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#define WORLD_MOST 33
#define NEAR(a, b) assert_true((a) - (b) < 1e-9 && (b) - (a) < 1e-9)

struct median_row {
	const char *name;
	double numbers[6];
	size_t count;
	double median;
};

static void test_numbers__median(void **state)
{
	static const struct median_row rows[] = {
		{"none", {0}, 0, 0},
		{"one", {7}, 1, 7},
		{"two", {1, 4}, 2, 2.5},
		{"odd, unordered", {9, 1, 5}, 3, 5},
		{"even, unordered", {8, 2, 6, 4}, 4, 5},
		{"an outlier does not count", {1, 1000, 2, 3, 2}, 5, 2},
		{"equal", {3, 3, 3, 3}, 4, 3},
		{"negative", {-5, -1, -3}, 3, -3},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		double numbers[6];

		memcpy(numbers, rows[i].numbers, sizeof(numbers));
		print_message("%s\n", rows[i].name);
		NEAR(rh_bench_median(numbers, rows[i].count), rows[i].median);
	}
}

static void test_numbers__median_orders(void **state)
{
	double numbers[] = {3, 1, 2};

	(void)state;
	(void)rh_bench_median(numbers, 3);
	for (int i = 0; i < 3; i++)
		NEAR(numbers[i], i + 1);
}

/* In each round nobody meets two others; after all rounds each pair has met once. */
static void check_tournament(int32_t world)
{
	static int met[WORLD_MOST][WORLD_MOST];
	int rests = 0;

	memset(met, 0, sizeof(met));
	for (int32_t round = 0; round < rh_bench_rounds(world); round++) {
		for (int32_t rank = 0; rank < world; rank++) {
			int32_t peer = rh_bench_partner(world, round, rank);

			if (peer < 0) {
				rests++;
				continue;
			}
			assert_true(peer < world);
			assert_int_not_equal(peer, rank);
			assert_int_equal(rh_bench_partner(world, round, peer), rank);
			met[rank][peer]++;
		}
	}
	for (int32_t a = 0; a < world; a++) {
		for (int32_t b = 0; b < world; b++)
			assert_int_equal(met[a][b], a != b);
	}
	assert_int_equal(rests, world > 1 && world % 2 ? world : 0);
}

static void test_numbers__tournament_meets_everybody_once(void **state)
{
	(void)state;
	for (int32_t world = 1; world <= WORLD_MOST; world++)
		check_tournament(world);
}

static void test_numbers__rounds(void **state)
{
	static const int32_t rows[][2] = {{0, 0}, {1, 0}, {2, 1}, {3, 3}, {4, 3}, {5, 5}, {8, 7}, {65536, 65535}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		assert_int_equal(rh_bench_rounds(rows[i][0]), rows[i][1]);
}

static void test_numbers__tournament_of_the_largest_world(void **state)
{
	(void)state;
	for (int32_t round = 65000; round < rh_bench_rounds(65536); round += 67) {
		int32_t peer = rh_bench_partner(65536, round, 65535);

		assert_true(peer >= 0 && peer < 65535);
		assert_int_equal(rh_bench_partner(65536, round, peer), 65535);
	}
}

/* nccl-tests, PERFORMANCE.md: algbw = bytes / time, busbw = algbw 2 (n - 1) / n. */
static void test_numbers__bandwidths_are_those_of_nccl_tests(void **state)
{
	(void)state;
	NEAR(rh_bench_rate(1e9, 1e6), 1);
	NEAR(rh_bench_rate(128e6, 16000), 8);
	NEAR(rh_bench_rate(1, 0), 0);
	NEAR(rh_bench_bus_factor(1), 0);
	NEAR(rh_bench_bus_factor(2), 1);
	NEAR(rh_bench_bus_factor(4), 1.5);
	NEAR(rh_bench_bus_factor(8), 1.75);
	NEAR(rh_bench_bus_factor(0), 0);
}

static void test_numbers__clamp(void **state)
{
	(void)state;
	NEAR(rh_bench_clamp(5, 1, 9), 5);
	NEAR(rh_bench_clamp(0, 1, 9), 1);
	NEAR(rh_bench_clamp(10, 1, 9), 9);
}

static void test_numbers__now_goes_on(void **state)
{
	double before = rh_bench_now();

	(void)state;
	assert_true(before > 0);
	assert_true(rh_bench_now() >= before);
}

/* Ranks 0 and 1 are on one host, 2 on another. */
static void make_three(struct rh_bench_result *result)
{
	static const double bandwidth[] = {0, 10, 1, 12, 0, 2, 3, 4, 0};

	assert_int_equal(rh_bench_result_init(result, 3), 0);
	result->hosts[2] = 1;
	memcpy(result->bandwidth, bandwidth, sizeof(bandwidth));
}

static void test_numbers__medians_of_like_pairs(void **state)
{
	struct rh_bench_result result;
	double median = -1;

	(void)state;
	make_three(&result);
	assert_int_equal(rh_bench_matrix_median(&result, result.bandwidth, true, &median), 2);
	NEAR(median, 11);
	assert_int_equal(rh_bench_matrix_median(&result, result.bandwidth, false, &median), 4);
	NEAR(median, 2.5);
	assert_int_equal(rh_bench_matrix_median(&result, result.latency, true, &median), 0);
	NEAR(median, 0);
	assert_true(rh_bench_near(&result, 0, 1));
	assert_false(rh_bench_near(&result, 2, 1));
	rh_bench_result_deinit(&result);
}

static void test_numbers__result_can_be_freed_twice(void **state)
{
	struct rh_bench_result result;

	(void)state;
	make_three(&result);
	rh_bench_result_deinit(&result);
	assert_null(result.bandwidth);
	assert_int_equal(result.world, 0);
	rh_bench_result_deinit(&result);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers__median),
		cmocka_unit_test(test_numbers__median_orders),
		cmocka_unit_test(test_numbers__tournament_meets_everybody_once),
		cmocka_unit_test(test_numbers__rounds),
		cmocka_unit_test(test_numbers__tournament_of_the_largest_world),
		cmocka_unit_test(test_numbers__bandwidths_are_those_of_nccl_tests),
		cmocka_unit_test(test_numbers__clamp),
		cmocka_unit_test(test_numbers__now_goes_on),
		cmocka_unit_test(test_numbers__medians_of_like_pairs),
		cmocka_unit_test(test_numbers__result_can_be_freed_twice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
