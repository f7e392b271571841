/* SPDX-License-Identifier: Apache-2.0 */
#include "local/pod/fields.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "base/mem.h"
#include "local/pod/input.h"

static void test_fields__of_the_pod(void **state)
{
	const struct test_pod *test = *state;
	static const struct {
		const char *path;
		const char *text; /* NULL: refused */
	} rows[] = {
		{"metadata.name", "job-worker-1"},
		{"metadata.namespace", "team"},
		{"metadata.uid", "u-1"},
		{"metadata.labels['app']", "train"},
		{"metadata.labels['b.example/x-y']", "quoted \"z\""},
		{"metadata.labels['none']", ""},
		{"metadata.annotations['note']", "hello"},
		{"metadata.labels", "app=\"train\"\nb.example/x-y=\"quoted \\\"z\\\"\""},
		{"metadata.annotations", "note=\"hello\""},
		{"spec.nodeName", "laptop"},
		{"spec.serviceAccountName", "default"},
		{"status.hostIP", "127.0.0.1"},
		{"status.hostIPs", "127.0.0.1"},
		{"status.podIP", "127.1.0.3"},
		{"status.podIPs", "127.1.0.3"},
		{"metadata.labels[app]", NULL},
		{"metadata.labels['app'", NULL},
		{"metadata.labels['']", NULL},
		{"metadata.generation", NULL},
		{"status.phase", NULL},
		{"", NULL},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		rh_auto_free char *text = NULL;
		struct rh_error err = {0};
		int r = rh_pod_field(&test->context, rows[i].path, &text, &err);

		if (r != (rows[i].text ? 0 : RH_EINVAL) || !rh_text_equal(text, rows[i].text))
			fail_msg("%s: %d %s", rows[i].path, r, text ? text : err.message);
		if (r < 0)
			assert_non_null(strstr(err.message, rows[i].path));
	}
}

static void test_fields__node_is_this_machine_by_default(void **state)
{
	struct test_pod *test = *state;
	rh_auto_free char *text = NULL;
	char host[256];

	test_pod_spec(test, "{serviceAccountName: robot, containers: []}");
	assert_int_equal(gethostname(host, sizeof(host)), 0);
	assert_int_equal(rh_pod_field(&test->context, "spec.nodeName", &text, NULL), 0);
	assert_string_equal(text, host);
	rh_free(rh_take(text));
	assert_int_equal(rh_pod_field(&test->context, "spec.serviceAccountName", &text, NULL), 0);
	assert_string_equal(text, "robot");
}

static void test_fields__resources(void **state)
{
	struct test_pod *test = *state;
	static const struct {
		const char *name;
		const char *reference;
		const char *text; /* NULL: refused */
	} rows[] = {
		{"cpu, rounded up", "{resource: limits.cpu}", "2"},
		{"cpu in thousandths", "{resource: limits.cpu, divisor: 1m}", "1500"},
		{"divisor 0 is 1", "{resource: limits.cpu, divisor: '0'}", "2"},
		{"memory in bytes", "{resource: limits.memory}", "1073741824"},
		{"memory in MiB", "{resource: limits.memory, divisor: 1Mi}", "1024"},
		{"memory, rounded up", "{resource: limits.memory, divisor: 1G}", "2"},
		{"request", "{resource: requests.cpu, divisor: 1m}", "250"},
		{"a missing request is the limit", "{resource: requests.memory, divisor: 1Gi}", "1"},
		{"another container's", "{containerName: side, resource: limits.cpu}", "3"},
		{"an init container's", "{containerName: first, resource: limits.cpu}", "4"},
		{"a missing request without limit", "{containerName: side, resource: requests.memory}", "0"},
		{"no such container", "{containerName: none, resource: limits.cpu}", NULL},
		{"no such resource", "{resource: limits.wood}", NULL},
		{"neither limit nor request", "{resource: cpu}", NULL},
		{"no resource", "{}", NULL},
		{"negative divisor", "{resource: limits.cpu, divisor: '-1'}", NULL},
		{"broken divisor", "{resource: limits.cpu, divisor: many}", NULL},
		{"broken quantity", "{containerName: broken, resource: limits.cpu}", NULL},
	};
	const struct rh_json *main_container;

	test_pod_spec(test,
	              "{containers: [{name: main, resources: {limits: {cpu: '1.5', memory: 1Gi}, requests: {cpu: 250m}}}, "
	              "{name: side, resources: {limits: {cpu: 3}}}, {name: broken, resources: {limits: {cpu: x}}}], "
	              "initContainers: [{name: first, resources: {limits: {cpu: 4}}}]}");
	main_container = rh_json_at(test->pod, "spec.containers[0]");
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		rh_auto(json) reference = test_pod_yaml(rows[i].reference);
		rh_auto_free char *text = NULL;
		struct rh_error err = {0};
		int r = rh_pod_resource(&test->context, main_container, reference, &text, &err);

		if (r != (rows[i].text ? 0 : RH_EINVAL) || !rh_text_equal(text, rows[i].text))
			fail_msg("%s: %d %s", rows[i].name, r, text ? text : err.message);
	}
}

static void test_fields__missing_limits_are_the_machine(void **state)
{
	struct test_pod *test = *state;
	rh_auto(json) cpu = test_pod_yaml("{resource: limits.cpu}");
	rh_auto(json) memory = test_pod_yaml("{resource: limits.memory}");
	const struct rh_json *container = rh_json_at(test->pod, "spec.containers[0]");
	rh_auto_free char *cpus = NULL;
	rh_auto_free char *bytes = NULL;
	char expected[32];

	(void)snprintf(expected, sizeof(expected), "%ld", sysconf(_SC_NPROCESSORS_ONLN));
	assert_int_equal(rh_pod_resource(&test->context, container, cpu, &cpus, NULL), 0);
	assert_string_equal(cpus, expected);
	assert_int_equal(rh_pod_resource(&test->context, container, memory, &bytes, NULL), 0);
	assert_true(strtoll(bytes, NULL, 10) == (long long)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE));
}

static void test_fields__quantities(void **state)
{
	rh_auto(json) container =
		test_pod_yaml("{name: c, resources: {limits: {a: 2, b: '500m', c: null, d: word}, requests: {a: 1}}}");
	struct rh_error err = {0};
	int64_t milli = -1;

	(void)state;
	assert_int_equal(rh_pod_quantity(container, "limits", "a", &milli, &err), 1);
	assert_int_equal(milli, 2000);
	assert_int_equal(rh_pod_quantity(container, "requests", "a", &milli, &err), 1);
	assert_int_equal(milli, 1000);
	assert_int_equal(rh_pod_quantity(container, "limits", "b", &milli, &err), 1);
	assert_int_equal(milli, 500);
	assert_int_equal(rh_pod_quantity(container, "limits", "c", &milli, &err), 0);
	assert_int_equal(rh_pod_quantity(container, "limits", "x", &milli, &err), 0);
	assert_int_equal(rh_pod_quantity(container, "limits", "d", &milli, &err), RH_EINVAL);
	assert_non_null(strstr(err.message, "container \"c\": resources.limits[\"d\"]"));
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, test_pod_setup, test_pod_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_fields__of_the_pod), CASE(test_fields__node_is_this_machine_by_default),
		CASE(test_fields__resources),  CASE(test_fields__missing_limits_are_the_machine),
		CASE(test_fields__quantities),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
