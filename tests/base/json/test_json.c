/* SPDX-License-Identifier: Apache-2.0 */
#include <locale.h>
#include <math.h>
#include <stdio.h>

#include "base/json.h"
#include "base/map.h"
#include "base/support.h"

static void test_json__types(void **state)
{
	static const struct {
		const char *text;
		enum rh_json_type type;
		const char *name;
	} rows[] = {
		{"null", RH_JSON_NULL, "null"},     {"true", RH_JSON_BOOL, "boolean"}, {"false", RH_JSON_BOOL, "boolean"},
		{"1", RH_JSON_NUMBER, "integer"},   {"1.5", RH_JSON_NUMBER, "number"}, {"1e300", RH_JSON_NUMBER, "number"},
		{"\"\"", RH_JSON_STRING, "string"}, {"[]", RH_JSON_ARRAY, "array"},    {"{}", RH_JSON_OBJECT, "object"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		rh_auto(json) json = support_json(rows[i].text);

		assert_int_equal(rh_json_type(json), rows[i].type);
		assert_string_equal(rh_json_type_name(json), rows[i].name);
	}
	assert_int_equal(rh_json_type(NULL), RH_JSON_ABSENT);
	assert_string_equal(rh_json_type_name(NULL), "absent");
}

static void test_json__reads_of_the_wrong_type(void **state)
{
	rh_auto(json) text = rh_json_new_string("1");
	rh_auto(json) number = rh_json_new_number(2.5);
	rh_auto(json) truth = rh_json_new_bool(true);
	int64_t value = 77;

	(void)state;
	assert_null(rh_json_string(number));
	assert_null(rh_json_string(NULL));
	assert_string_equal(rh_json_string(text), "1");
	assert_true(rh_json_number(text, -3) == -3);
	assert_true(rh_json_number(NULL, -3) == -3);
	assert_true(rh_json_number(number, -3) == 2.5);
	assert_true(rh_json_bool(text, true));
	assert_false(rh_json_bool(NULL, false));
	assert_true(rh_json_bool(truth, false));
	assert_false(rh_json_integer(text, &value));
	assert_false(rh_json_integer(NULL, &value));
	assert_int_equal(value, 77);
}

static void test_json__integers(void **state)
{
	static const struct {
		double number;
		bool integer;
		int64_t expected;
	} rows[] = {
		{0, true, 0},
		{-0.0, true, 0},
		{-5, true, -5},
		{9007199254740992.0, true, INT64_C(9007199254740992)},
		{-9007199254740992.0, true, INT64_C(-9007199254740992)},
		{9007199254740994.0, true, INT64_C(9007199254740994)},
		{9223372036854774784.0, true, INT64_C(9223372036854774784)},
		{-9223372036854775808.0, true, INT64_MIN},
		{9223372036854775808.0, false, 0},
		{-9223372036854777856.0, false, 0},
		{0.5, false, 0},
		{1e300, false, 0},
		{NAN, false, 0},
		{INFINITY, false, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		rh_auto(json) json = rh_json_new_number(rows[i].number);
		int64_t value = 0;

		assert_int_equal(rh_json_integer(json, &value), rows[i].integer);
		assert_true(value == rows[i].expected);
	}
}

static void test_json__integers_are_exact(void **state)
{
	static const int64_t values[] = {
		0,
		1,
		-1,
		INT32_MAX,
		INT32_MIN,
		(INT64_C(1) << 53) - 1,
		INT64_C(1) << 53,
		(INT64_C(1) << 53) + 1,
		-(INT64_C(1) << 53) - 1,
		INT64_MAX - 1,
		INT64_MAX,
		INT64_MIN,
		INT64_MIN + 1,
	};

	(void)state;
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		rh_auto(json) json = rh_json_new_integer(values[i]);
		rh_auto(json) copy = rh_json_copy(json);
		rh_auto_free char *text = rh_json_text(copy);
		rh_auto(json) back = support_json(text);
		rh_auto(json) other = rh_json_new_integer(values[i] == INT64_MAX ? values[i] - 1 : values[i] + 1);
		int64_t value = 0;

		assert_true(rh_json_integer(back, &value) && value == values[i]);
		assert_true(rh_json_equal(json, back));
		assert_false(rh_json_equal(json, other));
		assert_true(rh_json_number(json, 0) == (double)values[i]);
	}
}

/* Beyond int64_t, a number is its text. */
static void test_json__integers_beyond_int64(void **state)
{
	static const char *const texts[] = {"9223372036854775808", "-9223372036854775809", "18446744073709551615",
	                                    "123456789012345678901234567890"};

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		rh_auto(json) json = support_json(texts[i]);
		rh_auto(json) object = rh_json_new_object();
		rh_auto(json) patch = rh_json_new_object();
		rh_auto(json) copy = NULL;
		int64_t value = 7;

		assert_int_equal(rh_json_type(json), RH_JSON_NUMBER);
		assert_string_equal(rh_json_type_name(json), "number");
		assert_false(rh_json_integer(json, &value));
		assert_int_equal(value, 7);
		support_assert_json(json, texts[i]);
		assert_int_equal(rh_json_set(patch, "a", rh_json_copy(json)), 0);
		assert_int_equal(rh_json_merge(object, patch), 0);
		copy = rh_json_detach(object, "a");
		support_assert_json(copy, texts[i]);
		assert_true(rh_json_equal(copy, json));
		assert_true(rh_json_number(copy, 0) != 0);
	}
}

