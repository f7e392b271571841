/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "plugins/kit.h"

#define DASK_RUN "  runPolicy: {cleanPodPolicy: Running}\n"
#define DASK_JOB(spec, types)                                                                           \
	"apiVersion: example.org/v1\nkind: DaskJob\nmetadata: {name: mnist, namespace: team}\nspec:\n" spec \
	"  daskReplicaSpecs:\n" types
#define DASK_TYPES(workers) \
	KIT_TYPE("Scheduler", "1", "dask") KIT_TYPE("Worker", workers, "dask") KIT_TYPE("Runner", "1", "dask")
#define DASK_ENV(address, host) "DASK_SCHEDULER_ADDRESS=" address "\nDASK_HOST=" host "\nDASK_PORT=8786\n"

static void test_dask__variables_in_order(void **state)
{
	static const struct {
		const char *spec;
		const char *type;
		int32_t index;
		const char *env;
	} cases[] = {
		{DASK_RUN, "Scheduler", 0, DASK_ENV("tcp://mnist-scheduler-0:8786", "mnist-scheduler-0")},
		{DASK_RUN "  nthreads: 4\n", "Worker", 1,
	     DASK_ENV("tcp://mnist-scheduler-0:8786",
	              "mnist-worker-1") "DASK_WORKER_NAME=mnist-worker-1\nDASK_NTHREADS=4\n"},
		{DASK_RUN "  protocol: ucx\n", "Runner", 0,
	     DASK_ENV("ucx://mnist-scheduler-0:8786", "mnist-runner-0") "DASK_NWORKERS=3\n"},
	};

	(void)state;
	for (size_t i = 0; i < KIT_COUNT(cases); i++) {
		char job[2048];
		auto_kit kit;

		(void)snprintf(job, sizeof(job), DASK_JOB("%s", "%s"), cases[i].spec, DASK_TYPES("3"));
		kit_open(&kit, EXAMPLE_PLUGIN, NULL, job);
		rh_auto(json) pod = kit_pod(&kit, cases[i].type, cases[i].index);
		kit_assert_env(pod, 0, cases[i].env);
	}
}

/* Every replica gets the Scheduler's port, and its own address. */
static void test_dask__addresses_of_a_plan(void **state)
{
	struct rh_address places[] = {{.type = "Scheduler", .index = 0, .host = "127.9.0.1", .port = 20001},
	                              {.type = "Worker", .index = 0, .host = "127.9.0.2", .port = 20002},
	                              {.type = "Runner", .index = 0, .host = "127.9.0.3", .port = 20003}};
	const struct rh_addresses plan = {places, 3};
	auto_kit kit;

	(void)state;
	kit_open(&kit, EXAMPLE_PLUGIN, NULL, DASK_JOB(DASK_RUN, DASK_TYPES("1")));
	kit.fixture.snapshot.addresses = &plan;
	rh_auto(json) pod = kit_pod(&kit, "Worker", 0);
	kit_assert_env(pod, 0,
	               "DASK_SCHEDULER_ADDRESS=tcp://127.9.0.1:20001\nDASK_HOST=127.9.0.2\nDASK_PORT=20001\n"
	               "DASK_WORKER_NAME=mnist-worker-0\nDASK_NTHREADS=1\n");
}

static void test_dask__findings(void **state)
{
	auto_kit kit;
	auto_kit endless;

	(void)state;
	kit_open(&kit, EXAMPLE_PLUGIN, NULL, DASK_JOB(DASK_RUN, DASK_TYPES("1")));
	kit_assert_findings(&kit, "");
	kit_open(&endless, EXAMPLE_PLUGIN, NULL,
	         DASK_JOB("", KIT_TYPE("Scheduler", "1", "dask")
	                          KIT_TYPE("Worker", "1", "dask") "    Runner: {restartPolicy: Always, template: {spec: "
	                                                          "{containers: [{name: dask, image: i}]}}}\n"));
	kit_assert_findings(
		&endless, "W spec.runPolicy.cleanPodPolicy: the Scheduler and the Workers never end by themselves; set "
				  "Running\nE spec.daskReplicaSpecs[Runner].restartPolicy: Unsupported value: \"Always\": the job "
				  "would never end\n");
}

/* The core's default: the leader decides. */
static void test_dask__runner_decides(void **state)
{
	auto_kit kit;

	(void)state;
	kit_open(&kit, EXAMPLE_PLUGIN, NULL, DASK_JOB(DASK_RUN, DASK_TYPES("2")));
	kit.fixture.counts[0] = (struct rh_counts){.desired = 1, .active = 1};
	kit.fixture.counts[1] = (struct rh_counts){.desired = 2, .active = 2};
	kit.fixture.counts[2] = (struct rh_counts){.desired = 1, .active = 1};
	kit_assert_verdicts(&kit, "1 - DaskJob mnist is running.\n");
	kit.fixture.counts[2] = (struct rh_counts){.desired = 1, .succeeded = 1};
	kit_assert_verdicts(&kit, "2 - DaskJob mnist is successfully completed.\n");
}

static void test_dask__survives_allocation_failures(void **state)
{
	auto_kit kit;

	(void)state;
	kit_open(&kit, EXAMPLE_PLUGIN, NULL, DASK_JOB(DASK_RUN, DASK_TYPES("2")));
	kit_assert_survives(&kit, "Worker", 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_dask__variables_in_order),
		cmocka_unit_test(test_dask__addresses_of_a_plan),
		cmocka_unit_test(test_dask__findings),
		cmocka_unit_test(test_dask__runner_decides),
		cmocka_unit_test(test_dask__survives_allocation_failures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
