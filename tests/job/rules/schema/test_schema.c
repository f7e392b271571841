/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/yaml.h"
#include "job/rules/schema/schema.h"
#include "job/support.h"
#include "job/values/quantity.h"

static const struct rh_replica_type worker = {
	.head = RH_HEAD(struct rh_replica_type), .name = "Worker", .default_replicas = 1};
static const struct rh_replica_type *const types[] = {&worker, NULL};
static const struct rh_kind kind = {
	.head = RH_HEAD(struct rh_kind),
	.kind = "TryJob",
	.types = types,
	.replicas_field = "tryReplicaSpecs",
	.spec_schema =
		"{\"ports\":{\"type\":\"array\",\"items\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":65535}},"
		"\"share\":{\"type\":\"number\",\"minimum\":0.5},"
		"\"words\":{\"type\":\"object\",\"additionalProperties\":{\"type\":\"string\",\"pattern\":\"^[a-z]+(\\\\.[a-z]+"
		")?$\"}},"
		"\"perl\":{\"type\":\"string\",\"pattern\":\"^\\\\d+$\"},\"broken\":{\"type\":\"string\",\"pattern\":\"(\"},"
		"\"mode\":{\"type\":\"string\",\"enum\":[\"fast\",\"slow\"]},"
		"\"free\":{\"type\":\"object\",\"x-kubernetes-preserve-unknown-fields\":true,\"properties\":{}},"
		"\"pairs\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"required\":[\"key\"],"
		"\"properties\":{\"key\":{\"type\":\"string\"},\"value\":{\"type\":\"string\"}}}},"
		"\"any\":{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\"},\"b\":{\"type\":\"integer\"}},"
		"\"anyOf\":[{\"required\":[\"a\"]},{\"properties\":{\"b\":{\"minimum\":3}},\"required\":[\"b\"]}]},"
		"\"one\":{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"integer\"},\"b\":{\"type\":\"integer\"}},"
		"\"oneOf\":[{\"required\":[\"a\"]},{\"required\":[\"b\"]}]},"
		"\"all\":{\"type\":\"string\",\"allOf\":[{\"pattern\":\"^a\"},{\"maxLength\":3}],\"not\":{\"enum\":[\"ab\"]}},"
		"\"port\":{\"x-kubernetes-int-or-string\":true,\"anyOf\":[{\"type\":\"integer\"},{\"type\":\"string\"}]},"
		"\"deep\":{\"type\":\"array\",\"items\":{\"type\":\"integer\"},"
		"\"not\":{\"anyOf\":[{\"items\":{\"minimum\":1}},{\"not\":{\"minItems\":1}}]}},"
		"\"itself\":{\"type\":\"object\",\"x-kubernetes-preserve-unknown-fields\":true,"
		"\"anyOf\":[{\"$ref\":\"TryJob\"}]}}",
};

/* A job's YAML and the one finding that it gives; NULL: none. */
struct row {
	const char *name;
	const char *text;
	const char *path;
	const char *detail;
};

#define TEMPLATE(text) "spec: {tryReplicaSpecs: {Worker: {template: {spec: {" text "}}}}}"
#define PASSED_ON " Kubernetes 1.34 has no such field here; it is passed on to the pods as it is"
#define IN_TEMPLATE(path) "spec.tryReplicaSpecs[Worker].template.spec." path

