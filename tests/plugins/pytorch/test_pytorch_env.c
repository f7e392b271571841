/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "jobs.h"

/** A job, one of its replicas, and all variables that it gets, in order (v1-behaviour C.5). */
struct env_case {
	const char *name;
	const char *job;
	const char *type;
	int32_t index;
	const char *env;
};

#define ENV_MASTER(address, world, rank)                                                                              \
	"PYTHONUNBUFFERED=1\nMASTER_PORT=23456\nPET_MASTER_PORT=23456\nMASTER_ADDR=" address "\nPET_MASTER_ADDR=" address \
	"\nWORLD_SIZE=" world "\nRANK=" rank "\nPET_NODE_RANK=" rank "\n"

static const struct env_case env_cases[] = {
	{"master alone", JOBS_JOB("", JOBS_MASTER), "Master", 0,
     ENV_MASTER("mnist-master-0", "1", "0") "PET_NPROC_PER_NODE=auto\nPET_NNODES=1\n"},
	{"worker behind the master", JOBS_JOB("", JOBS_MASTER JOBS_WORKERS("3")), "Worker", 2,
     ENV_MASTER("mnist-master-0", "4", "3") "PET_NPROC_PER_NODE=auto\nPET_NNODES=4\n"},
	{"workers alone have no ranks", JOBS_JOB("", JOBS_WORKERS("2")), "Worker", 1,
     "PYTHONUNBUFFERED=1\nPET_NPROC_PER_NODE=auto\nPET_NNODES=2\n"},
	{"processes multiply the world", JOBS_JOB("  nprocPerNode: '4'\n", JOBS_MASTER JOBS_WORKERS("1")), "Master", 0,
     ENV_MASTER("mnist-master-0", "8", "0") "PET_NPROC_PER_NODE=4\nPET_NNODES=2\n"},
	{"what is no whole number counts as one", JOBS_JOB("  nprocPerNode: 8x\n", JOBS_MASTER JOBS_WORKERS("1")), "Master",
     0, ENV_MASTER("mnist-master-0", "2", "0") "PET_NPROC_PER_NODE=8x\nPET_NNODES=2\n"},
	{"a number without end counts as one",
     JOBS_JOB("  nprocPerNode: '9223372036854775807'\n", JOBS_MASTER JOBS_WORKERS("1")), "Master", 0,
     ENV_MASTER("mnist-master-0", "2", "0") "PET_NPROC_PER_NODE=9223372036854775807\nPET_NNODES=2\n"},
	{"gpu counts as one", JOBS_JOB("  nprocPerNode: gpu\n", JOBS_MASTER JOBS_WORKERS("1")), "Worker", 0,
     ENV_MASTER("mnist-master-0", "2", "1") "PET_NPROC_PER_NODE=gpu\nPET_NNODES=2\n"},
	{"elastic without any member", JOBS_JOB("  elasticPolicy: {}\n", JOBS_WORKERS("3")), "Worker", 0,
     "PYTHONUNBUFFERED=1\nPET_NPROC_PER_NODE=auto\nPET_RDZV_ENDPOINT=mnist-worker-0:23456\nPET_RDZV_BACKEND=c10d\n"
     "PET_NNODES=3:3\n"},
	{"elastic with min alone", JOBS_JOB("  elasticPolicy: {minReplicas: 2}\n", JOBS_WORKERS("3")), "Worker", 1,
     "PYTHONUNBUFFERED=1\nPET_NPROC_PER_NODE=auto\nPET_RDZV_ENDPOINT=mnist-worker-0:23456\nPET_RDZV_BACKEND=c10d\n"
     "PET_NNODES=2:2\n"},
	{"elastic with max alone", JOBS_JOB("  elasticPolicy: {maxReplicas: 5}\n", JOBS_WORKERS("3")), "Worker", 1,
     "PYTHONUNBUFFERED=1\nPET_NPROC_PER_NODE=auto\nPET_RDZV_ENDPOINT=mnist-worker-0:23456\nPET_RDZV_BACKEND=c10d\n"
     "PET_NNODES=5:5\n"},
	{"elastic with everything",
     JOBS_JOB("  elasticPolicy: {minReplicas: 1, maxReplicas: 4, rdzvBackend: etcd, rdzvHost: etcd, rdzvPort: 2379, "
              "rdzvId: id-1,\n"
              "    maxRestarts: 0, nProcPerNode: 2, standalone: true, rdzvConf: [{key: a, value: b}, {key: c, value: "
              "'1'}]}\n",
              JOBS_WORKERS("2")),
     "Worker", 0,
     "PYTHONUNBUFFERED=1\nPET_RDZV_ENDPOINT=etcd:2379\nPET_RDZV_BACKEND=etcd\nPET_NNODES=1:4\nPET_MAX_RESTARTS=0\n"
     "PET_NPROC_PER_NODE=2\nPET_RDZV_ID=id-1\nPET_RDZV_CONF=a=b,c=1\nPET_STANDALONE=\n"},
	{"elastic with a master", JOBS_JOB("  elasticPolicy: {nProcPerNode: 2}\n", JOBS_MASTER JOBS_WORKERS("1")), "Worker",
     0,
     ENV_MASTER("mnist-master-0", "2", "1") "PET_RDZV_ENDPOINT=mnist-worker-0:23456\nPET_RDZV_BACKEND=c10d\n"
                                            "PET_NNODES=1:1\nPET_NPROC_PER_NODE=2\n"},
	{"empty rdzvConf, not standalone",
     JOBS_JOB("  elasticPolicy: {rdzvConf: [], standalone: false}\n", JOBS_WORKERS("1")), "Worker", 0,
     "PYTHONUNBUFFERED=1\nPET_NPROC_PER_NODE=auto\nPET_RDZV_ENDPOINT=mnist-worker-0:23456\nPET_RDZV_BACKEND=c10d\n"
     "PET_NNODES=1:1\n"},
	{"null counts as absent", JOBS_JOB("  elasticPolicy: null\n  nprocPerNode: null\n", JOBS_WORKERS("1")), "Worker", 0,
     "PYTHONUNBUFFERED=1\nPET_NPROC_PER_NODE=auto\nPET_NNODES=1\n"},
	{"the user's variables come first",
     JOBS_JOB("", "    Worker: {replicas: 1, template: {spec: {containers: [{name: pytorch, env: [{name: RANK, value: "
                  "mine}]}]}}}\n"),
     "Worker", 0, "RANK=mine\nPYTHONUNBUFFERED=1\nPET_NPROC_PER_NODE=auto\nPET_NNODES=1\n"},
	{"own ports",
     JOBS_JOB(
		 "", "    Worker: {replicas: 1, template: {spec: {containers: [{name: pytorch}]}}}\n"
			 "    Master: {replicas: 1, template: {spec: {containers: [{name: pytorch, ports: [{name: pytorchjob-port, "
			 "containerPort: 1234}]}]}}}\n"),
     "Master", 0,
     "PYTHONUNBUFFERED=1\nMASTER_PORT=1234\nPET_MASTER_PORT=1234\nMASTER_ADDR=mnist-master-0\nPET_MASTER_ADDR=mnist-"
     "master-0\n"
     "WORLD_SIZE=2\nRANK=0\nPET_NODE_RANK=0\nPET_NPROC_PER_NODE=auto\nPET_NNODES=2\n"},
};

