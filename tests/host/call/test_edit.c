/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "host/call/reply.h"
#include "host/fixture.h"

/**
 * One edit: what stands there before, the path, the new value, and what stands there afterwards; or the words of the
 * refusal.
 */
struct edit_case {
	const char *name;
	const char *before;
	const char *path;
	const char *value;
	const char *after; /**< NULL: refused */
	const char *words; /**< part of the refusal */
};

static const struct edit_case edit_cases[] = {
	{"set", "{}", "a", "1", "{\"a\":1}", NULL},
	{"replace keeps the place", "{\"a\":1,\"b\":2}", "a", "3", "{\"a\":3,\"b\":2}", NULL},
	{"make maps", "{}", "a.b.c", "true", "{\"a\":{\"b\":{\"c\":true}}}", NULL},
	{"make a list", "{}", "a[+]", "1", "{\"a\":[1]}", NULL},
	{"make a list of maps", "{}", "a[+].b", "1", "{\"a\":[{\"b\":1}]}", NULL},
	{"append", "{\"a\":[1]}", "a[+]", "2", "{\"a\":[1,2]}", NULL},
	{"null counts as absent", "{\"a\":null}", "a.b", "1", "{\"a\":{\"b\":1}}", NULL},
	{"into an item", "{\"a\":[{},{}]}", "a[1].b", "1", "{\"a\":[{},{\"b\":1}]}", NULL},
	{"replace an item in the middle", "{\"a\":[1,2,3,4]}", "a[1]", "9", "{\"a\":[1,9,3,4]}", NULL},
	{"replace the last item", "{\"a\":[1,2]}", "a[1]", "9", "{\"a\":[1,9]}", NULL},
	{"one behind the last appends", "{\"a\":[1]}", "a[1]", "2", "{\"a\":[1,2]}", NULL},
	{"list in a list", "{}", "a[0][+]", "1", "{\"a\":[[1]]}", NULL},
	{"key in quotes", "{}", "m.l[\"a.b/c[0]\"]", "\"x\"", "{\"m\":{\"l\":{\"a.b/c[0]\":\"x\"}}}", NULL},
	{"below a key in quotes", "{}", "[\"a.b\"].c", "1", "{\"a.b\":{\"c\":1}}", NULL},
	{"a tree", "{}", "a", "{\"b\":[{}]}", "{\"a\":{\"b\":[{}]}}", NULL},
	{"empty path", "{}", "", "1", NULL, "a key is empty"},
	{"empty key", "{}", "a..b", "1", NULL, "a key is empty"},
	{"dot at the end", "{}", "a.", "1", NULL, "a key is empty"},
	{"dot at the start", "{}", ".a", "1", NULL, "a key is empty"},
	{"empty brackets", "{}", "a[]", "1", NULL, "in brackets stands"},
	{"negative index", "{\"a\":[1]}", "a[-1]", "1", NULL, "in brackets stands"},
	{"index without end", "{\"a\":[1]}", "a[0", "1", NULL, "in brackets stands"},
	{"index too long", "{\"a\":[1]}", "a[0000000000]", "1", NULL, "in brackets stands"},
	{"plus and more", "{}", "a[+1]", "1", NULL, "in brackets stands"},
	{"quotes without end", "{}", "a[\"b]", "1", NULL, "has no"},
	{"no dot after brackets", "{}", "a[0]b", "1", NULL, "after ] stands"},
	{"index beyond the end", "{\"a\":[1]}", "a[2]", "1", NULL, "shorter"},
	{"way beyond the end", "{\"a\":[1]}", "a[999999].b", "1", NULL, "shorter"},
	{"a map where a list stands", "{\"a\":[1]}", "a.b", "1", NULL, "found array where the path has an object"},
	{"a list where a map stands", "{\"a\":{}}", "a[0]", "1", NULL, "found object where the path has an array"},
	{"through a string", "{\"a\":\"x\"}", "a.b", "1", NULL, "found string"},
	{"root is no list", "{}", "[0]", "1", NULL, "found object"},
};

static void edit_check(const struct edit_case *row)
{
	rh_auto(json) root = NULL;
	struct rh_json *value;
	struct rh_error err = {0};
	int r;

	print_message("%s\n", row->name);
	assert_int_equal(rh_json_parse(row->before, strlen(row->before), &root, &err), 0);
	assert_int_equal(rh_json_parse(row->value, strlen(row->value), &value, &err), 0);
	r = rh_edit(root, row->path, value, &err);
	assert_int_equal(r, row->after ? 0 : RH_EPLUGIN);
	if (row->after) {
		fixture_assert_json(root, row->after);
		return;
	}
	assert_non_null(strstr(err.message, row->words));
	assert_non_null(strstr(err.message, row->path));
}

static void test_edit__paths(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(edit_cases) / sizeof(edit_cases[0]); i++)
		edit_check(&edit_cases[i]);
}

static void test_edit__a_key_of_the_longest_annotation_fits_and_a_longer_one_does_not(void **state)
{
	rh_auto(json) root = rh_json_new_object();
	char path[400] = {0};

	(void)state;
	memset(path, 'a', 317);
	assert_int_equal(rh_edit(root, path, rh_json_new_null(), NULL), 0);
	memset(path, 'a', 399);
	assert_int_equal(rh_edit(root, path, rh_json_new_null(), NULL), RH_EPLUGIN);
}

/* Every path of up to five of these letters: none may crash or loop, and what is taken must be there afterwards. */
static void test_edit__every_short_path_is_taken_or_refused(void **state)
{
	static const char letters[] = "a.[]+0\"";
	const size_t base = sizeof(letters) - 1;

	(void)state;
	for (size_t number = 0; number < base * base * base * base * base; number++) {
		rh_auto(json) root = rh_json_new_object();
		char path[6] = {0};
		size_t rest = number;

		for (size_t i = 0; i < 5; i++, rest /= base)
			path[i] = letters[rest % base];
		if (rh_edit(root, path, rh_json_new_bool(true), NULL) == 0)
			assert_true(rh_json_size(root) == 1);
	}
}

static void test_edit__survives_allocation_failures(void **state)
{
	int r = RH_ENOMEM;

	(void)state;
	for (long n = 0; r == RH_ENOMEM && n < 100; n++) {
		rh_auto(json) root = rh_json_new_object();
		struct rh_json *value = rh_json_new_integer(1);

		rh_mem_fail_after(n);
		r = rh_edit(root, "a.b[+].c", value, NULL);
		rh_mem_fail_after(-1);
	}
	assert_int_equal(r, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_edit__paths),
		cmocka_unit_test(test_edit__a_key_of_the_longest_annotation_fits_and_a_longer_one_does_not),
		cmocka_unit_test(test_edit__every_short_path_is_taken_or_refused),
		cmocka_unit_test(test_edit__survives_allocation_failures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
