/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "plugins/kit.h"

#define JAX_JOB(types) KIT_JOB("JAXJob", "jaxReplicaSpecs", "", types)
#define JAX_WORKERS(replicas) KIT_TYPE("Worker", replicas, "jax")

/* v1-behaviour A.1 */
static void test_jax__constants_of_v1(void **state)
{
	auto_kit kit;

	(void)state;
	kit_open(&kit, EXAMPLE_PLUGIN, NULL, JAX_JOB(JAX_WORKERS("1")));
	kit_assert_kind(&kit, &test_jax, RH_KIND_SERVICES | RH_KIND_DNS_NAME | RH_KIND_SELECTOR | RH_KIND_BINDS_ALL);
	assert_string_equal(kit.fixture.job->kind->scale_type, "Worker");
}

#define JAX_ENV(port, address, processes, id)                                                                  \
	"PYTHONUNBUFFERED=1\nCOORDINATOR_PORT=" port "\nCOORDINATOR_ADDRESS=" address "\nNUM_PROCESSES=" processes \
	"\nPROCESS_ID=" id "\n"

/* v1-behaviour C.10 */
static void test_jax__variables_in_order(void **state)
{
	static const struct {
		const char *job;
		int32_t index;
		const char *env;
	} cases[] = {
		{JAX_JOB(JAX_WORKERS("1")), 0, JAX_ENV("6666", "mnist-worker-0", "1", "0")},
		{JAX_JOB(JAX_WORKERS("3")), 2, JAX_ENV("6666", "mnist-worker-0", "3", "2")},
		{JAX_JOB(
			 "    Worker: {replicas: 2, template: {spec: {containers: [{name: jax, env: [{name: A, value: b}], ports: "
			 "[{name: jaxjob-port, containerPort: 1234}]}]}}}\n"),
	     1, "A=b\n" JAX_ENV("1234", "mnist-worker-0", "2", "1")},
	};

	(void)state;
	for (size_t i = 0; i < KIT_COUNT(cases); i++) {
		auto_kit kit;

		kit_open(&kit, EXAMPLE_PLUGIN, NULL, cases[i].job);
		rh_auto(json) pod = kit_pod(&kit, "Worker", cases[i].index);
		kit_assert_env(pod, 0, cases[i].env);
	}
}

/* Every process gets the coordinator's port, not its own. */
static void test_jax__addresses_of_a_plan(void **state)
{
	struct rh_address places[] = {{.type = "Worker", .index = 0, .host = "127.9.0.1", .port = 20001},
	                              {.type = "Worker", .index = 1, .host = "127.9.0.2", .port = 20002}};
	const struct rh_addresses plan = {places, 2};
	auto_kit kit;

	(void)state;
	kit_open(&kit, EXAMPLE_PLUGIN, NULL, JAX_JOB(JAX_WORKERS("2")));
	kit.fixture.snapshot.addresses = &plan;
	rh_auto(json) pod = kit_pod(&kit, "Worker", 1);
	kit_assert_env(pod, 0, JAX_ENV("20001", "127.9.0.1", "2", "1"));
}

/* v1-behaviour C.1: index 0 has the master role. */
static void test_jax__master_role(void **state)
{
	static const char path[] = "metadata.labels[\"training.kubeflow.org/job-role\"]";
	auto_kit kit;

	(void)state;
	kit_open(&kit, EXAMPLE_PLUGIN, NULL, JAX_JOB(JAX_WORKERS("2")));
	rh_auto(json) first = kit_pod(&kit, "Worker", 0);
	rh_auto(json) second = kit_pod(&kit, "Worker", 1);
	assert_string_equal(rh_json_string_at(first, path), "master");
	assert_null(rh_json_at(second, path));
}

/* v1-behaviour E.3, E.5-2 */
static void test_jax__all_workers_decide(void **state)
{
	static const struct {
		struct rh_counts counts;
		const char *verdicts;
	} cases[] = {
		{{.desired = 2}, ""},
		{{.desired = 2, .active = 1, .succeeded = 1}, "1 - JAXJob team/mnist is running.\n"},
		{{.desired = 2, .succeeded = 2}, "2 - JAXJob team/mnist successfully completed.\n"},
		{{.desired = 2, .failed = 1}, "3 Worker JAXJob mnist is failed because 1 Worker replica(s) failed.\n"},
		{{.desired = 2, .active = 1, .restarting = 1},
	     "4 Worker JAXJob mnist is restarting because 1 Worker replica(s) failed.\n"},
	};
	auto_kit kit;

	(void)state;
	kit_open(&kit, EXAMPLE_PLUGIN, NULL, JAX_JOB(JAX_WORKERS("2")));
	for (size_t i = 0; i < KIT_COUNT(cases); i++) {
		kit.fixture.counts[0] = cases[i].counts;
		kit_assert_verdicts(&kit, cases[i].verdicts);
	}
}

static void test_jax__survives_allocation_failures(void **state)
{
	auto_kit kit;

	(void)state;
	kit_open(&kit, EXAMPLE_PLUGIN, NULL, JAX_JOB(JAX_WORKERS("2")));
	kit_assert_survives(&kit, "Worker", 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_jax__constants_of_v1),     cmocka_unit_test(test_jax__variables_in_order),
		cmocka_unit_test(test_jax__addresses_of_a_plan), cmocka_unit_test(test_jax__master_role),
		cmocka_unit_test(test_jax__all_workers_decide),  cmocka_unit_test(test_jax__survives_allocation_failures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