static const struct row rows[] = {
	{"empty job", "spec: {}", NULL, NULL},
	{"known fields", "spec: {mode: fast, runPolicy: {backoffLimit: 3}}", NULL, NULL},
	{"null is unset", "spec: {mode: null, runPolicy: null}", NULL, NULL},
	{"unknown, near", "spec: {moed: fast}", "spec.moed", "Unknown field: did you mean \"mode\"?"},
	{"unknown, far", "spec: {wholly: 1}", "spec.wholly", "Unknown field: remove it, the API server does not keep it"},
	{"case counts", "spec: {Mode: fast}", "spec.Mode", "Unknown field: did you mean \"mode\"?"},
	{"wrong type", "spec: {mode: 1}", "spec.mode", "Invalid value: 1: must be of type string"},
	{"integer with fraction", "spec: {runPolicy: {backoffLimit: 1.5}}", "spec.runPolicy.backoffLimit",
     "Invalid value: 1.5: must be of type integer"},
	/* the ends of int32 and int64 */
	{"largest integers", TEMPLATE("containers: [], priority: 2147483647, activeDeadlineSeconds: 9223372036854775807"),
     NULL, NULL},
	{"smallest integers",
     TEMPLATE("containers: [], priority: -2147483648, activeDeadlineSeconds: -9223372036854775808"), NULL, NULL},
	{"whole numbers", TEMPLATE("containers: [], priority: 1e3, activeDeadlineSeconds: 2.0"), NULL, NULL},
	{"beyond int32", TEMPLATE("containers: [], priority: 2147483648"), IN_TEMPLATE("priority"),
     "Invalid value: 2147483648: must be between -2147483648 and 2147483647"},
	{"beyond int64", TEMPLATE("containers: [], activeDeadlineSeconds: 9223372036854775808"),
     IN_TEMPLATE("activeDeadlineSeconds"),
     "Invalid value: 9223372036854775808: must be between -9223372036854775808 and 9223372036854775807"},
	{"beyond int64, with an exponent", TEMPLATE("containers: [], activeDeadlineSeconds: -1e19"),
     IN_TEMPLATE("activeDeadlineSeconds"),
     "Invalid value: -10000000000000000000: must be between -9223372036854775808 and 9223372036854775807"},
	{"port as a text", TEMPLATE("containers: [{name: a, livenessProbe: {tcpSocket: {port: http}}}]"), NULL, NULL},
	{"port beyond int32", TEMPLATE("containers: [{name: a, livenessProbe: {tcpSocket: {port: -2147483649}}}]"),
     IN_TEMPLATE("containers[0].livenessProbe.tcpSocket.port"),
     "Invalid value: -2147483649: must be between -2147483648 and 2147483647"},
	{"port with a fraction", TEMPLATE("containers: [{name: a, livenessProbe: {tcpSocket: {port: 1.5}}}]"),
     IN_TEMPLATE("containers[0].livenessProbe.tcpSocket.port"),
     "Invalid value: 1.5: must be of type integer or string"},
	{"quantity of any size", TEMPLATE("containers: [{name: a, resources: {limits: {cpu: '99999999999999999999'}}}]"),
     NULL, NULL},
	{"quantity beyond int64", TEMPLATE("containers: [{name: a, resources: {limits: {cpu: 9223372036854775808}}}]"),
     IN_TEMPLATE("containers[0].resources.limits[cpu]"),
     "Invalid value: 9223372036854775808: must be of type integer or string"},
	{"quantity with a fraction", TEMPLATE("containers: [{name: a, resources: {limits: {cpu: 0.5}}}]"),
     IN_TEMPLATE("containers[0].resources.limits[cpu]"), "Invalid value: 0.5: must be of type integer or string"},
	{"no quantity", TEMPLATE("containers: [], volumes: [{name: a, emptyDir: {sizeLimit: '${SIZE}'}}]"),
     IN_TEMPLATE("volumes[0].emptyDir.sizeLimit"), "Invalid value: \"${SIZE}\": " RH_QUANTITY_RULE},
	{"null in maps is unset",
     TEMPLATE("nodeSelector: {a: null}, containers: [{name: a, resources: {limits: {cpu: null}}}]"), NULL, NULL},
	{"null is no item", TEMPLATE("containers: [{name: a, command: [a, null]}]"),
     IN_TEMPLATE("containers[0].command[1]"), "Invalid value: null: must be of type string"},
	{"null is no container", TEMPLATE("containers: [null]"), IN_TEMPLATE("containers[0]"),
     "Invalid value: null: must be of type object"},
	{"required member that is null", "spec: {pairs: [{key: null}]}", "spec.pairs[0]",
     "Required value: member \"key\" is missing"},
	{"status is not kept", "status: 3", NULL, NULL},
	{"misplaced in spec", "spec: {backoffLimit: 3}", "spec.backoffLimit",
     "Unknown field: move it to spec.runPolicy.backoffLimit"},
	{"misplaced in the job", "runPolicy: {}", "runPolicy", "Unknown field: move it to spec.runPolicy"},
	{"misplaced in runPolicy", "spec: {runPolicy: {minAvailable: 2}}", "spec.runPolicy.minAvailable",
     "Unknown field: move it to spec.runPolicy.schedulingPolicy.minAvailable"},
	{"misplaced in spec, of a type", "spec: {restartPolicy: Never}", "spec.restartPolicy",
     "Unknown field: move it to spec.tryReplicaSpecs[TYPE].restartPolicy"},
	{"misplaced in a type", "spec: {tryReplicaSpecs: {Worker: {cleanPodPolicy: All}}}",
     "spec.tryReplicaSpecs[Worker].cleanPodPolicy", "Unknown field: move it to spec.runPolicy.cleanPodPolicy"},
	{"resources of a type", "spec: {tryReplicaSpecs: {Worker: {resources: {}}}}",
     "spec.tryReplicaSpecs[Worker].resources",
     "Unknown field: move it to spec.tryReplicaSpecs[Worker].template.spec.containers[].resources"},
	{"containers of a template", "spec: {tryReplicaSpecs: {Worker: {template: {containers: []}}}}",
     "spec.tryReplicaSpecs[Worker].template.containers",
     "Unknown field: move it to spec.tryReplicaSpecs[Worker].template.spec.containers"},
	{"labels of a type", "spec: {tryReplicaSpecs: {Worker: {labels: {}}}}", "spec.tryReplicaSpecs[Worker].labels",
     "Unknown field: move it to spec.tryReplicaSpecs[Worker].template.metadata.labels"},
	{"misplaced in a pod", TEMPLATE("containers: [], env: []"), IN_TEMPLATE("env"),
     "Unknown field: move it to spec.tryReplicaSpecs[Worker].template.spec.containers[].env" PASSED_ON},
	{"misplaced in a container", TEMPLATE("containers: [{name: a, nodeSelector: {}}]"),
     IN_TEMPLATE("containers[0].nodeSelector"),
     "Unknown field: move it to spec.tryReplicaSpecs[Worker].template.spec.nodeSelector" PASSED_ON},
	{"of a later Kubernetes", TEMPLATE("containers: [], quantumGates: 3"), IN_TEMPLATE("quantumGates"),
     "Unknown field:" PASSED_ON},
	{"of Kubernetes 1.34",
     TEMPLATE("hostnameOverride: a, resources: {}, securityContext: {seLinuxChangePolicy: Recursive}, containers: "
              "[{name: a, restartPolicyRules: [{action: Restart}], lifecycle: {stopSignal: SIGTERM}, env: [{name: A, "
              "valueFrom: {fileKeyRef: {key: k, path: p, volumeName: v}}}]}], volumes: [{name: v, projected: {sources: "
              "[{podCertificate: {keyType: ED25519, signerName: s}}]}}]"),
     NULL, NULL},
	{"not of the enum", "spec: {mode: quick}", "spec.mode",
     "Unsupported value: \"quick\": supported values: \"fast\", \"slow\""},
	{"unknown fields kept", "spec: {free: {anything: [1]}}", NULL, NULL},
	{"required member", "spec: {pairs: [{value: b}]}", "spec.pairs[0]", "Required value: member \"key\" is missing"},
	{"second item", "spec: {pairs: [{key: a}, {key: b, vaule: c}]}", "spec.pairs[1].vaule",
     "Unknown field: did you mean \"value\"?"},
	{"template field", TEMPLATE("containers: [{name: a, imgae: b}]"), IN_TEMPLATE("containers[0].imgae"),
     "Unknown field: did you mean \"image\"?" PASSED_ON},
	{"template type", TEMPLATE("containers: [], hostNetwork: 'yes'"), IN_TEMPLATE("hostNetwork"),
     "Invalid value: \"yes\": must be of type boolean"},
	{"quantity as a number", TEMPLATE("containers: [{name: a, resources: {limits: {cpu: 2}}}]"), NULL, NULL},
	{"quantity as a text", TEMPLATE("containers: [{name: a, resources: {limits: {cpu: 500m}}}]"), NULL, NULL},
	{"quantity as a list", TEMPLATE("containers: [{name: a, resources: {limits: {cpu: []}}}]"),
     IN_TEMPLATE("containers[0].resources.limits[cpu]"), "Invalid value: []: must be of type integer or string"},
	{"map of texts", TEMPLATE("containers: [], nodeSelector: {a: 1}"), IN_TEMPLATE("nodeSelector[a]"),
     "Invalid value: 1: must be of type string"},
	{"any status", "spec: {}\nstatus: {whatever: 1}", NULL, NULL},
	{"label of a job", "metadata: {labels: {a: b}, lables: {}}", "metadata.lables",
     "Unknown field: did you mean \"labels\"?"},
};

