/* SPDX-License-Identifier: Apache-2.0 */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include <string.h>

#include "cli/output.h"

static struct rh_json *parse(const char *text)
{
	struct rh_json *json = NULL;

	assert_int_equal(rh_json_parse(text, strlen(text), &json, NULL), 0);
	return json;
}

static void test_output__one_value(void **state)
{
	rh_auto(json) json = parse("{\"a\":1}");
	rh_auto_str out = {0};

	(void)state;
	assert_int_equal(rh_cli_put(json, false, &out), 0);
	assert_string_equal(rh_str_text(&out), "a: 1\n");
	rh_str_clear(&out);
	assert_int_equal(rh_cli_put(json, true, &out), 0);
	assert_string_equal(rh_str_text(&out), "{\n  \"a\": 1\n}\n");
	assert_int_equal(rh_cli_put(NULL, true, &out), RH_ENOMEM);
}

static void test_output__objects(void **state)
{
	static const struct {
		const char *items, *yaml;
	} rows[] = {
		{"[]", ""},
		{"[{\"kind\":\"Pod\"}]", "kind: Pod\n"},
		{"[{\"kind\":\"Pod\"},{\"kind\":\"Service\"}]", "kind: Pod\n---\nkind: Service\n"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		rh_auto_str yaml = {0}, json = {0};
		rh_auto(json) list = NULL;
		rh_auto(json) items = parse(rows[i].items);

		assert_int_equal(rh_cli_put_objects(parse(rows[i].items), false, &yaml), 0);
		assert_string_equal(rh_str_text(&yaml), rows[i].yaml);
		assert_int_equal(rh_cli_put_objects(parse(rows[i].items), true, &json), 0);
		list = parse(rh_str_text(&json));
		assert_string_equal(rh_json_string_at(list, "apiVersion"), "v1");
		assert_string_equal(rh_json_string_at(list, "kind"), "List");
		assert_true(rh_json_equal(rh_json_get(list, "items"), items));
	}
}

/* What could not be made is refused where it is printed. */
static void test_output__no_objects(void **state)
{
	rh_auto_str out = {0};

	(void)state;
	assert_null(rh_cli_list(NULL));
	assert_int_equal(rh_cli_put_objects(NULL, false, &out), RH_ENOMEM);
	assert_int_equal(rh_cli_put_json(NULL), RH_ENOMEM);
	assert_string_equal(rh_str_text(&out), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_output__one_value),
		cmocka_unit_test(test_output__objects),
		cmocka_unit_test(test_output__no_objects),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
