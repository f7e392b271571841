/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/yaml.h"
#include "job/kinds.h"
#include "job/support.h"
#include "schema/crd.h"

#define CRD_SPEC "spec.versions[0].schema.openAPIV3Schema.properties.spec"

/** kubectl's client-side apply keeps the whole object in an annotation of 256 KiB; the promise is far below. */
#define CRD_SIZE_MAX 56000

static struct rh_json *crd_build(const struct rh_kind *kind)
{
	struct rh_json *crd = NULL;
	struct rh_error err = {0};

	if (rh_crd_build(kind, NULL, &crd, &err) < 0)
		fail_msg("%s", err.message);
	return crd;
}

static void crd_assert_at(const struct rh_json *crd, const char *path, const char *wanted)
{
	rh_auto(json) expected = test_json(wanted);
	rh_auto_free char *found = rh_json_text(rh_json_at(crd, path));

	if (!rh_json_equal(rh_json_at(crd, path), expected))
		fail_msg("%s is %s, not %s", path, found, wanted);
}

static void test_crd__names(void **state)
{
	rh_auto(json) crd = crd_build(&test_tensorflow);

	(void)state;
	crd_assert_at(crd, "apiVersion", "'apiextensions.k8s.io/v1'");
	crd_assert_at(crd, "kind", "'CustomResourceDefinition'");
	crd_assert_at(crd, "metadata", "{'name':'tfjobs.kubeflow.org'}");
	crd_assert_at(crd, "spec.group", "'kubeflow.org'");
	crd_assert_at(crd, "spec.scope", "'Namespaced'");
	crd_assert_at(crd, "spec.names", "{'kind':'TFJob','listKind':'TFJobList','plural':'tfjobs','singular':'tfjob'}");
	assert_int_equal(rh_json_size(rh_json_at(crd, "spec.versions")), 1);
	crd_assert_at(crd, "spec.versions[0].name", "'v1'");
	crd_assert_at(crd, "spec.versions[0].served", "true");
	crd_assert_at(crd, "spec.versions[0].storage", "true");
}

static void test_crd__columns_are_v1s_or_the_plugins(void **state)
{
	rh_auto(json) usual = crd_build(&test_pytorch);
	struct rh_kind kind = test_pytorch;
	rh_auto(json) own = NULL;

	(void)state;
	kind.columns = "[{\"name\":\"A\",\"type\":\"string\",\"jsonPath\":\".a\"}]";
	own = crd_build(&kind);
	crd_assert_at(usual, "spec.versions[0].additionalPrinterColumns",
	              "[{'name':'State','type':'string','jsonPath':'.status.conditions[-1:].type'},"
	              "{'name':'Age','type':'date','jsonPath':'.metadata.creationTimestamp'}]");
	crd_assert_at(own, "spec.versions[0].additionalPrinterColumns", "[{'name':'A','type':'string','jsonPath':'.a'}]");
}

static void test_crd__scale_where_the_kind_has_it(void **state)
{
	rh_auto(json) scaled = crd_build(&test_pytorch);
	rh_auto(json) fixed = crd_build(&test_xgboost);

	(void)state;
	crd_assert_at(scaled, "spec.versions[0].subresources",
	              "{'status':{},'scale':{'specReplicasPath':'.spec.pytorchReplicaSpecs.Worker.replicas',"
	              "'statusReplicasPath':'.status.replicaStatuses.Worker.active',"
	              "'labelSelectorPath':'.status.replicaStatuses.Worker.selector'}}");
	crd_assert_at(fixed, "spec.versions[0].subresources", "{'status':{}}");
}

static void test_crd__spec_has_the_fields_of_plugin_and_core(void **state)
{
	rh_auto(json) crd = crd_build(&test_mpi);
	const struct rh_json *fields = rh_json_at(crd, CRD_SPEC ".properties");

	(void)state;
	assert_int_equal(rh_json_size(fields), 4);
	crd_assert_at(crd, CRD_SPEC ".properties.slotsPerWorker", "{'type':'integer'}");
	crd_assert_at(crd, CRD_SPEC ".properties.cleanPodPolicy", "{'type':'string'}");
	crd_assert_at(crd, CRD_SPEC ".properties.runPolicy.properties.cleanPodPolicy.enum", "['All','None','Running']");
	crd_assert_at(crd, CRD_SPEC ".properties.mpiReplicaSpecs.additionalProperties.properties.replicas.maximum",
	              "10000000");
	crd_assert_at(crd, CRD_SPEC ".required", "['mpiReplicaSpecs']");
}

/* A plugin that declares a field of the core does not get to change it. */
static void test_crd__the_core_has_the_last_word(void **state)
{
	struct rh_kind kind = test_pytorch;
	rh_auto(json) crd = NULL;

	(void)state;
	kind.spec_schema = "{\"runPolicy\":{\"type\":\"string\"},\"pytorchReplicaSpecs\":{\"type\":\"string\"}}";
	crd = crd_build(&kind);
	crd_assert_at(crd, CRD_SPEC ".properties.runPolicy.type", "'object'");
	crd_assert_at(crd, CRD_SPEC ".properties.pytorchReplicaSpecs.type", "'object'");
	crd_assert_at(crd, CRD_SPEC ".properties.pytorchReplicaSpecs.maxProperties", "8");
}

