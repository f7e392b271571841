/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "host/call/arena.h"

static void test_arena__texts_stay_until_the_end(void **state)
{
	struct rh_arena arena = {0};
	const char *first = rh_arena_copy(&arena, "first");
	const char *second = rh_arena_copy(&arena, "");

	(void)state;
	assert_string_equal(first, "first");
	assert_string_equal(second, "");
	rh_arena_deinit(&arena);
	assert_null(arena.last);
	rh_arena_deinit(&arena);
}

static void test_arena__out_of_memory_keeps_what_is_there(void **state)
{
	struct rh_arena arena = {0};
	const char *first = rh_arena_copy(&arena, "first");

	(void)state;
	rh_mem_fail_after(0);
	assert_null(rh_arena_copy(&arena, "second"));
	rh_mem_fail_after(-1);
	assert_true(arena.failed);
	assert_string_equal(first, "first");
	rh_arena_deinit(&arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_arena__texts_stay_until_the_end),
		cmocka_unit_test(test_arena__out_of_memory_keeps_what_is_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
