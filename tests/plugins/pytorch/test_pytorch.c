/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "host/fixture.h"

static const struct rh_kind *pytorch_kind(struct fixture *fixture)
{
	fixture_open_file(fixture, RH_PLUGIN_DIR "/pytorch.so", NULL, fixture_job);
	return fixture->job->kind;
}

static void test_pytorch__is_ready_and_serves_one_kind(void **state)
{
	struct rh_plugin_info info;
	auto_fixture fixture;

	(void)state;
	(void)pytorch_kind(&fixture);
	rh_host_plugin(fixture.host, 0, &info);
	assert_int_equal(info.state, RH_PLUGIN_READY);
	assert_string_equal(info.name, "pytorch");
	assert_non_null(info.kinds[0]);
	assert_null(info.kinds[1]);
}

/* v1-behaviour A.1 */
static void test_pytorch__constants_of_v1(void **state)
{
	auto_fixture fixture;
	const struct rh_kind *kind = pytorch_kind(&fixture);

	(void)state;
	assert_string_equal(kind->group, "kubeflow.org");
	assert_string_equal(kind->version, "v1");
	assert_string_equal(kind->kind, "PyTorchJob");
	assert_string_equal(kind->plural, "pytorchjobs");
	assert_string_equal(kind->singular, "pytorchjob");
	assert_string_equal(kind->framework, "pytorch");
	assert_string_equal(kind->controller, "pytorchjob-controller");
	assert_string_equal(kind->replicas_field, "pytorchReplicaSpecs");
	assert_string_equal(kind->container, "pytorch");
	assert_string_equal(kind->port_name, "pytorchjob-port");
	assert_int_equal(kind->port, 23456);
	assert_string_equal(kind->restart_policy, "OnFailure");
	assert_string_equal(kind->scale_type, "Worker");
	assert_string_equal(kind->leader_fallback, "Worker");
	assert_int_equal(kind->flags, RH_KIND_SERVICES | RH_KIND_DNS_NAME | RH_KIND_SELECTOR | RH_KIND_BINDS_ALL);
}

static void test_pytorch__replica_types(void **state)
{
	auto_fixture fixture;
	const struct rh_kind *kind = pytorch_kind(&fixture);

	(void)state;
	assert_string_equal(kind->types[0]->name, "Master");
	assert_int_equal(kind->types[0]->min_replicas, 1);
	assert_int_equal(kind->types[0]->max_replicas, 1);
	assert_int_equal(kind->types[0]->flags, RH_REPLICA_LEADER | RH_REPLICA_EXPLICIT);
	assert_string_equal(kind->types[1]->name, "Worker");
	assert_int_equal(kind->types[1]->default_replicas, 1);
	assert_int_equal(kind->types[1]->min_replicas, 1);
	assert_int_equal(kind->types[1]->max_replicas, 0);
	assert_null(kind->types[2]);
}

/* v1-behaviour A.2: every field that a PyTorchJob has beside the common ones, and no other. */
static void test_pytorch__schema_names_v1_s_fields(void **state)
{
	static const char *const fields[] = {"minReplicas",  "maxReplicas", "rdzvBackend", "rdzvHost",
	                                     "rdzvPort",     "rdzvId",      "rdzvConf",    "standalone",
	                                     "nProcPerNode", "maxRestarts", "metrics"};
	auto_fixture fixture;
	const struct rh_kind *kind = pytorch_kind(&fixture);
	rh_auto(json) schema = NULL;
	const struct rh_json *elastic;

	(void)state;
	assert_int_equal(rh_json_parse(kind->spec_schema, strlen(kind->spec_schema), &schema, NULL), 0);
	assert_int_equal(rh_json_size(schema), 2);
	assert_string_equal(rh_json_string_at(schema, "nprocPerNode.type"), "string");
	elastic = rh_json_at(schema, "elasticPolicy.properties");
	assert_int_equal(rh_json_size(elastic), sizeof(fields) / sizeof(fields[0]));
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		assert_non_null(rh_json_get(elastic, fields[i]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pytorch__is_ready_and_serves_one_kind),
		cmocka_unit_test(test_pytorch__constants_of_v1),
		cmocka_unit_test(test_pytorch__replica_types),
		cmocka_unit_test(test_pytorch__schema_names_v1_s_fields),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