static struct rh_json *pod_schema(void)
{
	struct rh_json *json = NULL;
	size_t length;
	const char *text = rh_schema_pod_text(&length);

	assert_int_equal(rh_json_parse(text, length, &json, NULL), 0);
	return json;
}

static const struct row limit_rows[] = {
	{"within", "spec: {ports: [1, 65535], share: 0.5, words: {a: b, c: d.e}}", NULL, NULL},
	{"not set", "spec: {ports: null, share: null}", NULL, NULL},
	{"below", "spec: {ports: [80, 0]}", "spec.ports[1]", "Invalid value: 0: must be greater than or equal to 1"},
	{"above", "spec: {ports: [65536]}", "spec.ports[0]", "Invalid value: 65536: must be less than or equal to 65535"},
	{"fraction", "spec: {share: 0.25}", "spec.share", "Invalid value: 0.25: must be greater than or equal to 0.5"},
	{"pattern", "spec: {words: {a: b.}}", "spec.words[a]", "Invalid value: \"b.\": must match '^[a-z]+(\\.[a-z]+)?$'"},
	{"another type is another error", "spec: {ports: [x], words: {a: 0}}", NULL, NULL},
	{"a class of RE2", "spec: {perl: x}", "spec.perl", "Invalid value: \"x\": must match '^\\d+$'"},
	{"no pattern", "spec: {broken: x}", NULL, NULL},
	{"anyOf, the first", "spec: {any: {a: 1, b: 1}}", NULL, NULL},
	{"anyOf, the second", "spec: {any: {b: 3}}", NULL, NULL},
	{"anyOf, none", "spec: {any: {b: 2}}", "spec.any",
     "Invalid value: must validate at least one schema (anyOf): anyOf[0] refuses spec.any: Required value: member "
     "\"a\" is missing; anyOf[1] refuses spec.any.b: Invalid value: 2: must be greater than or equal to 3"},
	{"oneOf, one", "spec: {one: {b: 3}}", NULL, NULL},
	{"oneOf, none", "spec: {one: {}}", "spec.one",
     "Invalid value: must validate one and only one schema (oneOf). Found none valid: oneOf[0] refuses spec.one: "
     "Required value: member \"a\" is missing; oneOf[1] refuses spec.one: Required value: member \"b\" is missing"},
	{"oneOf, both", "spec: {one: {a: 1, b: 1}}", "spec.one",
     "Invalid value: must validate one and only one schema (oneOf). Found 2 valid alternatives: oneOf[0] fits; "
     "oneOf[1] fits"},
	{"oneOf, null is not set", "spec: {one: {a: 1, b: null}}", NULL, NULL},
	{"allOf", "spec: {all: abc}", NULL, NULL},
	{"allOf, the first", "spec: {all: bc}", "spec.all", "Invalid value: \"bc\": must match '^a'"},
	{"allOf, the second", "spec: {all: abcd}", "spec.all", "Too long: may not be more than 3 characters"},
	{"not", "spec: {all: ab}", "spec.all", "Invalid value: must not validate the schema (not)"},
	{"anyOf of an integer or a text", "spec: {port: 3}", NULL, NULL},
	{"one in the other", "spec: {deep: [0]}", NULL, NULL},
	{"one in the other, refused", "spec: {deep: [1]}", "spec.deep",
     "Invalid value: must not validate the schema (not)"},
	{"one in the other, empty", "spec: {deep: []}", "spec.deep", "Invalid value: must not validate the schema (not)"},
	{"a schema in itself", "spec: {itself: {a: 1}}", NULL, NULL},
	{"what all kinds have", "spec: {runPolicy: {backoffLimit: -1}}", "spec.runPolicy.backoffLimit",
     "Invalid value: -1: must be greater than or equal to 0"},
};

