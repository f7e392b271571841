/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "job/kinds.h"
#include "job/rules/template.h"
#include "job/support.h"

struct rule_row {
	const char *name;
	const char *text;
	const char *findings; /* one a line; warnings start with "warning: " */
};

/* The findings as text, with the common start of all paths left out. */
static char *template_print(const struct rh_findings *findings)
{
	rh_auto_str text = {0};

	for (size_t i = 0; i < findings->count; i++) {
		const struct rh_finding *item = &findings->items[i];

		assert_true(rh_starts_with(item->path, "template."));
		rh_str_appendf(&text, "%s%s: %s\n", item->severity == RH_FINDING_WARNING ? "warning: " : "",
		               item->path + strlen("template."), item->detail);
	}
	return rh_str_take(&text);
}

/* V1's rules; a template that is not there has no containers. */
static const struct rule_row container_rows[] = {
	{"good", TEST_TEMPLATE, ""},
	{"absent", "null",
     "spec.containers: Required value: must be specified\n"
     "spec.containers: Required value: must have at least one container with name pytorch\n"},
	{"no containers", "{'spec':{'containers':[]}}",
     "spec.containers: Required value: must be specified\n"
     "spec.containers: Required value: must have at least one container with name pytorch\n"},
	{"other name", "{'spec':{'containers':[{'name':'torch','image':'i'}]}}",
     "spec.containers: Required value: must have at least one container with name pytorch\n"},
	{"images", "{'spec':{'containers':[{'name':'a','image':''},{'name':'pytorch'},{'name':'b','image':'i'}]}}",
     "spec.containers[0].image: Required value: must be required\n"
     "spec.containers[1].image: Required value: must be required\n"},
	{"wrong types are reported once, by the other rules", "{'spec':{'containers':[{'name':'pytorch','image':5},7]}}",
     ""},
	{"containers of wrong type", "{'spec':{'containers':'x'}}", ""},
};

static void test_template__containers(void **state)
{
	struct rh_place place = rh_place_member(NULL, "template");

	(void)state;
	for (size_t i = 0; i < sizeof(container_rows) / sizeof(container_rows[0]); i++) {
		rh_auto(json) template_ = test_json(container_rows[i].text);
		rh_auto_findings findings = {0};
		rh_auto_free char *text = NULL;

		rh_template_check_containers(&test_pytorch, template_, &place, &findings);
		text = template_print(&findings);
		if (strcmp(text, container_rows[i].findings) != 0)
			fail_msg("%s: %s", container_rows[i].name, text);
	}
}

static void test_template__any_container_name(void **state)
{
	struct rh_place place = rh_place_member(NULL, "template");
	rh_auto(json) template_ = test_json("{'spec':{'containers':[{'name':'any','image':'i'}]}}");
	rh_auto_findings findings = {0};

	(void)state;
	rh_template_check_containers(&test_mpi, template_, &place, &findings);
	assert_int_equal(findings.count, 0);
}

static void test_template__no_name_beside_a_missing_main(void **state)
{
	static const struct {
		const char *text, *findings;
	} rows[] = {
		{"{'spec':{'containers':[{'name':'','image':'i'}]}}", ""},
		{"{'spec':{'containers':[{'name':'a'},{'image':'i'}],'initContainers':[{'image':'i'}]}}",
	     "spec.initContainers[0].name: Required value\n"},
		{"{'spec':{'containers':[{'name':'pytorch'},{'image':'i'}]}}", "spec.containers[1].name: Required value\n"},
	};
	struct rh_place place = rh_place_member(NULL, "template");

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		rh_auto(json) template_ = test_json(rows[i].text);
		rh_auto_findings findings = {0};
		rh_auto_free char *text = NULL;

		rh_template_check_fields(&test_pytorch, template_, &place, &findings);
		text = template_print(&findings);
		if (strcmp(text, rows[i].findings) != 0)
			fail_msg("%s: %s", rows[i].text, text);
	}
}

static void test_template__mounts(void **state)
{
	struct rh_place place = rh_place_member(NULL, "template");
	rh_auto(json) spec =
		test_json("{'initContainers':[{'name':'i','volumeMounts':[{'name':'added'},{'name':'none'},{}]}],"
	              "'containers':[{'name':'c','volumeMounts':[{'name':'own'}]},7]}");
	rh_auto(json) made = test_json("{'volumes':[{'name':'own'},{'name':'added'},3]}");
	rh_auto_findings findings = {0};
	rh_auto_free char *text = NULL;

	(void)state;
	rh_template_check_mounts(NULL, NULL, &place, &findings);
	rh_template_check_mounts(spec, made, &place, &findings);
	text = template_print(&findings);
	assert_string_equal(text, "initContainers[0].volumeMounts[1].name: Not found: \"none\"\n");
}

