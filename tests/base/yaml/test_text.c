/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json/build.h"
#include "base/support.h"
#include "base/yaml/parts.h"

static void test_text__looks_like_json(void **state)
{
	static const struct {
		const char *text;
		bool expected;
	} rows[] = {
		{"{}", true},      {" \r\n\t[", true}, {"\xEF\xBB\xBF {", true},
		{"", false},       {" ", false},       {"a: {}", false},
		{"--- {}", false}, {"\"x\"", false},   {"\xEF\xBB\xBF", false},
		{"# {\n{", false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		support_row(rows[i].text);
		assert_int_equal(rh_yaml_looks_like_json(rows[i].text, strlen(rows[i].text)), rows[i].expected);
	}
}

static void test_text__documents(void **state)
{
	static const struct {
		const char *name, *text, *expected;
		int result;
	} rows[] = {
		{"one", "{\"a\":1}\n", "[{\"a\":1}]", 0},
		{"two", "{\"a\":1}\n---\n[2]\n", "[{\"a\":1},[2]]", 0},
		{"on the separator's line", "{\"a\":1}\n--- [2]\n---[3]", "[{\"a\":1},[2],[3]]", 0},
		{"empty ones", "---\n{\"a\":1}\n---\n\n---\n \n", "[{\"a\":1}]", 0},
		{"dashes inside a line", "{\"a\":\"---\"}", "[{\"a\":\"---\"}]", 0},
		{"nothing", "", "[]", 0},
		{"no separator", "{}{}", "[]", RH_EINVAL},
		{"no separator but a newline", "{}\n{}", "[]", RH_EINVAL},
		{"separator inside", "{\"a\":\n---\n1}", "[]", RH_EINVAL},
		{"YAML between", "{}\n---\na: b\n", "[{}]", 1},
		{"YAML first", "a: b\n---\n{}", "[]", 1},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct rh_json_span whole = {.text = rows[i].text, .end = strlen(rows[i].text), .values = 100};
		rh_auto(json) documents = rh_json_new_array();

		support_row(rows[i].name);
		assert_int_equal(rh_yaml_parse_json(&whole, documents, NULL), rows[i].result);
		support_assert_json(documents, rows[i].expected);
	}
}

static void test_text__positions_count_from_the_start(void **state)
{
	static const char text[] = "{\"a\":1}\n---\n{\"a\":\n x}";
	const struct rh_json_span whole = {.text = text, .end = sizeof(text) - 1, .values = 100};
	rh_auto(json) documents = rh_json_new_array();
	struct rh_error err = {0};

	(void)state;
	assert_int_equal(rh_yaml_parse_json(&whole, documents, &err), RH_EINVAL);
	assert_string_equal(err.message, "line 4, column 2: expected a value");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text__looks_like_json),
		cmocka_unit_test(test_text__documents),
		cmocka_unit_test(test_text__positions_count_from_the_start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