static void check_row(const struct row *row, const struct rh_json *document, unsigned checks)
{
	rh_auto(json) documents = NULL;
	rh_auto_findings findings = {0};

	assert_int_equal(rh_yaml_parse(row->text, strlen(row->text), &documents, NULL), 0);
	assert_int_equal(rh_schema_check(document, rh_json_first(documents), checks, &findings), 0);
	assert_int_equal(findings.count, row->path ? 1 : 0);
	if (!row->path)
		return;
	assert_string_equal(findings.items[0].path, row->path);
	assert_string_equal(findings.items[0].detail, row->detail);
	assert_int_equal(findings.items[0].severity,
	                 strstr(row->detail, PASSED_ON) ? RH_FINDING_WARNING : RH_FINDING_ERROR);
}

static void test_schema__rows(void **state)
{
	rh_auto(json) pod = pod_schema();
	rh_auto(json) document = NULL;

	(void)state;
	assert_int_equal(rh_schema_of_kind(&kind, pod, &document, NULL), 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		print_message("row: %s\n", rows[i].name);
		check_row(&rows[i], document, RH_SCHEMA_FIELDS);
	}
}

static void test_schema__limits(void **state)
{
	rh_auto(json) pod = pod_schema();
	rh_auto(json) document = NULL;

	(void)state;
	assert_int_equal(rh_schema_of_kind(&kind, pod, &document, NULL), 0);
	for (size_t i = 0; i < sizeof(limit_rows) / sizeof(*limit_rows); i++) {
		print_message("row: %s\n", limit_rows[i].name);
		check_row(&limit_rows[i], document, RH_SCHEMA_LIMITS | RH_SCHEMA_RULES);
	}
}

