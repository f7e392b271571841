/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json/node.h"

#include "base/str.h"
#include "base/support.h"

/* What is parsed or copied lies in a few blocks that belong to its root. */
static void test_node__what_leaves_a_tree_outlives_it(void **state)
{
	struct rh_json *json = support_json("{\"a\":{\"x\":[1,\"y\"]},\"b\":[{\"z\":2},3]}");
	rh_auto(json) member = NULL;
	rh_auto(json) item = NULL;
	rh_auto(json) added = NULL;

	(void)state;
	assert_int_equal(rh_json_set(rh_json_get(json, "a"), "w", support_json("{\"v\":[true]}")), 0);
	assert_int_equal(rh_json_set_string(rh_json_get(json, "a"), "u", "t"), 0);
	added = rh_json_detach(rh_json_get(json, "a"), "w");
	member = rh_json_detach(json, "a");
	item = rh_json_detach_item(rh_json_get(json, "b"), 0);
	support_assert_json(json, "{\"b\":[3]}");
	rh_json_free(json);
	support_assert_json(member, "{\"x\":[1,\"y\"],\"u\":\"t\"}");
	support_assert_json(item, "{\"z\":2}");
	support_assert_json(added, "{\"v\":[true]}");
}

static void test_node__trees_in_trees_are_freed_with_them(void **state)
{
	rh_auto(json) json = support_json("{\"a\":{\"b\":1},\"c\":2}");

	(void)state;
	assert_int_equal(rh_json_set(rh_json_get(json, "a"), "d", rh_json_copy(json)), 0);
	assert_int_equal(rh_json_set(rh_json_get(json, "a"), "e", rh_json_copy(rh_json_get(json, "a"))), 0);
	assert_int_equal(rh_json_set(json, "c", support_json("[{}]")), 0);
	support_assert_json(json, "{\"a\":{\"b\":1,\"d\":{\"a\":{\"b\":1},\"c\":2},\"e\":{\"b\":1,\"d\":{\"a\":{"
	                          "\"b\":1},\"c\":2}}},\"c\":[{}]}");
	rh_json_remove(json, "a");
	support_assert_json(json, "{\"c\":[{}]}");
}

static void test_node__a_copy_is_one_allocation(void **state)
{
	rh_auto(json) json = support_json("{\"a\":{\"b\":[1,\"x\",null,true]},\"c\":\"some text\"}");
	rh_auto(json) copy = NULL;

	(void)state;
	(void)rh_mem_fail_after(-1);
	copy = rh_json_copy(json);
	assert_int_equal(rh_mem_fail_after(-1), 1);
	assert_true(rh_json_equal(json, copy));
}

static void test_node__without_memory_nothing_is_detached(void **state)
{
	rh_auto(json) json = support_json("{\"a\":{\"b\":1}}");

	(void)state;
	(void)rh_mem_fail_after(0);
	assert_null(rh_json_detach(json, "a"));
	(void)rh_mem_fail_after(-1);
	support_assert_json(json, "{\"a\":{\"b\":1}}");
}

/* The key is there already, wherever it lies. */
static void test_node__a_member_is_replaced_without_memory(void **state)
{
	rh_auto(json) json = support_json("{\"a\":{\"b\":1}}");
	struct rh_json *values[] = {support_json("{\"c\":2}"), rh_json_new_integer(3)};

	(void)state;
	rh_mem_fail_after(0);
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		assert_int_equal(rh_json_set(rh_json_get(json, "a"), "b", values[i]), 0);
	rh_mem_fail_after(-1);
	support_assert_json(json, "{\"a\":{\"b\":3}}");
}

/* Whatever its texts, some of which are as long as a value of the library is large. */
static void test_node__a_parse_is_one_allocation(void **state)
{
	(void)state;
	for (int length = 0; length < 200; length++) {
		rh_auto_str text = {0};
		rh_auto(json) json = NULL;

		rh_str_appendf(&text, "[{\"%0*d\":\"%0*d\"},-12345678,1.5,\"\\u00e9\\n\",123456789012345]", length + 1, 0,
		               length + 1, 0);
		(void)rh_mem_fail_after(-1);
		assert_int_equal(rh_json_parse(text.data, text.length, &json, NULL), 0);
		assert_int_equal(rh_mem_fail_after(-1), 1);
	}
}

static void test_node__weight_is_that_of_a_copy(void **state)
{
	rh_auto(json) small = support_json("{\"a\":{\"b\":1}}");
	rh_auto(json) large = support_json("{\"a\":{\"b\":1,\"c\":\"some text\"}}");

	(void)state;
	assert_int_equal(rh_json_weight(NULL), 0);
	assert_true(rh_json_weight(small) > 3 * 64);
	assert_true(rh_json_weight(large) >= rh_json_weight(small) + 64 + strlen("c") + strlen("some text") + 2);
	/* the key is no part of what is copied */
	assert_true(rh_json_weight(rh_json_get(large, "a")) < rh_json_weight(large) - 64);
}

/* What the library would keep or print otherwise. */
static void test_node__numbers_that_are_raw(void **state)
{
	static const struct {
		const char *text, *printed;
		bool raw;
	} rows[] = {
		{"0", "0", false},
		{"-0", "0", false},
		{"-0.0", "0", false},
		{"1e3", "1000", false},
		{"999999999999999", "999999999999999", false},
		{"-999999999999999", "-999999999999999", false},
		{"1000000000000000", "1000000000000000", true},
		{"1e15", "1000000000000000", true},
		{"9007199254740993", "9007199254740993", true},
		{"0.30000000000000004", "0.30000000000000004", true},
		{"9223372036854775808", "9223372036854775808", true},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rh_json_digits digits;
		rh_auto(json) json = support_json(rows[i].text);

		support_row(rows[i].text);
		assert_int_equal(rh_json_digits_read(rows[i].text, strlen(rows[i].text), &digits), 0);
		assert_int_equal(digits.text != NULL, rows[i].raw);
		support_assert_json(json, rows[i].printed);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_node__what_leaves_a_tree_outlives_it),
		cmocka_unit_test(test_node__trees_in_trees_are_freed_with_them),
		cmocka_unit_test(test_node__a_copy_is_one_allocation),
		cmocka_unit_test(test_node__without_memory_nothing_is_detached),
		cmocka_unit_test(test_node__a_member_is_replaced_without_memory),
		cmocka_unit_test(test_node__a_parse_is_one_allocation),
		cmocka_unit_test(test_node__weight_is_that_of_a_copy),
		cmocka_unit_test(test_node__numbers_that_are_raw),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
