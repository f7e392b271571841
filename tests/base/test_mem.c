/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/support.h"

static void test_mem__alloc_is_zeroed(void **state)
{
	rh_auto_free unsigned char *bytes = rh_alloc(4096);

	(void)state;
	assert_non_null(bytes);
	for (size_t i = 0; i < 4096; i++)
		assert_int_equal(bytes[i], 0);
}

static void test_mem__alloc_of_nothing_is_something(void **state)
{
	rh_auto_free char *none = rh_alloc(0);
	rh_auto_free char *no_items = rh_alloc_array(0, 8);

	(void)state;
	assert_non_null(none);
	assert_non_null(no_items);
	none[0] = 'x';
	no_items[0] = 'x';
}

static void test_mem__products_that_overflow_are_refused(void **state)
{
	char *bytes = rh_alloc(8);

	(void)state;
	assert_null(rh_alloc_array(SIZE_MAX / 2, 3));
	assert_null(rh_realloc_array(bytes, SIZE_MAX / 2, 3));
	rh_free(bytes);
}

static void test_mem__realloc_keeps_content(void **state)
{
	char *text = rh_strdup("abc");

	(void)state;
	text = rh_realloc_array(text, 100000, 1);
	assert_non_null(text);
	assert_string_equal(text, "abc");
	rh_free(text);
}

static void test_mem__realloc_failure_leaves_the_block(void **state)
{
	rh_auto_free char *text = rh_strdup("abc");

	(void)state;
	rh_mem_fail_after(0);
	assert_null(rh_realloc_array(text, 100, 1));
	rh_mem_fail_after(-1);
	assert_string_equal(text, "abc");
}

static void test_mem__strdup(void **state)
{
	rh_auto_free char *copy = rh_strdup("text");
	rh_auto_free char *empty = rh_strdup("");

	(void)state;
	assert_string_equal(copy, "text");
	assert_string_equal(empty, "");
	assert_null(rh_strdup(NULL));
}

static void test_mem__strndup(void **state)
{
	rh_auto_free char *part = rh_strndup("text", 2);
	rh_auto_free char *binary = rh_strndup("a\0b", 3);
	rh_auto_free char *empty = rh_strndup("text", 0);

	(void)state;
	assert_string_equal(part, "te");
	assert_memory_equal(binary, "a\0b\0", 4);
	assert_string_equal(empty, "");
	assert_null(rh_strndup("", SIZE_MAX));
}

static void test_mem__asprintf(void **state)
{
	rh_auto_free char *text = rh_asprintf("%s-%d", "worker", 12);
	rh_auto_free char *wide = rh_asprintf("%5000d", 1);

	(void)state;
	assert_string_equal(text, "worker-12");
	assert_int_equal(strlen(wide), 5000);
}

static void test_mem__free_of_null(void **state)
{
	(void)state;
	rh_free(NULL);
}

static void test_mem__fail_after_lets_some_succeed(void **state)
{
	void *first, *second, *third, *fourth;

	(void)state;
	rh_mem_fail_after(2);
	first = rh_alloc(1);
	second = rh_strdup("x");
	third = rh_alloc(1);
	fourth = rh_asprintf("x");
	rh_mem_fail_after(-1);
	assert_non_null(first);
	assert_non_null(second);
	assert_null(third);
	assert_null(fourth);
	rh_free(first);
	rh_free(second);
}

static void test_mem__fail_after_counts(void **state)
{
	(void)state;
	rh_mem_fail_after(-1);
	for (int i = 0; i < 5; i++)
		rh_free(rh_alloc(1));
	assert_int_equal(rh_mem_fail_after(-1), 5);
	assert_int_equal(rh_mem_fail_after(-1), 0);
}

static void test_mem__a_guarded_descriptor_is_closed(void **state)
{
	int seen;

	(void)state;
	{
		rh_auto_close int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

		assert_true(fd >= 0);
		seen = fd;
		errno = ENOTTY;
	}
	assert_int_equal(errno, ENOTTY);
	assert_int_equal(fcntl(seen, F_GETFD), -1);
	assert_int_equal(errno, EBADF);
}

static void test_mem__closing_leaves_negative_descriptors_alone(void **state)
{
	int none = -1;

	(void)state;
	errno = 0;
	rh_mem_closep(&none);
	assert_int_equal(errno, 0);
}

static void test_mem__take_moves(void **state)
{
	char *from = rh_strdup("x");
	char *to = rh_take(from);

	(void)state;
	assert_null(from);
	assert_string_equal(to, "x");
	rh_free(to);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mem__alloc_is_zeroed),
		cmocka_unit_test(test_mem__alloc_of_nothing_is_something),
		cmocka_unit_test(test_mem__products_that_overflow_are_refused),
		cmocka_unit_test(test_mem__realloc_keeps_content),
		cmocka_unit_test(test_mem__realloc_failure_leaves_the_block),
		cmocka_unit_test(test_mem__strdup),
		cmocka_unit_test(test_mem__strndup),
		cmocka_unit_test(test_mem__asprintf),
		cmocka_unit_test(test_mem__free_of_null),
		cmocka_unit_test(test_mem__fail_after_lets_some_succeed),
		cmocka_unit_test(test_mem__fail_after_counts),
		cmocka_unit_test(test_mem__a_guarded_descriptor_is_closed),
		cmocka_unit_test(test_mem__closing_leaves_negative_descriptors_alone),
		cmocka_unit_test(test_mem__take_moves),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
