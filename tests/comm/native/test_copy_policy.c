/* SPDX-License-Identifier: Apache-2.0 */
/* Through the cache or around it: decisions on machines that are made up. */
/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "comm/native/copy_policy.h"

#define BYTES (1024 * 1024)

/* What an operation takes there either way, in nanoseconds, and how much its time varies: so many in a hundred. */
struct machine {
	int64_t cached;
	int64_t around;
	int64_t noise;
};

/* Both ranks under one last-level cache; under two; and where it makes no difference. */
static const struct machine near = {.cached = 50000, .around = 90000, .noise = 30};
static const struct machine far = {.cached = 600000, .around = 80000, .noise = 30};
static const struct machine even = {.cached = 80000, .around = 80000, .noise = 30};

/* Times are spread by a fixed row. @return how many of the operations went through the cache */
static int play(struct native_copy_policy *policy, const struct machine *machine, size_t bytes, int operations)
{
	int cached = 0;

	for (int i = 0; i < operations; i++) {
		bool through = native_copy_policy_choose(policy, bytes);
		int64_t time = through ? machine->cached : machine->around;

		cached += through;
		native_copy_policy_update(policy, bytes, time + time * ((int64_t)i * 37 % 100) * machine->noise / 10000);
	}
	return cached;
}

static void test_copy_policy__begins_around_the_cache(void **state)
{
	struct native_copy_policy policy = {0};

	(void)state;
	assert_false(native_copy_policy_choose(&policy, BYTES));
}

static void test_copy_policy__finds_the_faster_one(void **state)
{
	struct native_copy_policy policy = {0};

	(void)state;
	(void)play(&policy, &near, BYTES, 20);
	assert_true(play(&policy, &near, BYTES, 1000) > 950);
	policy = (struct native_copy_policy){0};
	(void)play(&policy, &far, BYTES, 20);
	assert_true(play(&policy, &far, BYTES, 1000) < 20);
}

/* A trial costs seven times there: it is given up at once, and made ever more seldom. */
static void test_copy_policy__trials_become_rare(void **state)
{
	struct native_copy_policy policy = {0};

	(void)state;
	(void)play(&policy, &far, BYTES, 2000);
	assert_true(play(&policy, &far, BYTES, 10000) <= 30);
}

static void test_copy_policy__stays_where_it_makes_no_difference(void **state)
{
	struct native_copy_policy policy = {0};

	(void)state;
	assert_true(play(&policy, &even, BYTES, 10000) < 100);
}

/* Ranks that are moved: it is seen by what operations take, or by the next trial. */
static void test_copy_policy__follows_a_change(void **state)
{
	struct native_copy_policy policy = {0};

	(void)state;
	(void)play(&policy, &near, BYTES, 5000);
	assert_true(play(&policy, &far, BYTES, 40) < 15);
	assert_true(play(&policy, &near, BYTES, 3000) > 1000);
	assert_true(play(&policy, &near, BYTES, 100) > 90);
}

static void test_copy_policy__sizes_are_independent(void **state)
{
	struct native_copy_policy policy = {0};

	(void)state;
	for (int i = 0; i < 100; i++) {
		(void)play(&policy, &near, BYTES, 1);
		(void)play(&policy, &far, 16 * BYTES, 1);
	}
	assert_true(play(&policy, &near, BYTES, 20) > 15);
	assert_true(play(&policy, &far, 16 * BYTES, 20) < 5);
}

static void test_copy_policy__classes_are_powers_of_two(void **state)
{
	(void)state;
	assert_int_equal(native_copy_class(0), 0);
	assert_int_equal(native_copy_class(1), 0);
	assert_int_equal(native_copy_class(65535), 15);
	assert_int_equal(native_copy_class(65536), 16);
	assert_int_equal(native_copy_class(SIZE_MAX), NATIVE_COPY_CLASSES - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_copy_policy__begins_around_the_cache),
		cmocka_unit_test(test_copy_policy__finds_the_faster_one),
		cmocka_unit_test(test_copy_policy__trials_become_rare),
		cmocka_unit_test(test_copy_policy__stays_where_it_makes_no_difference),
		cmocka_unit_test(test_copy_policy__follows_a_change),
		cmocka_unit_test(test_copy_policy__sizes_are_independent),
		cmocka_unit_test(test_copy_policy__classes_are_powers_of_two),
	};

	return cmocka_run_group_tests_name("comm/native/copy_policy", tests, NULL, NULL);
}
