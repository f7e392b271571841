/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "base/str.h"
#include "job/addresses.h"
#include "job/support.h"

static void addresses_fill(struct rh_address *item, const char *type, int32_t index)
{
	rh_copy(item->type, sizeof(item->type), type);
	item->index = index;
	item->port = 20000 + index;
	(void)snprintf(item->host, sizeof(item->host), "127.1.0.%d", (int)index);
}

/* Two Masters' places, then @workers of Workers. */
static struct rh_addresses addresses_make(int32_t workers)
{
	struct rh_addresses made = {rh_alloc_array((size_t)workers + 2, sizeof(*made.items)), (size_t)workers + 2};

	assert_non_null(made.items);
	addresses_fill(&made.items[0], "Master", 0);
	addresses_fill(&made.items[1], "Master", 7);
	for (int32_t i = 0; i < workers; i++)
		addresses_fill(&made.items[2 + i], "Worker", i);
	return made;
}

static void test_addresses__find_each(void **state)
{
	struct rh_addresses plan = addresses_make(100);

	(void)state;
	for (int32_t i = 0; i < 100; i++) {
		const struct rh_address *found = rh_addresses_find(&plan, "Worker", i);

		assert_non_null(found);
		assert_string_equal(found->type, "Worker");
		assert_int_equal(found->port, 20000 + i);
	}
	assert_int_equal(rh_addresses_find(&plan, "Master", 7)->index, 7);
	rh_addresses_deinit(&plan);
}

struct missing_row {
	const char *type;
	int32_t index;
};

static const struct missing_row missing_rows[] = {
	{"Worker", 100}, {"Worker", -1},        {"Master", 1}, {"master", 0},
	{"PS", 0},       {"Worker", INT32_MAX}, {"", 0},       {"Worker", INT32_MIN},
};

static void test_addresses__find_none(void **state)
{
	struct rh_addresses plan = addresses_make(100);

	(void)state;
	for (size_t i = 0; i < sizeof(missing_rows) / sizeof(missing_rows[0]); i++)
		assert_null(rh_addresses_find(&plan, missing_rows[i].type, missing_rows[i].index));
	rh_addresses_deinit(&plan);
}

static void test_addresses__empty(void **state)
{
	struct rh_addresses plan = {0};

	(void)state;
	assert_null(rh_addresses_find(&plan, "Worker", 0));
	rh_addresses_deinit(&plan);
	rh_addresses_deinit(&plan);
	assert_null(plan.items);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_addresses__find_each),
		cmocka_unit_test(test_addresses__find_none),
		cmocka_unit_test(test_addresses__empty),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
