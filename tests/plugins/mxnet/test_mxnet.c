/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "plugins/kit.h"

#define MXNET_JOB(spec, types) KIT_JOB("MXJob", "mxReplicaSpecs", spec, types)
#define MXNET_TYPE(type, replicas) KIT_TYPE(type, replicas, "mxnet")
#define MXNET_ALL MXNET_TYPE("Scheduler", "1") MXNET_TYPE("Server", "2") MXNET_TYPE("Worker", "3")
#define MXNET_ENV(role)                                                                                       \
	"DMLC_PS_ROOT_PORT=9091\nDMLC_PS_ROOT_URI=mnist-scheduler-0\nDMLC_NUM_SERVER=2\nDMLC_NUM_WORKER=3\nDMLC_" \
	"ROLE=" role "\nDMLC_USE_KUBERNETES=1\n"

static void test_mxnet__variables_in_order(void **state)
{
	static const struct {
		const char *type;
		int32_t index;
		const char *env;
	} cases[] = {
		{"Scheduler", 0, MXNET_ENV("scheduler")},
		{"Server", 1, MXNET_ENV("server")},
		{"Worker", 2, MXNET_ENV("worker") "DMLC_WORKER_ID=2\n"},
	};
	auto_kit kit;

	(void)state;
	kit_open(&kit, EXAMPLE_PLUGIN, NULL, MXNET_JOB("", MXNET_ALL));
	for (size_t i = 0; i < KIT_COUNT(cases); i++) {
		rh_auto(json) pod = kit_pod(&kit, cases[i].type, cases[i].index);

		kit_assert_env(pod, 0, cases[i].env);
	}
}

static void test_mxnet__addresses_of_a_plan(void **state)
{
	struct rh_address places[] = {{.type = "Scheduler", .index = 0, .host = "127.9.0.1", .port = 20001},
	                              {.type = "Worker", .index = 0, .host = "127.9.0.2", .port = 20002}};
	const struct rh_addresses plan = {places, 2};
	auto_kit kit;

	(void)state;
	kit_open(&kit, EXAMPLE_PLUGIN, NULL, MXNET_JOB("", MXNET_TYPE("Scheduler", "1") MXNET_TYPE("Worker", "1")));
	kit.fixture.snapshot.addresses = &plan;
	rh_auto(json) pod = kit_pod(&kit, "Worker", 0);
	kit_assert_env(pod, 0,
	               "DMLC_PS_ROOT_PORT=20001\nDMLC_PS_ROOT_URI=127.9.0.1\nDMLC_NUM_SERVER=0\nDMLC_NUM_WORKER=1\n"
	               "DMLC_ROLE=worker\nDMLC_USE_KUBERNETES=1\nDMLC_WORKER_ID=0\nDMLC_NODE_HOST=127.9.0.2\n");
}

static void test_mxnet__rules(void **state)
{
	static const struct {
		const char *job;
		const char *findings;
	} cases[] = {
		{MXNET_JOB("", MXNET_ALL), ""},
		{MXNET_JOB("  jobMode: MXTrain\n", MXNET_TYPE("scheduler", "1")), ""},
		{MXNET_JOB("  jobMode: MXTune\n", MXNET_ALL),
	     "E spec.jobMode: Unsupported value: \"MXTune\": supported values: \"MXTrain\"\n"},
		{MXNET_JOB("", MXNET_TYPE("Scheduler", "2")),
	     "E spec.mxReplicaSpecs[Scheduler].replicas: Forbidden: must be 1\n"},
		{MXNET_JOB("", MXNET_TYPE("Worker", "1")),
	     "E spec.mxReplicaSpecs[Scheduler]: Required value: must be present\n"},
	};

	(void)state;
	for (size_t i = 0; i < KIT_COUNT(cases); i++) {
		auto_kit kit;

		kit_open(&kit, EXAMPLE_PLUGIN, NULL, cases[i].job);
		kit_assert_findings(&kit, cases[i].findings);
	}
}

/* Servers have the master role, but the scheduler decides. */
static void test_mxnet__the_scheduler_decides(void **state)
{
	static const struct {
		struct rh_counts counts[3];
		const char *verdicts;
	} cases[] = {
		{{{.desired = 1}, {.desired = 2, .active = 2}, {.desired = 3, .active = 3}}, ""},
		{{{.desired = 1, .active = 1}, {.desired = 2}, {.desired = 3, .succeeded = 3}},
	     "1 - MXJob mnist is running.\n"},
		{{{.desired = 1, .active = 1}, {.desired = 2, .succeeded = 2}, {.desired = 3}},
	     "1 - MXJob mnist is running.\n"},
		{{{.desired = 1, .succeeded = 1}, {.desired = 2, .active = 2}, {.desired = 3}},
	     "2 - MXJob mnist is successfully completed.\n"},
		{{{.desired = 1, .active = 1}, {.desired = 2}, {.desired = 3, .failed = 2}},
	     "1 - MXJob mnist is running.\n3 Worker MXJob mnist is failed because 2 Worker replica(s) failed.\n"},
		{{{.desired = 1, .active = 1}, {.desired = 2, .restarting = 1}, {.desired = 3}},
	     "4 Server MXJob mnist is restarting because 1 Server replica(s) failed.\n"},
	};
	auto_kit kit;

	(void)state;
	kit_open(&kit, EXAMPLE_PLUGIN, NULL, MXNET_JOB("", MXNET_ALL));
	for (size_t i = 0; i < KIT_COUNT(cases); i++) {
		memcpy(kit.fixture.counts, cases[i].counts, sizeof(cases[i].counts));
		kit_assert_verdicts(&kit, cases[i].verdicts);
	}
}

static void test_mxnet__survives_allocation_failures(void **state)
{
	auto_kit kit;

	(void)state;
	kit_open(&kit, EXAMPLE_PLUGIN, NULL, MXNET_JOB("  jobMode: x\n", MXNET_ALL));
	kit_assert_survives(&kit, "Worker", 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mxnet__variables_in_order),
		cmocka_unit_test(test_mxnet__addresses_of_a_plan),
		cmocka_unit_test(test_mxnet__rules),
		cmocka_unit_test(test_mxnet__the_scheduler_decides),
		cmocka_unit_test(test_mxnet__survives_allocation_failures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
