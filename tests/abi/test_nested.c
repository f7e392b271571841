/* SPDX-License-Identifier: Apache-2.0 */
/* nested.c: replicas and run policy where a kind has them, and messages that name that place. */
#include <string.h>

#include "abi/plugins/both.h"
#include "job/rules/schema/schema.h"
#include "schema/crd.h"
#include "schema/explain.h"

#define TEMPLATE "template: {spec: {containers: [{name: main, image: i}]}}"
#define TOP "apiVersion: example.org/v1\nkind: ClusterJob\nmetadata: {name: c}\nspec:\n"
#define HEAD "  head: {" TEMPLATE "}\n"
#define WORKERS "  cluster: {replicaSpecs: {Worker: {" TEMPLATE "}}}\n"
#define SCHEMA "spec.versions[0].schema.openAPIV3Schema.properties.spec."

static void test_nested__types_are_found_where_they_are(void **state)
{
	rh_auto(json) pod = NULL;
	auto_fixture fixture;

	both_open(&fixture, state, TOP "  suspend: true\n  ttlSecondsAfterFinished: 9\n  backoffLimit: 3\n" HEAD WORKERS);
	assert_int_equal(fixture.job->spec_count, 2);
	assert_string_equal(fixture.job->specs[0].type, "Head");
	assert_string_equal(fixture.job->specs[1].type, "Worker");
	assert_int_equal(fixture.job->specs[1].replicas, 2);
	assert_true(fixture.job->policy.suspend);
	assert_int_equal(fixture.job->policy.ttl_seconds, 9);
	/* spec_schema does not name it */
	assert_int_equal(fixture.job->policy.backoff_limit, -1);
	pod = both_pod(&fixture, "Worker", 1);
	both_assert_text(pod, "metadata.name", "c-worker-1");
	both_assert_text(pod, "spec.containers[0].env[0].value", "c-head-0");
}

/** Every finding of the core, one a line. */
static void nested_findings(struct fixture *fixture, struct rh_str *out)
{
	rh_auto_findings findings = {0};

	assert_int_equal(rh_host_validate(&fixture->snapshot, &findings, NULL), 0);
	for (size_t i = 0; i < findings.count; i++)
		rh_str_appendf(out, "%s: %s\n", findings.items[i].path, findings.items[i].detail);
}

static void test_nested__messages_name_the_place(void **state)
{
	static const struct {
		const char *job;
		const char *words;
	} rows[] = {
		{TOP HEAD WORKERS, ""},
		{TOP WORKERS, "spec.head: Required value: must be present\n"},
		{TOP "  managedBy: me\n" HEAD WORKERS, "spec.managedBy: Unsupported value: \"me\""},
		{TOP "  head: {replicas: 2, " TEMPLATE "}\n" WORKERS, "spec.head.replicas: Forbidden: must be 1\n"},
		{TOP HEAD "  cluster: {replicaSpecs: {Worker: {replicas: 0, " TEMPLATE "}}}\n",
	     "spec.cluster.replicaSpecs[Worker].replicas: Forbidden: must be at least 1\n"},
		{TOP HEAD "  cluster: {replicaSpecs: {Head: {" TEMPLATE "}}}\n",
	     "spec.cluster.replicaSpecs[Head]: Unsupported value: \"Head\": supported values: \"Worker\""},
		{TOP "  head: {template: {spec: {containers: []}}}\n" WORKERS, "spec.head.template.spec.containers: "},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		rh_auto_str found = {0};
		auto_fixture fixture;

		both_open(&fixture, state, rows[i].job);
		nested_findings(&fixture, &found);
		if (*rows[i].words ? !strstr(rh_str_text(&found), rows[i].words) : found.length > 0)
			fail_msg("row %zu: \"%s\" does not say \"%s\"", i, rh_str_text(&found), rows[i].words);
	}
}