#define POD(members) "{'spec':{'containers':[{'name':'c'}]," members "}}"
#define CONTAINER(members) "{'spec':{'containers':[{'name':'c'," members "}],'volumes':[{'name':'v'}]}}"
#define REQUESTS(requests, limits) CONTAINER("'resources':{'requests':" requests ",'limits':" limits "}")
#define C0 "spec.containers[0]."
#define LABEL_WORDS                                                                                                 \
	"a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end " \
	"with "                                                                                                         \
	"an alphanumeric character, and be no more than 63 characters\n"
#define QUANTITY_WORDS "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'\n"

static const struct rule_row field_rows[] = {
	{"absent", "null", ""},
	{"empty", "{}", ""},
	{"good", TEST_TEMPLATE, ""},
	{"spec of wrong type", "{'spec':[]}", "spec: Invalid value: []: must be of type object\n"},
	{"metadata of wrong type", "{'metadata':'x'}", "metadata: Invalid value: \"x\": must be of type object\n"},
	{"label of wrong type", "{'metadata':{'labels':{'a':'b','n':5}}}",
     "metadata.labels[n]: Invalid value: 5: must be of type string\n"},
	{"annotations of wrong type", "{'metadata':{'annotations':[]}}",
     "metadata.annotations: Invalid value: []: must be of type object\n"},
	{"name without effect", "{'metadata':{'name':'x'}}",
     "warning: metadata.name: it has no effect: pods are named after the job, and stand in its namespace\n"},
	{"containers of wrong type", "{'spec':{'containers':{}}}",
     "spec.containers: Invalid value: {}: must be of type array\n"},
	{"container of wrong type", "{'spec':{'containers':['x',null,{'name':'c'}]}}",
     "spec.containers[0]: Invalid value: \"x\": must be of type object\n"
     "spec.containers[1]: Invalid value: null: must be of type object\n"},
	{"no name", "{'spec':{'containers':[{'image':'i'}]}}", C0 "name: Required value\n"},
	{"empty name", "{'spec':{'containers':[{'name':''}]}}", C0 "name: Required value\n"},
	{"name of wrong type", "{'spec':{'containers':[{'name':5}]}}",
     C0 "name: Invalid value: 5: must be of type string\n"},
	{"bad name", "{'spec':{'containers':[{'name':'A_b'}]}}", C0 "name: Invalid value: \"A_b\": " LABEL_WORDS},
	{"same name twice", "{'spec':{'containers':[{'name':'a'},{'name':'b'},{'name':'a'}]}}",
     "spec.containers[2].name: Duplicate value: \"a\"\n"},
	{"init container's name again", POD("'initContainers':[{'name':'c','image':'i'}]"),
     C0 "name: Duplicate value: \"c\"\n"},
	{"init container without image", POD("'initContainers':[{'name':'i'}]"),
     "spec.initContainers[0].image: Required value\n"},
	{"image of wrong type", CONTAINER("'image':5"), C0 "image: Invalid value: 5: must be of type string\n"},
	{"command is text", CONTAINER("'command':'python x'"),
     C0 "command: Invalid value: \"python x\": must be of type array\n"},
	{"number as argument", CONTAINER("'args':['--epochs',5]"),
     C0 "args[1]: Invalid value: 5: must be of type string\n"},
	{"variable without name", CONTAINER("'env':[{'value':'1'}]"), C0 "env[0].name: Required value\n"},
	{"number as variable", CONTAINER("'env':[{'name':'A','value':'1'},{'name':'B','value':1}]"),
     C0 "env[1].value: Invalid value: 1: must be of type string\n"},
	{"equals sign in a variable's name", CONTAINER("'env':[{'name':'A=B'}]"),
     C0 "env[0].name: Invalid value: \"A=B\": a valid environment variable name must consist only of printable ASCII "
        "characters other than '='\n"},
	{"variables are no list", CONTAINER("'env':{'A':'1'}"),
     C0 "env: Invalid value: {\"A\":\"1\"}: must be of type array\n"},
	{"good ports", CONTAINER("'ports':[{'containerPort':1},{'containerPort':65535,'name':'pytorchjob-port'}]"), ""},
	{"no port number", CONTAINER("'ports':[{'name':'a'}]"), C0 "ports[0].containerPort: Required value\n"},
	{"port 0", CONTAINER("'ports':[{'containerPort':0}]"),
     C0 "ports[0].containerPort: Invalid value: 0: must be between 1 and 65535, inclusive\n"},
	{"port 65536", CONTAINER("'ports':[{'containerPort':65536}]"),
     C0 "ports[0].containerPort: Invalid value: 65536: must be between 1 and 65535, inclusive\n"},
	{"port as text", CONTAINER("'ports':[{'containerPort':'80'}]"),
     C0 "ports[0].containerPort: Invalid value: \"80\": must be of type integer\n"},
	{"long port name", CONTAINER("'ports':[{'containerPort':5,'name':'sixteen-letters-'}]"),
     C0 "ports[0].name: Invalid value: \"sixteen-letters-\": must be no more than 15 characters\n"},
	{"good mount", CONTAINER("'volumeMounts':[{'name':'v','mountPath':'/data'}]"), ""},
	{"mount of what a plugin may add", CONTAINER("'volumeMounts':[{'name':'w','mountPath':'/data'}]"), ""},
	{"variable twice", CONTAINER("'env':[{'name':'A','value':'1'},{'name':'B'},{'name':'A'}]"),
     C0 "env[2]: Duplicate value: {\"name\":\"A\"}\n"},
	{"port twice",
     CONTAINER("'ports':[{'containerPort':1},{'containerPort':1,'protocol':'UDP'},{'containerPort':1,"
               "'protocol':'TCP'}]"),
     C0 "ports[2]: Duplicate value: {\"containerPort\":1,\"protocol\":\"TCP\"}\n"},
	{"name of a port twice", CONTAINER("'ports':[{'containerPort':1,'name':'a'},{'containerPort':2,'name':'a'}]"),
     C0 "ports[1].name: Duplicate value: \"a\"\n"},
	{"folder twice", CONTAINER("'volumeMounts':[{'name':'v','mountPath':'/a'},{'name':'v','mountPath':'/a'}]"),
     C0 "volumeMounts[1]: Duplicate value: {\"mountPath\":\"/a\"}\n"},
	{"claim twice", CONTAINER("'resources':{'claims':[{'name':'a'},{'name':'a'}]}"),
     C0 "resources.claims[1]: Duplicate value: {\"name\":\"a\"}\n"},
	{"secrets for images twice", POD("'imagePullSecrets':[{},{'name':''},{'name':'a'}]"),
     "spec.imagePullSecrets[1]: Duplicate value: {\"name\":\"\"}\n"},
	{"lists that are none", POD("'imagePullSecrets':{},'hostAliases':[3,3]"), ""},
	{"resources of the pod", POD("'resources':{}"),
     "warning: spec.resources: Kubernetes 1.34 takes this for cpu and memory of the pod as a whole, V1 did not keep "
     "it: "
     "move it to containers[].resources if it is meant for a container\n"},
	{"mount without path", CONTAINER("'volumeMounts':[{'name':'v'}]"),
     C0 "volumeMounts[0].mountPath: Required value\n"},
	{"volume without name", POD("'volumes':[{}]"), "spec.volumes[0].name: Required value\n"},
	{"same volume twice", POD("'volumes':[{'name':'v'},{'name':'v'}]"),
     "spec.volumes[1].name: Duplicate value: \"v\"\n"},
	{"good resources", REQUESTS("{'cpu':'500m','memory':'1Gi'}", "{'cpu':1,'memory':'1Gi','nvidia.com/gpu':2}"), ""},
	{"resources of wrong type", CONTAINER("'resources':'all'"),
     C0 "resources: Invalid value: \"all\": must be of type object\n"},
	{"requests of wrong type", REQUESTS("[]", "{}"),
     C0 "resources.requests: Invalid value: []: must be of type object\n"},
	{"no quantity", REQUESTS("{'cpu':'half'}", "{'memory':'1GB'}"),
     C0 "resources.limits[memory]: Invalid value: \"1GB\": " QUANTITY_WORDS C0
        "resources.requests[cpu]: Invalid value: \"half\": " QUANTITY_WORDS},
	{"quantity of wrong type", REQUESTS("{'cpu':true}", "{}"),
     C0 "resources.requests[cpu]: Invalid value: true: " QUANTITY_WORDS},
	{"negative quantity", REQUESTS("{'cpu':-1}", "{}"),
     C0 "resources.requests[cpu]: Invalid value: -1: must be greater than or equal to 0\n"},
	{"more requested than the limit", REQUESTS("{'cpu':2}", "{'cpu':'1500m'}"),
     C0 "resources.requests: Invalid value: 2: must be less than or equal to cpu limit of \"1500m\"\n"},
	{"half a gpu", REQUESTS("{}", "{'nvidia.com/gpu':'500m'}"),
     C0 "resources.limits[nvidia.com/gpu]: Invalid value: \"500m\": must be an integer\n"},
	{"gpus requested below the limit", REQUESTS("{'nvidia.com/gpu':1}", "{'nvidia.com/gpu':2}"),
     C0 "resources.requests: Invalid value: 1: must be equal to nvidia.com/gpu limit of 2\n"},
	{"gpus without limit", REQUESTS("{'nvidia.com/gpu':1}", "{}"),
     C0 "resources.requests: Required value: Limit must be set for non overcommitable resources\n"},
	{"restart policy", POD("'restartPolicy':'Never'"),
     "warning: spec.restartPolicy: Restart policy in pod template will be overwritten by restart policy in replica "
     "spec\n"},
	{"no restart policy", POD("'restartPolicy':''"), ""},
};