static void test_json__numbers_alike(void **state)
{
	static const struct {
		const char *a, *b;
		bool alike;
	} rows[] = {
		{"1", "1.0", true},
		{"1000", "1e3", true},
		{"0", "-0", true},
		{"0", "-0.0", true},
		{"1", "1.5", false},
		{"1.50", "1.5", true},
		{"9007199254740993", "9007199254740992", false},
		{"9223372036854775807", "9223372036854775808", false},
		{"9223372036854775807", "9223372036854775807.0", false},
		{"9223372036854775808", "9223372036854775808.0", true},
		{"18446744073709551615", "18446744073709552000", true},
		{"1e300", "1e+300", true},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		rh_auto(json) a = support_json(rows[i].a);
		rh_auto(json) b = support_json(rows[i].b);

		support_row(rows[i].a);
		assert_int_equal(rh_json_equal(a, b), rows[i].alike);
		assert_int_equal(rh_json_equal(b, a), rows[i].alike);
	}
}

static void test_json__number_text(void **state)
{
	rh_auto(json) list = support_json("[12, 1.50, -9223372036854775808, 18446744073709551616, \"1\"]");
	char buffer[RH_JSON_NUMBER_SIZE];

	(void)state;
	assert_string_equal(rh_json_number_text(rh_json_item(list, 0), buffer), "12");
	assert_string_equal(rh_json_number_text(rh_json_item(list, 1), buffer), "1.5");
	assert_string_equal(rh_json_number_text(rh_json_item(list, 2), buffer), "-9223372036854775808");
	assert_string_equal(rh_json_number_text(rh_json_item(list, 3), buffer), "18446744073709551616");
	assert_null(rh_json_number_text(rh_json_item(list, 4), buffer));
	assert_null(rh_json_number_text(NULL, buffer));
}

static void test_json__get_is_exact(void **state)
{
	rh_auto(json) json = support_json("{\"ab\":1,\"AB\":2,\"a\":3}");
	int64_t value = 0;

	(void)state;
	assert_true(rh_json_integer(rh_json_get(json, "AB"), &value) && value == 2);
	assert_true(rh_json_integer(rh_json_get(json, "a"), &value) && value == 3);
	assert_null(rh_json_get(json, "Ab"));
	assert_null(rh_json_get(json, "abc"));
	assert_null(rh_json_get(json, ""));
	assert_null(rh_json_get(NULL, "a"));
	assert_null(rh_json_get(rh_json_get(json, "a"), "a"));
}

