/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "job/kinds.h"
#include "job/support.h"
#include "job/values/version.h"

/* What Kubernetes' documentation gives as an example of the order. */
static void test_version__order(void **state)
{
	static const char *const order[] = {"v10",       "v2",        "v1",     "v11beta2", "v10beta3", "v3beta1",
	                                    "v12alpha1", "v11alpha2", "betaX1", "foo1",     "foo10",    "v1betaX1"};

	(void)state;
	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		for (size_t k = 0; k < sizeof(order) / sizeof(order[0]); k++) {
			int found = rh_version_compare(order[i], order[k]);

			if ((found < 0) != (i < k) || (found == 0) != (i == k))
				fail_msg("%s and %s: %d", order[i], order[k], found);
		}
	}
}

/* MPIJob in v1, v2beta1 and v3alpha1. */
static void make_kinds(struct rh_kind kinds[3])
{
	kinds[0] = kinds[1] = kinds[2] = test_mpi;
	kinds[0].version = "v1";
	kinds[1].version = "v2beta1";
	kinds[2].version = "v3alpha1";
}

static void test_version__storage_comes_first(void **state)
{
	struct rh_kind kinds[3];
	struct rh_versions versions = {.count = 0};

	(void)state;
	make_kinds(kinds);
	kinds[2].flags |= RH_KIND_STORAGE;
	for (size_t i = 3; i-- > 0;)
		assert_int_equal(rh_versions_add(&versions, &kinds[i]), 0);
	assert_string_equal(versions.items[0]->version, "v3alpha1");
	assert_string_equal(versions.items[1]->version, "v1");
	assert_string_equal(versions.items[2]->version, "v2beta1");
	assert_ptr_equal(versions.first, &kinds[2]);
	while (versions.count < RH_VERSIONS_MAX)
		assert_int_equal(rh_versions_add(&versions, &kinds[0]), 0);
	assert_int_equal(rh_versions_add(&versions, &kinds[0]), RH_EINVAL);
}

static void test_version__route(void **state)
{
	static const struct {
		const char *metadata, *version; /* NULL: nobody's */
	} rows[] = {
		{"{}", "v3alpha1"},
		{"{'annotations':{'roundhouse.dev/version':'v2beta1'}}", "v2beta1"},
		{"{'annotations':{'roundhouse.dev/version':'v9'}}", NULL},
		{"{'managedFields':[{'apiVersion':'kubeflow.org/v2beta1','fieldsV1':{'f:spec':{}}}]}", "v2beta1"},
		{"{'managedFields':[{'apiVersion':'kubeflow.org/v2beta1','fieldsV1':{'f:status':{}}}]}", "v3alpha1"},
		{"{'managedFields':[{'apiVersion':'kubeflow.org/v9','fieldsV1':{'f:spec':{}}}]}", "v3alpha1"},
		{"{'managedFields':[{'apiVersion':'other.org/v1','fieldsV1':{'f:spec':{}}}]}", "v3alpha1"},
		{"{'managedFields':[{'apiVersion':'kubeflow.org/v1','time':'2026-01-02T00:00:00Z','fieldsV1':{'f:spec':{}}},"
	     "{'apiVersion':'kubeflow.org/v2beta1','time':'2026-01-01T00:00:00Z','fieldsV1':{'f:spec':{}}},"
	     "{'apiVersion':'kubeflow.org/v1','time':'2026-01-01T00:00:00Z','fieldsV1':{'f:spec':{}}}]}",
	     "v2beta1"},
		{"{'annotations':{'roundhouse.dev/version':'v1'},"
	     "'managedFields':[{'apiVersion':'kubeflow.org/v2beta1','fieldsV1':{'f:spec':{}}}]}",
	     "v1"},
	};
	struct rh_kind kinds[3];
	struct rh_versions versions = {.count = 0};

	(void)state;
	make_kinds(kinds);
	kinds[2].flags |= RH_KIND_FALLBACK;
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(rh_versions_add(&versions, &kinds[i]), 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		rh_auto(json) object = rh_json_new_object();
		const struct rh_kind *found;

		assert_int_equal(rh_json_set(object, "metadata", test_json(rows[i].metadata)), 0);
		found = rh_versions_route(&versions, object);
		if (rows[i].version ? !found || strcmp(found->version, rows[i].version) != 0 : found != NULL)
			fail_msg("%s: %s", rows[i].metadata, found ? found->version : "nobody's");
	}
	kinds[2].flags = 0;
	{
		rh_auto(json) object = rh_json_new_object();

		assert_string_equal(rh_versions_route(&versions, object)->version, "v1");
	}
}

/* A managedBy that one version alone knows names it; where it stands is each version's own affair. */
static void test_version__managers(void **state)
{
	static const struct {
		const char *job, *version;
	} rows[] = {
		{"{'spec':{'runPolicy':{'managedBy':'example.org/new'}}}", "v2beta1"},
		{"{'spec':{'runPolicy':{'managedBy':'kubeflow.org/training-operator'}}}", "v1"},
		{"{'spec':{'managedBy':'example.org/flat'}}", "v3alpha1"},
		{"{'spec':{'runPolicy':{'managedBy':'example.org/flat'}}}", "v1"},
		{"{'spec':{'runPolicy':{'managedBy':'kueue.x-k8s.io/multikueue'}}}", "v1"},
		{"{'spec':{'runPolicy':{'managedBy':'example.org/unknown'}}}", "v1"},
		{"{'metadata':{'managedFields':[{'apiVersion':'kubeflow.org/v1','fieldsV1':{'f:spec':{}}}]},"
	     "'spec':{'runPolicy':{'managedBy':'example.org/new'}}}",
	     "v2beta1"},
		{"{'metadata':{'annotations':{'roundhouse.dev/version':'v1'}},"
	     "'spec':{'runPolicy':{'managedBy':'example.org/new'}}}",
	     "v1"},
	};
	struct rh_kind kinds[3];
	struct rh_versions versions = {.count = 0};

	(void)state;
	make_kinds(kinds);
	kinds[0].flags |= RH_KIND_FALLBACK;
	kinds[1].managers = "[\"example.org/new\",\"kueue.x-k8s.io/multikueue\"]";
	kinds[2].managers = "[\"example.org/flat\",\"kueue.x-k8s.io/multikueue\"]";
	kinds[2].run_policy_path = "spec";
	kinds[2].spec_schema = "{\"managedBy\":{\"type\":\"string\"}}";
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(rh_versions_add(&versions, &kinds[i]), 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		rh_auto(json) object = test_json(rows[i].job);
		const struct rh_kind *found = rh_versions_route(&versions, object);

		if (!found || strcmp(found->version, rows[i].version) != 0)
			fail_msg("%s: %s", rows[i].job, found ? found->version : "nobody's");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_version__order),
		cmocka_unit_test(test_version__storage_comes_first),
		cmocka_unit_test(test_version__route),
		cmocka_unit_test(test_version__managers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
