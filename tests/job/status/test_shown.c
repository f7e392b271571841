/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "job/kinds.h"
#include "job/status/shown.h"
#include "job/values/names.h"

#define STATUS                                                                                   \
	"{\"conditions\":[{\"type\":\"Created\",\"status\":\"True\",\"reason\":\"r\"},"              \
	"{\"type\":\"Running\",\"status\":\"False\",\"reason\":\"r\"},"                              \
	"{\"type\":\"Succeeded\",\"status\":\"True\",\"reason\":\"r\"}],"                            \
	"\"replicaStatuses\":{\"Worker\":{\"succeeded\":2}},\"startTime\":\"2026-01-01T00:00:00Z\"," \
	"\"completionTime\":\"2026-01-01T00:00:01Z\"}"

/* A kind with one of the texts, or both, and flags. */
static struct rh_kind shown_kind(const char *conditions, const char *schema, uint32_t flags)
{
	struct rh_kind kind = test_pytorch;

	kind.conditions = conditions;
	kind.status_schema = schema;
	kind.flags |= flags;
	return kind;
}

static struct rh_json *shown_parse(const char *text)
{
	struct rh_json *json = NULL;

	assert_int_equal(rh_json_parse(text, strlen(text), &json, NULL), 0);
	return json;
}

static void shown_assert(const struct rh_json *json, const char *text)
{
	rh_auto_free char *got = rh_json_text(json);

	assert_string_equal(got, text);
}

/* A job with that status and annotation; NULL: none. */
static struct rh_json *shown_object(const char *status, const char *hidden)
{
	rh_auto(json) object = shown_parse("{\"metadata\":{\"name\":\"j\",\"uid\":\"u\",\"annotations\":{}}}");

	if (status)
		assert_int_equal(rh_json_set(object, "status", shown_parse(status)), 0);
	if (hidden)
		assert_int_equal(rh_json_set_string(rh_json_at(object, "metadata.annotations"), RH_ANNOTATION_STATUS, hidden),
		                 0);
	return rh_take(object);
}

static void test_shown__a_usual_kind_shows_everything(void **state)
{
	rh_auto(json) object = shown_object(STATUS, "{\"uid\":\"u\",\"startTime\":\"2020-01-01T00:00:00Z\"}");
	struct rh_job_status status;
	rh_auto(json) shown = NULL;
	rh_auto(json) hidden = NULL;

	(void)state;
	assert_false(rh_shown_hides(&test_pytorch));
	assert_int_equal(rh_shown_read(&test_pytorch, object, &status), 0);
	assert_null(status.own);
	shown = rh_shown_json(&test_pytorch, &status);
	shown_assert(shown, STATUS);
	hidden = rh_shown_hidden(&test_pytorch, &status, "u");
	shown_assert(hidden, "{\"uid\":\"u\"}");
	rh_job_status_deinit(&status);
}