/* What the plugin, or the type, has refused is not refused a second time. */
static void test_schema__limits_of_what_is_refused(void **state)
{
	static const char text[] = "spec: {ports: [0, 0]}";
	rh_auto(json) pod = pod_schema();
	rh_auto(json) document = NULL;
	rh_auto(json) documents = NULL;
	rh_auto_findings findings = {0};

	(void)state;
	assert_int_equal(rh_schema_of_kind(&kind, pod, &document, NULL), 0);
	assert_int_equal(rh_yaml_parse(text, sizeof(text) - 1, &documents, NULL), 0);
	assert_int_equal(rh_findings_add(&findings, RH_FINDING_ERROR, "spec.ports[0]", "no"), 0);
	assert_int_equal(rh_findings_add(&findings, RH_FINDING_WARNING, "spec.ports[1]", "odd"), 0);
	assert_int_equal(rh_schema_check(document, rh_json_first(documents), RH_SCHEMA_LIMITS | RH_SCHEMA_RULES, &findings),
	                 0);
	assert_int_equal(findings.count, 3);
	assert_string_equal(findings.items[2].path, "spec.ports[1]");
}

static void test_schema__plugin_with_a_bad_schema(void **state)
{
	static const char *const texts[] = {"[]", "{", "3", "\"x\""};
	rh_auto(json) pod = pod_schema();

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		struct rh_kind bad = kind;
		struct rh_json *document = NULL;
		struct rh_error err = {0};

		bad.spec_schema = texts[i];
		assert_int_equal(rh_schema_of_kind(&bad, pod, &document, &err), RH_EPLUGIN);
		assert_non_null(strstr(err.message, "rh_kind.spec_schema"));
	}
}

