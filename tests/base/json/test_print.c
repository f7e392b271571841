/* SPDX-License-Identifier: Apache-2.0 */
#include <locale.h>
#include <math.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/support.h"
#include "random.h"

static void test_print__pretty(void **state)
{
	rh_auto(json) json = support_json("{\"a\":1,\"b\":[],\"c\":{},\"d\":[1,{\"e\":[2]}],\"f\":\"x\"}");
	rh_auto_str out = {0};

	(void)state;
	rh_json_print(json, true, &out);
	assert_string_equal(rh_str_text(&out), "{\n"
	                                       "  \"a\": 1,\n"
	                                       "  \"b\": [],\n"
	                                       "  \"c\": {},\n"
	                                       "  \"d\": [\n"
	                                       "    1,\n"
	                                       "    {\n"
	                                       "      \"e\": [\n"
	                                       "        2\n"
	                                       "      ]\n"
	                                       "    }\n"
	                                       "  ],\n"
	                                       "  \"f\": \"x\"\n"
	                                       "}");
}

static void test_print__appends(void **state)
{
	rh_auto(json) json = support_json("[1,{\"a\":null}]");
	rh_auto_str out = {0};

	(void)state;
	rh_str_append(&out, "x");
	rh_json_print(json, false, &out);
	rh_json_print(NULL, false, &out);
	assert_string_equal(rh_str_text(&out), "x[1,{\"a\":null}]null");
}

static void test_print__numbers(void **state)
{
	static const struct {
		double number;
		const char *expected;
	} rows[] = {
		{0, "0"},
		{-0.0, "0"},
		{1, "1"},
		{-1, "-1"},
		{9007199254740992.0, "9007199254740992"},
		{18446744073709551616.0, "18446744073709551616"},
		{1e20, "100000000000000000000"},
		{1e21, "1e+21"},
		{0.1, "0.1"},
		{1.5, "1.5"},
		{0.1 + 0.2, "0.30000000000000004"},
		{1.0 / 3, "0.3333333333333333"},
		{1e-7, "1e-07"},
		{5e-324, "4.94065645841247e-324"},
		{1.7976931348623157e308, "1.7976931348623157e+308"},
		{NAN, "null"},
		{INFINITY, "null"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		rh_auto(json) json = rh_json_new_number(rows[i].number);

		support_assert_json(json, rows[i].expected);
	}
}

static void test_print__every_double_reads_back(void **state)
{
	uint64_t seed = 1;

	(void)state;
	for (int i = 0; i < 20000; i++) {
		rh_auto(json) json = NULL;
		rh_auto(json) back = NULL;
		rh_auto_free char *text = NULL;
		uint64_t high = test_random(&seed);
		uint64_t bits = high << 32 | test_random(&seed);
		double value;

		memcpy(&value, &bits, sizeof(value));
		if (!isfinite(value))
			continue;
		json = rh_json_new_number(value);
		text = rh_json_text(json);
		back = support_json(text);
		assert_true(rh_json_number(back, 0) == value);
	}
}

static void test_print__numbers_do_not_depend_on_the_locale(void **state)
{
	rh_auto(json) json = rh_json_new_number(1.25);

	(void)state;
	(void)setlocale(LC_NUMERIC, "de_DE.UTF-8");
	support_assert_json(json, "1.25");
	(void)setlocale(LC_NUMERIC, "C");
}

static void test_print__quote(void **state)
{
	static const struct {
		const char *name, *text, *expected;
	} rows[] = {
		{"nothing", "", "\"\""},
		{"plain", "a/b <&>'", "\"a/b <&>'\""},
		{"quote and backslash", "\"\\", "\"\\\"\\\\\""},
		{"named escapes", "\b\f\n\r\t", "\"\\b\\f\\n\\r\\t\""},
		{"control characters", "\x01\x1F\x7F", "\"\\u0001\\u001f\x7F\""},
		{"UTF-8", "\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80", "\"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\""},
		{"not UTF-8",
	     "a\xFF"
	     "b\xC3",
	     "\"a\xEF\xBF\xBD"
	     "b\xEF\xBF\xBD\""},
		{"surrogate", "\xED\xA0\x80", "\"\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		rh_auto_str out = {0};

		support_row(rows[i].name);
		rh_json_quote(rows[i].text, &out);
		assert_string_equal(rh_str_text(&out), rows[i].expected);
	}
}

static void test_print__keys_are_quoted(void **state)
{
	rh_auto(json) json = rh_json_new_object();

	(void)state;
	assert_int_equal(rh_json_set_integer(json, "a\"\n", 1), 0);
	support_assert_json(json, "{\"a\\\"\\n\":1}");
}

static int test_json_print_once(void *arg)
{
	rh_auto_free char *text = rh_json_text(arg);

	return text ? 0 : RH_ENOMEM;
}

static void test_print__without_memory(void **state)
{
	rh_auto(json) json = support_json("{\"a\":[1,2.5,\"a text that is longer than what a string has room for at "
	                                  "first, so that it must grow\"]}");

	(void)state;
	support_fail_each(test_json_print_once, json);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_print__pretty),
		cmocka_unit_test(test_print__appends),
		cmocka_unit_test(test_print__numbers),
		cmocka_unit_test(test_print__every_double_reads_back),
		cmocka_unit_test(test_print__numbers_do_not_depend_on_the_locale),
		cmocka_unit_test(test_print__quote),
		cmocka_unit_test(test_print__keys_are_quoted),
		cmocka_unit_test(test_print__without_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