static void test_json__at(void **state)
{
	static const struct {
		const char *path, *expected;
	} rows[] = {
		{"a", "{\"b\":[{\"c\":\"x\"},[1,2]],\"d.e/f\":{\"g\":true}}"},
		{"a.b[0].c", "\"x\""},
		{"a.b[1][1]", "2"},
		{"a.b[01].c", NULL},
		{"a[\"d.e/f\"].g", "true"},
		{"a[\"d.e/f\"]", "{\"g\":true}"},
		{"[\"a\"].b[0]", "{\"c\":\"x\"}"},
		{"", "{\"a\":{\"b\":[{\"c\":\"x\"},[1,2]],\"d.e/f\":{\"g\":true}}}"},
		{"a.b[2]", NULL},
		{"a.b[0].d", NULL},
		{"a.b.c", NULL},
		{"a[0]", NULL},
		{"b", NULL},
		{".a", NULL},
		{"a.", NULL},
		{"a..b", NULL},
		{"a.[\"b\"]", NULL},
		{"a.b[", NULL},
		{"a.b[]", NULL},
		{"a.b[0", NULL},
		{"a.b[-1]", NULL},
		{"a.b[0]c", NULL},
		{"a.b[x]", NULL},
		{"a.b[99999999999999999999999]", NULL},
		{"a[\"d.e/f]", NULL},
		{"a[\"b]", NULL},
	};
	rh_auto(json) json = support_json("{\"a\":{\"b\":[{\"c\":\"x\"},[1,2]],\"d.e/f\":{\"g\":true}}}");

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct rh_json *found = rh_json_at(json, rows[i].path);

		support_row(rows[i].path);
		if (rows[i].expected)
			support_assert_json(found, rows[i].expected);
		else
			assert_null(found);
	}
	assert_null(rh_json_at(NULL, "a"));
}

static void test_json__find(void **state)
{
	rh_auto(json) list =
		support_json("[{\"name\":\"a\",\"n\":1},2,{\"n\":2},{\"name\":\"b\",\"n\":3},{\"name\":\"b\"}]");
	int64_t number = 0;

	(void)state;
	assert_true(rh_json_integer(rh_json_get(rh_json_find(list, "name", "b"), "n"), &number));
	assert_int_equal(number, 3);
	assert_null(rh_json_find(list, "name", "c"));
	assert_null(rh_json_find(list, "name", NULL));
	assert_null(rh_json_find(NULL, "name", "a"));
}

static void test_json__string_at(void **state)
{
	rh_auto(json) json = support_json("{\"a\":{\"b\":\"x\",\"c\":1}}");

	(void)state;
	assert_string_equal(rh_json_string_at(json, "a.b"), "x");
	assert_null(rh_json_string_at(json, "a.c"));
	assert_null(rh_json_string_at(json, "a.d"));
}

static void test_json__walk(void **state)
{
	rh_auto(json) json = support_json("{\"a\":[1,2,3],\"b\":{}}");
	const struct rh_json *array = rh_json_first(json);
	int64_t sum = 0, value;

	(void)state;
	assert_string_equal(rh_json_key(array), "a");
	assert_string_equal(rh_json_key(rh_json_next(array)), "b");
	assert_null(rh_json_next(rh_json_next(array)));
	for (const struct rh_json *item = rh_json_first(array); item; item = rh_json_next(item)) {
		assert_null(rh_json_key(item));
		assert_true(rh_json_integer(item, &value));
		sum = sum * 10 + value;
	}
	assert_int_equal(sum, 123);
	assert_null(rh_json_key(json));
	assert_null(rh_json_first(rh_json_next(array)));
	assert_null(rh_json_first(NULL));
}

