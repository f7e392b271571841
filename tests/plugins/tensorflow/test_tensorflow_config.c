/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "jobs.h"

/** A job, one of its replicas, and its TF_CONFIG; "" is none (v1-behaviour C.7). */
struct config_case {
	const char *name;
	const char *job;
	const char *type;
	int32_t index;
	const char *config;
};

#define CONFIG_TASK(type, index) "},\"task\":{\"type\":\"" type "\",\"index\":" index "}"
#define CONFIG_CLOUD ",\"environment\":\"cloud\"}"
#define CONFIG_DYNAMIC "  enableDynamicWorker: true\n"
#define CONFIG_PS "\"mnist-ps-0.team.svc:2222\""
#define CONFIG_WORKER(index) "\"mnist-worker-" index ".team.svc:2222\""

static const struct config_case config_cases[] = {
	{"one worker has none", JOBS_JOB("", JOBS_TYPE("Worker", "1")), "Worker", 0, ""},
	{"one worker, zero parameter servers", JOBS_JOB("", JOBS_TYPE("Worker", "1") JOBS_TYPE("PS", "0")), "Worker", 0,
     ""},
	{"an unknown type does not count", JOBS_JOB("", JOBS_TYPE("Worker", "1") JOBS_TYPE("Tuner", "3")), "Tuner", 2, ""},
	{"one dynamic worker has none", JOBS_JOB(CONFIG_DYNAMIC, JOBS_TYPE("Worker", "1")), "Worker", 0, ""},
	{"no replica of a known type", JOBS_JOB("", JOBS_TYPE("Tuner", "1")), "Tuner", 0,
     "{\"cluster\":{\"tuner\":[\"mnist-tuner-0.team.svc:2222\"]" CONFIG_TASK("tuner", "0") CONFIG_CLOUD},
	{"workers", JOBS_JOB("", JOBS_TYPE("Worker", "2")), "Worker", 1,
     "{\"cluster\":{\"worker\":[" CONFIG_WORKER("0") "," CONFIG_WORKER("1") "]" CONFIG_TASK("worker", "1")
         CONFIG_CLOUD},
	{"the order of the alphabet, unknown types among them",
     JOBS_JOB("", JOBS_TYPE("Worker", "1") JOBS_TYPE("PS", "1") JOBS_TYPE("Tuner", "1") JOBS_TYPE("Evaluator", "1")
                      JOBS_TYPE("Chief", "1")),
     "Evaluator", 0,
     "{\"cluster\":{\"chief\":[\"mnist-chief-0.team.svc:2222\"],\"evaluator\":[\"mnist-evaluator-0.team.svc:2222\"],"
     "\"ps\":[" CONFIG_PS "],\"tuner\":[\"mnist-tuner-0.team.svc:2222\"],\"worker\":[" CONFIG_WORKER(
		 "0") "]" CONFIG_TASK("evaluator", "0") CONFIG_CLOUD},
	{"a type without replicas is there", JOBS_JOB("", JOBS_TYPE("Worker", "2") JOBS_TYPE("PS", "0")), "Worker", 0,
     "{\"cluster\":{\"ps\":[],\"worker\":[" CONFIG_WORKER("0") "," CONFIG_WORKER("1") "]" CONFIG_TASK("worker", "0")
         CONFIG_CLOUD},
	{"dynamic: a worker sees itself and the parameter servers",
     JOBS_JOB(CONFIG_DYNAMIC, JOBS_TYPE("Worker", "3") JOBS_TYPE("PS", "2")), "Worker", 2,
     "{\"cluster\":{\"worker\":{\"2\":" CONFIG_WORKER(
		 "2") "},\"ps\":[" CONFIG_PS ",\"mnist-ps-1.team.svc:2222\"]" CONFIG_TASK("worker", "2") "}"},
	{"dynamic: a parameter server sees itself", JOBS_JOB(CONFIG_DYNAMIC, JOBS_TYPE("Worker", "3") JOBS_TYPE("PS", "2")),
     "PS", 1, "{\"cluster\":{\"worker\":{},\"ps\":[\"mnist-ps-1.team.svc:2222\"]" CONFIG_TASK("ps", "1") "}"},
	{"dynamic: without parameter servers", JOBS_JOB(CONFIG_DYNAMIC, JOBS_TYPE("Worker", "2")), "Worker", 0,
     "{\"cluster\":{\"worker\":{\"0\":" CONFIG_WORKER("0") "},\"ps\":null" CONFIG_TASK("worker", "0") "}"},
	{"dynamic: another type sees nobody", JOBS_JOB(CONFIG_DYNAMIC, JOBS_TYPE("Worker", "2") JOBS_TYPE("Chief", "1")),
     "Chief", 0, "{\"cluster\":{\"worker\":{},\"ps\":[]" CONFIG_TASK("chief", "0") "}"},
	{"not dynamic", JOBS_JOB("  enableDynamicWorker: false\n", JOBS_TYPE("Worker", "2")), "Worker", 0,
     "{\"cluster\":{\"worker\":[" CONFIG_WORKER("0") "," CONFIG_WORKER("1") "]" CONFIG_TASK("worker", "0")
         CONFIG_CLOUD},
};

