/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "jobs.h"

/** Counts of Master and Worker, and all verdicts. */
struct judge_case {
	const char *name;
	struct rh_counts counts[2];
	const char *verdicts;
};

#define JUDGE_RUNNING "1 - XGBoostJob mnist is running.\n"
#define JUDGE_SUCCEEDED JUDGE_RUNNING "2 - XGBoostJob mnist is successfully completed.\n"
#define JUDGE_FAILED(count, type) \
	JUDGE_RUNNING "3 " type " XGBoostJob mnist is failed because " count " " type " replica(s) failed.\n"
#define JUDGE_RESTARTING(count, type) \
	"4 " type " XGBoostJob mnist is restarting because " count " " type " replica(s) failed.\n"

/* v1-behaviour E.3 and E.5-4: a job that ends is Running first. */
static const struct judge_case judge_cases[] = {
	{"nothing yet", {{.desired = 1}, {.desired = 2}}, ""},
	{"workers alone run", {{.desired = 1}, {.desired = 2, .active = 2}}, ""},
	{"the master runs", {{.desired = 1, .active = 1}, {.desired = 2}}, JUDGE_RUNNING},
	{"workers are done", {{.desired = 1, .active = 1}, {.desired = 2, .succeeded = 2}}, JUDGE_RUNNING},
	{"the master is done", {{.desired = 1, .succeeded = 1}, {.desired = 2, .active = 2}}, JUDGE_SUCCEEDED},
	{"the master is done, a worker failed",
     {{.desired = 1, .succeeded = 1}, {.desired = 2, .failed = 1}},
     JUDGE_SUCCEEDED},
	{"a worker failed", {{.desired = 1, .active = 1}, {.desired = 2, .failed = 1}}, JUDGE_FAILED("1", "Worker")},
	{"all failed at once", {{.desired = 1, .failed = 1}, {.desired = 2, .failed = 2}}, JUDGE_FAILED("1", "Master")},
	{"a worker restarts",
     {{.desired = 1, .active = 1}, {.desired = 2, .restarting = 2}},
     JUDGE_RESTARTING("2", "Worker")},
	{"one failed, one restarts",
     {{.desired = 1, .restarting = 1}, {.desired = 2, .failed = 1}},
     JUDGE_FAILED("1", "Worker")},
};

static void test_xgboost_judge__the_master_decides(void **state)
{
	auto_kit kit;

	(void)state;
	kit_open(&kit, "xgboost", NULL, JOBS_JOB("", JOBS_TYPE("Master", "1") JOBS_TYPE("Worker", "2")));
	for (size_t i = 0; i < KIT_COUNT(judge_cases); i++) {
		print_message("%s\n", judge_cases[i].name);
		memcpy(kit.fixture.counts, judge_cases[i].counts, sizeof(judge_cases[i].counts));
		kit_assert_verdicts(&kit, judge_cases[i].verdicts);
	}
}

static void test_xgboost_judge__without_workers(void **state)
{
	auto_kit kit;

	(void)state;
	kit_open(&kit, "xgboost", NULL, JOBS_JOB("", JOBS_TYPE("Master", "1")));
	kit_assert_verdicts(&kit, "");
	kit.fixture.counts[0].active = 1;
	kit_assert_verdicts(&kit, JUDGE_RUNNING);
	kit.fixture.counts[0] = (struct rh_counts){.desired = 1, .succeeded = 1};
	kit_assert_verdicts(&kit, JUDGE_SUCCEEDED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_xgboost_judge__the_master_decides),
		cmocka_unit_test(test_xgboost_judge__without_workers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