static void test_shown__both_parts_are_the_whole(void **state)
{
	static const struct {
		const char *conditions;
		const char *schema;
		uint32_t flags;
		const char *shown;
	} rows[] = {
		{"{\"Created\":null,\"Running\":null,\"Succeeded\":{\"type\":\"Complete\"}}", "{\"a\":{},\"b\":{}}",
	     RH_KIND_OWN_STATUS, "{\"conditions\":[{\"type\":\"Complete\",\"status\":\"True\",\"reason\":\"r\"}],\"a\":1}"},
		{NULL, "{\"replicaStatuses\":{},\"a\":{}}", 0,
	     "{\"conditions\":[{\"type\":\"Created\",\"status\":\"True\",\"reason\":\"r\"},"
	     "{\"type\":\"Running\",\"status\":\"False\",\"reason\":\"r\"},"
	     "{\"type\":\"Succeeded\",\"status\":\"True\",\"reason\":\"r\"}],\"startTime\":\"2026-01-01T00:00:00Z\","
	     "\"completionTime\":\"2026-01-01T00:00:01Z\",\"a\":1}"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct rh_kind kind = shown_kind(rows[i].conditions, rows[i].schema, rows[i].flags);
		struct rh_job_status status = {0}, again = {0};
		rh_auto(json) whole = shown_object(STATUS, NULL);
		rh_auto(json) object = NULL;
		rh_auto(json) shown = NULL;
		rh_auto(json) hidden = NULL;
		rh_auto_free char *text = NULL;

		assert_int_equal(rh_shown_read(&test_pytorch, whole, &status), 0);
		status.own = shown_parse("{\"a\":1}");
		assert_true(rh_shown_hides(&kind));
		shown = rh_shown_json(&kind, &status);
		shown_assert(shown, rows[i].shown);
		hidden = rh_shown_hidden(&kind, &status, "u");
		text = rh_json_text(hidden);
		object = shown_object(rows[i].shown, text);
		assert_int_equal(rh_shown_read(&kind, object, &again), 0);
		assert_true(rh_job_status_equal(&status, &again));
		rh_job_status_deinit(&status);
		rh_job_status_deinit(&again);
	}
}

/* Users can edit an annotation, and copy it to another job. */
static void test_shown__an_annotation_that_is_wrong_counts_for_nothing(void **state)
{
	static const char *const rows[] = {
		"",
		"[]",
		"7",
		"{",
		"{\"conditions\":[{\"type\":\"Created\",\"status\":\"True\"}]}",
		"{\"uid\":\"other\",\"conditions\":[{\"type\":\"Created\",\"status\":\"True\"}]}",
		"{\"uid\":\"u\",\"conditions\":7,\"replicaStatuses\":[],\"startTime\":{}}",
	};
	const struct rh_kind kind = shown_kind("{\"Created\":null}", NULL, RH_KIND_OWN_STATUS);

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		rh_auto(json) object = shown_object(NULL, rows[i]);
		struct rh_job_status status;

		assert_int_equal(rh_shown_read(&kind, object, &status), 0);
		assert_int_equal(status.condition_count, 0);
		assert_int_equal(status.replica_count, 0);
		assert_int_equal(status.started_at, 0);
		rh_job_status_deinit(&status);
	}
}

/* A status that is not an object, and conditions that the kind does not call so. */
static void test_shown__what_is_not_the_kinds_is_left_out(void **state)
{
	const struct rh_kind kind = shown_kind("{\"Succeeded\":{\"type\":\"Complete\"}}", "{\"a\":{}}", 0);
	rh_auto(json) list = shown_object("[1]", NULL);
	rh_auto(json) object = shown_object(STATUS, NULL);
	struct rh_job_status status;

	(void)state;
	assert_int_equal(rh_shown_read(&kind, list, &status), 0);
	assert_int_equal(status.condition_count, 0);
	rh_job_status_deinit(&status);
	assert_int_equal(rh_shown_read(&kind, object, &status), 0);
	assert_false(rh_job_status_finished(&status));
	assert_true(rh_job_status_is(&status, RH_CONDITION_CREATED));
	rh_job_status_deinit(&status);
}

/* Who does not know the kind sees what the annotation has. */
static void test_shown__without_a_kind(void **state)
{
	rh_auto(json) object = shown_object("{\"jobsStatus\":[]}", "{\"uid\":\"u\",\"conditions\":[{\"type\":\"Running\","
	                                                           "\"status\":\"True\"}]}");
	struct rh_job_status status;

	(void)state;
	assert_int_equal(rh_shown_read(NULL, object, &status), 0);
	assert_true(rh_job_status_is(&status, RH_CONDITION_RUNNING));
	rh_job_status_deinit(&status);
}

/* The annotation is written first: a job that has not finished has no time at which it did. */
static void test_shown__a_write_that_was_cut_off(void **state)
{
	const struct rh_kind kind = shown_kind(NULL, NULL, RH_KIND_OWN_STATUS);
	rh_auto(json) object =
		shown_object(NULL, "{\"uid\":\"u\",\"startTime\":\"2026-01-01T00:00:00Z\",\"completionTime\":"
	                       "\"2026-01-01T00:00:01Z\"}");
	struct rh_job_status status;

	(void)state;
	assert_int_equal(rh_shown_read(&kind, object, &status), 0);
	assert_true(status.started_at > 0);
	assert_int_equal(status.completed_at, 0);
	rh_job_status_deinit(&status);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shown__a_usual_kind_shows_everything),
		cmocka_unit_test(test_shown__both_parts_are_the_whole),
		cmocka_unit_test(test_shown__an_annotation_that_is_wrong_counts_for_nothing),
		cmocka_unit_test(test_shown__what_is_not_the_kinds_is_left_out),
		cmocka_unit_test(test_shown__without_a_kind),
		cmocka_unit_test(test_shown__a_write_that_was_cut_off),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