static void test_json__size_and_item(void **state)
{
	rh_auto(json) json = support_json("{\"a\":[1,2,3],\"s\":\"text\"}");
	const struct rh_json *array = rh_json_get(json, "a");

	(void)state;
	assert_int_equal(rh_json_size(json), 2);
	assert_int_equal(rh_json_size(array), 3);
	assert_int_equal(rh_json_size(rh_json_get(json, "s")), 0);
	assert_int_equal(rh_json_size(NULL), 0);
	assert_true(rh_json_number(rh_json_item(array, 2), 0) == 3);
	assert_null(rh_json_item(array, 3));
	assert_null(rh_json_item(json, 0));
	assert_null(rh_json_item(NULL, 0));
}

static void test_json__set_keeps_the_place(void **state)
{
	rh_auto(json) json = support_json("{\"a\":1,\"b\":2,\"c\":3}");

	(void)state;
	assert_int_equal(rh_json_set_string(json, "b", "x"), 0);
	assert_int_equal(rh_json_set_integer(json, "d", 4), 0);
	assert_int_equal(rh_json_set_bool(json, "a", true), 0);
	support_assert_json(json, "{\"a\":true,\"b\":\"x\",\"c\":3,\"d\":4}");
	assert_int_equal(rh_json_set(json, "d", rh_json_new_null()), 0);
	assert_int_equal(rh_json_set(json, "e", rh_json_new_array()), 0);
	support_assert_json(json, "{\"a\":true,\"b\":\"x\",\"c\":3,\"d\":null,\"e\":[]}");
}

static void test_json__set_of_nothing_is_out_of_memory(void **state)
{
	rh_auto(json) json = support_json("{\"a\":1}");
	rh_auto(json) array = rh_json_new_array();

	(void)state;
	assert_int_equal(rh_json_set(json, "a", NULL), RH_ENOMEM);
	assert_int_equal(rh_json_set(json, "b", NULL), RH_ENOMEM);
	assert_int_equal(rh_json_set_string(json, "b", NULL), RH_ENOMEM);
	support_assert_json(json, "{\"a\":1}");
	assert_int_equal(rh_json_set_integer(NULL, "b", 1), RH_ENOMEM);
	assert_int_equal(rh_json_set_integer(array, "b", 1), RH_ENOMEM);
	assert_int_equal(rh_json_append(array, NULL), RH_ENOMEM);
	assert_int_equal(rh_json_append(json, rh_json_new_null()), RH_ENOMEM);
	assert_int_equal(rh_json_append(NULL, rh_json_new_null()), RH_ENOMEM);
	support_assert_json(array, "[]");
}

static void test_json__at_near(void **state)
{
	static const char *const paths[] = {"a[0]",    "a[2]",    "a[2]",    "a[1]", "a[9]", "a[2]",    "b[1][1]",
	                                    "b[1][2]", "b[1][0]", "b[0][0]", "c[0]", "a[x]", "b[1][2]", "a"};
	rh_auto(json) json = support_json("{\"a\":[1,2,3],\"b\":[[4],[5,6,7]],\"c\":1}");
	struct rh_json_spot spot = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++)
		assert_ptr_equal(rh_json_at_near(json, paths[i], &spot), rh_json_at(json, paths[i]));
	assert_string_equal(rh_json_type_name(rh_json_at_near(json, "b[1][2]", &spot)), "integer");
}

static void test_json__index(void **state)
{
	rh_auto(json) small = support_json("{\"a\":1}");
	rh_auto(json) large = rh_json_new_object();
	rh_auto(map) index = NULL;

	(void)state;
	assert_null(rh_json_index(NULL));
	assert_null(rh_json_index(small));
	assert_ptr_equal(rh_json_get_by(small, NULL, "a"), rh_json_first(small));
	for (int i = 0; i < 100; i++) {
		char key[16];

		snprintf(key, sizeof(key), "k%d", i);
		assert_int_equal(rh_json_set_integer(large, key, i), 0);
	}
	index = rh_json_index(large);
	assert_non_null(index);
	assert_ptr_equal(rh_json_get_by(large, index, "k77"), rh_json_get(large, "k77"));
	assert_null(rh_json_get_by(large, index, "k100"));
}

