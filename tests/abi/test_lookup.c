/* SPDX-License-Identifier: Apache-2.0 */
/* lookup.c: what a plugin sees of the objects that a job names. */
#include <string.h>

#include "abi/plugins/both.h"
#include "job/lookups/lookup_files.h"

static const char lookup_job[] = "apiVersion: example.org/v1\n"
								 "kind: RuntimeJob\n"
								 "metadata: {name: j, uid: u, namespace: ns}\n"
								 "spec:\n"
								 "  runtimeRef: {name: torch}\n"
								 "  queue: q\n"
								 "  replicaSpecs: {Node: {template: {spec: {containers: [{name: c, image: i}]}}}}\n";

static const char lookup_runtime[] = "{apiVersion: example.org/v1alpha1, kind: ClusterRuntime, metadata: {name: torch},"
									 " spec: {image: blue, env: {A: '1'}}}\n";

/* Keep @p yaml as the object of the entry @p name; NULL: there is none. */
static void lookup_keep(struct rh_lookups *lookups, const char *name, const char *yaml)
{
	struct rh_lookup *due = rh_lookups_due(lookups);
	rh_auto(json) object = yaml ? fixture_yaml(yaml) : NULL;

	assert_non_null(due);
	assert_string_equal(due->name, name);
	assert_int_equal(rh_lookups_keep(lookups, due, object), 0);
}

static const char *lookup_env(const struct rh_json *pod, const char *name)
{
	for (const struct rh_json *item = rh_json_first(rh_json_at(pod, "spec.containers[0].env")); item;
	     item = rh_json_next(item)) {
		if (strcmp(rh_json_string_at(item, "name"), name) == 0)
			return rh_json_string_at(item, "value");
	}
	return NULL;
}

static void test_lookup__found(void **state)
{
	rh_auto(lookups) lookups = NULL;
	rh_auto(json) pod = NULL;
	auto_fixture fixture;

	both_open(&fixture, state, lookup_job);
	assert_int_equal(rh_lookups_new(fixture.job, &lookups), 0);
	assert_false(rh_lookups_are_complete(fixture.job->kind, lookups));
	lookup_keep(lookups, "snapshot", NULL);
	lookup_keep(lookups, "runtime", lookup_runtime);
	lookup_keep(lookups, "queue", "{kind: Queue, metadata: {name: q, labels: {tier: gold}}, spec: {a: 1}}");
	assert_null(rh_lookups_due(lookups));
	assert_true(rh_lookups_are_complete(fixture.job->kind, lookups));
	fixture.snapshot.lookups = lookups;
	pod = both_pod(&fixture, "Node", 0);
	both_assert_text(pod, "spec.containers[0].image", "blue");
	assert_string_equal(lookup_env(pod, "A"), "1");
	assert_string_equal(lookup_env(pod, "QUEUE"), "gold");
	assert_string_equal(lookup_env(pod, "LOOKUPS"), "1 1 -1");
}

/* A change of the object alone reaches a plugin in a process of its own, too. */
static void test_lookup__changed(void **state)
{
	auto_fixture fixture;

	both_open(&fixture, state, lookup_job);
	for (int i = 0; i < 2; i++) {
		rh_auto(lookups) lookups = NULL;
		rh_auto(json) pod = NULL;

		assert_int_equal(rh_lookups_new(fixture.job, &lookups), 0);
		lookup_keep(lookups, "snapshot", NULL);
		lookup_keep(lookups, "runtime", i ? "{metadata: {name: torch}, spec: {image: red}}" : lookup_runtime);
		lookup_keep(lookups, "queue", NULL);
		fixture.snapshot.lookups = lookups;
		fixture.snapshot.stored = true;
		pod = both_pod(&fixture, "Node", 0);
		both_assert_text(pod, "spec.containers[0].image", i ? "red" : "blue");
		assert_string_equal(lookup_env(pod, "LOOKUPS"), "1 2 -1");
	}
}

/* The job's own snapshot takes the place of the runtime, and its text is parsed. */
static void test_lookup__own(void **state)
{
	rh_auto(lookups) lookups = NULL;
	rh_auto(json) pod = NULL;
	auto_fixture fixture;

	both_open(&fixture, state, lookup_job);
	assert_int_equal(rh_lookups_new(fixture.job, &lookups), 0);
	assert_string_equal(rh_lookups_due(lookups)->object_name, "j-runtime");
	lookup_keep(lookups, "snapshot",
	            "{metadata: {name: j-runtime, ownerReferences: [{uid: u, controller: true}]}, data: {spec: 'image: "
	            "green'}}");
	lookup_keep(lookups, "queue", NULL);
	assert_true(rh_lookups_are_complete(fixture.job->kind, lookups));
	fixture.snapshot.lookups = lookups;
	pod = both_pod(&fixture, "Node", 0);
	both_assert_text(pod, "spec.containers[0].image", "green");
	assert_string_equal(lookup_env(pod, "LOOKUPS"), "2 2 -1");
}

/* validate() is not called while something is missing; its paths name the object. */
static void test_lookup__refusals(void **state)
{
	rh_auto(lookups) lookups = NULL;
	rh_auto_findings findings = {0};
	rh_auto_str text = {0};
	auto_fixture fixture;

	both_open(&fixture, state, lookup_job);
	assert_int_equal(rh_host_validate(&fixture.snapshot, &findings, NULL), 0);
	assert_int_equal(findings.count, 0);
	assert_int_equal(rh_lookups_new(fixture.job, &lookups), 0);
	lookup_keep(lookups, "snapshot", NULL);
	lookup_keep(lookups, "runtime", "{metadata: {name: torch}, spec: {}}");
	lookup_keep(lookups, "queue", NULL);
	fixture.snapshot.lookups = lookups;
	assert_int_equal(rh_host_validate(&fixture.snapshot, &findings, NULL), 0);
	rh_findings_print_v1(&findings, &text);
	assert_string_equal(rh_str_text(&text), "ClusterRuntime torch: spec.image: Required value: must be configured");
}

static int lookup_run(bool remote)
{
	const struct CMUnitTest tests[] = {
		BOTH_TEST(test_lookup__found),
		BOTH_TEST(test_lookup__changed),
		BOTH_TEST(test_lookup__own),
		BOTH_TEST(test_lookup__refusals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void)
{
	return both_run(lookup_run);
}
