/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "jobs.h"

/* v1-behaviour A.1 */
static void test_tensorflow__constants_of_v1(void **state)
{
	auto_kit kit;

	(void)state;
	kit_open(&kit, "tensorflow", NULL, JOBS_JOB("", JOBS_TYPE("Worker", "1")));
	kit_assert_kind(&kit, &test_tensorflow,
	                RH_KIND_SERVICES | RH_KIND_DNS_NAME | RH_KIND_ANY_CASE | RH_KIND_OPEN_TYPES | RH_KIND_BINDS_ALL);
	assert_null(kit.fixture.job->kind->scale_type);
	for (size_t i = 0; kit.fixture.job->kind->types[i]; i++) {
		const struct rh_replica_type *type = kit.fixture.job->kind->types[i];

		assert_int_equal((type->flags & RH_REPLICA_RANKED) == 0,
		                 strcmp(type->name, "PS") == 0 || strcmp(type->name, "Evaluator") == 0);
	}
}

/* v1-behaviour A.2 */
static void test_tensorflow__fields_of_v1(void **state)
{
	rh_auto(json) schema = NULL;
	const char *text;
	auto_kit kit;

	(void)state;
	kit_open(&kit, "tensorflow", NULL, JOBS_JOB("", JOBS_TYPE("Worker", "1")));
	text = kit.fixture.job->kind->spec_schema;
	assert_int_equal(rh_json_parse(text, strlen(text), &schema, NULL), 0);
	assert_int_equal(rh_json_size(schema), 2);
	assert_string_equal(rh_json_string_at(schema, "successPolicy.type"), "string");
	assert_string_equal(rh_json_string_at(schema, "enableDynamicWorker.type"), "boolean");
}

/* v1-behaviour A.3-2: any case counts, the canonical one is used. */
static void test_tensorflow__types_in_any_case(void **state)
{
	auto_kit kit;

	(void)state;
	kit_open(&kit, "tensorflow", NULL, JOBS_JOB("", JOBS_TYPE("ps", "1") JOBS_TYPE("WORKER", "2")));
	kit_assert_findings(&kit, "");
	rh_auto(json) pod = kit_pod(&kit, "PS", 0);
	assert_string_equal(rh_json_string_at(pod, "metadata.name"), "mnist-ps-0");
	kit_assert_env(pod, 0,
	               "TF_CONFIG={\"cluster\":{\"ps\":[\"mnist-ps-0.team.svc:2222\"],"
	               "\"worker\":[\"mnist-worker-0.team.svc:2222\",\"mnist-worker-1.team.svc:2222\"]},"
	               "\"task\":{\"type\":\"ps\",\"index\":0},\"environment\":\"cloud\"}\n");
}

/* v1-behaviour C.4: only the container of that name, and not the others. */
static void test_tensorflow__only_the_main_container_gets_it(void **state)
{
	auto_kit kit;

	(void)state;
	kit_open(
		&kit, "tensorflow", NULL,
		JOBS_JOB("",
	             "    Worker: {replicas: 2, template: {spec: {initContainers: [{name: i}], containers: "
	             "[{name: side, env: [{name: A, value: b}]}, {name: tensorflow, env: [{name: A, value: c}]}]}}}\n"));
	rh_auto(json) pod = kit_pod(&kit, "Worker", 1);
	kit_assert_env(pod, 0, "A=b\n");
	kit_assert_env(pod, 1,
	               "A=c\nTF_CONFIG={\"cluster\":{\"worker\":[\"mnist-worker-0.team.svc:2222\","
	               "\"mnist-worker-1.team.svc:2222\"]},\"task\":{\"type\":\"worker\",\"index\":1},"
	               "\"environment\":\"cloud\"}\n");
	assert_null(rh_json_at(pod, "spec.initContainers[0].env"));
}

static void test_tensorflow__survives_allocation_failures(void **state)
{
	auto_kit kit;

	(void)state;
	kit_open(&kit, "tensorflow", NULL, JOBS_JOB("  successPolicy: x\n", JOBS_TYPE("PS", "1") JOBS_TYPE("Worker", "2")));
	kit.fixture.counts[1].active = 1;
	kit_assert_survives(&kit, "Worker", 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tensorflow__constants_of_v1),
		cmocka_unit_test(test_tensorflow__fields_of_v1),
		cmocka_unit_test(test_tensorflow__types_in_any_case),
		cmocka_unit_test(test_tensorflow__only_the_main_container_gets_it),
		cmocka_unit_test(test_tensorflow__survives_allocation_failures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
