/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "jobs.h"

/** Counts of a job's types in the kind's order, the phase of Worker 0 where that matters, and all verdicts. */
struct judge_case {
	const char *name;
	struct rh_counts counts[3];
	int32_t worker_0;
	const char *verdicts;
};

#define JUDGE_RUNNING "1 - TFJob team/mnist is running.\n"
#define JUDGE_SUCCEEDED "2 - TFJob team/mnist successfully completed.\n"
#define JUDGE_FAILED(count, type) \
	"3 " type " TFJob team/mnist has failed because " count " " type " replica(s) failed.\n"
#define JUDGE_RESTARTING(type) "4 " type " job mnist is restarting because " type " replica(s) failed.\n"

/* v1-behaviour E.5-3; Chief, PS, Worker. */
static const struct judge_case judge_chief[] = {
	{"nothing yet", {{.desired = 1}, {.desired = 1}, {.desired = 2}}, RH_PHASE_PENDING, ""},
	{"workers run", {{.desired = 1}, {.desired = 1, .active = 1}, {.desired = 2, .active = 2}}, RH_PHASE_RUNNING, ""},
	{"the chief runs", {{.desired = 1, .active = 1}, {.desired = 1}, {.desired = 2}}, RH_PHASE_PENDING, JUDGE_RUNNING},
	{"all workers are done",
     {{.desired = 1, .active = 1}, {.desired = 1, .active = 1}, {.desired = 2, .succeeded = 2}},
     RH_PHASE_SUCCEEDED,
     JUDGE_RUNNING},
	{"the chief is done",
     {{.desired = 1, .succeeded = 1}, {.desired = 1, .active = 1}, {.desired = 2, .active = 2}},
     RH_PHASE_RUNNING,
     JUDGE_SUCCEEDED},
	{"the chief is done, a worker failed",
     {{.desired = 1, .succeeded = 1}, {.desired = 1}, {.desired = 2, .failed = 1}},
     RH_PHASE_RUNNING,
     JUDGE_SUCCEEDED},
	{"a worker failed",
     {{.desired = 1, .active = 1}, {.desired = 1, .active = 1}, {.desired = 2, .active = 1, .failed = 1}},
     RH_PHASE_RUNNING,
     JUDGE_RUNNING JUDGE_FAILED("1", "Worker")},
	{"the chief restarts",
     {{.desired = 1, .restarting = 1}, {.desired = 1}, {.desired = 2, .active = 2}},
     RH_PHASE_RUNNING,
     JUDGE_RESTARTING("Chief")},
	{"one failed, one restarts",
     {{.desired = 1, .active = 1}, {.desired = 1, .restarting = 1}, {.desired = 2, .failed = 2}},
     RH_PHASE_FAILED,
     JUDGE_RUNNING JUDGE_FAILED("2", "Worker")},
};

/* PS, Worker. */
static const struct judge_case judge_workers[] = {
	{"nothing yet", {{.desired = 1}, {.desired = 2}}, RH_PHASE_PENDING, ""},
	{"parameter servers run", {{.desired = 1, .active = 1}, {.desired = 2}}, RH_PHASE_PENDING, ""},
	{"a worker runs", {{.desired = 1}, {.desired = 2, .active = 1}}, RH_PHASE_RUNNING, JUDGE_RUNNING},
	{"worker 1 is done",
     {{.desired = 1, .active = 1}, {.desired = 2, .active = 1, .succeeded = 1}},
     RH_PHASE_RUNNING,
     JUDGE_RUNNING},
	{"worker 0 is done",
     {{.desired = 1, .active = 1}, {.desired = 2, .active = 1, .succeeded = 1}},
     RH_PHASE_SUCCEEDED,
     JUDGE_SUCCEEDED},
	{"all are done",
     {{.desired = 1, .active = 1}, {.desired = 2, .succeeded = 2}},
     RH_PHASE_SUCCEEDED,
     JUDGE_SUCCEEDED},
	{"a parameter server failed",
     {{.desired = 1, .failed = 1}, {.desired = 2, .active = 2}},
     RH_PHASE_RUNNING,
     JUDGE_RUNNING JUDGE_FAILED("1", "PS")},
	{"a worker restarts",
     {{.desired = 1, .active = 1}, {.desired = 2, .active = 1, .restarting = 1}},
     RH_PHASE_RUNNING,
     JUDGE_RESTARTING("Worker")},
	{"no workers are wanted", {{.desired = 1}, {.desired = 0}}, RH_PHASE_PENDING, JUDGE_SUCCEEDED},
};

static const struct judge_case judge_all_workers[] = {
	{"worker 0 is done",
     {{.desired = 1}, {.desired = 2, .active = 1, .succeeded = 1}},
     RH_PHASE_SUCCEEDED,
     JUDGE_RUNNING},
	{"all are done", {{.desired = 1}, {.desired = 2, .succeeded = 2}}, RH_PHASE_SUCCEEDED, JUDGE_SUCCEEDED},
};