static void env_print(const struct rh_json *pod, struct rh_str *out)
{
	const struct rh_json *entry = rh_json_first(rh_json_at(pod, "spec.containers[0].env"));

	for (; entry; entry = rh_json_next(entry))
		rh_str_appendf(out, "%s=%s\n", rh_json_string_at(entry, "name"), rh_json_string_at(entry, "value"));
}

static struct rh_json *env_build(struct fixture *fixture, const char *type, int32_t index)
{
	rh_auto(builder) builder = NULL;
	struct rh_json *pod = NULL;

	assert_int_equal(rh_builder_new(&fixture->snapshot, &builder, NULL), 0);
	if (rh_build_pod(builder, type, index, &pod, &fixture->err) < 0)
		fail_msg("%s", fixture->err.message);
	return pod;
}

static void test_pytorch_env__variables_in_order(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(env_cases) / sizeof(env_cases[0]); i++) {
		const struct env_case *row = &env_cases[i];
		rh_auto_str env = {0};
		auto_fixture fixture;

		print_message("%s\n", row->name);
		jobs_open(&fixture, NULL, row->job);
		rh_auto(json) pod = env_build(&fixture, row->type, row->index);
		env_print(pod, &env);
		assert_string_equal(rh_str_text(&env), row->env);
	}
}

static void test_pytorch_env__addresses_of_a_plan(void **state)
{
	struct rh_address places[] = {{.type = "Master", .index = 0, .host = "127.9.0.1", .port = 20001},
	                              {.type = "Worker", .index = 0, .host = "127.9.0.2", .port = 20002}};
	const struct rh_addresses plan = {places, 2};
	rh_auto_str env = {0};
	auto_fixture fixture;

	(void)state;
	jobs_open(&fixture, NULL, JOBS_JOB("  elasticPolicy: {}\n", JOBS_MASTER JOBS_WORKERS("1")));
	fixture.snapshot.addresses = &plan;
	rh_auto(json) pod = env_build(&fixture, "Worker", 0);
	env_print(pod, &env);
	assert_non_null(strstr(rh_str_text(&env), "\nMASTER_PORT=20001\nPET_MASTER_PORT=20001\nMASTER_ADDR=127.9.0.1\n"));
	assert_non_null(strstr(rh_str_text(&env), "\nPET_RDZV_ENDPOINT=127.9.0.2:20002\n"));
	assert_null(rh_json_at(pod, "spec.initContainers"));
}

