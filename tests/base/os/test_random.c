/* SPDX-License-Identifier: Apache-2.0 */
#include "base/os/random.h"

#include "base/support.h"

/* The numbers of the reference implementation, https://prng.di.unimi.it/splitmix64.c */
static void test_random__is_splitmix64(void **state)
{
	uint64_t zero = 0;
	uint64_t seed = 1234567;

	(void)state;
	assert_true(rh_random_next(&zero) == UINT64_C(0xE220A8397B1DCDAF));
	assert_true(rh_random_next(&zero) == UINT64_C(0x6E789E6AA1B965F4));
	assert_true(rh_random_next(&seed) == UINT64_C(6457827717110365317));
	assert_true(rh_random_next(&seed) == UINT64_C(3203168211198807973));
}

static void test_random__below_stays_in_its_range(void **state)
{
	uint64_t random = 1;
	bool seen[5] = {false};

	(void)state;
	for (int i = 0; i < 1000; i++) {
		uint64_t number = rh_random_below(&random, 5);

		assert_true(number < 5);
		seen[number] = true;
		assert_true(rh_random_below(&random, 1) == 0);
	}
	for (int i = 0; i < 5; i++)
		assert_true(seen[i]);
}

static void test_random__seeds_differ(void **state)
{
	(void)state;
	assert_true(rh_random_seed() != rh_random_seed());
}

static void test_random__a_process_has_its_own(void **state)
{
	uint64_t words[2] = {0}, again[2] = {0};

	(void)state;
	rh_random_of_process(words);
	rh_random_of_process(again);
	assert_memory_equal(words, again, sizeof(words));
	assert_true(words[0] != words[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random__is_splitmix64),
		cmocka_unit_test(test_random__below_stays_in_its_range),
		cmocka_unit_test(test_random__seeds_differ),
		cmocka_unit_test(test_random__a_process_has_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
