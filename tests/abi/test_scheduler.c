/* SPDX-License-Identifier: Apache-2.0 */
/* scheduler.c: defaults of the run policy, and of restartPolicy for each type. */
#include <string.h>

#include "abi/plugins/both.h"
#include "schema/crd.h"

#define TEMPLATE "template: {spec: {containers: [{name: main, image: i}]}}"
#define JOB(policy)                                                                       \
	"apiVersion: example.org/v1\nkind: SchedulerJob\nmetadata: {name: s}\nspec:\n" policy \
	"  schedulerReplicaSpecs:\n    Scheduler: {" TEMPLATE "}\n    Client: {replicas: 2, " TEMPLATE "}\n"

static void test_scheduler__what_a_job_does_not_set_has_the_default(void **state)
{
	auto_fixture fixture;

	both_open(&fixture, state, JOB(""));
	assert_int_equal(fixture.job->policy.clean, RH_CLEAN_ALL);
	assert_int_equal(fixture.job->policy.backoff_limit, 3);
	assert_int_equal(fixture.job->policy.ttl_seconds, -1);
	assert_false(fixture.job->policy.suspend);
}

static void test_scheduler__what_a_job_sets_counts(void **state)
{
	auto_fixture fixture;

	both_open(&fixture, state, JOB("  runPolicy: {cleanPodPolicy: None, suspend: true, ttlSecondsAfterFinished: 7}\n"));
	assert_int_equal(fixture.job->policy.clean, RH_CLEAN_NONE);
	assert_int_equal(fixture.job->policy.backoff_limit, 3);
	assert_int_equal(fixture.job->policy.ttl_seconds, 7);
	assert_true(fixture.job->policy.suspend);
}

static void test_scheduler__each_type_has_its_policy(void **state)
{
	rh_auto(json) scheduler = NULL;
	rh_auto(json) client = NULL;
	auto_fixture fixture;

	both_open(&fixture, state, JOB(""));
	scheduler = both_pod(&fixture, "Scheduler", 0);
	client = both_pod(&fixture, "Client", 1);
	both_assert_text(scheduler, "spec.restartPolicy", "Always");
	both_assert_text(scheduler, "spec.containers[0].env[0].value", "Always");
	both_assert_text(client, "spec.restartPolicy", "Never");
	both_assert_text(client, "spec.containers[0].env[0].value", "Never");
}

static void test_scheduler__definitions_say_the_default_and_set_none(void **state)
{
	static const char at[] = "spec.versions[0].schema.openAPIV3Schema.properties.spec.properties.runPolicy.properties";
	rh_auto(json) crd = NULL;
	const struct rh_json *fields;
	auto_fixture fixture;

	both_open(&fixture, state, JOB(""));
	assert_int_equal(rh_crd_build(fixture.job->kind, NULL, &crd, NULL), 0);
	fields = rh_json_at(crd, at);
	assert_non_null(strstr(rh_json_string_at(fields, "cleanPodPolicy.description"), "or All. Default: All."));
	assert_non_null(strstr(rh_json_string_at(fields, "backoffLimit.description"), "survives. Default: 3."));
	assert_null(rh_json_at(fields, "cleanPodPolicy.default"));
	assert_null(rh_json_at(fields, "suspend.default"));
}

static int scheduler_run(bool remote)
{
	const struct CMUnitTest tests[] = {
		BOTH_TEST(test_scheduler__what_a_job_does_not_set_has_the_default),
		BOTH_TEST(test_scheduler__what_a_job_sets_counts),
		BOTH_TEST(test_scheduler__each_type_has_its_policy),
		BOTH_TEST(test_scheduler__definitions_say_the_default_and_set_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void)
{
	return both_run(scheduler_run);
}
