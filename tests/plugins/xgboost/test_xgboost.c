/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "jobs.h"

/* v1-behaviour A.1 */
static void test_xgboost__constants_of_v1(void **state)
{
	auto_kit kit;

	(void)state;
	kit_open(&kit, "xgboost", NULL, JOBS_JOB("", JOBS_TYPE("Master", "1")));
	kit_assert_kind(&kit, &test_xgboost, RH_KIND_SERVICES | RH_KIND_DNS_NAME | RH_KIND_SHARED_PORT);
	assert_null(kit.fixture.job->kind->scale_type);
	assert_null(kit.fixture.job->kind->spec_schema);
}

/* v1-behaviour A.5, rules 6, 10 and 11 */
static void test_xgboost__rules(void **state)
{
	static const struct {
		const char *types;
		const char *findings;
	} cases[] = {
		{JOBS_JOB("", JOBS_TYPE("Master", "1")), ""},
		{JOBS_JOB("", JOBS_TYPE("Master", "1") JOBS_TYPE("Worker", "0")), ""},
		{JOBS_JOB("", JOBS_TYPE("Master", "2")), "E spec.xgbReplicaSpecs[Master].replicas: Forbidden: must be 1\n"},
		{JOBS_JOB("", JOBS_TYPE("Master", "null")), "E spec.xgbReplicaSpecs[Master].replicas: Forbidden: must be 1\n"},
		{JOBS_JOB("", JOBS_TYPE("Master", "1") JOBS_TYPE("worker", "1")),
	     "E spec.xgbReplicaSpecs[worker]: Unsupported value: \"worker\": supported values: \"Master\", \"Worker\"; did "
	     "you mean "
	     "\"Worker\"?\n"},
	};

	(void)state;
	for (size_t i = 0; i < KIT_COUNT(cases); i++) {
		auto_kit kit;

		kit_open(&kit, "xgboost", NULL, cases[i].types);
		kit_assert_findings(&kit, cases[i].findings);
	}
}

static void test_xgboost__words_of_v1(void **state)
{
	(void)state;
	kit_assert_words_of_v1("xgboost", "bad-xgb-no-master");
}

static void test_xgboost__survives_allocation_failures(void **state)
{
	auto_kit kit;

	(void)state;
	kit_open(&kit, "xgboost", NULL, JOBS_JOB("", JOBS_TYPE("Master", "1") JOBS_TYPE("Worker", "3")));
	kit.fixture.counts[0].succeeded = 1;
	kit_assert_survives(&kit, "Worker", 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_xgboost__constants_of_v1),
		cmocka_unit_test(test_xgboost__rules),
		cmocka_unit_test(test_xgboost__words_of_v1),
		cmocka_unit_test(test_xgboost__survives_allocation_failures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