static void test_schema__kind_without_own_fields(void **state)
{
	struct rh_kind bare = kind;
	rh_auto(json) pod = pod_schema();
	rh_auto(json) document = NULL;

	(void)state;
	bare.spec_schema = NULL;
	assert_int_equal(rh_schema_of_kind(&bare, pod, &document, NULL), 0);
	assert_string_equal(rh_json_string_at(document, "definitions.TryJob.properties.metadata.$ref"), "ObjectMeta");
}

/* Every allocation in turn fails: an error, never a crash or a leak. */
static void test_schema__of_this_build(void **state)
{
	rh_auto(json) pod = pod_schema();
	rh_auto(json) copied = NULL;
	rh_auto(json) made = NULL;

	(void)state;
	assert_int_equal(rh_schema_of_kind(&kind, pod, &copied, NULL), 0);
	assert_int_equal(rh_schema_of_kind_here(&kind, &made, NULL), 0);
	assert_true(rh_json_equal(copied, made));
	assert_string_equal(rh_json_string_at(made, "root"), "TryJob");
	/* what only small definitions name is not among them */
	assert_non_null(rh_json_at(made, "definitions.PodTemplateSpec.properties.spec"));
	assert_null(rh_json_at(made, "definitions.PodMetadata"));
}

/* Nothing is found with the definitions that an object needs that is not found with all, or the other way round. */
static void test_schema__what_an_object_needs(void **state)
{
	static const char *const others[] = {
		"spec: {}",
		"spec: {tryReplicaSpecs: {Worker: {template: {metadata: {labels: {a: b}}, spec: {containers: [{env: [{name: a,"
		" valueFrom: {fieldRef: {fieldPath: a}}}], resources: {limits: {cpu: 1}}}], volumes: [{name: a, emptyDir: {}}],"
		" affinity: null}}}}}",
		"spec: {tryReplicaSpecs: {Worker: {template: {spec: {containers: [{envs: []}], volumes: [{emptydir: {}}]}}}}}",
		"spec: {tryReplicaSpecs: {Worker: {template: {spec: {containers: 3}}}}}",
	};
	const size_t row_count = sizeof(rows) / sizeof(*rows);
	rh_auto(json) grown = NULL;
	rh_auto(json) whole = NULL;

	(void)state;
	assert_int_equal(rh_schema_of_kind_here(&kind, &whole, NULL), 0);
	assert_int_equal(rh_schema_of_kind_bare(&kind, &grown, NULL), 0);
	assert_null(rh_json_at(grown, "definitions.PodSpec"));
	for (size_t i = 0; i < row_count + sizeof(others) / sizeof(*others); i++) {
		const char *text = i < row_count ? rows[i].text : others[i - row_count];
		rh_auto(json) documents = NULL;
		rh_auto(json) alone = NULL;
		rh_auto_findings want = {0}, found = {0}, found_alone = {0};

		print_message("object: %s\n", text);
		assert_int_equal(rh_yaml_parse(text, strlen(text), &documents, NULL), 0);
		assert_int_equal(rh_schema_check(whole, rh_json_first(documents), RH_SCHEMA_FIELDS, &want), 0);
		assert_int_equal(rh_schema_add_used(grown, rh_json_first(documents), NULL), 0);
		assert_int_equal(rh_schema_check(grown, rh_json_first(documents), RH_SCHEMA_FIELDS, &found), 0);
		assert_int_equal(rh_schema_of_kind_bare(&kind, &alone, NULL), 0);
		assert_int_equal(rh_schema_add_used(alone, rh_json_first(documents), NULL), 0);
		assert_int_equal(rh_schema_check(alone, rh_json_first(documents), RH_SCHEMA_FIELDS, &found_alone), 0);
		assert_int_equal(found.count, want.count);
		assert_int_equal(found_alone.count, want.count);
		for (size_t k = 0; k < want.count; k++)
			assert_string_equal(found_alone.items[k].path, want.items[k].path);
	}
	/* each as the document of all has it, and none that nothing led to */
	for (const struct rh_json *one = rh_json_first(rh_json_get(grown, "definitions")); one; one = rh_json_next(one))
		assert_true(rh_json_equal(one, rh_json_get(rh_json_get(whole, "definitions"), rh_json_key(one))));
	assert_non_null(rh_json_at(grown, "definitions.EmptyDirVolumeSource"));
	assert_null(rh_json_at(grown, "definitions.NodeAffinity"));
}