static void test_json__set_item(void **state)
{
	static const char *const results[] = {"[9,2,3]", "[1,9,3]", "[1,2,9]", "[1,2,3,9]", "[1,2,3,9]"};

	(void)state;
	for (size_t i = 0; i < sizeof(results) / sizeof(results[0]); i++) {
		rh_auto(json) array = support_json("[1,2,3]");
		rh_auto(json) from = support_json("{\"key\":9}");
		rh_auto_free char *text = NULL;

		assert_int_equal(rh_json_set_item(array, i, rh_json_detach(from, "key")), 0);
		text = rh_json_text(array);
		assert_string_equal(text, results[i]);
		assert_int_equal(rh_json_append(array, rh_json_new_bool(true)), 0);
		assert_int_equal(rh_json_size(array), i < 3 ? 4 : 5);
		assert_null(rh_json_key(rh_json_item(array, i < 3 ? i : 3)));
		assert_int_equal(rh_json_set_item(array, i, NULL), RH_ENOMEM);
		assert_int_equal(rh_json_set_item(from, 0, rh_json_new_bool(true)), RH_ENOMEM);
	}
}

static void test_json__append_drops_the_key(void **state)
{
	rh_auto(json) from = support_json("{\"a\":1}");
	rh_auto(json) array = rh_json_new_array();

	(void)state;
	assert_int_equal(rh_json_append(array, rh_json_copy(rh_json_get(from, "a"))), 0);
	assert_int_equal(rh_json_append(array, rh_json_detach(from, "a")), 0);
	assert_null(rh_json_key(rh_json_item(array, 0)));
	assert_null(rh_json_key(rh_json_item(array, 1)));
	support_assert_json(array, "[1,1]");
	support_assert_json(from, "{}");
}

static void test_json__detach(void **state)
{
	rh_auto(json) json = support_json("{\"a\":{\"x\":1},\"b\":[1,2,3]}");
	rh_auto(json) member = rh_json_detach(json, "a");
	rh_auto(json) item = rh_json_detach_item(rh_json_get(json, "b"), 1);

	(void)state;
	support_assert_json(member, "{\"x\":1}");
	assert_null(rh_json_key(member));
	assert_null(rh_json_next(item));
	support_assert_json(item, "2");
	support_assert_json(json, "{\"b\":[1,3]}");
	assert_null(rh_json_detach(json, "a"));
	assert_null(rh_json_detach_item(rh_json_get(json, "b"), 2));
	assert_null(rh_json_detach_item(json, 0));
	assert_null(rh_json_detach(NULL, "a"));
}

static void test_json__detach_every_item(void **state)
{
	rh_auto(json) array = support_json("[1,2,3]");

	(void)state;
	rh_json_free(rh_json_detach_item(array, 2));
	support_assert_json(array, "[1,2]");
	assert_int_equal(rh_json_append(array, rh_json_new_integer(4)), 0);
	support_assert_json(array, "[1,2,4]");
	rh_json_free(rh_json_detach_item(array, 0));
	rh_json_free(rh_json_detach_item(array, 0));
	rh_json_free(rh_json_detach_item(array, 0));
	support_assert_json(array, "[]");
	assert_int_equal(rh_json_append(array, rh_json_new_integer(5)), 0);
	support_assert_json(array, "[5]");
}

static void test_json__remove(void **state)
{
	rh_auto(json) json = support_json("{\"a\":1,\"b\":2}");

	(void)state;
	rh_json_remove(json, "a");
	rh_json_remove(json, "c");
	support_assert_json(json, "{\"b\":2}");
}

