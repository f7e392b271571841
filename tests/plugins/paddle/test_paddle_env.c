/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "jobs.h"

/** A job, one of its replicas, and all variables that it gets, in order (v1-behaviour C.9). */
struct env_case {
	const char *name;
	const char *job;
	const char *type;
	int32_t index;
	const char *env;
};

#define ENV_FIRST(nodes) "PYTHONUNBUFFERED=1\nPADDLE_JOB_ID=mnist\nPADDLE_NNODES=" nodes "\n"
#define ENV_SELF(port) "POD_IP_DUMMY<-status.podIP\nPADDLE_MASTER=$(POD_IP_DUMMY):" port "\n"
#define ENV_PORT(type, replicas, port)                                                                             \
	"    " type ": {replicas: " replicas ", template: {spec: {containers: [{name: paddle, ports: [{name: master, " \
	"containerPort: " port "}]}]}}}\n"

static const struct env_case env_cases[] = {
	{"worker 0 leads", JOBS_JOB("", JOBS_TYPE("Worker", "2")), "Worker", 0, ENV_FIRST("2") ENV_SELF("36543")},
	{"worker 1 follows", JOBS_JOB("", JOBS_TYPE("Worker", "2")), "Worker", 1,
     ENV_FIRST("2") "PADDLE_MASTER=mnist-worker-0:36543\n"},
	{"own port", JOBS_JOB("", ENV_PORT("Worker", "2", "37777")), "Worker", 0, ENV_FIRST("2") ENV_SELF("37777")},
	{"own port, followed", JOBS_JOB("", ENV_PORT("Worker", "2", "37777")), "Worker", 1,
     ENV_FIRST("2") "PADDLE_MASTER=mnist-worker-0:37777\n"},
	{"master 0 leads", JOBS_JOB("", JOBS_TYPE("Master", "2") JOBS_TYPE("Worker", "3")), "Master", 0,
     ENV_FIRST("5") ENV_SELF("36543") "PADDLE_SERVER_NUM=1\n"},
	{"master 1 follows", JOBS_JOB("", JOBS_TYPE("Master", "2") JOBS_TYPE("Worker", "3")), "Master", 1,
     ENV_FIRST("5") "PADDLE_MASTER=mnist-master-0:36543\nPADDLE_SERVER_NUM=1\n"},
	{"worker 0 follows the master", JOBS_JOB("", ENV_PORT("Master", "1", "1234") JOBS_TYPE("Worker", "1")), "Worker", 0,
     ENV_FIRST("2") "PADDLE_MASTER=mnist-master-0:1234\nPADDLE_TRAINER_NUM=1\n"},
};

static void test_paddle_env__variables_in_order(void **state)
{
	(void)state;
	for (size_t i = 0; i < KIT_COUNT(env_cases); i++) {
		auto_kit kit;

		print_message("%s\n", env_cases[i].name);
		kit_open(&kit, "paddle", NULL, env_cases[i].job);
		rh_auto(json) pod = kit_pod(&kit, env_cases[i].type, env_cases[i].index);
		kit_assert_env(pod, 0, env_cases[i].env);
	}
}

/* v1-behaviour C.4: every regular container, behind the user's own variables. */
static void test_paddle_env__every_container(void **state)
{
	auto_kit kit;

	(void)state;
	kit_open(&kit, "paddle", NULL,
	         JOBS_JOB("",
	                  "    Worker: {replicas: 1, template: {spec: {initContainers: [{name: i}], containers: [{name: "
	                  "side, env: [{name: A, value: b}]}, {name: paddle}]}}}\n"));
	rh_auto(json) pod = kit_pod(&kit, "Worker", 0);
	kit_assert_env(pod, 0, "A=b\n" ENV_FIRST("1") ENV_SELF("36543"));
	kit_assert_env(pod, 1, ENV_FIRST("1") ENV_SELF("36543"));
	assert_null(rh_json_at(pod, "spec.initContainers[0].env"));
}

static void test_paddle_env__addresses_of_a_plan(void **state)
{
	struct rh_address places[] = {{.type = "Worker", .index = 0, .host = "127.9.0.1", .port = 20001},
	                              {.type = "Worker", .index = 1, .host = "127.9.0.2", .port = 20002}};
	const struct rh_addresses plan = {places, 2};
	auto_kit kit;

	(void)state;
	kit_open(&kit, "paddle", NULL, JOBS_JOB("", JOBS_TYPE("Worker", "2")));
	kit.fixture.snapshot.addresses = &plan;
	rh_auto(json) leader = kit_pod(&kit, "Worker", 0);
	rh_auto(json) other = kit_pod(&kit, "Worker", 1);
	kit_assert_env(leader, 0, ENV_FIRST("2") ENV_SELF("20001") "POD_IP=127.9.0.1\n");
	kit_assert_env(other, 0, ENV_FIRST("2") "PADDLE_MASTER=127.9.0.1:20001\nPOD_IP=127.9.0.2\n");
}

/* On a cluster a Master with replicas: 0 still has a name; on one machine there is no address to give. */
static void test_paddle_env__a_leader_without_replicas_has_no_address(void **state)
{
	struct rh_address places[] = {{.type = "Worker", .index = 0, .host = "127.9.0.1", .port = 20001}};
	const struct rh_addresses plan = {places, 1};
	auto_kit kit;

	(void)state;
	kit_open(&kit, "paddle", NULL, JOBS_JOB("", JOBS_TYPE("Master", "0") JOBS_TYPE("Worker", "1")));
	kit.fixture.snapshot.addresses = &plan;
	rh_auto(json) pod = kit_pod(&kit, "Worker", 0);
	kit_assert_env(pod, 0, ENV_FIRST("1") "PADDLE_TRAINER_NUM=1\nPOD_IP=127.9.0.1\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_paddle_env__a_leader_without_replicas_has_no_address),
		cmocka_unit_test(test_paddle_env__variables_in_order),
		cmocka_unit_test(test_paddle_env__every_container),
		cmocka_unit_test(test_paddle_env__addresses_of_a_plan),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
