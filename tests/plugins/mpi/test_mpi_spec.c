/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/os/file.h"
#include "jobs.h"

/** Members of spec, and the findings: "E path: detail", one a line. */
struct spec_case {
	const char *job;
	const char *findings;
};

#define SPEC_JOB(spec) JOBS_JOB(spec, JOBS_TYPE("Launcher", "1") JOBS_TYPE("Worker", "2"))
#define SPEC_SLOTS(value) "E spec.slotsPerWorker: Invalid value: " value ": must be an integer from 1 to 2147483647\n"
#define SPEC_MAIN(value) "E spec.mainContainer: Invalid value: " value ": must be the name of a container of Worker\n"

static const struct spec_case spec_cases[] = {
	{SPEC_JOB(""), ""},
	{SPEC_JOB("  slotsPerWorker: 8\n  mainContainer: main\n  cleanPodPolicy: All\n"), ""},
	{SPEC_JOB("  slotsPerWorker: null\n  mainContainer: ''\n"), ""},
	{SPEC_JOB("  slotsPerWorker: 0\n"), SPEC_SLOTS("0")},
	{SPEC_JOB("  slotsPerWorker: -1\n"), SPEC_SLOTS("-1")},
	{SPEC_JOB("  slotsPerWorker: '1'\n"), SPEC_SLOTS("\"1\"")},
	{SPEC_JOB("  slotsPerWorker: 1.5\n"), SPEC_SLOTS("1.5")},
	{SPEC_JOB("  mainContainer: side\n"), SPEC_MAIN("\"side\"")},
	{SPEC_JOB("  mainContainer: 'main; rm -rf /'\n"), SPEC_MAIN("\"main; rm -rf /\"")},
	{SPEC_JOB("  mainContainer: 7\n"), SPEC_MAIN("7")},
	{SPEC_JOB("  cleanPodPolicy: Some\n"),
     "E spec.cleanPodPolicy: Unsupported value: \"Some\": supported values: \"All\", \"None\", \"Running\"\n"},
	{JOBS_JOB("", JOBS_TYPE("Launcher", "2")), "E spec.mpiReplicaSpecs[Launcher].replicas: Forbidden: must be 1\n"},
	{JOBS_JOB("", JOBS_TYPE("Launcher", "1") JOBS_TYPE("worker", "1")),
     "E spec.mpiReplicaSpecs[worker]: Unsupported value: \"worker\": supported values: \"Launcher\", \"Worker\"; did "
     "you "
     "mean \"Worker\"?\n"},
};

static void test_mpi_spec__rules(void **state)
{
	(void)state;
	for (size_t i = 0; i < KIT_COUNT(spec_cases); i++) {
		auto_kit kit;

		print_message("%zu\n", i);
		kit_open(&kit, "mpi", NULL, spec_cases[i].job);
		kit_assert_findings(&kit, spec_cases[i].findings);
	}
}

static void test_mpi_spec__on_one_machine(void **state)
{
	struct rh_address places[] = {{.type = "Launcher", .host = "127.1.0.1", .port = 20000}};
	const struct rh_addresses plan = {places, 1};
	auto_kit kit;

	(void)state;
	kit_open(&kit, "mpi", NULL, SPEC_JOB(""));
	kit.fixture.snapshot.addresses = &plan;
	kit_assert_findings(&kit, "");
}

/* V1 let it in (tests/goldens/invalid) and tried for ever. */
static void test_mpi_spec__no_launcher(void **state)
{
	rh_auto_free char *yaml = NULL;
	auto_kit kit;

	(void)state;
	assert_int_equal(rh_file_read(RH_GOLDENS "/invalid/bad-mpi-no-launcher.yaml", 1 << 20, &yaml, NULL, NULL), 0);
	kit_open(&kit, "mpi", NULL, yaml);
	kit_assert_findings(&kit, "E spec.mpiReplicaSpecs[Launcher]: Required value: must be present\n");
}

/* v1-behaviour A.6: names of MPIJobs are no DNS-1035 labels. */
static void test_mpi_spec__names(void **state)
{
	auto_kit kit;

	(void)state;
	kit_open(
		&kit, "mpi", NULL,
		"apiVersion: kubeflow.org/v1\nkind: MPIJob\nmetadata: {name: 0.sum}\nspec:\n  mpiReplicaSpecs:\n" JOBS_TYPE(
			"Launcher", "1"));
	kit_assert_findings(&kit, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mpi_spec__rules),
		cmocka_unit_test(test_mpi_spec__on_one_machine),
		cmocka_unit_test(test_mpi_spec__no_launcher),
		cmocka_unit_test(test_mpi_spec__names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