static void test_json__copy_is_deep(void **state)
{
	rh_auto(json) json = support_json("{\"a\":{\"b\":[1,\"x\",null,true]}}");
	rh_auto(json) copy = rh_json_copy(json);
	rh_auto(json) part = rh_json_copy(rh_json_get(json, "a"));

	(void)state;
	rh_json_remove(json, "a");
	support_assert_json(copy, "{\"a\":{\"b\":[1,\"x\",null,true]}}");
	support_assert_json(part, "{\"b\":[1,\"x\",null,true]}");
	assert_null(rh_json_key(part));
	assert_null(rh_json_next(part));
	assert_null(rh_json_copy(NULL));
	assert_int_equal(rh_json_append(rh_json_at(copy, "a.b"), rh_json_new_null()), 0);
	support_assert_json(copy, "{\"a\":{\"b\":[1,\"x\",null,true,null]}}");
}

static void test_json__ensure(void **state)
{
	rh_auto(json) json = support_json("{\"o\":{\"x\":1},\"n\":null,\"s\":\"t\"}");

	(void)state;
	assert_ptr_equal(rh_json_ensure_object(json, "o"), rh_json_get(json, "o"));
	assert_non_null(rh_json_ensure_object(json, "n"));
	assert_non_null(rh_json_ensure_array(json, "a"));
	assert_ptr_equal(rh_json_ensure_array(json, "a"), rh_json_get(json, "a"));
	assert_null(rh_json_ensure_object(json, "s"));
	assert_null(rh_json_ensure_array(json, "o"));
	assert_null(rh_json_ensure_object(NULL, "o"));
	support_assert_json(json, "{\"o\":{\"x\":1},\"n\":{},\"s\":\"t\",\"a\":[]}");
}

static void test_json__equal(void **state)
{
	static const struct {
		const char *a, *b;
		bool equal;
	} rows[] = {
		{"null", "null", true},
		{"null", "false", false},
		{"true", "true", true},
		{"true", "false", false},
		{"1", "1.0", true},
		{"1", "1e0", true},
		{"0", "-0", true},
		{"1", "2", false},
		{"1", "\"1\"", false},
		{"\"a\"", "\"\\u0061\"", true},
		{"\"a\"", "\"b\"", false},
		{"[]", "[]", true},
		{"[1,2]", "[1,2]", true},
		{"[1,2]", "[2,1]", false},
		{"[1]", "[1,2]", false},
		{"[1,2]", "[1]", false},
		{"[]", "{}", false},
		{"{\"a\":1,\"b\":2}", "{\"b\":2,\"a\":1}", true},
		{"{\"a\":1,\"b\":2}", "{\"a\":1}", false},
		{"{\"a\":1}", "{\"a\":1,\"b\":2}", false},
		{"{\"a\":1,\"b\":2}", "{\"a\":1,\"c\":2}", false},
		{"{\"a\":1,\"b\":2,\"c\":3}", "{\"a\":1,\"c\":3,\"b\":4}", false},
		{"{\"a\":null}", "{}", false},
		{"{\"a\":null}", "{\"b\":null}", false},
		{"{\"a\":{\"b\":[{\"c\":1,\"d\":2}]}}", "{\"a\":{\"b\":[{\"d\":2,\"c\":1}]}}", true},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		rh_auto(json) a = support_json(rows[i].a);
		rh_auto(json) b = support_json(rows[i].b);

		support_row(rows[i].a);
		assert_int_equal(rh_json_equal(a, b), rows[i].equal);
		assert_int_equal(rh_json_equal(b, a), rows[i].equal);
	}
	assert_true(rh_json_equal(NULL, NULL));
	rh_auto(json) null = rh_json_new_null();
	assert_false(rh_json_equal(NULL, null));
}

/* @return {"0":0,"1":1,...} or, `backwards`, the same from the end */
static struct rh_json *test_json_many(int count, bool backwards)
{
	struct rh_json *json = rh_json_new_object();

	for (int i = 0; i < count; i++) {
		int n = backwards ? count - 1 - i : i;
		char key[16];

		snprintf(key, sizeof(key), "%d", n);
		assert_int_equal(rh_json_add(json, key, rh_json_new_integer(n)), 0);
	}
	return json;
}