/** An elasticPolicy, and the rendezvous variables of a worker where replicas have addresses. */
struct env_host_case {
	const char *name;
	const char *policy;
	int32_t index;
	const char *conf; /**< NULL: no such variable */
};

static const struct env_host_case env_host_cases[] = {
	{"worker 0 serves", "{}", 0, "is_host=1"},
	{"worker 1 does not", "{rdzvBackend: c10d}", 1, "is_host=0"},
	{"behind the user's own", "{rdzvConf: [{key: a, value: b}]}", 1, "a=b,is_host=0"},
	{"the user's word counts", "{rdzvConf: [{key: is_host, value: \"1\"}]}", 1, "is_host=1"},
	{"another backend", "{rdzvBackend: etcd}", 0, NULL},
	{"another host", "{rdzvHost: elsewhere}", 0, NULL},
	{"each for itself", "{standalone: true}", 0, NULL},
};

static void test_pytorch_env__who_serves_the_rendezvous_of_a_plan(void **state)
{
	struct rh_address places[] = {{.type = "Worker", .index = 0, .host = "127.9.0.1", .port = 20001},
	                              {.type = "Worker", .index = 1, .host = "127.9.0.2", .port = 20002}};
	const struct rh_addresses plan = {places, 2};

	(void)state;
	for (size_t i = 0; i < sizeof(env_host_cases) / sizeof(env_host_cases[0]); i++) {
		const struct env_host_case *row = &env_host_cases[i];
		rh_auto_free char *job = rh_asprintf(JOBS_JOB("  elasticPolicy: %s\n", JOBS_WORKERS("2")), row->policy);
		rh_auto_str env = {0}, want = {0};
		auto_fixture fixture;

		print_message("%s\n", row->name);
		jobs_open(&fixture, NULL, job);
		fixture.snapshot.addresses = &plan;
		rh_auto(json) pod = env_build(&fixture, "Worker", row->index);
		env_print(pod, &env);
		rh_str_appendf(&want, "\nPET_RDZV_CONF=%s\n", row->conf ? row->conf : "");
		assert_int_equal(strstr(rh_str_text(&env), row->conf ? rh_str_text(&want) : "PET_RDZV_CONF") != NULL,
		                 row->conf != NULL);
	}
}

static void test_pytorch_env__a_plan_without_the_master_is_an_error(void **state)
{
	struct rh_address places[] = {{.type = "Worker", .index = 0, .host = "127.9.0.2", .port = 20002}};
	const struct rh_addresses plan = {places, 1};
	rh_auto(builder) builder = NULL;
	struct rh_json *pod = NULL;
	auto_fixture fixture;

	(void)state;
	jobs_open(&fixture, NULL, JOBS_JOB("", JOBS_MASTER JOBS_WORKERS("1")));
	fixture.snapshot.addresses = &plan;
	assert_int_equal(rh_builder_new(&fixture.snapshot, &builder, NULL), 0);
	assert_int_equal(rh_build_pod(builder, "Worker", 0, &pod, &fixture.err), RH_EPLUGIN);
	assert_non_null(strstr(fixture.err.message, "env(): the value is NULL"));
}

/* v1-behaviour C.6 */
static void test_pytorch_env__init_container(void **state)
{
	auto_fixture fixture;

	(void)state;
	jobs_open(&fixture, NULL, JOBS_JOB("", JOBS_MASTER JOBS_WORKERS("1")));
	rh_auto(json) worker = env_build(&fixture, "Worker", 0);
	rh_auto(json) master = env_build(&fixture, "Master", 0);
	fixture_assert_json(
		rh_json_at(worker, "spec.initContainers"),
		"[{\"name\":\"init-pytorch\",\"image\":\"alpine:3.10\",\"imagePullPolicy\":\"IfNotPresent\","
		"\"command\":[\"sh\",\"-c\",\"err=1;for i in $(seq 100); do if nslookup mnist-master-0; then err=0 && break; "
		"fi;"
		"echo waiting for master; sleep 2; done; exit $err\"],\"resources\":{\"limits\":{\"cpu\":\"100m\","
		"\"memory\":\"20Mi\"},\"requests\":{\"cpu\":\"50m\",\"memory\":\"10Mi\"}}}]");
	assert_null(rh_json_at(master, "spec.initContainers"));
}

static void test_pytorch_env__no_init_container_without_a_master(void **state)
{
	auto_fixture fixture;

	(void)state;
	jobs_open(&fixture, NULL, JOBS_JOB("", JOBS_WORKERS("2")));
	rh_auto(json) pod = env_build(&fixture, "Worker", 1);
	assert_null(rh_json_at(pod, "spec.initContainers"));
}

