/* SPDX-License-Identifier: Apache-2.0 */
/* The greatest elements, against a sort. */
#include "comm/core/compress/top.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "random.h"

#define MOST 3000

/* NaN before all, then by magnitude, then by index. */
static int compare(const void *a, const void *b)
{
	const struct rh_comm_top *left = a;
	const struct rh_comm_top *right = b;
	float x = isnan(left->value) ? INFINITY : fabsf(left->value);
	float y = isnan(right->value) ? INFINITY : fabsf(right->value);

	if (x != y)
		return x > y ? -1 : 1;
	return left->index < right->index ? -1 : 1;
}

static int compare_index(const void *a, const void *b)
{
	const struct rh_comm_top *left = a;
	const struct rh_comm_top *right = b;

	return left->index < right->index ? -1 : 1;
}

static void check(const float *given, size_t count, size_t wanted)
{
	struct rh_comm_top sorted[MOST] = {0};
	struct rh_comm_top taken[MOST];
	float values[MOST];
	size_t next = 0;

	for (size_t i = 0; i < count; i++)
		sorted[i] = (struct rh_comm_top){(uint32_t)i, given[i]};
	qsort(sorted, count, sizeof(*sorted), compare);
	qsort(sorted, wanted, sizeof(*sorted), compare_index);
	memcpy(values, given, count * sizeof(*values));
	rh_comm_top_take(values, count, wanted, taken);
	assert_memory_equal(taken, sorted, wanted * sizeof(*taken));
	for (size_t i = 0; i < count; i++) {
		bool is_taken = next < wanted && taken[next].index == i;

		next += is_taken;
		if (is_taken)
			assert_true(values[i] == 0 && !signbit(values[i]));
		else
			assert_memory_equal(&values[i], &given[i], sizeof(float));
	}
	assert_int_equal(next, wanted);
}

static void test_top__takes_what_a_sort_finds(void **state)
{
	static const size_t counts[] = {1, 2, 100, 1000, MOST};
	uint64_t seed = 7;
	float values[MOST];

	(void)state;
	for (int turn = 0; turn < 60; turn++) {
		size_t count = counts[turn % 5];

		for (size_t i = 0; i < count; i++) {
			uint32_t bits = test_random(&seed);

			/* many equal ones in some turns, all magnitudes in others */
			values[i] =
				turn % 3 == 0 ? (float)(int)(bits >> 29) - 4 : ldexpf((float)(int32_t)bits, (int)(bits % 200) - 140);
			if (turn % 4 == 1 && i % 50 == 9)
				values[i] = i % 100 < 50 ? NAN : 0;
		}
		check(values, count, 1);
		check(values, count, count);
		check(values, count, 1 + test_random_below(&seed, (uint32_t)count));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_top__takes_what_a_sort_finds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