static void test_json__equal_of_many_members_in_another_order(void **state)
{
	rh_auto(json) a = test_json_many(20000, false);
	rh_auto(json) b = test_json_many(20000, true);

	(void)state;
	assert_true(rh_json_equal(a, b));
	rh_mem_fail_after(0);
	rh_json_set_integer(b, "0", 1);
	rh_mem_fail_after(-1);
	assert_true(rh_json_equal(a, b));
	assert_int_equal(rh_json_set_integer(b, "10", 11), 0);
	assert_false(rh_json_equal(a, b));
}

static void test_json__equal_needs_no_memory(void **state)
{
	rh_auto(json) a = test_json_many(100, false);
	rh_auto(json) b = test_json_many(100, true);
	bool equal;

	(void)state;
	rh_mem_fail_after(0);
	equal = rh_json_equal(a, b);
	rh_mem_fail_after(-1);
	assert_true(equal);
}

/* The examples of RFC 7386, appendix A, whose target is an object. */
static void test_json__merge(void **state)
{
	static const struct {
		const char *target, *patch, *expected;
	} rows[] = {
		{"{\"a\":\"b\"}", "{\"a\":\"c\"}", "{\"a\":\"c\"}"},
		{"{\"a\":\"b\"}", "{\"b\":\"c\"}", "{\"a\":\"b\",\"b\":\"c\"}"},
		{"{\"a\":\"b\"}", "{\"a\":null}", "{}"},
		{"{\"a\":\"b\",\"b\":\"c\"}", "{\"a\":null}", "{\"b\":\"c\"}"},
		{"{\"a\":[\"b\"]}", "{\"a\":\"c\"}", "{\"a\":\"c\"}"},
		{"{\"a\":\"c\"}", "{\"a\":[\"b\"]}", "{\"a\":[\"b\"]}"},
		{"{\"a\":{\"b\":\"c\"}}", "{\"a\":{\"b\":\"d\",\"c\":null}}", "{\"a\":{\"b\":\"d\"}}"},
		{"{\"a\":[{\"b\":\"c\"}]}", "{\"a\":[1]}", "{\"a\":[1]}"},
		{"{\"e\":null}", "{\"a\":1}", "{\"e\":null,\"a\":1}"},
		{"{}", "{\"a\":{\"bb\":{\"ccc\":null}}}", "{\"a\":{\"bb\":{}}}"},
		{"{\"a\":1,\"b\":2,\"c\":3}", "{\"b\":{\"x\":1}}", "{\"a\":1,\"b\":{\"x\":1},\"c\":3}"},
		{"{\"a\":1}", "[1]", "{\"a\":1}"},
		{"{\"a\":1}", "null", "{\"a\":1}"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		rh_auto(json) target = support_json(rows[i].target);
		rh_auto(json) patch = support_json(rows[i].patch);

		support_row(rows[i].patch);
		assert_int_equal(rh_json_merge(target, patch), 0);
		support_assert_json(target, rows[i].expected);
		support_assert_json(patch, rows[i].patch);
	}
}

static int test_json_build(void *arg)
{
	rh_auto(json) json = rh_json_new_object();
	rh_auto(json) copy = NULL;

	(void)arg;
	if (rh_json_set_string(json, "a", "x") < 0 || rh_json_set_integer(json, "a", 1) < 0 ||
	    rh_json_append(rh_json_ensure_array(json, "b"), rh_json_new_bool(true)) < 0 ||
	    !rh_json_ensure_object(json, "c"))
		return RH_ENOMEM;
	copy = rh_json_copy(json);
	return copy ? rh_json_merge(copy, json) : RH_ENOMEM;
}

static void test_json__drop_nulls(void **state)
{
	static const struct {
		const char *text, *left;
	} rows[] = {
		{"{\"a\":null}", "{}"},
		{"{\"a\":null,\"b\":1,\"c\":null,\"d\":null,\"e\":2,\"f\":null}", "{\"b\":1,\"e\":2}"},
		{"[null,{\"a\":null},[null]]", "[null,{},[null]]"},
		{"{\"a\":{\"b\":{\"c\":null}}}", "{\"a\":{\"b\":{}}}"},
		{"null", "null"},
		{"3", "3"},
	};

	(void)state;
	rh_json_drop_nulls(NULL);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		rh_auto(json) json = support_json(rows[i].text);

		rh_json_drop_nulls(json);
		support_assert_json(json, rows[i].left);
		/* the end of the list is known, too */
		if (rh_json_type(json) == RH_JSON_OBJECT) {
			const struct rh_json *last;

			assert_int_equal(rh_json_set_integer(json, "z", 9), 0);
			for (last = rh_json_first(json); rh_json_next(last);)
				last = rh_json_next(last);
			assert_string_equal(rh_json_key(last), "z");
		}
	}
}

