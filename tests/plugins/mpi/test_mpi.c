/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "jobs.h"

#define MPI_JOB JOBS_JOB("", JOBS_TYPE("Launcher", "1") JOBS_TYPE("Worker", "2"))

/* v1-behaviour A.1, A.2, A.7 */
static void test_mpi__constants_of_v1(void **state)
{
	auto_kit kit;
	rh_auto(json) columns = NULL;
	const struct rh_kind *kind;

	(void)state;
	kit_open(&kit, "mpi", NULL, MPI_JOB);
	kind = kit.fixture.job->kind;
	kit_assert_kind(&kit, &test_mpi, RH_KIND_FALLBACK);
	assert_null(kind->scale_type);
	assert_int_equal(rh_json_parse(kind->columns, strlen(kind->columns), &columns, NULL), 0);
	assert_string_equal(rh_json_string_at(columns, "[0].name"), "Age");
	assert_string_equal(rh_json_string_at(columns, "[1].name"), "State");
}

/* Who grants a right must have it: the objects' verbs and pods/exec. */
static void test_mpi__rights(void **state)
{
	auto_kit kit;
	rh_auto(json) rules = NULL;
	const char *text;

	(void)state;
	kit_open(&kit, "mpi", NULL, MPI_JOB);
	text = kit.fixture.job->kind->rbac_rules;
	assert_int_equal(rh_json_parse(text, strlen(text), &rules, NULL), 0);
	assert_non_null(strstr(text, "\"configmaps\""));
	assert_non_null(strstr(text, "\"serviceaccounts\""));
	assert_non_null(strstr(text, "\"pods/exec\""));
	assert_non_null(strstr(text, "\"rolebindings\", \"roles\""));
	/* V1's role grants neither to get nor to patch them. */
	assert_null(strstr(text, "\"get\""));
	assert_null(strstr(text, "\"patch\""));
}

/* v1-behaviour E.3, E.5-5: the core's default goes by the launcher. */
static void test_mpi__the_launcher_decides(void **state)
{
	static const struct {
		struct rh_counts counts[2]; /* Worker, Launcher */
		const char *verdicts;
	} cases[] = {
		{{{.desired = 2, .active = 2}, {.desired = 1}}, ""},
		{{{.desired = 2}, {.desired = 1, .active = 1}}, "1 - MPIJob mnist is running.\n"},
		{{{.desired = 2, .active = 2}, {.desired = 1, .succeeded = 1}},
	     "2 - MPIJob mnist is successfully completed.\n"},
		{{{.desired = 2, .active = 2}, {.desired = 1, .failed = 1}},
	     "3 Launcher MPIJob mnist is failed because 1 Launcher replica(s) failed.\n"},
		{{{.desired = 2, .failed = 1}, {.desired = 1, .active = 1}},
	     "1 - MPIJob mnist is running.\n3 Worker MPIJob mnist is failed because 1 Worker replica(s) failed.\n"},
		{{{.desired = 2, .restarting = 1}, {.desired = 1, .active = 1}},
	     "4 Worker MPIJob mnist is restarting because 1 Worker replica(s) failed.\n"},
	};
	auto_kit kit;

	(void)state;
	kit_open(&kit, "mpi", NULL, MPI_JOB);
	for (size_t i = 0; i < KIT_COUNT(cases); i++) {
		memcpy(kit.fixture.counts, cases[i].counts, sizeof(cases[i].counts));
		kit_assert_verdicts(&kit, cases[i].verdicts);
	}
}

static void test_mpi__survives_allocation_failures(void **state)
{
	auto_kit kit;

	(void)state;
	kit_open(
		&kit, "mpi", NULL,
		JOBS_JOB("  slotsPerWorker: 0\n  mainContainer: x\n", JOBS_TYPE("Launcher", "1") JOBS_TYPE("Worker", "2")));
	kit_set_pod(&kit, "Worker", 1, RH_PHASE_RUNNING, -1);
	kit_assert_survives(&kit, "Launcher", 0);
	kit_assert_survives(&kit, "Worker", 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mpi__constants_of_v1),
		cmocka_unit_test(test_mpi__rights),
		cmocka_unit_test(test_mpi__the_launcher_decides),
		cmocka_unit_test(test_mpi__survives_allocation_failures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
