/* SPDX-License-Identifier: Apache-2.0 */
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/json/build.h"
#include "base/support.h"

static void test_parse__accepts(void **state)
{
	static const struct {
		const char *text, *expected;
	} rows[] = {
		{"null", "null"},
		{" \t\r\n true \n", "true"},
		{"\xEF\xBB\xBF"
	     "1",
	     "1"},
		{"[]", "[]"},
		{"[ ]", "[]"},
		{"{ }", "{}"},
		{"[1 , 2]", "[1,2]"},
		{"{\"a\" : 1 , \"b\" : [ { } ] }", "{\"a\":1,\"b\":[{}]}"},
		{"{\"\":1}", "{\"\":1}"},
		{"{\"a\":1,\"A\":2}", "{\"a\":1,\"A\":2}"},
		{"0", "0"},
		{"-0", "0"},
		{"-12", "-12"},
		{"0.5", "0.5"},
		{"1.0", "1"},
		{"1e3", "1000"},
		{"1E+3", "1000"},
		{"15e-1", "1.5"},
		{"123456789012345", "123456789012345"},
		{"-9007199254740992", "-9007199254740992"},
		{"1e-400", "0"},
		{"\"\"", "\"\""},
		{"\"a\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"a\\\"\\\\/\\b\\f\\n\\r\\t\""},
		{"\"\\u0041\\u00e9\\u20AC\"", "\"A\xC3\xA9\xE2\x82\xAC\""},
		{"\"\\ud83d\\uDE00\"", "\"\xF0\x9F\x98\x80\""},
		{"\"\\u001f\\u007f\"", "\"\\u001f\x7F\""},
		{"\"\xC3\xA9\xF0\x9F\x98\x80\"", "\"\xC3\xA9\xF0\x9F\x98\x80\""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		rh_auto(json) json = support_json(rows[i].text);

		support_row(rows[i].text);
		support_assert_json(json, rows[i].expected);
	}
}

static void test_parse__refuses(void **state)
{
	static const struct {
		const char *text, *message;
	} rows[] = {
		{"", "line 1, column 1: the text ends too early"},
		{" \n ", "line 2, column 2: the text ends too early"},
		{"nul", "line 1, column 1: expected a value"},
		{"nulll", "line 1, column 5: expected nothing more"},
		{"True", "line 1, column 1: expected a value"},
		{"1 2", "line 1, column 3: expected nothing more"},
		{"{} {}", "line 1, column 4: expected nothing more"},
		{"[1,]", "line 1, column 4: expected a value"},
		{"[1 2]", "line 1, column 4: expected , or ]"},
		{"[1}", "line 1, column 3: expected , or ]"},
		{"[", "line 1, column 2: the text ends too early"},
		{"[\n1,\n", "line 3, column 1: the text ends too early"},
		{"{\"a\":1,}", "line 1, column 8: expected a key in double quotes"},
		{"{a:1}", "line 1, column 2: expected a key in double quotes"},
		{"{'a':1}", "line 1, column 2: expected a key"},
		{"{\"a\" 1}", "line 1, column 6: expected :"},
		{"{\"a\":}", "line 1, column 6: expected a value"},
		{"{\"a\":1 \"b\":2}", "line 1, column 8: expected , or }"},
		{"{\"a\":1,\n \"a\":2}", "line 2, column 2: the key \"a\" stands twice"},
		{"{\"a\":1,\"\\u0061\":2}", "column 8: the key \"a\" stands twice"},
		{"01", "line 1, column 2: expected nothing more"},
		{"+1", "line 1, column 1: expected a value"},
		{".5", "line 1, column 1: expected a value"},
		{"1.", "line 1, column 3: the text ends too early"},
		{"[1.]", "line 1, column 4: a number is not well formed"},
		{"[-]", "line 1, column 3: a number is not well formed"},
		{"[1e]", "line 1, column 4: a number is not well formed"},
		{"[1e+]", "line 1, column 5: a number is not well formed"},
		{"0x10", "line 1, column 2: expected nothing more"},
		{"[1, 1e999]", "line 1, column 5: a number is too large"},
		{"-1e999", "line 1, column 1: a number is too large"},
		{"NaN", "line 1, column 1: expected a value"},
		{"Infinity", "line 1, column 1: expected a value"},
		{"\"a", "line 1, column 3: the text ends too early"},
		{"\"a\\", "line 1, column 4: the text ends too early"},
		{"\"\\x\"", "line 1, column 3: unknown escape"},
		{"\"\\u12g4\"", "line 1, column 6: expected four hexadecimal digits"},
		{"\"\\u12", "line 1, column 6: the text ends too early"},
		{"\"a\\u0000\"", "line 1, column 3: a string must not hold"},
		{"\"\\ud83d\"", "line 1, column 2: half of a surrogate pair"},
		{"\"\\ud83dx\"", "line 1, column 2: half of a surrogate pair"},
		{"\"\\ud83d\\n\"", "line 1, column 2: half of a surrogate pair"},
		{"\"\\ud83d\\u0041\"", "line 1, column 2: half of a surrogate pair"},
		{"\"\\ude00\"", "line 1, column 2: half of a surrogate pair"},
		{"\"a\tb\"", "line 1, column 3: a control character"},
		{"\"a\nb\"", "line 1, column 3: a control character"},
		{"\"\xC3\xA9\xFF\"", "line 1, column 3: bytes that are not UTF-8"},
		{"\"\xC3", "line 1, column 2: bytes that are not UTF-8"},
		{"\"\xED\xA0\x80\"", "line 1, column 2: bytes that are not UTF-8"},
		{"\v1", "line 1, column 1: expected a value"},
		{"// c\n1", "line 1, column 1: expected a value"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rh_json *json = NULL;
		struct rh_error err = {0};

		support_row(rows[i].text);
		assert_int_equal(rh_json_parse(rows[i].text, strlen(rows[i].text), &json, &err), RH_EINVAL);
		if (!strstr(err.message, rows[i].message))
			fail_msg("message: %s", err.message);
		assert_int_equal(err.topic == RH_ERROR_UTF8, strstr(err.message, "UTF-8") != NULL);
		assert_null(json);
		assert_int_equal(rh_json_parse(rows[i].text, strlen(rows[i].text), &json, NULL), RH_EINVAL);
	}
}

static void test_parse__zero_bytes(void **state)
{
	static const struct {
		const char *text;
		size_t length;
	} rows[] = {{"1\0", 2}, {"\0", 1}, {"\"a\0\"", 4}, {"[1,\0]", 5}, {"{\"a\0\":1}", 8}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rh_json *json = NULL;

		assert_int_equal(rh_json_parse(rows[i].text, rows[i].length, &json, NULL), RH_EINVAL);
	}
}

static void test_parse__reads_no_further_than_its_length(void **state)
{
	static const char text[] = "[1,\"ab\",true]";

	(void)state;
	for (size_t length = 0; length < sizeof(text) - 1; length++) {
		/* An exact copy, so that a sanitizer sees a read behind it. */
		rh_auto_free char *copy = rh_alloc(length);
		struct rh_json *json = NULL;

		memcpy(copy, text, length);
		assert_int_equal(rh_json_parse(copy, length, &json, NULL), RH_EINVAL);
	}
}

/* @return `depth` opening, then as many closing brackets */
static char *test_json_parse_nest(const char *open, const char *inner, const char *close, int depth)
{
	rh_auto_str text = {0};

	for (int i = 0; i < depth; i++)
		rh_str_append(&text, open);
	rh_str_append(&text, inner);
	for (int i = 0; i < depth; i++)
		rh_str_append(&text, close);
	return rh_str_take(&text);
}

static void test_parse__depth(void **state)
{
	static const char *const rows[][3] = {{"[", "", "]"}, {"{\"a\":", "1", "}"}, {"[{\"a\":", "1", "}]"}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int levels = i == 2 ? RH_JSON_DEPTH_MAX / 2 : RH_JSON_DEPTH_MAX;
		rh_auto_free char *deepest = test_json_parse_nest(rows[i][0], rows[i][1], rows[i][2], levels);
		rh_auto_free char *deeper = test_json_parse_nest(rows[i][0], rows[i][1], rows[i][2], levels + 1);
		rh_auto(json) json = support_json(deepest);
		rh_auto(json) none = NULL;
		struct rh_error err = {0};

		assert_non_null(json);
		assert_int_equal(rh_json_parse(deeper, strlen(deeper), &none, &err), RH_EINVAL);
		assert_non_null(strstr(err.message, "nested too deeply"));
	}
}

/* What is refused elsewhere is passed over, and nothing else. */
static void test_parse__lenient(void **state)
{
	static const char *const rows[][2] = {
		{"[\"a\\u0000b\"]", "[\"a\xEF\xBF\xBD"
	                        "b\"]"},
		{"{\"a\":1,\"a\":[{\"b\":2}],\"c\":3}", "{\"a\":1,\"c\":3}"},
		{"{\"\\u0000\":1,\"\\ufffd\":2}", "{\"\xEF\xBF\xBD\":1}"},
		{"[\"\\ud800\"]", NULL},
		{"[1e999]", NULL},
		{"[\"\x01\"]", NULL},
		{"[1", NULL},
		{"{\"a\":1,\"a\":}", NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		rh_auto(json) json = NULL;
		rh_auto_free char *text = NULL;

		support_row(rows[i][0]);
		assert_int_equal(rh_json_parse(rows[i][0], strlen(rows[i][0]), &json, NULL), RH_EINVAL);
		assert_int_equal(rh_json_parse_lenient(rows[i][0], strlen(rows[i][0]), &json, NULL),
		                 rows[i][1] ? 0 : RH_EINVAL);
		text = json ? rh_json_text(json) : NULL;
		if (rows[i][1])
			assert_string_equal(text, rows[i][1]);
	}
}

/* What lies too deep is null, whatever its texts hold; one that does not end is no document. */
static void test_parse__lenient_depth(void **state)
{
	static const char inner[] = "[\"]\\\"]\\\\\",{\"}\":[]}]";
	rh_auto_free char *whole = test_json_parse_nest("[", inner, "]", RH_JSON_DEPTH_MAX);
	rh_auto_free char *cut = test_json_parse_nest("[", inner, "]", RH_JSON_DEPTH_MAX);
	rh_auto_free char *wanted = test_json_parse_nest("[", "null", "]", RH_JSON_DEPTH_MAX);
	rh_auto(json) json = NULL;
	rh_auto_free char *text = NULL;

	(void)state;
	assert_int_equal(rh_json_parse_lenient(whole, strlen(whole), &json, NULL), 0);
	text = rh_json_text(json);
	assert_string_equal(text, wanted);
	for (size_t length = 0; length < strlen(cut); length++) {
		rh_auto_free char *part = rh_strndup(cut, length); /* a block of its own: what is read beyond it is seen */
		rh_auto(json) none = NULL;

		assert_int_equal(rh_json_parse_lenient(part, length, &none, NULL), RH_EINVAL);
	}
}

static void test_parse__a_million_brackets(void **state)
{
	rh_auto_free char *text = test_json_parse_nest("[", "", "", 1000000);
	struct rh_json *json = NULL;

	(void)state;
	assert_int_equal(rh_json_parse(text, strlen(text), &json, NULL), RH_EINVAL);
}

/* An object of many members costs a few allocations a member, and finds a key that stands twice wherever it is. */
static void test_parse__many_members(void **state)
{
	enum { COUNT = 50000 };
	rh_auto_str text = {0};
	rh_auto(json) json = NULL;
	struct rh_error err = {0};

	(void)state;
	rh_str_append(&text, "{");
	for (int i = 0; i < COUNT; i++)
		rh_str_appendf(&text, "\"key-%d\":%d,", i, i);
	rh_str_append(&text, "\"last\":0}");
	assert_int_equal(rh_json_parse(text.data, text.length, &json, &err), 0);
	assert_int_equal(rh_json_size(json), COUNT + 1);
	memcpy(text.data + text.length - strlen("last\":0}"), "key-", 4);
	rh_json_free(rh_take(json));
	assert_int_equal(rh_json_parse(text.data, text.length, &json, &err), 0);
	text.length -= strlen("\":0}");
	rh_str_append(&text, "17\":0}");
	rh_json_free(rh_take(json));
	assert_int_equal(rh_json_parse(text.data, text.length, &json, &err), RH_EINVAL);
	assert_non_null(strstr(err.message, "\"key-17\" stands twice"));
}

static void test_parse__every_place_of_a_double_key(void **state)
{
	(void)state;
	for (int count = 1; count < 40; count++) {
		rh_auto_str text = {0};
		struct rh_json *json = NULL;

		rh_str_append(&text, "{");
		for (int i = 0; i < count; i++)
			rh_str_appendf(&text, "\"k%d\":%d,", i, i);
		rh_str_appendf(&text, "\"k%d\":0}", count / 2);
		assert_int_equal(rh_json_parse(text.data, text.length, &json, NULL), RH_EINVAL);
	}
}

static void test_parse__numbers_of_many_digits(void **state)
{
	rh_auto_str text = {0};
	rh_auto(json) json = NULL;

	(void)state;
	rh_str_append(&text, "0.");
	for (int i = 0; i < 2000; i++)
		rh_str_append(&text, "3");
	json = support_json(text.data);
	assert_true(rh_json_number(json, 0) == 0.3333333333333333);
}

static void test_parse__numbers_do_not_depend_on_the_locale(void **state)
{
	double value = 0;

	(void)state;
	/* Where no such locale is installed, this checks what the "C" locale gives. */
	(void)setlocale(LC_NUMERIC, "de_DE.UTF-8");
	assert_int_equal(rh_json_read_number("1.25xyz", 4, &value), 0);
	(void)setlocale(LC_NUMERIC, "C");
	assert_true(value == 1.25);
}

static void test_parse__position(void **state)
{
	static const char text[] = "ab\n\xC3\xA9x\n";
	static const struct {
		size_t offset, line, column;
	} rows[] = {{0, 1, 1}, {1, 1, 2}, {2, 1, 3}, {3, 2, 1}, {5, 2, 2}, {6, 2, 3}, {7, 3, 1}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		size_t line, column;

		rh_json_position(text, rows[i].offset, &line, &column);
		assert_int_equal(line, rows[i].line);
		assert_int_equal(column, rows[i].column);
	}
}

static void test_parse__span_counts_from_the_start(void **state)
{
	static const char text[] = "{}\n---\n{\"a\" 1}\n";
	struct rh_json_span span = {.text = text, .start = 6, .end = sizeof(text) - 1, .values = 10};
	struct rh_json *json = NULL;
	struct rh_error err = {0};

	(void)state;
	assert_int_equal(rh_json_parse_span(&span, &json, &err), RH_EINVAL);
	assert_string_equal(err.message, "line 3, column 6: expected :");
}

static void test_parse__span_limits_values(void **state)
{
	static const char text[] = "[1,{\"a\":2}]";
	struct rh_json_span span = {.text = text, .start = 0, .end = sizeof(text) - 1, .values = 5};
	rh_auto(json) json = NULL;
	struct rh_json *none = NULL;
	struct rh_error err = {0};

	(void)state;
	assert_int_equal(rh_json_parse_span(&span, &json, &err), 0);
	assert_int_equal(span.values, 1);
	span.values = 3;
	assert_int_equal(rh_json_parse_span(&span, &none, &err), RH_EINVAL);
	assert_string_equal(err.message, "line 1, column 9: the text holds too many values");
}

static int test_json_parse_once(void *arg)
{
	const char *text = arg;
	rh_auto(json) json = NULL;
	struct rh_error err = {0};
	int r = rh_json_parse(text, strlen(text), &json, &err);

	assert_int_equal(err.code, r);
	assert_true((r == 0) == (json != NULL));
	return r;
}

static void test_parse__without_memory(void **state)
{
	char text[] = "{\"a\":[1,2.5,true,false,null,\"s\",\"\"],\"b\":1,\"c\":1,\"d\":1,\"e\":1,\"f\":1,\"g\":1,\"h\":1,"
				  "\"i\":1,\"j\":1,\"k\":1,\"l\":1,\"m\":1,\"n\":1,\"o\":1,\"p\":1,\"q\":1,\"r\":{\"s\":{}}}";

	(void)state;
	support_fail_each(test_json_parse_once, text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse__accepts),
		cmocka_unit_test(test_parse__refuses),
		cmocka_unit_test(test_parse__zero_bytes),
		cmocka_unit_test(test_parse__reads_no_further_than_its_length),
		cmocka_unit_test(test_parse__depth),
		cmocka_unit_test(test_parse__a_million_brackets),
		cmocka_unit_test(test_parse__lenient),
		cmocka_unit_test(test_parse__lenient_depth),
		cmocka_unit_test(test_parse__many_members),
		cmocka_unit_test(test_parse__every_place_of_a_double_key),
		cmocka_unit_test(test_parse__numbers_of_many_digits),
		cmocka_unit_test(test_parse__numbers_do_not_depend_on_the_locale),
		cmocka_unit_test(test_parse__position),
		cmocka_unit_test(test_parse__span_counts_from_the_start),
		cmocka_unit_test(test_parse__span_limits_values),
		cmocka_unit_test(test_parse__without_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
