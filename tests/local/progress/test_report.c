/* SPDX-License-Identifier: Apache-2.0 */
#include "local/progress/report.h"

#include <stdio.h>
#include <string.h>

#include "base/support.h"

static void expect(const char *post, const char *kept)
{
	rh_auto(json) status = NULL;
	rh_auto_free char *text = NULL;
	struct rh_error err = {0};

	if (rh_report_read(post, strlen(post), &status, &err) < 0)
		fail_msg("%s: %s", post, err.message);
	text = status ? rh_json_text(status) : rh_strdup("none");
	assert_string_equal(text, kept);
}

static void refuse(const char *post, const char *why)
{
	rh_auto(json) status = NULL;
	struct rh_error err = {0};

	assert_int_equal(rh_report_read(post, strlen(post), &status, &err), RH_EINVAL);
	assert_null(status);
	if (!strstr(err.message, why))
		fail_msg("%s: \"%s\" has no \"%s\"", post, err.message, why);
}

static void test_report__what_transformers_posts(void **state)
{
	(void)state;
	expect("{\"trainerStatus\": {\"lastUpdatedTime\": \"2026-11-23T10:30:45.5+00:00\", \"progressPercentage\": 45, "
	       "\"estimatedRemainingSeconds\": 80, \"metrics\": [{\"name\": \"loss\", \"value\": \"0.25\"}]}}",
	       "{\"progressPercentage\":45,\"estimatedRemainingSeconds\":80,\"metrics\":[{\"name\":\"loss\",\"value\":"
	       "\"0.25\"}],\"lastUpdatedTime\":\"2026-11-23T10:30:45.500000Z\"}");
}

static void test_report__all_is_optional(void **state)
{
	(void)state;
	expect("{}", "none");
	expect("{\"trainerStatus\": null, \"x\": 1}", "none");
	expect("{\"trainerStatus\": {}}", "{}");
	expect("{\"trainerStatus\": {\"progressPercentage\": null, \"metrics\": null, \"later\": {}}}", "{}");
	expect("{\"trainerStatus\": {\"metrics\": []}}", "{\"metrics\":[]}");
}

static void test_report__wrong_shapes(void **state)
{
	static const char *const rows[][2] = {
		{"[]", "the body is not an object"},
		{"{\"trainerStatus\": 3}", "trainerStatus is not an object"},
		{"{\"trainerStatus\": {\"progressPercentage\": 101}}", "trainerStatus.progressPercentage: 101"},
		{"{\"trainerStatus\": {\"progressPercentage\": -1}}", "from 0 to 100"},
		{"{\"trainerStatus\": {\"progressPercentage\": \"5\"}}", "trainerStatus.progressPercentage: \"5\""},
		{"{\"trainerStatus\": {\"estimatedRemainingSeconds\": 1.5}}", "trainerStatus.estimatedRemainingSeconds: 1.5"},
		{"{\"trainerStatus\": {\"estimatedRemainingSeconds\": 2147483648}}", "2147483648"},
		{"{\"trainerStatus\": {\"metrics\": {}}}", "trainerStatus.metrics is not a list"},
		{"{\"trainerStatus\": {\"metrics\": [1]}}", "trainerStatus.metrics[0].name"},
		{"{\"trainerStatus\": {\"metrics\": [{\"name\": \"\", \"value\": \"1\"}]}}", "trainerStatus.metrics[0].name"},
		{"{\"trainerStatus\": {\"metrics\": [{\"name\": \"loss\", \"value\": 1}]}}", "trainerStatus.metrics[0].value"},
		{"{\"trainerStatus\": {\"lastUpdatedTime\": \"yesterday\"}}", "trainerStatus.lastUpdatedTime: \"yesterday\""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		refuse(rows[i][0], rows[i][1]);
	refuse("", "");
	refuse("{\"trainerStatus\":", "");
}

/* Whatever a replica posts, what is kept has a bound. */
static void test_report__bounds(void **state)
{
	rh_auto_str post = {0};
	rh_auto_str name = {0};

	(void)state;
	rh_str_append(&post, "{\"trainerStatus\": {\"metrics\": [");
	for (int i = 0; i <= RH_REPORT_METRICS_MAX; i++)
		rh_str_appendf(&post, "%s{\"name\": \"m%d\", \"value\": \"1\"}", i > 0 ? "," : "", i);
	rh_str_append(&post, "]}}");
	refuse(rh_str_text(&post), "at most 128 metrics");
	for (int i = 0; i <= RH_REPORT_TEXT_MAX; i++)
		rh_str_append(&name, "x");
	rh_str_clear(&post);
	rh_str_appendf(&post, "{\"trainerStatus\": {\"metrics\": [{\"name\": \"%s\", \"value\": \"1\"}]}}",
	               rh_str_text(&name));
	refuse(rh_str_text(&post), "1 to 256 bytes");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_report__what_transformers_posts),
		cmocka_unit_test(test_report__all_is_optional),
		cmocka_unit_test(test_report__wrong_shapes),
		cmocka_unit_test(test_report__bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
