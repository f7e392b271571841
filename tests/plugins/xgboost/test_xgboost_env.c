/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "jobs.h"

/** A job, one of its replicas, and all variables that it gets, in order (v1-behaviour C.8). */
struct env_case {
	const char *name;
	const char *job;
	const char *type;
	int32_t index;
	const char *env;
};

#define ENV_FIRST(world, rank)                                                            \
	"MASTER_PORT=9999\nMASTER_ADDR=mnist-master-0\nWORLD_SIZE=" world "\nRANK=" rank "\n" \
	"PYTHONUNBUFFERED=1\n"

static const struct env_case env_cases[] = {
	{"master alone", JOBS_JOB("", JOBS_TYPE("Master", "1")), "Master", 0, ENV_FIRST("1", "0")},
	{"master, no workers wanted", JOBS_JOB("", JOBS_TYPE("Master", "1") JOBS_TYPE("Worker", "0")), "Master", 0,
     ENV_FIRST("1", "0")},
	{"master of one worker", JOBS_JOB("", JOBS_TYPE("Master", "1") JOBS_TYPE("Worker", "1")), "Master", 0,
     ENV_FIRST("2", "0") "WORKER_PORT=9999\nWORKER_ADDRS=mnist-worker-0\n"},
	{"worker behind the master", JOBS_JOB("", JOBS_TYPE("Master", "1") JOBS_TYPE("Worker", "3")), "Worker", 2,
     ENV_FIRST("4", "3") "WORKER_PORT=9999\nWORKER_ADDRS=mnist-worker-0,mnist-worker-1,mnist-worker-2\n"},
	{"the user's variables come first",
     JOBS_JOB("", "    Master: {replicas: 1, template: {spec: {containers: [{name: xgboost, env: [{name: RANK, value: "
                  "mine}]}]}}}\n"),
     "Master", 0, "RANK=mine\n" ENV_FIRST("1", "0")},
	{"own ports",
     JOBS_JOB("", "    Master: {replicas: 1, template: {spec: {containers: [{name: xgboost, ports: [{name: "
                  "xgboostjob-port, containerPort: 9991}]}]}}}\n"
                  "    Worker: {replicas: 1, template: {spec: {containers: [{name: xgboost, ports: [{name: "
                  "xgboostjob-port, containerPort: 9992}]}]}}}\n"),
     "Worker", 0,
     "MASTER_PORT=9991\nMASTER_ADDR=mnist-master-0\nWORLD_SIZE=2\nRANK=1\nPYTHONUNBUFFERED=1\nWORKER_PORT=9992\n"
     "WORKER_ADDRS=mnist-worker-0\n"},
};

static void test_xgboost_env__variables_in_order(void **state)
{
	(void)state;
	for (size_t i = 0; i < KIT_COUNT(env_cases); i++) {
		auto_kit kit;

		print_message("%s\n", env_cases[i].name);
		kit_open(&kit, "xgboost", NULL, env_cases[i].job);
		rh_auto(json) pod = kit_pod(&kit, env_cases[i].type, env_cases[i].index);
		kit_assert_env(pod, 0, env_cases[i].env);
	}
}

/* v1-behaviour C.4: every regular container, no init container. */
static void test_xgboost_env__every_container(void **state)
{
	auto_kit kit;

	(void)state;
	kit_open(&kit, "xgboost", NULL,
	         JOBS_JOB("", "    Master: {replicas: 1, template: {spec: {initContainers: [{name: i}], containers: "
	                      "[{name: side}, {name: xgboost}]}}}\n"));
	rh_auto(json) pod = kit_pod(&kit, "Master", 0);
	kit_assert_env(pod, 0, ENV_FIRST("1", "0"));
	kit_assert_env(pod, 1, ENV_FIRST("1", "0"));
	assert_null(rh_json_at(pod, "spec.initContainers[0].env"));
}

/* The workers' port is one for all, also in a plan (RH_KIND_SHARED_PORT). */
static void test_xgboost_env__addresses_of_a_plan(void **state)
{
	struct rh_address places[] = {{.type = "Master", .index = 0, .host = "127.9.0.1", .port = 20001},
	                              {.type = "Worker", .index = 0, .host = "127.9.0.2", .port = 20002},
	                              {.type = "Worker", .index = 1, .host = "127.9.0.3", .port = 20002}};
	const struct rh_addresses plan = {places, 3};
	auto_kit kit;

	(void)state;
	kit_open(&kit, "xgboost", NULL, JOBS_JOB("", JOBS_TYPE("Master", "1") JOBS_TYPE("Worker", "2")));
	kit.fixture.snapshot.addresses = &plan;
	rh_auto(json) pod = kit_pod(&kit, "Worker", 1);
	kit_assert_env(pod, 0,
	               "MASTER_PORT=20001\nMASTER_ADDR=127.9.0.1\nWORLD_SIZE=3\nRANK=2\nPYTHONUNBUFFERED=1\n"
	               "WORKER_PORT=20002\nWORKER_ADDRS=127.9.0.2,127.9.0.3\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_xgboost_env__variables_in_order),
		cmocka_unit_test(test_xgboost_env__every_container),
		cmocka_unit_test(test_xgboost_env__addresses_of_a_plan),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
