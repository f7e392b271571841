/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/run/screen/line.h"

#include <string.h>

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

static void test_line__last_state(void **state)
{
	static const char *const rows[][2] = {
		{"", ""},          {"plain", "plain"}, {"a\rb", "b"}, {"\r 10%\r 20%", " 20%"}, {"a\rb\r", "b"},
		{"a\rb\r\r", "b"}, {"\r", ""},         {"\r\r", ""},  {"windows\r", "windows"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		size_t length = strlen(rows[i][0]);
		const char *last = rh_line_last_state(rows[i][0], &length);

		assert_int_equal(length, strlen(rows[i][1]));
		assert_memory_equal(last, rows[i][1], length);
	}
}

/* Jobs: one pod with two containers, one with one. */
static struct rh_json *jobs_new(void)
{
	static const char text[] =
		"[{\"logs\":\"j\",\"containers\":{\"Worker\":[\"pytorch\",\"beside\"],\"Master\":[\"pytorch\"]}},"
		"{\"logs\":\"old\"}]";
	struct rh_json *jobs = NULL;

	assert_int_equal(rh_json_parse(text, sizeof(text) - 1, &jobs, NULL), 0);
	return jobs;
}

static void test_line__names(void **state)
{
	static const char *const rows[][4] = {
		{"j", "worker-1", "pytorch", "worker-1/pytorch"}, {"j", "worker-1", "beside", "worker-1/beside"},
		{"j", "master-0", "pytorch", "master-0"},         {"j", "master-0", "init-pytorch", "master-0/init-pytorch"},
		{"j", "other-0", "pytorch", "other-0"},           {"old", "worker-1", "beside", "worker-1"},
	};
	rh_auto(json) jobs = jobs_new();
	struct rh_line_style style = {.jobs = jobs};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rh_output_line line = {.job = rows[i][0], .replica = rows[i][1], .container = rows[i][2]};
		rh_auto_str name = {0};

		rh_line_append_name(&style, &line, &name);
		assert_string_equal(rh_str_text(&name), rows[i][3]);
	}
	style.multiple = true;
	style.jobs = NULL;
	{
		struct rh_output_line line = {.job = "j", .replica = "worker-1", .container = "beside"};
		rh_auto_str name = {0};

		rh_line_append_name(&style, &line, &name);
		assert_string_equal(rh_str_text(&name), "j/worker-1");
	}
}

static void test_line__replicas_with_several_containers(void **state)
{
	rh_auto(json) jobs = jobs_new();

	(void)state;
	assert_true(rh_line_has_several(jobs, "worker-1"));
	assert_true(rh_line_has_several(jobs, "Worker-0"));
	assert_true(rh_line_has_several(jobs, "j-worker-0"));
	assert_false(rh_line_has_several(jobs, "master-0"));
	assert_false(rh_line_has_several(jobs, "j-master-0"));
	assert_false(rh_line_has_several(NULL, "worker-1"));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_line__last_state),
		cmocka_unit_test(test_line__names),
		cmocka_unit_test(test_line__replicas_with_several_containers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