static void test_crd__the_small_template_keeps_what_it_does_not_name(void **state)
{
	static const char pod[] =
		CRD_SPEC ".properties.jaxReplicaSpecs.additionalProperties.properties.template.properties.spec";
	rh_auto(json) crd = crd_build(&test_jax);
	const struct rh_json *spec = rh_json_at(crd, pod);
	const struct rh_json *container = rh_json_at(spec, "properties.containers.items");

	(void)state;
	crd_assert_at(spec, "x-kubernetes-preserve-unknown-fields", "true");
	crd_assert_at(container, "x-kubernetes-preserve-unknown-fields", "true");
	crd_assert_at(container, "properties.env.items.x-kubernetes-preserve-unknown-fields", "true");
	crd_assert_at(container, "required", "['name']");
	crd_assert_at(spec, "properties.containers.x-kubernetes-list-map-keys", "['name']");
	crd_assert_at(spec, "properties.containers.maxItems", "64");
}

static void test_crd__template_metadata_is_what_v1_kept(void **state)
{
	static const char *const names[] = {"annotations", "finalizers", "labels", "name", "namespace"};
	rh_auto(json) crd = crd_build(&test_jax);
	const struct rh_json *metadata =
		rh_json_at(crd, CRD_SPEC ".properties.jaxReplicaSpecs.additionalProperties.properties"
	                             ".template.properties.metadata.properties");

	(void)state;
	assert_int_equal(rh_json_size(metadata), sizeof(names) / sizeof(names[0]));
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_non_null(rh_json_get(metadata, names[i]));
}

static void test_crd__a_template_that_is_given(void **state)
{
	rh_auto(json) given = test_json("{'type':'object','description':'mine','properties':{'spec':{'type':'object',"
	                                "'properties':{'containers':{'type':'array','items':{'type':'object'}}}}}}");
	rh_auto(json) before = rh_json_copy(given);
	rh_auto(json) crd = NULL;
	struct rh_error err = {0};
	const struct rh_json *found;

	(void)state;
	assert_int_equal(rh_crd_build(&test_jax, given, &crd, &err), 0);
	found = rh_json_at(crd, CRD_SPEC ".properties.jaxReplicaSpecs.additionalProperties.properties.template");
	crd_assert_at(found, "description", "'mine'");
	crd_assert_at(found, "properties.spec.properties.containers.maxItems", "64");
	assert_int_equal(
		rh_json_size(rh_json_at(found, "properties.spec.properties.containers.items.x-kubernetes-validations")), 1);
	assert_true(rh_json_equal(given, before));
}

static void test_crd__every_kind_is_small(void **state)
{
	const struct rh_kind *const kinds[] = {&test_pytorch, &test_tensorflow, &test_xgboost,
	                                       &test_paddle,  &test_jax,        &test_mpi};

	(void)state;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		rh_auto(json) crd = crd_build(kinds[i]);
		rh_auto_str yaml = {0};

		assert_int_equal(rh_yaml_print(crd, &yaml), 0);
		if (yaml.length >= CRD_SIZE_MAX)
			fail_msg("%s has %zu bytes", kinds[i]->kind, yaml.length);
	}
}

static void test_crd__a_broken_declaration_is_the_plugins_fault(void **state)
{
	static const struct {
		const char *name, *schema, *columns, *cel, *says;
	} rows[] = {
		{"fields", "{", NULL, NULL, "kind PyTorchJob: spec_schema"},
		{"columns", NULL, "[", NULL, "kind PyTorchJob: columns"},
		{"rules", NULL, NULL, "[{", "kind PyTorchJob: cel_rules"},
		{"no place", NULL, NULL, "[{\"rule\":\"true\"}]", "kind PyTorchJob: cel_rules: \"at\" is \"absent\""},
		{"no such place", NULL, NULL, "[{\"at\":\"status\"}]", "kind PyTorchJob: cel_rules: \"at\" is \"status\""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rh_kind kind = test_pytorch;
		struct rh_json *crd = NULL;
		struct rh_error err = {0};

		kind.spec_schema = rows[i].schema;
		kind.columns = rows[i].columns;
		kind.cel_rules = rows[i].cel;
		if (rh_crd_build(&kind, NULL, &crd, &err) != RH_EPLUGIN || !strstr(err.message, rows[i].says))
			fail_msg("%s: %s", rows[i].name, err.message);
		assert_null(crd);
	}
}

static void test_crd__out_of_memory(void **state)
{
	int r = RH_ENOMEM;

	(void)state;
	for (long n = 0; r == RH_ENOMEM; n++) {
		struct rh_json *crd = NULL;
		struct rh_error err = {0};

		rh_mem_fail_after(n);
		r = rh_crd_build(&test_mpi, NULL, &crd, &err);
		rh_mem_fail_after(-1);
		assert_true(r == 0 ? crd != NULL : crd == NULL);
		rh_json_free(crd);
	}
	assert_int_equal(r, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_crd__names),
		cmocka_unit_test(test_crd__columns_are_v1s_or_the_plugins),
		cmocka_unit_test(test_crd__scale_where_the_kind_has_it),
		cmocka_unit_test(test_crd__spec_has_the_fields_of_plugin_and_core),
		cmocka_unit_test(test_crd__the_core_has_the_last_word),
		cmocka_unit_test(test_crd__the_small_template_keeps_what_it_does_not_name),
		cmocka_unit_test(test_crd__template_metadata_is_what_v1_kept),
		cmocka_unit_test(test_crd__a_template_that_is_given),
		cmocka_unit_test(test_crd__every_kind_is_small),
		cmocka_unit_test(test_crd__a_broken_declaration_is_the_plugins_fault),
		cmocka_unit_test(test_crd__out_of_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
