/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "job/kinds.h"
#include "job/support.h"
#include "schema/crd.h"

#define KEPT "{'x-kubernetes-preserve-unknown-fields':true}"

/* The definition of MPIJob of v1 and of another version with these fields. */
static int unite(const char *schema, uint32_t flags, struct rh_json **ret_crd, struct rh_error *err)
{
	struct rh_kind other = test_mpi;
	struct rh_versions versions = {.count = 0};

	other.version = "v2beta1";
	other.spec_schema = schema;
	other.columns = "[]";
	other.flags = flags;
	assert_int_equal(rh_versions_add(&versions, &other), 0);
	assert_int_equal(rh_versions_add(&versions, &test_mpi), 0);
	return rh_crd_build_versions(&versions, NULL, ret_crd, err);
}

static void assert_at(const struct rh_json *crd, const char *version, const char *path, const char *wanted)
{
	rh_auto(json) expected = test_json(wanted);
	const struct rh_json *found = rh_json_first(rh_json_at(crd, "spec.versions"));
	rh_auto_free char *text = NULL;

	while (found && !rh_text_equal(rh_json_string_at(found, "name"), version))
		found = rh_json_next(found);
	found = rh_json_at(rh_json_at(found, "schema.openAPIV3Schema.properties.spec.properties"), path);
	text = rh_json_text(found);
	if (!rh_json_equal(found, expected))
		fail_msg("%s of %s is %s, not %s", path, version, text, wanted);
}

static void test_crd_union__each_keeps_what_the_other_names(void **state)
{
	rh_auto(json) crd = NULL;
	struct rh_error err = {0};

	(void)state;
	if (unite("{\"sshAuthMountPath\":{\"type\":\"string\"}}", 0, &crd, &err) < 0)
		fail_msg("%s", err.message);
	assert_at(crd, "v1", "sshAuthMountPath", KEPT);
	assert_at(crd, "v2beta1", "sshAuthMountPath", "{'type':'string'}");
	assert_at(crd, "v2beta1", "cleanPodPolicy", KEPT);
	assert_at(crd, "v2beta1", "slotsPerWorker", KEPT);
	assert_string_equal(rh_json_string_at(crd, "spec.versions[0].name"), "v1");
	assert_true(rh_json_bool(rh_json_at(crd, "spec.versions[0].storage"), false));
	assert_false(rh_json_bool(rh_json_at(crd, "spec.versions[1].storage"), true));
	assert_int_equal(rh_json_size(rh_json_at(crd, "spec.versions[1].additionalPrinterColumns")), 0);
}

static void test_crd_union__the_flag_chooses_the_storage_version(void **state)
{
	rh_auto(json) crd = NULL;
	struct rh_error err = {0};

	(void)state;
	assert_int_equal(unite(NULL, RH_KIND_STORAGE, &crd, &err), 0);
	assert_string_equal(rh_json_string_at(crd, "spec.versions[0].name"), "v2beta1");
	assert_true(rh_json_bool(rh_json_at(crd, "spec.versions[0].storage"), false));
}

static void test_crd_union__below_the_first_level(void **state)
{
	struct rh_kind one = test_mpi, two = test_mpi;
	struct rh_versions versions = {.count = 0};
	rh_auto(json) crd = NULL;
	struct rh_error err = {0};

	(void)state;
	one.spec_schema = "{\"a\":{\"type\":\"object\",\"properties\":{\"x\":{\"type\":\"string\"}}},"
					  "\"l\":{\"type\":\"array\",\"items\":{\"type\":\"object\"}},\"m\":{\"type\":\"object\"}}";
	two.version = "v2";
	two.spec_schema = "{\"a\":{\"type\":\"object\",\"properties\":{\"y\":{\"type\":\"string\"}}},"
					  "\"l\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{\"z\":{\"type\":"
					  "\"string\"}}}},\"m\":{\"type\":\"object\",\"additionalProperties\":{\"type\":\"string\"}}}";
	assert_int_equal(rh_versions_add(&versions, &one), 0);
	assert_int_equal(rh_versions_add(&versions, &two), 0);
	if (rh_crd_build_versions(&versions, NULL, &crd, &err) < 0)
		fail_msg("%s", err.message);
	assert_at(crd, "v1", "a.properties", "{'x':{'type':'string'},'y':" KEPT "}");
	assert_at(crd, "v2", "a.properties", "{'y':{'type':'string'},'x':" KEPT "}");
	assert_at(crd, "v1", "l.items", "{'type':'object','x-kubernetes-preserve-unknown-fields':true}");
	assert_at(crd, "v1", "m", "{'type':'object','x-kubernetes-preserve-unknown-fields':true}");
}

static void test_crd_union__a_field_of_two_types_is_refused(void **state)
{
	rh_auto(json) crd = NULL;
	struct rh_error err = {0};

	(void)state;
	assert_int_equal(
		unite("{\"cleanPodPolicy\":{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"}}}}", 0, &crd, &err),
		RH_EPLUGIN);
	assert_string_equal(err.message,
	                    "kind MPIJob.kubeflow.org: spec.cleanPodPolicy is of type string in version v1 and of type "
	                    "object in v2beta1; an API server stores both in one form, so a field must have one type in "
	                    "all versions");
	assert_null(crd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_crd_union__each_keeps_what_the_other_names),
		cmocka_unit_test(test_crd_union__the_flag_chooses_the_storage_version),
		cmocka_unit_test(test_crd_union__below_the_first_level),
		cmocka_unit_test(test_crd_union__a_field_of_two_types_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
