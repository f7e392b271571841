/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/override/path.h"

#include <string.h>

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "base/mem.h"
#include "base/str.h"

/* A path and its steps, each in parentheses. */
static void steps_of(const char *path, struct rh_str *out)
{
	struct rh_field_step step;
	struct rh_error err = {0};
	int r;

	while ((r = rh_field_next(&path, &step, &err)) == 1)
		rh_str_appendf(out, "(%s)", step.name);
	if (r < 0)
		rh_str_appendf(out, " %s", err.message);
}

static void test_path__steps(void **state)
{
	static const char *const rows[][2] = {
		{"", ""},
		{"spec", "(spec)"},
		{"spec.runPolicy.backoffLimit", "(spec)(runPolicy)(backoffLimit)"},
		{"spec.r[Worker].replicas", "(spec)(r)(Worker)(replicas)"},
		{"c[0].args[12]", "(c)(0)(args)(12)"},
		{"a[0][1]", "(a)(0)(1)"},
		{"metadata.annotations[roundhouse.dev/restart]", "(metadata)(annotations)(roundhouse.dev/restart)"},
		{"labels[\"a.b]c\"].d", "(labels)(a.b]c)(d)"},
		{"labels['x']", "(labels)(x)"},
		{"a..b", "(a) the path has an empty step"},
		{".a", " the path has an empty step"},
		{"a[]", "(a) the path has an empty step"},
		{"a.", " the path ends with a dot"},
		{"a[0", "(a) the path has no \"]\" behind \"[0\""},
		{"a[\"x\"y]", "(a) the path has no \"]\" behind \"[\"x\"y]\""},
		{"a[0]b", "(a) the path has no dot before \"b\""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		rh_auto_str out = {0};

		steps_of(rows[i][0], &out);
		assert_string_equal(rh_str_text(&out), rows[i][1]);
	}
}

static void test_path__a_step_that_is_too_long(void **state)
{
	char path[2 * RH_FIELD_NAME_SIZE];
	rh_auto_str out = {0};

	(void)state;
	memset(path, 'x', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	steps_of(path, &out);
	assert_string_equal(rh_str_text(&out), " a step of the path is too long");
}

static void test_path__split(void **state)
{
	static const char *const rows[][3] = {
		{"a.b=c", "a.b", "c"},           {"a=", "a", ""},       {"a=b=c", "a", "b=c"},
		{"a[x=y].z=1", "a[x=y].z", "1"}, {"a=[1]", "a", "[1]"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		rh_auto_free char *path = NULL;
		const char *value = NULL;

		assert_int_equal(rh_field_split(rows[i][0], &path, &value, NULL), 0);
		assert_string_equal(path, rows[i][1]);
		assert_string_equal(value, rows[i][2]);
	}
}

static void test_path__split_refuses(void **state)
{
	static const char *const rows[] = {"", "a", "=b", "a[x=y]"};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char *path = NULL;
		const char *value;

		assert_int_equal(rh_field_split(rows[i], &path, &value, NULL), RH_EINVAL);
		assert_null(path);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_path__steps),
		cmocka_unit_test(test_path__a_step_that_is_too_long),
		cmocka_unit_test(test_path__split),
		cmocka_unit_test(test_path__split_refuses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
