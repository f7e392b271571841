/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>

#include "base/map.h"
#include "base/support.h"
#include "random.h"

static void test_map__empty(void **state)
{
	rh_auto(map) map = rh_map_new();
	size_t cursor = 0;

	(void)state;
	assert_int_equal(rh_map_size(map), 0);
	assert_null(rh_map_get(map, "x"));
	assert_null(rh_map_remove(map, "x"));
	assert_false(rh_map_next(map, &cursor, NULL, NULL));
	rh_map_free(NULL);
}

static void test_map__set_get_replace_remove(void **state)
{
	rh_auto(map) map = rh_map_new();
	int one = 1, two = 2;
	void *old = &one;

	(void)state;
	assert_int_equal(rh_map_set(map, "a", &one, &old), 0);
	assert_null(old);
	assert_ptr_equal(rh_map_get(map, "a"), &one);
	assert_int_equal(rh_map_set(map, "a", &two, &old), 0);
	assert_ptr_equal(old, &one);
	assert_ptr_equal(rh_map_get(map, "a"), &two);
	assert_int_equal(rh_map_size(map), 1);
	assert_ptr_equal(rh_map_remove(map, "a"), &two);
	assert_null(rh_map_get(map, "a"));
	assert_int_equal(rh_map_size(map), 0);
}

static void test_map__keys_are_copied(void **state)
{
	rh_auto(map) map = rh_map_new();
	char key[] = "key";
	int value;

	(void)state;
	rh_map_set(map, key, &value, NULL);
	key[0] = 'x';
	assert_ptr_equal(rh_map_get(map, "key"), &value);
	assert_null(rh_map_get(map, key));
}

static void test_map__keys_of_every_length(void **state)
{
	rh_auto(map) map = rh_map_new();
	char key[64] = "";
	int values[40];

	(void)state;
	for (size_t i = 0; i < 40; i++) {
		assert_int_equal(rh_map_set(map, key, &values[i], NULL), 0);
		key[i] = 'k';
	}
	memset(key, 0, sizeof(key));
	for (size_t i = 0; i < 40; i++) {
		assert_ptr_equal(rh_map_get(map, key), &values[i]);
		key[i] = 'k';
	}
}

/* Check the keys of a walk against the expected ones, which a space separates. */
static void test_map_assert_order(const struct rh_map *map, const char *expected)
{
	rh_auto_str got = {0};
	const char *key;
	size_t cursor = 0;

	while (rh_map_next(map, &cursor, &key, NULL))
		rh_str_appendf(&got, "%s%s", got.length > 0 ? " " : "", key);
	assert_string_equal(rh_str_text(&got), expected);
}

static void test_map__walks_in_insertion_order(void **state)
{
	rh_auto(map) map = rh_map_new();
	int value;

	(void)state;
	rh_map_set(map, "zebra", &value, NULL);
	rh_map_set(map, "ant", &value, NULL);
	rh_map_set(map, "bee", &value, NULL);
	rh_map_set(map, "ant", &value, NULL);
	test_map_assert_order(map, "zebra ant bee");
	rh_map_remove(map, "zebra");
	rh_map_set(map, "zebra", &value, NULL);
	test_map_assert_order(map, "ant bee zebra");
}

static void test_map__may_lose_the_entry_just_returned(void **state)
{
	rh_auto(map) map = rh_map_new();
	int values[100];
	size_t cursor = 0, seen = 0;
	const char *key;
	void *value;

	(void)state;
	for (int i = 0; i < 100; i++) {
		char name[16];

		snprintf(name, sizeof(name), "%d", i);
		rh_map_set(map, name, &values[i], NULL);
	}
	while (rh_map_next(map, &cursor, &key, &value)) {
		assert_ptr_equal(value, &values[seen++]);
		assert_ptr_equal(rh_map_remove(map, key), value);
	}
	assert_int_equal(seen, 100);
	assert_int_equal(rh_map_size(map), 0);
}

static void test_map__adding_and_removing_does_not_grow_it(void **state)
{
	rh_auto(map) map = rh_map_new();
	int value;
	long allocations;

	(void)state;
	rh_mem_fail_after(-1);
	for (int i = 0; i < 100000; i++) {
		char name[16];

		snprintf(name, sizeof(name), "%d", i);
		assert_int_equal(rh_map_set(map, name, &value, NULL), 0);
		assert_ptr_equal(rh_map_remove(map, name), &value);
	}
	allocations = rh_mem_fail_after(-1);
	/* One for each key, and two for each of the rebuilds, one every few additions. */
	assert_true(allocations < 100000 + 2 * (100000 / 4));
	assert_null(rh_map_get(map, "99999"));
}

/* Many random operations against a plain array as the model. */
static void test_map__behaves_as_a_model(void **state)
{
	rh_auto(map) map = rh_map_new();
	int values[512];
	bool present[512] = {false};
	uint64_t seed = 12345;
	size_t size = 0;

	(void)state;
	for (int step = 0; step < 50000; step++) {
		char name[16];
		uint32_t n = test_random_below(&seed, 512);

		snprintf(name, sizeof(name), "key-%u", n);
		if (test_random_below(&seed, 4) != 0) {
			assert_int_equal(rh_map_set(map, name, &values[n], NULL), 0);
			size += !present[n];
			present[n] = true;
		} else {
			assert_ptr_equal(rh_map_remove(map, name), present[n] ? &values[n] : NULL);
			size -= present[n];
			present[n] = false;
		}
		assert_int_equal(rh_map_size(map), size);
		assert_ptr_equal(rh_map_get(map, name), present[n] ? &values[n] : NULL);
	}
}

static void test_map__many(void **state)
{
	rh_auto(map) map = rh_map_new();
	static int values[20000];
	char name[16];

	(void)state;
	for (int i = 0; i < 20000; i++) {
		snprintf(name, sizeof(name), "%d", i);
		assert_int_equal(rh_map_set(map, name, &values[i], NULL), 0);
	}
	assert_int_equal(rh_map_size(map), 20000);
	for (int i = 0; i < 20000; i++) {
		snprintf(name, sizeof(name), "%d", i);
		assert_ptr_equal(rh_map_get(map, name), &values[i]);
	}
}

static int test_map_fill(void *arg)
{
	rh_auto(map) map = rh_map_new();
	char name[16];

	if (!map)
		return RH_ENOMEM;
	for (int i = 0; i < 40; i++) {
		size_t size = rh_map_size(map);

		snprintf(name, sizeof(name), "%d", i);
		if (rh_map_set(map, name, arg, NULL) < 0) {
			assert_int_equal(rh_map_size(map), size);
			assert_null(rh_map_get(map, name));
			return RH_ENOMEM;
		}
	}
	return 0;
}

static void test_map__out_of_memory_leaves_it_unchanged(void **state)
{
	int value;

	(void)state;
	support_fail_each(test_map_fill, &value);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_map__empty),
		cmocka_unit_test(test_map__set_get_replace_remove),
		cmocka_unit_test(test_map__keys_are_copied),
		cmocka_unit_test(test_map__keys_of_every_length),
		cmocka_unit_test(test_map__walks_in_insertion_order),
		cmocka_unit_test(test_map__may_lose_the_entry_just_returned),
		cmocka_unit_test(test_map__adding_and_removing_does_not_grow_it),
		cmocka_unit_test(test_map__behaves_as_a_model),
		cmocka_unit_test(test_map__many),
		cmocka_unit_test(test_map__out_of_memory_leaves_it_unchanged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
