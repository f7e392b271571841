/* SPDX-License-Identifier: Apache-2.0 */
/* conclude.c: reasons of verdicts, and values of managedBy. */
#include <string.h>

#include "abi/plugins/both.h"
#include "engine/decide.h"
#include "schema/crd.h"

#define TEMPLATE "template: {spec: {containers: [{name: main, image: i}]}}"
#define JOB(more)                                                                              \
	"apiVersion: example.org/v1\nkind: ConcludeJob\nmetadata: {name: c, uid: u}\nspec:\n" more \
	"  concludeReplicaSpecs: {Worker: {" TEMPLATE "}}\n"
#define NOW (INT64_C(1767225600) * 1000000)

/** Decide about the job, which has no pods. */
static void conclude_decide(struct fixture *fixture, struct rh_plan *plan)
{
	static const struct rh_ledger ledger;
	const struct rh_world world = {.host = fixture->host, .job = fixture->job, .ledger = &ledger, .now = NOW};

	if (rh_decide(&world, plan, &fixture->err) < 0)
		fail_msg("%s", fixture->err.message);
}

static void test_conclude__the_reason_is_that_of_the_condition(void **state)
{
	static const struct {
		const char *job;
		const char *reason;
	} rows[] = {
		{JOB("  reason: Evicted\n"), "Evicted"},
		{JOB("  reason: BackoffLimitExceeded/OOMKilled\n"), "BackoffLimitExceeded/OOMKilled"},
		{JOB(""), "ConcludeJobFailed"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rh_plan plan = {0};
		const struct rh_condition *failed;
		auto_fixture fixture;

		both_open(&fixture, state, rows[i].job);
		conclude_decide(&fixture, &plan);
		failed = rh_job_status_condition(&plan.status, RH_CONDITION_FAILED);
		assert_non_null(failed);
		assert_string_equal(failed->reason, rows[i].reason);
		assert_string_equal(failed->message, "1/1 workers are evicted");
		rh_plan_deinit(&plan);
	}
}

static void test_conclude__a_reason_is_a_word(void **state)
{
	static const char *const jobs[] = {JOB("  reason: evicted\n"), JOB("  reason: Was evicted\n"),
	                                   JOB("  reason: A/b\n"), JOB("  reason: A/B/C\n"), JOB("  reason: ''\n")};

	for (size_t i = 0; i < sizeof(jobs) / sizeof(jobs[0]); i++) {
		struct rh_judgement judgement = {0};
		auto_fixture fixture;

		both_open(&fixture, state, jobs[i]);
		assert_int_equal(rh_host_judge(&fixture.snapshot, &judgement, &fixture.err), RH_EPLUGIN);
		assert_non_null(strstr(fixture.err.message, "conclude(): the reason is not a word"));
	}
}

static void test_conclude__managers(void **state)
{
	static const struct {
		const char *job;
		bool ours;
		size_t findings;
	} rows[] = {
		{JOB(""), true, 0},
		{JOB("  runPolicy: {managedBy: example.org/operator}\n"), true, 0},
		{JOB("  runPolicy: {managedBy: example.org/other}\n"), false, 0},
		{JOB("  runPolicy: {managedBy: kubeflow.org/training-operator}\n"), false, 1},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		rh_auto_findings findings = {0};
		auto_fixture fixture;

		both_open(&fixture, state, rows[i].job);
		assert_int_equal(rh_job_is_ours(fixture.job), rows[i].ours);
		assert_int_equal(rh_host_validate(&fixture.snapshot, &findings, NULL), 0);
		assert_int_equal(findings.count, rows[i].findings);
		if (findings.count > 0)
			assert_non_null(
				strstr(findings.items[0].detail, "supported values: \"example.org/operator\", \"example.org/other\""));
	}
}

static void test_conclude__the_definition_lists_managers(void **state)
{
	rh_auto(json) crd = NULL;
	const struct rh_json *field;
	auto_fixture fixture;

	both_open(&fixture, state, JOB(""));
	assert_int_equal(rh_crd_build(fixture.job->kind, NULL, &crd, NULL), 0);
	field = rh_json_at(crd, "spec.versions[0].schema.openAPIV3Schema.properties.spec.properties.runPolicy.properties."
	                        "managedBy");
	fixture_assert_json(rh_json_get(field, "enum"), "[\"example.org/operator\",\"example.org/other\"]");
	assert_non_null(strstr(rh_json_string_at(field, "description"), "example.org/operator, which is the default"));
}

static int conclude_run(bool remote)
{
	const struct CMUnitTest tests[] = {
		BOTH_TEST(test_conclude__the_reason_is_that_of_the_condition),
		BOTH_TEST(test_conclude__a_reason_is_a_word),
		BOTH_TEST(test_conclude__managers),
		BOTH_TEST(test_conclude__the_definition_lists_managers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void)
{
	return both_run(conclude_run);
}
