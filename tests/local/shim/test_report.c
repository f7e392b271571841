/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "base/mem.h"
#include "local/shim.h"

static const struct rh_shim_report sample = {
	.container = "main",
	.init = true,
	.pid = 4711,
	.exit_code = 137,
	.signal = 9,
	.reason = "OOMKilled",
	.message = "a \"message\"",
	.restarts = 3,
	.started_at = INT64_C(1795255200000001),
	.finished_at = INT64_C(1795255260999999),
	.log_begin = 4096,
	.log_end = INT64_C(5000000000),
};

static void test_report__comes_back_as_it_was(void **state)
{
	static const struct {
		bool running;
		bool again;
		const char *word;
	} rows[] = {{true, false, "running"}, {false, true, "waiting"}, {false, false, "terminated"}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rh_shim_report report = sample;
		struct rh_shim_report back;
		rh_auto(json) json = NULL;

		report.running = rows[i].running;
		report.again = rows[i].again;
		json = rh_shim_report_json(&report);
		assert_string_equal(rh_json_string(rh_json_get(json, "state")), rows[i].word);
		memset(&back, 0xff, sizeof(back));
		assert_int_equal(rh_shim_report_parse(json, &back), 0);
		assert_string_equal(back.container, "main");
		assert_string_equal(back.reason, "OOMKilled");
		assert_string_equal(back.message, "a \"message\"");
		assert_true(back.init && back.running == rows[i].running && back.again == rows[i].again);
		assert_int_equal(back.pid, 4711);
		assert_int_equal(back.exit_code, 137);
		assert_int_equal(back.signal, 9);
		assert_int_equal(back.restarts, 3);
		assert_true(back.started_at == sample.started_at && back.finished_at == sample.finished_at);
		assert_true(back.log_begin == sample.log_begin && back.log_end == sample.log_end);
	}
}

static void test_report__refuses_what_is_none(void **state)
{
	static const char *const members[] = {"state",    "container", "reason",     "message",  "pid",      "signal",
	                                      "restarts", "startedAt", "finishedAt", "exitCode", "logBegin", "logEnd"};

	(void)state;
	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
		rh_auto(json) json = rh_shim_report_json(&sample);
		struct rh_shim_report back = {.pid = 1};

		rh_json_remove(json, members[i]);
		if (rh_shim_report_parse(json, &back) != RH_EINVAL)
			fail_msg("without %s", members[i]);
		assert_int_equal(rh_json_set(json, members[i], rh_json_new_array()), 0);
		if (rh_shim_report_parse(json, &back) != RH_EINVAL)
			fail_msg("%s is a list", members[i]);
		assert_int_equal(back.pid, 1);
	}
	assert_int_equal(rh_shim_report_parse(NULL, NULL), RH_EINVAL);
}

static void test_report__cuts_long_texts(void **state)
{
	rh_auto(json) json = rh_shim_report_json(&sample);
	struct rh_shim_report back;
	char text[2000];

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	assert_int_equal(rh_json_set_string(json, "message", text), 0);
	assert_int_equal(rh_json_set_string(json, "container", text), 0);
	assert_int_equal(rh_shim_report_parse(json, &back), 0);
	assert_int_equal(strlen(back.message), sizeof(back.message) - 1);
	assert_int_equal(strlen(back.container), sizeof(back.container) - 1);
	assert_int_equal(rh_json_set_integer(json, "pid", INT64_C(1) << 40), 0);
	assert_int_equal(rh_shim_report_parse(json, &back), RH_EINVAL);
}

static void test_report__survives_a_lack_of_memory(void **state)
{
	struct rh_json *json = NULL;

	(void)state;
	for (long i = 0; !json; i++) {
		(void)rh_mem_fail_after(i);
		json = rh_shim_report_json(&sample);
		(void)rh_mem_fail_after(-1);
		assert_in_range(i, 0, 1000);
	}
	rh_json_free(json);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_report__comes_back_as_it_was),
		cmocka_unit_test(test_report__refuses_what_is_none),
		cmocka_unit_test(test_report__cuts_long_texts),
		cmocka_unit_test(test_report__survives_a_lack_of_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
