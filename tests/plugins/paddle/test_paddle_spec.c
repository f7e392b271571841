/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "jobs.h"

/** Members of spec, and the findings: "E path: detail" and "W detail", one a line. */
struct spec_case {
	const char *job;
	const char *findings;
};

#define SPEC_JOB(spec) JOBS_JOB(spec, JOBS_TYPE("Worker", "2"))
#define SPEC_NO_EFFECT "W spec.elasticPolicy has no effect: the number of replicas of a PaddleJob is fixed\n"

static const struct spec_case spec_cases[] = {
	{SPEC_JOB(""), ""},
	{SPEC_JOB("  elasticPolicy: null\n"), ""},
	{SPEC_JOB("  elasticPolicy: {}\n"), SPEC_NO_EFFECT},
	{SPEC_JOB("  elasticPolicy: {minReplicas: 1, maxReplicas: 4, maxRestarts: 0, metrics: []}\n"), SPEC_NO_EFFECT},
	{SPEC_JOB("  elasticPolicy: {minReplicas: -1}\n"),
     SPEC_NO_EFFECT "E spec.elasticPolicy.minReplicas: Invalid value: -1: must be an integer from 0 to 2147483647\n"},
	{SPEC_JOB("  elasticPolicy: {maxReplicas: '4'}\n"), SPEC_NO_EFFECT
     "E spec.elasticPolicy.maxReplicas: Invalid value: \"4\": must be an integer from 0 to 2147483647\n"},
	{SPEC_JOB("  elasticPolicy: {maxRestarts: 2147483648}\n"), SPEC_NO_EFFECT
     "E spec.elasticPolicy.maxRestarts: Invalid value: 2147483648: must be an integer from 0 to 2147483647\n"},
	/* without a Worker and a bound, V1's operator crashed (v1-behaviour A.3-7) */
	{JOBS_JOB("  elasticPolicy: {}\n", JOBS_TYPE("Master", "1")), SPEC_NO_EFFECT},
};

static void test_paddle_spec__rules(void **state)
{
	(void)state;
	for (size_t i = 0; i < KIT_COUNT(spec_cases); i++) {
		auto_kit kit;

		print_message("%zu\n", i);
		kit_open(&kit, "paddle", NULL, spec_cases[i].job);
		kit_assert_findings(&kit, spec_cases[i].findings);
	}
}

static void test_paddle_spec__words_of_v1(void **state)
{
	(void)state;
	kit_assert_words_of_v1("paddle", "bad-paddle-rt");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_paddle_spec__rules),
		cmocka_unit_test(test_paddle_spec__words_of_v1),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