static const struct judge_case judge_dynamic[] = {
	{"a worker failed", {{.desired = 1}, {.desired = 2, .active = 1, .failed = 1}}, RH_PHASE_RUNNING, JUDGE_RUNNING},
	{"a parameter server failed",
     {{.desired = 1, .failed = 1}, {.desired = 2, .active = 2}},
     RH_PHASE_RUNNING,
     JUDGE_RUNNING JUDGE_FAILED("1", "PS")},
	{"a worker restarts",
     {{.desired = 1}, {.desired = 2, .restarting = 1}},
     RH_PHASE_FAILED,
     JUDGE_RESTARTING("Worker")},
};

static void judge_check_all(const char *job, const struct judge_case *rows, size_t count)
{
	auto_kit kit;

	kit_open(&kit, "tensorflow", NULL, job);
	for (size_t i = 0; i < count; i++) {
		print_message("%s\n", rows[i].name);
		memcpy(kit.fixture.counts, rows[i].counts, sizeof(rows[i].counts));
		kit_set_pod(&kit, "Worker", 0, rows[i].worker_0, rows[i].worker_0 == RH_PHASE_SUCCEEDED ? 0 : -1);
		kit_assert_verdicts(&kit, rows[i].verdicts);
	}
}

#define JUDGE_PS_AND_WORKERS JOBS_TYPE("PS", "1") JOBS_TYPE("Worker", "2")

static void test_tensorflow_judge__with_a_chief(void **state)
{
	(void)state;
	judge_check_all(JOBS_JOB("", JOBS_TYPE("Chief", "1") JUDGE_PS_AND_WORKERS), judge_chief, KIT_COUNT(judge_chief));
}

/* What a chief was called before decides likewise. */
static void test_tensorflow_judge__with_a_master(void **state)
{
	(void)state;
	judge_check_all(JOBS_JOB("", JOBS_TYPE("Master", "1") JUDGE_PS_AND_WORKERS), judge_chief, 7);
}

static void test_tensorflow_judge__workers_decide(void **state)
{
	(void)state;
	judge_check_all(JOBS_JOB("", JUDGE_PS_AND_WORKERS), judge_workers, KIT_COUNT(judge_workers));
}

static void test_tensorflow_judge__all_workers(void **state)
{
	(void)state;
	judge_check_all(JOBS_JOB("  successPolicy: AllWorkers\n", JUDGE_PS_AND_WORKERS), judge_all_workers,
	                KIT_COUNT(judge_all_workers));
}

static void test_tensorflow_judge__dynamic_workers_may_go(void **state)
{
	(void)state;
	judge_check_all(JOBS_JOB("  enableDynamicWorker: true\n", JUDGE_PS_AND_WORKERS), judge_dynamic,
	                KIT_COUNT(judge_dynamic));
}

/* v1-behaviour E.5-3: parameter servers alone never succeed; their failure is reported. */
static void test_tensorflow_judge__nobody_decides(void **state)
{
	auto_kit kit;

	(void)state;
	kit_open(&kit, "tensorflow", NULL, JOBS_JOB("", JOBS_TYPE("PS", "1")));
	kit.fixture.counts[0] = (struct rh_counts){.desired = 1, .succeeded = 1};
	kit_assert_verdicts(&kit, "");
	kit.fixture.counts[0] = (struct rh_counts){.desired = 1, .failed = 1};
	kit_assert_verdicts(&kit, JUDGE_FAILED("1", "PS"));
}

/* Whatever the counts are: SUCCEEDED only alone, never RUNNING beside RESTARTING. */
static void test_tensorflow_judge__every_small_count(void **state)
{
	auto_kit kit;

	(void)state;
	kit_open(&kit, "tensorflow", NULL, JOBS_JOB("", JUDGE_PS_AND_WORKERS));
	for (int number = 0; number < 2 * 2 * 3 * 3 * 3 * 3; number++) {
		struct rh_judgement judgement = {0};
		unsigned verdicts = 0;

		kit.fixture.counts[0] = (struct rh_counts){.desired = 1, .failed = number & 1, .restarting = number >> 1 & 1};
		kit.fixture.counts[1] = (struct rh_counts){.desired = 2,
		                                           .active = number / 4 % 3,
		                                           .succeeded = number / 12 % 3,
		                                           .failed = number / 36 % 3,
		                                           .restarting = number / 108 % 3};
		assert_int_equal(rh_host_judge(&kit.fixture.snapshot, &judgement, NULL), 0);
		for (size_t i = 0; i < judgement.count; i++)
			verdicts |= 1u << judgement.items[i].verdict;
		assert_false((verdicts & (1u << RH_VERDICT_RUNNING)) && (verdicts & (1u << RH_VERDICT_RESTARTING)));
		assert_true(!(verdicts & (1u << RH_VERDICT_SUCCEEDED)) || verdicts == 1u << RH_VERDICT_SUCCEEDED);
		rh_judgement_deinit(&judgement);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tensorflow_judge__with_a_chief),
		cmocka_unit_test(test_tensorflow_judge__with_a_master),
		cmocka_unit_test(test_tensorflow_judge__workers_decide),
		cmocka_unit_test(test_tensorflow_judge__all_workers),
		cmocka_unit_test(test_tensorflow_judge__dynamic_workers_may_go),
		cmocka_unit_test(test_tensorflow_judge__nobody_decides),
		cmocka_unit_test(test_tensorflow_judge__every_small_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