static char *template_check(const char *text)
{
	struct rh_place place = rh_place_member(NULL, "template");
	rh_auto(json) template_ = test_json(text);
	rh_auto_findings findings = {0};

	rh_template_check_fields(&test_mpi, template_, &place, &findings);
	return template_print(&findings);
}

static void test_template__fields(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(field_rows) / sizeof(field_rows[0]); i++) {
		rh_auto_free char *text = template_check(field_rows[i].text);

		if (strcmp(text, field_rows[i].findings) != 0)
			fail_msg("%s: %s", field_rows[i].name, text);
	}
}

/* Many containers must not take the square of their number. */
static void test_template__many_containers(void **state)
{
	rh_auto_str text = {0};
	rh_auto_free char *found = NULL;

	(void)state;
	rh_str_append(&text, "{'spec':{'containers':[{'name':'c'}");
	for (int i = 0; i < 50000; i++)
		rh_str_appendf(&text, ",{'name':'c%d'}", i);
	rh_str_append(&text, ",{'name':'c49999'}]}}");
	found = template_check(rh_str_text(&text));
	assert_string_equal(found, "spec.containers[50001].name: Duplicate value: \"c49999\"\n");
}

/* Nor many resources, here in the opposite order. */
static void test_template__many_resources(void **state)
{
	rh_auto_str text = {0};
	rh_auto_free char *found = NULL;

	(void)state;
	rh_str_append(&text, "{'spec':{'containers':[{'name':'c','resources':{'requests':{'cpu':2");
	for (int i = 0; i < 200000; i++)
		rh_str_appendf(&text, ",'r/%d':1", i);
	rh_str_append(&text, "},'limits':{");
	for (int i = 200000; i-- > 0;)
		rh_str_appendf(&text, "'r/%d':1,", i);
	rh_str_append(&text, "'cpu':1}}}]}}");
	found = template_check(rh_str_text(&text));
	assert_string_equal(found, "spec.containers[0].resources.requests: Invalid value: 2: must be less than or equal "
	                           "to cpu limit of 1\n");
}

static void test_template__failing_allocations(void **state)
{
	struct rh_place place = rh_place_member(NULL, "template");
	rh_auto(json) template_ = test_json(REQUESTS("{'cpu':2,'memory':'x'}", "{'cpu':1}"));
	long failures = 0;
	bool failed;

	(void)state;
	do {
		rh_auto_findings findings = {0};

		rh_mem_fail_after(failures++);
		rh_template_check_containers(&test_pytorch, template_, &place, &findings);
		rh_template_check_fields(&test_pytorch, template_, &place, &findings);
		rh_mem_fail_after(-1);
		failed = findings.failed;
		assert_true(failed || findings.count == 4);
	} while (failed);
	assert_true(failures > 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_template__mounts),
		cmocka_unit_test(test_template__containers),
		cmocka_unit_test(test_template__any_container_name),
		cmocka_unit_test(test_template__no_name_beside_a_missing_main),
		cmocka_unit_test(test_template__fields),
		cmocka_unit_test(test_template__many_containers),
		cmocka_unit_test(test_template__many_resources),
		cmocka_unit_test(test_template__failing_allocations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