static void test_pytorch_env__init_container_from_the_configuration(void **state)
{
	auto_fixture fixture;

	(void)state;
	jobs_open(&fixture, "[plugin pytorch]\ninit-container-image = a\"b\\c\ninit-container-max-tries = 7\n",
	          JOBS_JOB("", JOBS_MASTER JOBS_WORKERS("1")));
	rh_auto(json) pod = env_build(&fixture, "Worker", 0);
	assert_string_equal(rh_json_string_at(pod, "spec.initContainers[0].image"), "a\"b\\c");
	assert_non_null(strstr(rh_json_string_at(pod, "spec.initContainers[0].command[2]"), "$(seq 7)"));
}

/* As the host hands it over: one container in each line. */
static void test_pytorch_env__init_containers_from_a_template(void **state)
{
	auto_fixture fixture;
	struct rh_setting *setting;

	(void)state;
	jobs_open(&fixture,
	          "[plugin pytorch]\ninit-container-image = r/x:1\ninit-container-max-tries = 7\n"
	          "init-container-template-file = f\n",
	          JOBS_JOB("", JOBS_MASTER JOBS_WORKERS("1")));
	setting = &fixture.config->settings[2];
	setting->content = rh_strdup("{\"name\":\"a\",\"image\":\"{{.InitContainerImage}}\",\"args\":[\"{{.MaxTries}} "
	                             "{{.MasterAddr}} {{.Other}}\"]}\n{\"name\":\"b\",\"image\":\"x\"}\n");
	rh_auto(json) pod = env_build(&fixture, "Worker", 0);
	fixture_assert_json(rh_json_at(pod, "spec.initContainers"),
	                    "[{\"name\":\"a\",\"image\":\"r/x:1\",\"args\":[\"7 mnist-master-0 {{.Other}}\"]},"
	                    "{\"name\":\"b\",\"image\":\"x\"}]");
	rh_auto(json) master = env_build(&fixture, "Master", 0);
	assert_null(rh_json_at(master, "spec.initContainers"));
}

static void test_pytorch_env__tries_that_are_no_number(void **state)
{
	static const char *const bad[] = {"0", "-1", "x", "1x", "99999999999999999999"};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		rh_auto(builder) builder = NULL;
		rh_auto_str ini = {0};
		struct rh_json *pod = NULL;
		auto_fixture fixture;

		rh_str_appendf(&ini, "[plugin pytorch]\ninit-container-max-tries = %s\n", bad[i]);
		jobs_open(&fixture, rh_str_text(&ini), JOBS_JOB("", JOBS_MASTER JOBS_WORKERS("1")));
		assert_int_equal(rh_builder_new(&fixture.snapshot, &builder, NULL), 0);
		assert_int_equal(rh_build_pod(builder, "Worker", 0, &pod, &fixture.err), RH_EINVAL);
		assert_non_null(strstr(fixture.err.message, "[plugin pytorch]: init-container-max-tries must be at least 1"));
	}
}

static void test_pytorch_env__survives_allocation_failures(void **state)
{
	int r = RH_ENOMEM;
	auto_fixture fixture;

	(void)state;
	jobs_open(
		&fixture, NULL,
		JOBS_JOB("  elasticPolicy: {maxRestarts: 3, rdzvConf: [{key: a, value: b}]}\n", JOBS_MASTER JOBS_WORKERS("1")));
	rh_auto(json) want = env_build(&fixture, "Worker", 0);
	for (long n = 0; r < 0 && n < 2000; n++) {
		rh_auto(builder) builder = NULL;
		rh_auto(json) pod = NULL;

		rh_mem_fail_after(n);
		r = rh_builder_new(&fixture.snapshot, &builder, NULL);
		if (r == 0)
			r = rh_build_pod(builder, "Worker", 0, &pod, NULL);
		rh_mem_fail_after(-1);
		assert_int_equal(r, pod ? 0 : RH_ENOMEM);
		assert_true(!pod || rh_json_equal(pod, want));
	}
	assert_int_equal(r, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pytorch_env__variables_in_order),
		cmocka_unit_test(test_pytorch_env__addresses_of_a_plan),
		cmocka_unit_test(test_pytorch_env__who_serves_the_rendezvous_of_a_plan),
		cmocka_unit_test(test_pytorch_env__a_plan_without_the_master_is_an_error),
		cmocka_unit_test(test_pytorch_env__init_container),
		cmocka_unit_test(test_pytorch_env__no_init_container_without_a_master),
		cmocka_unit_test(test_pytorch_env__init_container_from_the_configuration),
		cmocka_unit_test(test_pytorch_env__init_containers_from_a_template),
		cmocka_unit_test(test_pytorch_env__tries_that_are_no_number),
		cmocka_unit_test(test_pytorch_env__survives_allocation_failures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
