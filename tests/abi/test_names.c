/* SPDX-License-Identifier: Apache-2.0 */
/* names.c: names and labels of another shape; what the engine does with them is in engine/carry/child. */
#include <string.h>

#include "abi/plugins/both.h"
#include "job/values/names.h"
#include "schema/crd.h"

#define TEMPLATE "template: {spec: {containers: [{name: main, image: i}]}}"

static const char names_job[] =
	"apiVersion: example.org/v1\n"
	"kind: NamesJob\n"
	"metadata: {name: k, uid: u, namespace: ns}\n"
	"spec: {namesReplicaSpecs: {Launcher: {" TEMPLATE "}, Node: {replicas: 2, " TEMPLATE "}}}\n";

static const char *names_env(const struct rh_json *pod, const char *name)
{
	for (const struct rh_json *item = rh_json_first(rh_json_at(pod, "spec.containers[0].env")); item;
	     item = rh_json_next(item)) {
		if (rh_text_equal(rh_json_string(rh_json_get(item, "name")), name))
			return rh_json_string(rh_json_get(item, "value"));
	}
	return NULL;
}

static void test_names__a_pod(void **state)
{
	rh_auto(json) pod = NULL;
	rh_auto(json) single = NULL;
	const struct rh_json *labels;
	const char *name;
	auto_fixture fixture;

	both_open(&fixture, state, names_job);
	pod = both_pod(&fixture, "Node", 1);
	name = rh_json_string_at(pod, "metadata.name");
	assert_int_equal(strlen(name), strlen("k-node-0-1-sssss"));
	assert_true(rh_starts_with(name, "k-node-0-1-"));
	assert_string_equal(names_env(pod, "MY_POD"), name);
	assert_string_equal(names_env(pod, "FIRST_HOST"), "k-node-0-0.k.ns.svc");
	labels = rh_json_at(pod, "metadata.labels");
	assert_int_equal(rh_json_size(labels), 5);
	both_assert_text(labels, "[\"training.kubeflow.org/job-name\"]", "k");
	both_assert_text(labels, "[\"roundhouse.dev/operator-name\"]", "namesjob-controller");
	both_assert_text(labels, "[\"roundhouse.dev/replica-type\"]", "node");
	both_assert_text(labels, "[\"roundhouse.dev/replica-index\"]", "1");
	both_assert_text(labels, "[\"training.kubeflow.org/replica-index\"]", "2");
	single = both_pod(&fixture, "Launcher", 0);
	assert_true(rh_starts_with(rh_json_string_at(single, "metadata.name"), "k-launcher-0-"));
	assert_int_equal(strlen(rh_json_string_at(single, "metadata.name")), strlen("k-launcher-0-sssss"));
	assert_null(rh_json_at(single, "metadata.labels[\"training.kubeflow.org/job-role\"]"));
}

static void test_names__the_domain_is_a_setting(void **state)
{
	static const char ini[] = "[plugin names]\ncluster-domain = cluster.local\n";
	rh_auto(json) pod = NULL;
	struct fixture fixture;

	if (*(const bool *)*state)
		return;
	fixture_open_file(&fixture, RH_ABI_PLUGIN, ini, names_job);
	pod = both_pod(&fixture, "Node", 1);
	assert_string_equal(names_env(pod, "FIRST_HOST"), "k-node-0-0.k.ns.svc.cluster.local");
	fixture_close(&fixture);
}

/* A name that is too long is refused by its own length. */
static void test_names__length(void **state)
{
	rh_auto_free char *yaml = NULL;
	rh_auto_findings findings = {0};
	auto_fixture fixture;

	yaml = rh_asprintf("apiVersion: example.org/v1\nkind: NamesJob\nmetadata: {name: %.64s}\n"
	                   "spec: {namesReplicaSpecs: {Node: {" TEMPLATE "}}}\n",
	                   "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
	both_open(&fixture, state, yaml);
	assert_int_equal(rh_host_validate(&fixture.snapshot, &findings, NULL), 0);
	assert_int_equal(findings.count, 1);
}

static int names_run(bool remote)
{
	const struct CMUnitTest tests[] = {
		BOTH_TEST(test_names__a_pod),
		BOTH_TEST(test_names__the_domain_is_a_setting),
		BOTH_TEST(test_names__length),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void)
{
	return both_run(names_run);
}