static const char *config_of(const struct rh_json *pod)
{
	const struct rh_json *env = rh_json_at(pod, "spec.containers[0].env");

	assert_true(rh_json_size(env) <= 1);
	return rh_json_size(env) ? rh_json_string_at(env, "[0].value") : "";
}

static void test_tensorflow_config__every_form(void **state)
{
	(void)state;
	for (size_t i = 0; i < KIT_COUNT(config_cases); i++) {
		const struct config_case *row = &config_cases[i];
		auto_kit kit;

		print_message("%s\n", row->name);
		kit_open(&kit, "tensorflow", NULL, row->job);
		rh_auto(json) pod = kit_pod(&kit, row->type, row->index);
		assert_string_equal(config_of(pod), row->config);
	}
}

static void test_tensorflow_config__own_ports(void **state)
{
	auto_kit kit;

	(void)state;
	kit_open(
		&kit, "tensorflow", NULL,
		JOBS_JOB("", JOBS_TYPE("PS", "1") "    Worker: {replicas: 1, template: {spec: {containers: [{name: tensorflow, "
	                                      "ports: [{name: tfjob-port, containerPort: 5555}]}]}}}\n"));
	rh_auto(json) pod = kit_pod(&kit, "PS", 0);
	assert_string_equal(config_of(pod),
	                    "{\"cluster\":{\"ps\":[" CONFIG_PS
	                    "],\"worker\":[\"mnist-worker-0.team.svc:5555\"]" CONFIG_TASK("ps", "0") CONFIG_CLOUD);
}

static void test_tensorflow_config__domain_of_the_cluster(void **state)
{
	auto_kit kit;

	(void)state;
	kit_open(&kit, "tensorflow", "[plugin tensorflow]\ncluster-domain = cluster.local\n",
	         JOBS_JOB("", JOBS_TYPE("Worker", "2")));
	rh_auto(json) pod = kit_pod(&kit, "Worker", 0);
	assert_string_equal(config_of(pod),
	                    "{\"cluster\":{\"worker\":[\"mnist-worker-0.team.svc.cluster.local:2222\","
	                    "\"mnist-worker-1.team.svc.cluster.local:2222\"]" CONFIG_TASK("worker", "0") CONFIG_CLOUD);
}

/* With a plan each replica has its own address and port, and no name is completed. */
static void test_tensorflow_config__addresses_of_a_plan(void **state)
{
	struct rh_address places[] = {{.type = "Worker", .index = 0, .host = "127.9.0.1", .port = 20001},
	                              {.type = "Worker", .index = 1, .host = "127.9.0.2", .port = 20002}};
	const struct rh_addresses plan = {places, 2};
	auto_kit kit;

	(void)state;
	kit_open(&kit, "tensorflow", NULL, JOBS_JOB("", JOBS_TYPE("Worker", "2")));
	kit.fixture.snapshot.addresses = &plan;
	rh_auto(json) pod = kit_pod(&kit, "Worker", 1);
	assert_string_equal(config_of(pod),
	                    "{\"cluster\":{\"worker\":[\"127.9.0.1:20001\",\"127.9.0.2:20002\"]" CONFIG_TASK("worker", "1")
	                        CONFIG_CLOUD);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tensorflow_config__every_form),
		cmocka_unit_test(test_tensorflow_config__own_ports),
		cmocka_unit_test(test_tensorflow_config__domain_of_the_cluster),
		cmocka_unit_test(test_tensorflow_config__addresses_of_a_plan),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