static void test_json__without_memory(void **state)
{
	(void)state;
	support_fail_each(test_json_build, NULL);
}

static void test_json__a_failed_set_adds_nothing(void **state)
{
	rh_auto(json) json = support_json("{\"a\":1}");
	struct rh_json *value = rh_json_new_integer(2);
	int r;

	(void)state;
	rh_mem_fail_after(0);
	r = rh_json_set(json, "b", value);
	rh_mem_fail_after(-1);
	assert_int_equal(r, RH_ENOMEM);
	support_assert_json(json, "{\"a\":1}");
}

/* A library's comparison that looks at each member twice takes 2^100 steps here. */
static void test_json__equal_of_deep_objects(void **state)
{
	rh_auto(json) a = rh_json_new_integer(1);
	rh_auto(json) b = NULL;

	(void)state;
	for (int i = 0; i < RH_JSON_DEPTH_MAX; i++) {
		struct rh_json *outer = rh_json_new_object();

		assert_int_equal(rh_json_set(outer, "a", rh_take(a)), 0);
		a = outer;
	}
	b = rh_json_copy(a);
	assert_true(rh_json_equal(a, b));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_json__types),
		cmocka_unit_test(test_json__reads_of_the_wrong_type),
		cmocka_unit_test(test_json__integers),
		cmocka_unit_test(test_json__integers_are_exact),
		cmocka_unit_test(test_json__integers_beyond_int64),
		cmocka_unit_test(test_json__numbers_alike),
		cmocka_unit_test(test_json__number_text),
		cmocka_unit_test(test_json__get_is_exact),
		cmocka_unit_test(test_json__at),
		cmocka_unit_test(test_json__find),
		cmocka_unit_test(test_json__string_at),
		cmocka_unit_test(test_json__walk),
		cmocka_unit_test(test_json__size_and_item),
		cmocka_unit_test(test_json__set_keeps_the_place),
		cmocka_unit_test(test_json__set_of_nothing_is_out_of_memory),
		cmocka_unit_test(test_json__at_near),
		cmocka_unit_test(test_json__index),
		cmocka_unit_test(test_json__set_item),
		cmocka_unit_test(test_json__append_drops_the_key),
		cmocka_unit_test(test_json__detach),
		cmocka_unit_test(test_json__detach_every_item),
		cmocka_unit_test(test_json__remove),
		cmocka_unit_test(test_json__copy_is_deep),
		cmocka_unit_test(test_json__drop_nulls),
		cmocka_unit_test(test_json__ensure),
		cmocka_unit_test(test_json__equal),
		cmocka_unit_test(test_json__equal_of_many_members_in_another_order),
		cmocka_unit_test(test_json__equal_needs_no_memory),
		cmocka_unit_test(test_json__merge),
		cmocka_unit_test(test_json__without_memory),
		cmocka_unit_test(test_json__a_failed_set_adds_nothing),
		cmocka_unit_test(test_json__equal_of_deep_objects),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
