/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "jobs.h"

/* v1-behaviour A.1, A.2 */
static void test_paddle__constants_of_v1(void **state)
{
	auto_kit kit;
	rh_auto(json) schema = NULL;
	const struct rh_kind *kind;

	(void)state;
	kit_open(&kit, "paddle", NULL, JOBS_JOB("", JOBS_TYPE("Worker", "1")));
	kind = kit.fixture.job->kind;
	kit_assert_kind(&kit, &test_paddle, RH_KIND_SERVICES | RH_KIND_DNS_NAME | RH_KIND_SELECTOR | RH_KIND_BINDS_ALL);
	assert_string_equal(kind->scale_type, "Worker");
	assert_int_equal(rh_json_parse(kind->spec_schema, strlen(kind->spec_schema), &schema, NULL), 0);
	assert_int_equal(rh_json_size(rh_json_at(schema, "elasticPolicy.properties")), 4);
}

/** Counts of a job's types in the kind's order, and all verdicts. */
struct judge_case {
	const char *name;
	struct rh_counts counts[2];
	const char *verdicts;
};

/* v1-behaviour E.3, E.5-1: the core's default says it in V1's words. */
static const struct judge_case judge_servers[] = {
	{"workers alone run", {{.desired = 2}, {.desired = 2, .active = 2}}, ""},
	{"a master runs", {{.desired = 2, .active = 1}, {.desired = 2}}, "1 - PaddleJob mnist is running.\n"},
	{"one master is done",
     {{.desired = 2, .active = 1, .succeeded = 1}, {.desired = 2}},
     "1 - PaddleJob mnist is running.\n"},
	{"all masters are done",
     {{.desired = 2, .succeeded = 2}, {.desired = 2, .active = 2}},
     "2 - PaddleJob mnist is successfully completed.\n"},
};

static const struct judge_case judge_collective[] = {
	{"one runs", {{.desired = 2, .active = 1}}, "1 - PaddleJob team/mnist is running.\n"},
	{"all are done", {{.desired = 2, .succeeded = 2}}, "2 - PaddleJob team/mnist successfully completed.\n"},
	{"one failed",
     {{.desired = 2, .active = 1, .failed = 1}},
     "1 - PaddleJob team/mnist is running.\n3 Worker PaddleJob mnist is failed because 1 Worker replica(s) failed.\n"},
	{"one restarts",
     {{.desired = 2, .active = 1, .restarting = 1}},
     "4 Worker PaddleJob mnist is restarting because 1 Worker replica(s) failed.\n"},
};

static void judge_check_all(const char *job, const struct judge_case *rows, size_t count)
{
	auto_kit kit;

	kit_open(&kit, "paddle", NULL, job);
	for (size_t i = 0; i < count; i++) {
		print_message("%s\n", rows[i].name);
		memcpy(kit.fixture.counts, rows[i].counts, sizeof(rows[i].counts));
		kit_assert_verdicts(&kit, rows[i].verdicts);
	}
}

static void test_paddle__judged_with_masters(void **state)
{
	(void)state;
	judge_check_all(JOBS_JOB("", JOBS_TYPE("Master", "2") JOBS_TYPE("Worker", "2")), judge_servers,
	                KIT_COUNT(judge_servers));
}

static void test_paddle__judged_without_masters(void **state)
{
	(void)state;
	judge_check_all(JOBS_JOB("", JOBS_TYPE("Worker", "2")), judge_collective, KIT_COUNT(judge_collective));
}

/* v1-behaviour C.1: a collective job has no pod with the master role. */
static void test_paddle__master_role(void **state)
{
	auto_kit kit;

	(void)state;
	kit_open(&kit, "paddle", NULL, JOBS_JOB("", JOBS_TYPE("Worker", "2")));
	rh_auto(json) pod = kit_pod(&kit, "Worker", 0);
	assert_null(rh_json_at(pod, "metadata.labels[\"training.kubeflow.org/job-role\"]"));
}

static void test_paddle__survives_allocation_failures(void **state)
{
	auto_kit kit;

	(void)state;
	kit_open(&kit, "paddle", NULL,
	         JOBS_JOB("  elasticPolicy: {minReplicas: -1}\n", JOBS_TYPE("Master", "1") JOBS_TYPE("Worker", "2")));
	kit.fixture.counts[1].failed = 1;
	kit_assert_survives(&kit, "Master", 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_paddle__constants_of_v1),
		cmocka_unit_test(test_paddle__judged_with_masters),
		cmocka_unit_test(test_paddle__judged_without_masters),
		cmocka_unit_test(test_paddle__master_role),
		cmocka_unit_test(test_paddle__survives_allocation_failures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