static void test_nested__a_value_of_another_type_is_named(void **state)
{
	static const struct {
		const char *job;
		const char *words;
	} rows[] = {
		{TOP HEAD "  cluster: [1]\n", "spec.cluster: Invalid value: "},
		{TOP "  head: 7\n" WORKERS, "spec.head: Invalid value: "},
		{TOP HEAD "  cluster: {replicaSpecs: {Worker: 7}}\n", "spec.cluster.replicaSpecs.Worker: Invalid value: "},
		{TOP "  suspend: 3\n" HEAD WORKERS, "spec.suspend: Invalid value: "},
	};
	auto_fixture fixture;

	both_open(&fixture, state, TOP HEAD WORKERS);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rh_error err = {0};
		struct rh_job *job = NULL;

		assert_int_equal(rh_host_parse(fixture.host, fixture_yaml(rows[i].job), &job, &err), RH_EINVAL);
		if (!strstr(err.message, rows[i].words))
			fail_msg("\"%s\" does not say \"%s\"", err.message, rows[i].words);
	}
}

static void test_nested__the_definition_has_the_paths(void **state)
{
	rh_auto(json) crd = NULL;
	rh_auto_free char *required = NULL;
	rh_auto_free char *text = NULL;
	auto_fixture fixture;

	both_open(&fixture, state, TOP HEAD WORKERS);
	assert_int_equal(rh_crd_build(fixture.job->kind, NULL, &crd, NULL), 0);
	both_assert_text(crd, "spec.versions[0].subresources.scale.specReplicasPath",
	                 ".spec.cluster.replicaSpecs.Worker.replicas");
	both_assert_text(crd, SCHEMA "properties.cluster.properties.size.type", "string");
	both_assert_text(crd, SCHEMA "properties.cluster.properties.replicaSpecs.additionalProperties.type", "object");
	both_assert_text(crd, SCHEMA "properties.head.properties.template.type", "object");
	assert_null(rh_json_at(crd, SCHEMA "properties.runPolicy"));
	required = rh_json_text(rh_json_at(crd, SCHEMA "required"));
	assert_string_equal(required, "[\"cluster\",\"head\"]");
	text = rh_json_text(crd);
	assert_non_null(strstr(text, "has(self.managedBy) == has(oldSelf.managedBy)"));
	assert_non_null(strstr(text, "no drivers"));
}

/* What an API server would refuse, lint refuses. */
static void test_nested__lint_knows_the_fields(void **state)
{
	rh_auto(json) document = NULL;
	rh_auto_findings findings = {0};
	auto_fixture fixture;

	both_open(&fixture, state, TOP "  clusters: {}\n" HEAD);
	assert_int_equal(rh_schema_of_definition(fixture.job->kind, &document, NULL), 0);
	assert_int_equal(rh_schema_check(document, fixture.job->object, RH_SCHEMA_FIELDS, &findings), 0);
	assert_int_equal(findings.count, 2);
	assert_string_equal(findings.items[0].path, "spec");
	assert_non_null(strstr(findings.items[0].detail, "cluster"));
	assert_string_equal(findings.items[1].path, "spec.clusters");
}

static void test_nested__explain_shows_types_and_defaults(void **state)
{
	rh_auto(json) map = NULL;
	rh_auto(json) head = NULL;
	auto_fixture fixture;

	both_open(&fixture, state, TOP HEAD WORKERS);
	assert_int_equal(
		rh_explain(fixture.host, "clusterjob.spec.cluster.replicaSpecs.worker.replicas", &map, &fixture.err), 0);
	both_assert_text(map, "path", "spec.cluster.replicaSpecs[Worker].replicas");
	both_assert_text(map, "default", "2");
	assert_int_equal(rh_explain(fixture.host, "clusterjob.spec.head.replicas", &head, &fixture.err), 0);
	both_assert_text(head, "path", "spec.head.replicas");
	both_assert_text(head, "rules", "exactly 1");
}

static int nested_run(bool remote)
{
	const struct CMUnitTest tests[] = {
		BOTH_TEST(test_nested__types_are_found_where_they_are),
		BOTH_TEST(test_nested__messages_name_the_place),
		BOTH_TEST(test_nested__a_value_of_another_type_is_named),
		BOTH_TEST(test_nested__the_definition_has_the_paths),
		BOTH_TEST(test_nested__lint_knows_the_fields),
		BOTH_TEST(test_nested__explain_shows_types_and_defaults),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void)
{
	return both_run(nested_run);
}
