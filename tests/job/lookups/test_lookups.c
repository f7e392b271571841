/* SPDX-License-Identifier: Apache-2.0 */
#include "job/lookups/lookups.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/yaml.h"
#include "job/lookups/lookup_files.h"

static const struct rh_replica_type lookups_node = {
	.head = RH_HEAD(struct rh_replica_type), .name = "Node", .default_replicas = 1};
static const struct rh_replica_type *const lookups_types[] = {&lookups_node, NULL};

#define LOOKUPS_KIND(texts)                                                                                     \
	{                                                                                                           \
		.head = RH_HEAD(struct rh_kind), .group = "example.org", .version = "v1", .kind = "FooJob",             \
		.plural = "foojobs", .singular = "foojob", .framework = "foo", .controller = "foojob-controller",       \
		.replicas_field = "replicaSpecs", .types = lookups_types, .restart_policy = "Never", .lookups = (texts) \
	}

static const struct rh_kind lookups_kind = LOOKUPS_KIND(
	"[{\"name\":\"map\",\"apiVersion\":\"v1\",\"kinds\":[{\"kind\":\"ConfigMap\",\"plural\":\"configmaps\","
	"\"scope\":\"Namespaced\"}],\"object\":{\"from\":\"spec.map\",\"default\":\"usual\"},"
	"\"parse\":[\"data[\\\"a.yaml\\\"]\",\"data.b\",\"top\"]}]");

static const struct rh_kind lookups_grouped =
	LOOKUPS_KIND("[{\"name\":\"runtime\",\"apiVersion\":\"example.org/v1\",\"kinds\":[{\"kind\":\"Runtime\","
                 "\"plural\":\"runtimes\",\"scope\":\"Namespaced\"}],\"group\":{\"from\":\"spec.group\"},"
                 "\"object\":{\"from\":\"spec.runtime\",\"default\":\"usual\"}}]");

static struct rh_json *lookups_yaml(const char *text)
{
	rh_auto(json) documents = NULL;

	assert_int_equal(rh_yaml_parse(text, strlen(text), &documents, NULL), 0);
	return rh_json_detach_item(documents, 0);
}

/* @return the job in which spec has @p spec, owned by the caller */
static struct rh_job *lookups_job_of(const struct rh_kind *kind, const char *spec)
{
	rh_auto_free char *text = rh_asprintf("{metadata: {name: j, namespace: ns}, spec: {%s}}", spec);
	struct rh_job *job = NULL;

	assert_int_equal(rh_job_parse(kind, lookups_yaml(text), &job, NULL), 0);
	return job;
}

static struct rh_job *lookups_job(const char *spec)
{
	return lookups_job_of(&lookups_kind, spec);
}

/* @return the lookups of a job with the object @p yaml, owned by the caller */
static struct rh_lookups *lookups_with(const char *spec, const char *yaml)
{
	rh_auto(job) job = lookups_job(spec);
	rh_auto(json) object = lookups_yaml(yaml);
	struct rh_lookups *lookups = NULL;

	assert_int_equal(rh_lookups_new(job, &lookups), 0);
	assert_int_equal(rh_lookups_keep(lookups, rh_lookups_due(lookups), object), 0);
	return lookups;
}

static void test_lookups__texts_are_parsed(void **state)
{
	rh_auto(lookups) lookups = lookups_with("", "{data: {a.yaml: 'x: 1', b: '{\"y\": [2]}'}, top: 'z'}");
	const struct rh_json *object = lookups->items[0].object;

	(void)state;
	assert_null(lookups->flaw);
	assert_string_equal(lookups->items[0].object_name, "usual");
	assert_non_null(rh_json_at(object, "data[\"a.yaml\"].x"));
	assert_non_null(rh_json_at(object, "data.b.y[0]"));
	assert_string_equal(rh_json_string_at(object, "top"), "z");
	assert_true(rh_lookups_are_complete(&lookups_kind, lookups));
}

static void test_lookups__a_text_that_does_not_parse(void **state)
{
	rh_auto(lookups) lookups = lookups_with("map: m", "{data: {b: '{'}}");
	rh_auto_str place = {0};

	(void)state;
	assert_non_null(lookups->flaw);
	assert_non_null(strstr(lookups->flaw, "Invalid value: it must be one document of YAML or JSON: "));
	rh_lookups_print_path(lookups, lookups->flaw_path, &place);
	assert_string_equal(rh_str_text(&place), "ConfigMap m: data.b");
	assert_false(rh_lookups_are_complete(&lookups_kind, lookups));
}

static void test_lookups__files(void **state)
{
	static const char text[] = "{apiVersion: v1, kind: ConfigMap, metadata: {name: m, namespace: ns}}\n---\n"
							   "{apiVersion: other/v1, kind: ConfigMap, metadata: {name: other, namespace: ns}}\n";
	static const char *const specs[] = {"map: m", "", "map: other"};
	rh_auto_manifest manifest = {0};
	rh_auto_findings findings = {0};

	(void)state;
	assert_int_equal(rh_manifest_parse(&manifest, "f", text, strlen(text), NULL), 0);
	for (int i = 0; i < 3; i++) {
		rh_auto(job) job = lookups_job(specs[i]);
		rh_auto(lookups) lookups = NULL;

		assert_int_equal(rh_lookups_of_files(job, &manifest, &lookups), 0);
		assert_int_equal(lookups->items[0].state, i == 0 ? RH_LOOKUP_FOUND : RH_LOOKUP_ABSENT);
		assert_int_equal(rh_lookups_report(lookups, &manifest, "\"/o\"", &findings), 0);
		assert_int_equal(findings.count, i);
	}
	assert_string_equal(findings.items[0].path, "spec.map");
	assert_string_equal(
		findings.items[0].detail,
		"Not found: \"usual\": ConfigMap usual is neither in the files nor in \"/o\"; put it into a file");
	assert_string_equal(
		findings.items[1].detail,
		"Not found: \"other\": the ConfigMap other of the files is of other/v1, and only those of v1 are served");
}

/* Nothing of another group is looked up. */
static void test_lookups__groups(void **state)
{
	static const char *const good[] = {"", "group: example.org"};
	static const char *const others[] = {"other.org", "example.org/v1", "example.or", "example.org.", "v1"};

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		rh_auto(job) job = lookups_job_of(&lookups_grouped, good[i]);
		rh_auto(lookups) lookups = NULL;

		assert_int_equal(rh_lookups_new(job, &lookups), 0);
		assert_null(lookups->flaw);
		assert_non_null(rh_lookups_due(lookups));
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		rh_auto_free char *spec = rh_asprintf("group: %s", others[i]);
		rh_auto_free char *flaw =
			rh_asprintf("Unsupported value: \"%s\": supported values: \"example.org\"", others[i]);
		rh_auto(job) job = lookups_job_of(&lookups_grouped, spec);
		rh_auto(lookups) lookups = NULL;

		assert_int_equal(rh_lookups_new(job, &lookups), 0);
		assert_string_equal(lookups->flaw_path, "spec.group");
		assert_string_equal(lookups->flaw, flaw);
		assert_null(rh_lookups_due(lookups));
		assert_false(rh_lookups_are_complete(&lookups_grouped, lookups));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lookups__texts_are_parsed),
		cmocka_unit_test(test_lookups__a_text_that_does_not_parse),
		cmocka_unit_test(test_lookups__files),
		cmocka_unit_test(test_lookups__groups),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
