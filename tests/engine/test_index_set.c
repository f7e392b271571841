/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/index_set.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void test_index_set__text(void **state)
{
	static const struct {
		const char *name;
		const char *text;
		int32_t limit;
		const char *printed;
	} rows[] = {
		{"empty", "", 100, ""},
		{"one", "7", 100, "7"},
		{"a range", "0-3", 100, "0-3"},
		{"several", "0-3,7,9-11", 100, "0-3,7,9-11"},
		{"neighbours become a range", "1,2,3", 100, "1-3"},
		{"hexadecimal", "x8f", 100, "0-3,7"},
		{"half a byte is left out", "x8f1", 100, "0-3,7"},
		{"what follows a wrong letter is left out", "0,a,3", 100, "0"},
		{"no hexadecimal", "xzz", 100, ""},
		{"what is not in order ends it", "5,3", 100, "5"},
		{"what overlaps ends it", "0-5,4-9", 100, "0-5"},
		{"a range backwards", "5-3", 100, ""},
		{"beyond the limit", "1,100", 100, "1"},
		{"a range beyond the limit", "1,5-2000000000", 100, "1"},
		{"a number beyond all", "99999999999999999999", 100, ""},
		{"negative", "-3", 100, ""},
		{"an open range", "3-", 100, ""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct rh_index_set set = {0};
		rh_auto_str text = {0};

		assert_int_equal(rh_index_set_parse(&set, rows[i].text, rows[i].limit), 0);
		rh_index_set_print(&set, &text);
		if (strcmp(rh_str_text(&text), rows[i].printed) != 0)
			fail_msg("%s: wanted \"%s\", got \"%s\"", rows[i].name, rows[i].printed, rh_str_text(&text));
		rh_index_set_deinit(&set);
	}
}

static void test_index_set__members(void **state)
{
	struct rh_index_set set = {0}, other = {0};

	(void)state;
	assert_int_equal(rh_index_set_add(&set, -1), 0);
	assert_int_equal(rh_index_set_add(&set, RH_INDEX_MAX + 1), 0);
	assert_true(rh_index_set_equal(&set, &other));
	assert_int_equal(rh_index_set_add(&set, 900), 0);
	assert_true(rh_index_set_has(&set, 900));
	assert_false(rh_index_set_has(&set, 899));
	assert_false(rh_index_set_has(&set, -1));
	assert_false(rh_index_set_has(&set, 100000));
	assert_false(rh_index_set_equal(&set, &other));
	rh_index_set_remove(&set, 900);
	rh_index_set_remove(&set, 100000);
	assert_true(rh_index_set_equal(&set, &other));
	rh_index_set_deinit(&set);
}

/* Many single indices are shorter in hexadecimal, and are read back unchanged. */
static void test_index_set__scattered(void **state)
{
	struct rh_index_set set = {0}, again = {0};
	rh_auto_str text = {0};

	(void)state;
	for (int32_t i = 0; i < 1000; i += 2)
		assert_int_equal(rh_index_set_add(&set, i), 0);
	rh_index_set_print(&set, &text);
	assert_int_equal(rh_str_text(&text)[0], 'x');
	assert_int_equal(text.length, 1 + 2 * 125);
	assert_int_equal(rh_index_set_parse(&again, rh_str_text(&text), 1000), 0);
	assert_true(rh_index_set_equal(&set, &again));
	rh_index_set_deinit(&set);
	rh_index_set_deinit(&again);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_index_set__text),
		cmocka_unit_test(test_index_set__members),
		cmocka_unit_test(test_index_set__scattered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
