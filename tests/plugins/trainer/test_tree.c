/* SPDX-License-Identifier: Apache-2.0 */
/* Trees of JSON: what is read is printed again, and what is no JSON is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "../../../plugins/trainer/values/tree.h"

static void tree_assert(const struct tree_node *node, const char *want)
{
	char *text = tree_print(node);

	assert_non_null(text);
	assert_string_equal(text, want);
	free(text);
}

static void test_tree__round_trip(void **state)
{
	struct tree tree = {0};

	(void)state;
	tree_assert(tree_parse(&tree, " { \"a\" : [1, -2.50 ,true] , \"b\\\"\":{} ,\"n\":null} "),
	            "{\"a\":[1,-2.50,true],\"b\\\"\":{}}");
	tree_assert(tree_parse(&tree, "12345678901234567890"), "12345678901234567890");
	tree_assert(tree_parse(&tree, "[null,\"x\\u0041\"]"), "[null,\"x\\u0041\"]");
	assert_false(tree.failed);
	tree_deinit(&tree);
}

static void test_tree__refused(void **state)
{
	static const char *const texts[] = {"",     "{",      "[1",     "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{a:1}",
	                                    "[1]]", "\"open", "[1,,2]", "{} {}",   "\"a\\\"",  "}",          ","};
	char deep[300];

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct tree tree = {0};

		assert_null(tree_parse(&tree, texts[i]));
		assert_true(tree.failed);
		tree_deinit(&tree);
	}
	memset(deep, '[', sizeof(deep) - 1);
	deep[sizeof(deep) - 1] = '\0';
	struct tree tree = {0};
	assert_null(tree_parse(&tree, deep));
	tree_deinit(&tree);
}

static void test_tree__changed(void **state)
{
	struct tree tree = {0};
	struct tree_node *map = tree_parse(&tree, "{\"a\":1,\"b\":{\"c\":\"d\"},\"l\":[{\"name\":\"x\"}]}");
	int64_t number = 0;

	(void)state;
	assert_true(tree_integer(tree_get(map, "a"), &number));
	assert_int_equal(number, 1);
	assert_true(tree_is(tree_at(map, "b.c"), "d"));
	assert_false(tree_is(tree_at(map, "b.c"), "da"));
	assert_null(tree_at(map, "b.c.d"));
	assert_non_null(tree_find(tree_get(map, "l"), "name", "x"));
	assert_null(tree_find(tree_get(map, "l"), "name", "y"));
	tree_set(&tree, map, "a", tree_new_text(&tree, "q\"\n"));
	tree_remove(map, "l");
	tree_append(tree_ensure(&tree, map, "m", TREE_LIST), tree_new_number(&tree, -3));
	tree_assert(map, "{\"a\":\"q\\\"\\u000a\",\"b\":{\"c\":\"d\"},\"m\":[-3]}");
	tree_deinit(&tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tree__round_trip),
		cmocka_unit_test(test_tree__refused),
		cmocka_unit_test(test_tree__changed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