static void test_schema__out_of_memory_of_what_is_needed(void **state)
{
	static const char text[] =
		"spec: {tryReplicaSpecs: {Worker: {template: {spec: {containers: [{env: [{name: a}]}]}}}}}";
	rh_auto(json) documents = NULL;
	int r = RH_ENOMEM;

	(void)state;
	assert_int_equal(rh_yaml_parse(text, sizeof(text) - 1, &documents, NULL), 0);
	for (long n = 0; r == RH_ENOMEM && n < 100000; n = n < 40 ? n + 1 : n + n / 7) {
		struct rh_json *document = NULL;

		(void)rh_mem_fail_after(n);
		r = rh_schema_of_kind_bare(&kind, &document, NULL);
		if (r == 0)
			r = rh_schema_add_used(document, rh_json_first(documents), NULL);
		(void)rh_mem_fail_after(-1);
		rh_json_free(document);
	}
	assert_int_equal(r, 0);
}

static void test_schema__out_of_memory(void **state)
{
	static const char text[] = "spec: {moed: fast, pairs: [{value: 1}], any: {}, one: {}, all: ab}";
	rh_auto(json) pod = pod_schema();
	rh_auto(json) documents = NULL;
	int r = RH_ENOMEM;

	(void)state;
	assert_int_equal(rh_yaml_parse(text, sizeof(text) - 1, &documents, NULL), 0);
	for (long n = 0; r == RH_ENOMEM && n < 100000; n = n < 40 ? n + 1 : n + n / 7) {
		struct rh_json *document = NULL;
		rh_auto_findings findings = {0};

		(void)rh_mem_fail_after(n);
		r = rh_schema_of_kind(&kind, pod, &document, NULL);
		if (r == 0)
			r = rh_schema_check(document, rh_json_first(documents), RH_SCHEMA_FIELDS, &findings);
		if (r == 0)
			r = rh_schema_check(document, rh_json_first(documents), RH_SCHEMA_LIMITS | RH_SCHEMA_RULES, &findings);
		(void)rh_mem_fail_after(-1);
		rh_json_free(document);
	}
	assert_int_equal(r, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_schema__rows),
		cmocka_unit_test(test_schema__limits),
		cmocka_unit_test(test_schema__limits_of_what_is_refused),
		cmocka_unit_test(test_schema__plugin_with_a_bad_schema),
		cmocka_unit_test(test_schema__kind_without_own_fields),
		cmocka_unit_test(test_schema__of_this_build),
		cmocka_unit_test(test_schema__what_an_object_needs),
		cmocka_unit_test(test_schema__out_of_memory_of_what_is_needed),
		cmocka_unit_test(test_schema__out_of_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
