/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "job/support.h"
#include "schema/crd.h"

#define POD_TYPE "io.k8s.api.core.v1.PodTemplateSpec"

/** A version 2 document whose containers have the fields @p fields, and beside it the types @p types. */
#define POD_V2(fields, types)                                                                              \
	"{'definitions':{'" POD_TYPE "':{'type':'object','properties':{'spec':{'type':'object','properties':{" \
	"'containers':{'type':'array','items':{'type':'object','properties':{" fields "}}}}}}}" types "}}"

/** Where those fields come out. */
#define POD_FIELDS "properties.spec.properties.containers.items.properties"

static int pod_convert(const char *document, struct rh_json **ret_schema, struct rh_error *err)
{
	rh_auto(json) openapi = test_json(document);

	return rh_crd_pod_template(openapi, ret_schema, err);
}

static void pod_assert(const char *name, const struct rh_json *found, const char *wanted)
{
	rh_auto(json) expected = test_json(wanted);
	rh_auto_free char *text = rh_json_text(found);

	if (!rh_json_equal(found, expected))
		fail_msg("%s: %s", name, text);
}

#define POD_KEEPS "'x-kubernetes-preserve-unknown-fields':true"

static void test_crd_pod__words(void **state)
{
	static const struct {
		const char *name, *document, *wanted;
	} rows[] = {
		{"as it is", POD_V2("'f':{'type':'integer','format':'int32','description':'d'}", ""),
	     "{'type':'integer','format':'int32','description':'d'}"},
		{"words that a CRD must not have are left out",
	     POD_V2("'f':{'type':'string','enum':['A'],'x-kubernetes-patch-strategy':'merge','x-kubernetes-unions':[],"
	            "'x-kubernetes-group-version-kind':[]}",
	            ""),
	     "{'type':'string'}"},
		{"a default that says something", POD_V2("'f':{'type':'string','default':'TCP'}", ""),
	     "{'type':'string','default':'TCP'}"},
		{"an empty default of each type",
	     POD_V2("'f':{'type':'object','default':{},'additionalProperties':{'type':'string','default':''}}", ""),
	     "{'type':'object','additionalProperties':{'type':'string'}}"},
		{"zero and false are empty",
	     POD_V2("'f':{'type':'array','default':0,'items':{'type':'boolean','default':false}}", ""),
	     "{'type':'array','items':{'type':'boolean'}}"},
		{"a map with fields keeps others",
	     POD_V2("'f':{'type':'object','required':['a'],'properties':{'a':{'type':'string'}}}", ""),
	     "{'type':'object','required':['a'],'properties':{'a':{'type':'string'}}," POD_KEEPS "}"},
		{"no type", POD_V2("'f':{'description':'anything'}", ""), "{'description':'anything'," POD_KEEPS "}"},
		{"a list by key, the key required",
	     POD_V2("'f':{'type':'array','x-kubernetes-list-type':'map','x-kubernetes-list-map-keys':['k'],"
	            "'items':{'type':'object','required':['k'],'properties':{'k':{'type':'string'}}}}",
	            ""),
	     "{'type':'array','x-kubernetes-list-type':'map','x-kubernetes-list-map-keys':['k'],"
	     "'items':{'type':'object','required':['k'],'properties':{'k':{'type':'string'}}," POD_KEEPS "}}"},
		{"a list by key, the key by default",
	     POD_V2("'f':{'type':'array','x-kubernetes-list-map-keys':['k','l'],'items':{'type':'object',"
	            "'properties':{'k':{'type':'string'},'l':{'type':'string','default':'TCP'}}}}",
	            ""),
	     "{'type':'array','x-kubernetes-list-map-keys':['k','l'],'items':{'type':'object',"
	     "'properties':{'k':{'type':'string','default':''},'l':{'type':'string','default':'TCP'}}," POD_KEEPS "}}"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		rh_auto(json) schema = NULL;

		assert_int_equal(pod_convert(rows[i].document, &schema, NULL), 0);
		pod_assert(rows[i].name, rh_json_at(schema, POD_FIELDS ".f"), rows[i].wanted);
	}
}

static void test_crd_pod__references(void **state)
{
	static const struct {
		const char *name, *document, *wanted;
	} rows[] = {
		{"version 2", POD_V2("'f':{'$ref':'#/definitions/T'}", ",'T':{'type':'string','description':'of the type'}"),
	     "{'type':'string','description':'of the type'}"},
		{"the field's own words win",
	     POD_V2("'f':{'description':'mine','$ref':'#/definitions/T'}",
	            ",'T':{'type':'string','description':'of the type'}"),
	     "{'type':'string','description':'mine'}"},
		{"wrapped, as version 3 does",
	     POD_V2("'f':{'default':{},'allOf':[{'$ref':'#/components/schemas/T'}]}", ",'T':{'type':'string'}"),
	     "{'type':'string'}"},
		{"in a list", POD_V2("'f':{'type':'array','items':{'$ref':'#/definitions/T'}}", ",'T':{'type':'string'}"),
	     "{'type':'array','items':{'type':'string'}}"},
		{"in a map",
	     POD_V2("'f':{'type':'object','additionalProperties':{'$ref':'#/definitions/T'}}", ",'T':{'type':'string'}"),
	     "{'type':'object','additionalProperties':{'type':'string'}}"},
		{"number or text", POD_V2("'f':{'$ref':'#/definitions/io.k8s.apimachinery.pkg.util.intstr.IntOrString'}", ""),
	     "{'anyOf':[{'type':'integer'},{'type':'string'}],'x-kubernetes-int-or-string':true}"},
		{"anything", POD_V2("'f':{'$ref':'#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1'}", ""),
	     "{'type':'object'," POD_KEEPS "}"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		rh_auto(json) schema = NULL;

		assert_int_equal(pod_convert(rows[i].document, &schema, NULL), 0);
		pod_assert(rows[i].name, rh_json_at(schema, POD_FIELDS ".f"), rows[i].wanted);
	}
}

static void test_crd_pod__quantities(void **state)
{
	rh_auto(json) schema = NULL;
	const struct rh_json *found;

	(void)state;
	assert_int_equal(
		pod_convert(
			POD_V2("'f':{'description':'d','$ref':'#/definitions/io.k8s.apimachinery.pkg.api.resource.Quantity'}", ""),
			&schema, NULL),
		0);
	found = rh_json_at(schema, POD_FIELDS ".f");
	assert_true(rh_json_bool(rh_json_get(found, "x-kubernetes-int-or-string"), false));
	assert_string_equal(rh_json_string(rh_json_get(found, "description")), "d");
	assert_non_null(strstr(rh_json_string(rh_json_get(found, "pattern")), "[KMGTPE]i"));
	assert_null(rh_json_get(found, "type"));
}

/* Of metadata inside a pod, V1 kept five fields. */
static void test_crd_pod__metadata(void **state)
{
	rh_auto(json) schema = NULL;

	(void)state;
	assert_int_equal(
		pod_convert(POD_V2("'f':{'$ref':'#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta'}", ""), &schema,
	                NULL),
		0);
	assert_int_equal(rh_json_size(rh_json_at(schema, POD_FIELDS ".f.properties")), 5);
	assert_non_null(rh_json_at(schema, POD_FIELDS ".f.properties.finalizers"));
}

static void test_crd_pod__version_3(void **state)
{
	rh_auto(json) schema = NULL;

	(void)state;
	assert_int_equal(
		pod_convert("{'openapi':'3.0.0','components':{'schemas':{'" POD_TYPE "':{'type':'object','properties':{"
	                "'spec':{'allOf':[{'$ref':'#/components/schemas/S'}],'default':{}}}},"
	                "'S':{'type':'object','properties':{'containers':{'type':'array','items':{'type':'object'}}}}}}}",
	                &schema, NULL),
		0);
	pod_assert("containers", rh_json_at(schema, "properties.spec.properties.containers"),
	           "{'type':'array','items':{'type':'object'}}");
}

/* 399 letters and a character of two bytes: it would end in the middle. */
static void test_crd_pod__a_long_description_ends_with_a_whole_character(void **state)
{
	rh_auto_str document = {0};
	rh_auto(json) schema = NULL;
	const char *found;

	(void)state;
	rh_str_append(&document, "{'definitions':{'" POD_TYPE "':{'type':'object','description':'");
	for (int i = 0; i < 399; i++)
		rh_str_append(&document, "a");
	rh_str_append(&document, "\xc3\xa9 and more','properties':{'spec':{'properties':{'containers':{'items':{}}}}}}}}");
	assert_int_equal(pod_convert(rh_str_text(&document), &schema, NULL), 0);
	found = rh_json_string(rh_json_get(schema, "description"));
	assert_int_equal(strlen(found), 399);
	assert_int_equal(strspn(found, "a"), 399);
}

static void test_crd_pod__refusals(void **state)
{
	static const struct {
		const char *name, *document, *says;
	} rows[] = {
		{"not OpenAPI", "{'a':1}", "there is no type " POD_TYPE},
		{"not even a map", "[1]", "there is no type " POD_TYPE},
		{"another API", "{'components':{'schemas':{'io.k8s.api.apps.v1.Deployment':{}}}}", "kubectl get --raw"},
		{"no containers", "{'definitions':{'" POD_TYPE "':{'type':'object'}}}", POD_TYPE " has no spec.containers"},
		{"a reference to nothing", POD_V2("'f':{'$ref':'#/definitions/T'}", ""),
	     "containers: f: refers to \"T\", which the document does not have"},
		{"references in a circle",
	     POD_V2("'f':{'$ref':'#/definitions/T'}", ",'T':{'type':'array','items':{'$ref':'#/definitions/T'}}"),
	     "without an end"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rh_json *schema = NULL;
		struct rh_error err = {0};

		if (pod_convert(rows[i].document, &schema, &err) != RH_EINVAL || !strstr(err.message, rows[i].says))
			fail_msg("%s: %s", rows[i].name, err.message);
		assert_null(schema);
	}
}

static void test_crd_pod__out_of_memory(void **state)
{
	rh_auto(json) openapi = test_json(
		POD_V2("'f':{'description':'d','allOf':[{'$ref':'#/definitions/T'}]},"
	           "'q':{'$ref':'#/definitions/io.k8s.apimachinery.pkg.api.resource.Quantity'},"
	           "'m':{'type':'array','x-kubernetes-list-map-keys':['k'],'items':{'properties':{'k':{'type':'string'}}}}",
	           ",'T':{'type':'string','default':'x','description':'t'}"));
	int r = RH_ENOMEM;

	(void)state;
	for (long n = 0; r == RH_ENOMEM; n++) {
		struct rh_json *schema = NULL;
		struct rh_error err = {0};

		rh_mem_fail_after(n);
		r = rh_crd_pod_template(openapi, &schema, &err);
		rh_mem_fail_after(-1);
		assert_true(r == 0 ? schema != NULL : schema == NULL);
		rh_json_free(schema);
	}
	assert_int_equal(r, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_crd_pod__words),
		cmocka_unit_test(test_crd_pod__references),
		cmocka_unit_test(test_crd_pod__quantities),
		cmocka_unit_test(test_crd_pod__metadata),
		cmocka_unit_test(test_crd_pod__version_3),
		cmocka_unit_test(test_crd_pod__a_long_description_ends_with_a_whole_character),
		cmocka_unit_test(test_crd_pod__refusals),
		cmocka_unit_test(test_crd_pod__out_of_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
