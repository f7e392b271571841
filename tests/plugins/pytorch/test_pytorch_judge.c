/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "jobs.h"

/** Counts of a job's types in the kind's order, and all verdicts: number, type and message, one a line. */
struct judge_case {
	const char *name;
	struct rh_counts counts[2];
	const char *verdicts;
};

#define JUDGE_RUNNING "1 - PyTorchJob mnist is running.\n"
#define JUDGE_SUCCEEDED "2 - PyTorchJob mnist is successfully completed.\n"
#define JUDGE_RUNNING_ALONE "1 - PyTorchJob team/mnist is running.\n"
#define JUDGE_SUCCEEDED_ALONE "2 - PyTorchJob team/mnist successfully completed.\n"
#define JUDGE_FAILED(count, type) \
	"3 " type " PyTorchJob mnist is failed because " count " " type " replica(s) failed.\n"
#define JUDGE_RESTARTING(count, type) \
	"4 " type " PyTorchJob mnist is restarting because " count " " type " replica(s) failed.\n"

/* v1-behaviour E.3 and E.5-1; the first count is the Master's. */
static const struct judge_case judge_master[] = {
	{"nothing yet", {{.desired = 1}, {.desired = 2}}, ""},
	{"workers alone run", {{.desired = 1}, {.desired = 2, .active = 2}}, ""},
	{"master runs", {{.desired = 1, .active = 1}, {.desired = 2, .active = 1}}, JUDGE_RUNNING},
	{"workers are done first", {{.desired = 1, .active = 1}, {.desired = 2, .succeeded = 2}}, JUDGE_RUNNING},
	{"master is done", {{.desired = 1, .succeeded = 1}, {.desired = 2, .active = 2}}, JUDGE_SUCCEEDED},
	{"master is done, a worker failed", {{.desired = 1, .succeeded = 1}, {.desired = 2, .failed = 1}}, JUDGE_SUCCEEDED},
	{"master is done, a worker restarts",
     {{.desired = 1, .succeeded = 1}, {.desired = 2, .restarting = 1}},
     JUDGE_SUCCEEDED},
	{"worker fails",
     {{.desired = 1, .active = 1}, {.desired = 2, .active = 1, .failed = 1}},
     JUDGE_RUNNING JUDGE_FAILED("1", "Worker")},
	{"worker fails before the master runs", {{.desired = 1}, {.desired = 2, .failed = 2}}, JUDGE_FAILED("2", "Worker")},
	{"both fail: the first type in order",
     {{.desired = 1, .failed = 1}, {.desired = 2, .failed = 1}},
     JUDGE_FAILED("1", "Master")},
	{"worker restarts",
     {{.desired = 1, .active = 1}, {.desired = 2, .restarting = 1}},
     JUDGE_RESTARTING("1", "Worker")},
	{"master restarts",
     {{.desired = 1, .restarting = 1}, {.desired = 2, .active = 2}},
     JUDGE_RESTARTING("1", "Master")},
	{"one fails, one restarts",
     {{.desired = 1, .restarting = 1}, {.desired = 2, .failed = 1}},
     JUDGE_FAILED("1", "Worker")},
};

static const struct judge_case judge_workers[] = {
	{"nothing yet", {{.desired = 2}}, ""},
	{"one runs", {{.desired = 2, .active = 1}}, JUDGE_RUNNING_ALONE},
	{"one is done", {{.desired = 2, .active = 1, .succeeded = 1}}, JUDGE_RUNNING_ALONE},
	{"all are done", {{.desired = 2, .succeeded = 2}}, JUDGE_SUCCEEDED_ALONE},
	{"one failed", {{.desired = 2, .active = 1, .failed = 1}}, JUDGE_RUNNING_ALONE JUDGE_FAILED("1", "Worker")},
	{"one restarts", {{.desired = 2, .active = 1, .restarting = 1}}, JUDGE_RESTARTING("1", "Worker")},
};

static const struct judge_case judge_elastic[] = {
	{"one runs", {{.desired = 2, .active = 2}}, JUDGE_RUNNING_ALONE},
	{"one done is enough", {{.desired = 2, .active = 1, .succeeded = 1}}, JUDGE_SUCCEEDED_ALONE},
	{"one done, one failed", {{.desired = 2, .succeeded = 1, .failed = 1}}, JUDGE_SUCCEEDED_ALONE},
	{"one failed", {{.desired = 2, .active = 1, .failed = 1}}, JUDGE_RUNNING_ALONE JUDGE_FAILED("1", "Worker")},
};

