/* SPDX-License-Identifier: Apache-2.0 */
#include "base/support.h"
#include "kube/store/path.h"

static const struct rh_resource jobs = {"kubeflow.org/v1", "PyTorchJob", "pytorchjobs"};

static void test_path__targets(void **state)
{
	static const struct {
		struct rh_kube_target target;
		const char *expected;
	} rows[] = {
		{{&rh_resource_pods, NULL, NULL, NULL}, "/api/v1/pods"},
		{{&rh_resource_pods, "default", NULL, NULL}, "/api/v1/namespaces/default/pods"},
		{{&rh_resource_pods, "default", "p", NULL}, "/api/v1/namespaces/default/pods/p"},
		{{&jobs, "a", "j", "status"}, "/apis/kubeflow.org/v1/namespaces/a/pytorchjobs/j/status"},
		{{&jobs, NULL, NULL, NULL}, "/apis/kubeflow.org/v1/pytorchjobs"},
		{{&rh_resource_pods, "../x", "a?b#c%d e", NULL}, "/api/v1/namespaces/..%2Fx/pods/a%3Fb%23c%25d%20e"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		rh_auto_str path = {0};

		rh_kube_path_append(&path, &rows[i].target);
		assert_string_equal(rh_str_text(&path), rows[i].expected);
	}
}

static void test_path__queries(void **state)
{
	rh_auto_str path = {0}, query = {0};

	(void)state;
	rh_str_append(&path, "/a");
	rh_kube_path_query(&path, &query);
	assert_string_equal(rh_str_text(&path), "/a");
	rh_kube_query_add(&query, "labelSelector", "training.kubeflow.org/job-name");
	rh_kube_query_add(&query, "continue", "a=b&c\xC3\xA9");
	rh_kube_path_query(&path, &query);
	assert_string_equal(rh_str_text(&path),
	                    "/a?labelSelector=training.kubeflow.org%2Fjob-name&continue=a%3Db%26c%C3%A9");
}

static void test_path__resources(void **state)
{
	rh_auto_str name = {0};

	(void)state;
	rh_kube_path_resource(&name, &rh_resource_pods);
	rh_str_append(&name, " ");
	rh_kube_path_resource(&name, &jobs);
	assert_string_equal(rh_str_text(&name), "pods pytorchjobs.kubeflow.org");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_path__targets),
		cmocka_unit_test(test_path__queries),
		cmocka_unit_test(test_path__resources),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
