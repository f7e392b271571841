/* SPDX-License-Identifier: Apache-2.0 */
#include "host/worker/messages/wire.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

static void test_wire__what_is_put_is_read(void **state)
{
	rh_auto_str out = {0};
	struct rh_wire wire;

	(void)state;
	rh_wire_put_byte(&out, 200);
	rh_wire_put_int(&out, -7);
	rh_wire_put_text(&out, "name");
	rh_wire_put_text(&out, "");
	rh_wire_put_text(&out, NULL);
	rh_wire_put_size(&out, 2);
	rh_wire_put_byte(&out, 1);
	rh_wire_put_byte(&out, 2);
	wire = rh_wire_read(out.data, out.length);
	assert_int_equal(rh_wire_byte(&wire), 200);
	assert_int_equal(rh_wire_int(&wire), -7);
	assert_string_equal(rh_wire_text(&wire), "name");
	assert_string_equal(rh_wire_text(&wire), "");
	assert_null(rh_wire_text(&wire));
	assert_int_equal(rh_wire_size(&wire, 2), 2);
	assert_false(rh_wire_is_complete(&wire));
	assert_int_equal(rh_wire_byte(&wire), 1);
	assert_int_equal(rh_wire_byte(&wire), 2);
	assert_true(rh_wire_is_complete(&wire));
}

static void test_wire__what_is_cut_short_is_malformed(void **state)
{
	rh_auto_str out = {0};

	(void)state;
	rh_wire_put_int(&out, 1);
	rh_wire_put_text(&out, "some text");
	for (size_t length = 0; length < out.length; length++) {
		struct rh_wire wire = rh_wire_read(out.data, length);

		(void)rh_wire_int(&wire);
		assert_string_equal(rh_wire_text_required(&wire), "");
		assert_true(wire.malformed);
		assert_false(rh_wire_is_complete(&wire));
		assert_int_equal(rh_wire_byte(&wire), 0);
	}
}

static void test_wire__a_text_that_is_none_is_malformed(void **state)
{
	/* a zero inside; no zero at the end; longer than the message; NULL where a text must be */
	static const struct {
		const char *bytes;
		size_t length;
	} rows[] = {{"\3\0\0\0a\0\0", 7}, {"\2\0\0\0ab", 6}, {"\377\377\377\377a", 5}, {"\0\0\0\0", 4}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rh_wire wire = rh_wire_read(rows[i].bytes, rows[i].length);

		assert_string_equal(rh_wire_text_required(&wire), "");
		assert_true(wire.malformed);
	}
}

static void test_wire__a_count_is_bounded(void **state)
{
	static const char bytes[] = "\5\0\0\0abcdef";
	struct rh_wire wire = rh_wire_read(bytes, sizeof(bytes));

	(void)state;
	assert_int_equal(rh_wire_size(&wire, 4), 0);
	assert_true(wire.malformed);
	wire = rh_wire_read(bytes, 8);
	assert_int_equal(rh_wire_size(&wire, 100), 0);
	assert_true(wire.malformed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_wire__what_is_put_is_read),
		cmocka_unit_test(test_wire__what_is_cut_short_is_malformed),
		cmocka_unit_test(test_wire__a_text_that_is_none_is_malformed),
		cmocka_unit_test(test_wire__a_count_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