static void judge_check(struct fixture *fixture, const struct judge_case *row)
{
	struct rh_judgement judgement = {0};
	rh_auto_str printed = {0};

	memcpy(fixture->counts, row->counts, sizeof(row->counts));
	if (rh_host_judge(&fixture->snapshot, &judgement, &fixture->err) < 0)
		fail_msg("%s: %s", row->name, fixture->err.message);
	for (size_t i = 0; i < judgement.count; i++)
		rh_str_appendf(&printed, "%d %s %s\n", (int)judgement.items[i].verdict,
		               judgement.items[i].type ? judgement.items[i].type : "-", judgement.items[i].message);
	print_message("%s\n", row->name);
	assert_string_equal(rh_str_text(&printed), row->verdicts);
	rh_judgement_deinit(&judgement);
}

static void judge_check_all(const char *job, const struct judge_case *rows, size_t count)
{
	auto_fixture fixture;

	jobs_open(&fixture, NULL, job);
	for (size_t i = 0; i < count; i++)
		judge_check(&fixture, &rows[i]);
}

static void test_pytorch_judge__with_a_master(void **state)
{
	(void)state;
	judge_check_all(JOBS_JOB("", JOBS_MASTER JOBS_WORKERS("2")), judge_master,
	                sizeof(judge_master) / sizeof(judge_master[0]));
}

static void test_pytorch_judge__workers_alone(void **state)
{
	(void)state;
	judge_check_all(JOBS_JOB("", JOBS_WORKERS("2")), judge_workers, sizeof(judge_workers) / sizeof(judge_workers[0]));
}

static void test_pytorch_judge__elastic_workers(void **state)
{
	(void)state;
	judge_check_all(JOBS_JOB("  elasticPolicy: {}\n", JOBS_WORKERS("2")), judge_elastic,
	                sizeof(judge_elastic) / sizeof(judge_elastic[0]));
}

/* An elastic job with a master goes by its master. */
static void test_pytorch_judge__elastic_with_a_master(void **state)
{
	static const struct judge_case row = {
		"a worker is done", {{.desired = 1, .active = 1}, {.desired = 2, .succeeded = 1}}, JUDGE_RUNNING};

	(void)state;
	judge_check_all(JOBS_JOB("  elasticPolicy: {}\n", JOBS_MASTER JOBS_WORKERS("2")), &row, 1);
}

/* Whatever the counts are: never RUNNING beside RESTARTING, SUCCEEDED only alone. */
static void test_pytorch_judge__every_small_count(void **state)
{
	auto_fixture fixture;

	(void)state;
	jobs_open(&fixture, NULL, JOBS_JOB("", JOBS_MASTER JOBS_WORKERS("2")));
	for (int number = 0; number < 2 * 2 * 2 * 2 * 3 * 3 * 3 * 3; number++) {
		struct rh_judgement judgement = {0};
		unsigned verdicts = 0;

		fixture.counts[0] = (struct rh_counts){.desired = 1,
		                                       .active = number & 1,
		                                       .succeeded = number >> 1 & 1,
		                                       .failed = number >> 2 & 1,
		                                       .restarting = number >> 3 & 1};
		fixture.counts[1] = (struct rh_counts){.desired = 2,
		                                       .active = number / 16 % 3,
		                                       .succeeded = number / 48 % 3,
		                                       .failed = number / 144 % 3,
		                                       .restarting = number / 432 % 3};
		assert_int_equal(rh_host_judge(&fixture.snapshot, &judgement, NULL), 0);
		for (size_t i = 0; i < judgement.count; i++)
			verdicts |= 1u << judgement.items[i].verdict;
		assert_false((verdicts & (1u << RH_VERDICT_RUNNING)) && (verdicts & (1u << RH_VERDICT_RESTARTING)));
		assert_true(!(verdicts & (1u << RH_VERDICT_SUCCEEDED)) || verdicts == 1u << RH_VERDICT_SUCCEEDED);
		assert_int_equal(fixture.counts[0].succeeded, (verdicts & (1u << RH_VERDICT_SUCCEEDED)) != 0);
		rh_judgement_deinit(&judgement);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pytorch_judge__with_a_master),
		cmocka_unit_test(test_pytorch_judge__workers_alone),
		cmocka_unit_test(test_pytorch_judge__elastic_workers),
		cmocka_unit_test(test_pytorch_judge__elastic_with_a_master),
		cmocka_unit_test(test_pytorch_judge__every_small_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
