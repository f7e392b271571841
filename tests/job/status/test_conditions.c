/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "job/kinds.h"
#include "job/status/conditions.h"

static struct rh_json *conditions_json(const char *text)
{
	struct rh_json *json = NULL;

	assert_int_equal(rh_json_parse(text, strlen(text), &json, NULL), 0);
	return json;
}

static void test_conditions__a_text_is_checked(void **state)
{
	static const struct {
		const char *text;
		const char *message; /* NULL: it is right */
	} rows[] = {
		{"{}", NULL},
		{"{\"Created\":null,\"Succeeded\":{\"type\":\"Complete\",\"reason\":\"AllDone\"}}", NULL},
		{"{\"Invalid\":{\"final\":false,\"message\":\"{findings} of {namespace}/{job}\"}}", NULL},
		{"{\"Suspended\":{\"falseReason\":\"Resumed\",\"falseMessage\":\"{job} goes on\"}}", NULL},
		{"{\"Done\":{}}", "conditions.Done is not a known member"},
		{"{\"Stalled\":null}", "conditions.Stalled is not a known member"},
		{"{\"Failed\":null}", "conditions.Failed must be an object"},
		{"{\"Deadline\":null}", "conditions.Deadline must be an object"},
		{"{\"Deadline\":{\"type\":\"Late\"}}", "conditions.Deadline.type is that of Failed"},
		{"{\"Failed\":{\"type\":\"Succeeded\"}}", "conditions.Failed.type is that of another condition"},
		{"{\"Failed\":{\"type\":\"Stalled\"}}", "conditions.Failed.type is Stalled, which is the core's"},
		{"{\"Failed\":{\"type\":\"has failed\"}}", "conditions.Failed.type must be a word"},
		{"{\"Failed\":{\"reason\":\"failed\"}}", "conditions.Failed.reason must be a word"},
		{"{\"Failed\":{\"final\":true}}", "conditions.Failed.final is a member of Invalid alone"},
		{"{\"Failed\":{\"falseReason\":\"Not\"}}", "which Suspended alone has"},
		{"{\"Failed\":{\"message\":\"{pod} failed\"}}", "conditions.Failed.message may have {kind}, {job} and"},
		{"{\"Failed\":{\"message\":\"{findings}\"}}", "conditions.Failed.message may have {kind}, {job} and"},
		{"{\"Failed\":{\"message\":\"{job\"}}", "conditions.Failed.message may have {kind}, {job} and"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		rh_auto(json) conditions = conditions_json(rows[i].text);
		struct rh_error err = {0};

		assert_int_equal(rh_conditions_check(conditions, &err), rows[i].message ? RH_EPLUGIN : 0);
		if (rows[i].message && !strstr(err.message, rows[i].message))
			fail_msg("%s: %s", rows[i].text, err.message);
	}
}

static void test_conditions__without_a_text_all_is_v1s(void **state)
{
	const struct rh_job job = {.kind = &test_pytorch, .name = "j", .namespace_ = "n"};
	rh_auto_str text = {0};
	static const char *const rows[][2] = {
		{"Created", "PyTorchJobCreated"},
		{"Resumed", "PyTorchJobResumed"},
		{"Deadline", "PyTorchJobFailed"},
		{"Backoff", "PyTorchJobFailed"},
		{"FailedValidation", "PyTorchJobFailedValidation"},
		{"PluginFailed", "PyTorchJobPluginFailed"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		rh_auto_free char *reason = rh_conditions_reason(&test_pytorch, rows[i][0]);

		assert_string_equal(reason, rows[i][1]);
		assert_false(rh_conditions_message(&job, rows[i][0], NULL, &text));
		assert_int_equal(rh_conditions_event(&test_pytorch, rows[i][0]), RH_REPORT_USUAL);
	}
	assert_true(rh_conditions_invalid_fails(&test_pytorch));
	assert_string_equal(rh_conditions_shown(NULL, "Created"), "Created");
	assert_string_equal(rh_conditions_type(NULL, "Foreign"), "Foreign");
}

static void test_conditions__names_both_ways(void **state)
{
	rh_auto(json) conditions =
		conditions_json("{\"Running\":null,\"Succeeded\":{\"type\":\"Complete\"},\"Failed\":{\"reason\":\"Broken\"}}");

	(void)state;
	assert_null(rh_conditions_shown(conditions, "Running"));
	assert_string_equal(rh_conditions_shown(conditions, "Succeeded"), "Complete");
	assert_string_equal(rh_conditions_shown(conditions, "Failed"), "Failed");
	assert_string_equal(rh_conditions_shown(conditions, "Stalled"), "Stalled");
	assert_string_equal(rh_conditions_type(conditions, "Complete"), "Succeeded");
	assert_string_equal(rh_conditions_type(conditions, "Created"), "Created");
	/* somebody else's */
	assert_string_equal(rh_conditions_type(conditions, "Ready"), "Ready");
	assert_null(rh_conditions_type(conditions, "Succeeded"));
	assert_null(rh_conditions_type(conditions, "Running"));
}

static void test_conditions__messages(void **state)
{
	struct rh_kind kind = test_pytorch;
	const struct rh_job job = {.kind = &kind, .name = "j", .namespace_ = "n"};
	static const struct {
		const char *word;
		const char *message; /* NULL: V1's */
	} rows[] = {
		{"Created", "PyTorchJob n/j is created."},
		{"Resumed", "goes on"},
		{"FailedValidation", "found: [a, b]."},
		{"Suspended", NULL},
		{"Running", NULL},
	};

	(void)state;
	kind.conditions = "{\"Created\":{\"message\":\"{kind} {namespace}/{job} is created.\"},"
					  "\"Suspended\":{\"falseMessage\":\"goes on\"},\"Invalid\":{\"message\":\"found: {findings}.\"}}";
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		rh_auto_str text = {0};

		assert_int_equal(rh_conditions_message(&job, rows[i].word, "[a, b]", &text), rows[i].message != NULL);
		assert_string_equal(rh_str_text(&text), rows[i].message ? rows[i].message : "");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_conditions__a_text_is_checked),
		cmocka_unit_test(test_conditions__without_a_text_all_is_v1s),
		cmocka_unit_test(test_conditions__names_both_ways),
		cmocka_unit_test(test_conditions__messages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
