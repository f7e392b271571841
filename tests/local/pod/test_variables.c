/* SPDX-License-Identifier: Apache-2.0 */
/* env and envFrom of a container. */
#include <string.h>

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "base/mem.h"
#include "local/pod/environment.h"
#include "local/pod/input.h"

/* The variables of a container, in order, each as NAME=value and a space. @return owned by the caller */
static char *variables(const struct test_pod *test, const char *container, int *ret_r, struct rh_error *err)
{
	rh_auto(json) json = test_pod_yaml(container);
	rh_auto_environment environment = {0};
	rh_auto_str text = {0};

	*ret_r = rh_environment_add(&environment, &test->context, json, err);
	for (size_t i = 0; i < environment.count; i++)
		rh_str_appendf(&text, "%s=%s ", environment.items[i].name, environment.items[i].value);
	return rh_str_take(&text);
}

static void test_variables__are_filled(void **state)
{
	static const struct {
		const char *name;
		const char *container;
		const char *expected;
	} rows[] = {
		{"none", "{name: c}", ""},
		{"plain values", "{env: [{name: A, value: x}, {name: B, value: ''}, {name: C}]}", "A=x B= C= "},
		{"the last of a name counts", "{env: [{name: A, value: x}, {name: A, value: z}]}", "A=z "},
		{"only earlier ones expand",
	     "{env: [{name: A, value: '$(B)'}, {name: B, value: b}, {name: C, value: '$(A)-$(B)'}]}",
	     "A=$(B) B=b C=$(B)-b "},
		{"itself, earlier", "{env: [{name: A, value: x}, {name: A, value: '$(A)y'}]}", "A=xy "},
		{"a key of a ConfigMap", "{env: [{name: A, valueFrom: {configMapKeyRef: {name: settings, key: rate}}}]}",
	     "A=0.1 "},
		{"a key of a Secret", "{env: [{name: A, valueFrom: {secretKeyRef: {name: login, key: user}}}]}", "A=ada "},
		{"values from elsewhere are not expanded, but expand",
	     "{env: [{name: A, valueFrom: {fieldRef: {fieldPath: status.podIP}}}, {name: B, value: '$(A):80'}]}",
	     "A=127.1.0.3 B=127.1.0.3:80 "},
		{"optional object", "{env: [{name: A, valueFrom: {secretKeyRef: {name: gone, key: x, optional: true}}}]}", ""},
		{"optional key", "{env: [{name: A, valueFrom: {configMapKeyRef: {name: settings, key: x, optional: true}}}]}",
	     ""},
		{"a value counts before valueFrom",
	     "{env: [{name: A, value: x, valueFrom: {configMapKeyRef: {name: settings, key: rate}}}]}", "A=x "},
		{"resource of the container itself",
	     "{resources: {limits: {cpu: 1500m}}, env: [{name: A, valueFrom: {resourceFieldRef: {resource: limits.cpu}}}]}",
	     "A=2 "},
		{"envFrom with prefix", "{envFrom: [{prefix: X_, configMapRef: {name: files}}]}",
	     "X_a.txt=A X_b.conf=B X_zero.bin=z "},
		{"envFrom, later ones count",
	     "{envFrom: [{configMapRef: {name: files}}, {secretRef: {name: optional, optional: true}}], "
	     "env: [{name: a.txt, value: own}]}",
	     "a.txt=own b.conf=B zero.bin=z "},
		{"binaryData is for files alone", "{envFrom: [{configMapRef: {name: settings}}]}", "rate=0.1 epochs=3 "},
		{"env does not see envFrom", "{envFrom: [{configMapRef: {name: files}}], env: [{name: A, value: '$(a.txt)'}]}",
	     "a.txt=A b.conf=B zero.bin=z A=$(a.txt) "},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rh_error err = {0};
		int r = -1;
		rh_auto_free char *text = variables(*state, rows[i].container, &r, &err);

		if (r != 0 || strcmp(text, rows[i].expected) != 0)
			fail_msg("%s: %d %s \"%s\"", rows[i].name, r, err.message, text);
	}
}

static void test_variables__are_refused(void **state)
{
	static const struct {
		const char *container;
		int r;
		const char *word;
	} rows[] = {
		{"{name: c, env: [{name: A, valueFrom: {configMapKeyRef: {name: gone, key: x}}}]}", RH_ENOENT,
	     "container \"c\": env \"A\": configmap \"gone\" not found"},
		{"{name: c, env: [{name: A, valueFrom: {configMapKeyRef: {name: settings, key: x}}}]}", RH_ENOENT,
	     "couldn't find key x in ConfigMap team/settings"},
		{"{name: c, env: [{name: A, valueFrom: {configMapKeyRef: {name: settings, key: bin}}}]}", RH_ENOENT,
	     "couldn't find key bin in ConfigMap team/settings"},
		{"{name: c, env: [{name: A, valueFrom: {secretKeyRef: {name: login, key: x}}}]}", RH_ENOENT,
	     "couldn't find key x in Secret team/login"},
		{"{name: c, envFrom: [{secretRef: {name: gone}}]}", RH_ENOENT, "secret \"gone\" not found"},
		{"{name: c, envFrom: [{prefix: x}]}", RH_EINVAL, "neither configMapRef nor secretRef"},
		{"{name: c, env: [{name: A, valueFrom: {secretKeyRef: {name: login, key: zero}}}]}", RH_EINVAL, "zero byte"},
		{"{name: c, envFrom: [{secretRef: {name: login}}]}", RH_EINVAL, "zero byte"},
		{"{name: c, env: [{name: A, valueFrom: {}}]}", RH_EINVAL, "valueFrom has none"},
		{"{name: c, env: [{name: A, valueFrom: {fieldRef: {fieldPath: spec.x}}}]}", RH_EINVAL, "spec.x"},
		{"{name: c, env: [{name: A=B, value: x}]}", RH_EINVAL, "no name"},
		{"{name: c, env: [{value: x}]}", RH_EINVAL, "no name"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rh_error err = {0};
		int r = 0;
		rh_auto_free char *text = variables(*state, rows[i].container, &r, &err);

		if (r != rows[i].r || !strstr(err.message, rows[i].word))
			fail_msg("%s: %d %s", rows[i].container, r, err.message);
	}
}

static void test_variables__bad_names_are_left_out_and_reported(void **state)
{
	struct test_pod *test = *state;
	struct rh_error err = {0};
	int r = -1;
	rh_auto(json) settings =
		test_pod_yaml("[{kind: ConfigMap, metadata: {name: s}, data: {ok: x, bad name: why, 1st: z}}]");
	rh_auto_free char *text = NULL;

	test->input.lookup_arg = settings;
	text = variables(test, "{name: c, envFrom: [{configMapRef: {name: s}}]}", &r, &err);
	assert_int_equal(r, 0);
	assert_string_equal(text, "ok=x ");
	assert_string_equal(rh_str_text(&test->notes),
	                    "container \"c\": envFrom leaves out \"bad name\", which is not a name of a variable\n"
	                    "container \"c\": envFrom leaves out \"1st\", which is not a name of a variable\n");
	/* nobody has to want notes */
	test->context.notes = NULL;
	rh_free(rh_take(text));
	text = variables(test, "{name: c, envFrom: [{configMapRef: {name: s}}]}", &r, &err);
	assert_int_equal(r, 0);
}

static void test_variables__survive_a_lack_of_memory(void **state)
{
	const struct test_pod *test = *state;
	rh_auto(json) container = test_pod_yaml(
		"{name: c, envFrom: [{prefix: P_, configMapRef: {name: files}}], env: [{name: A, value: '$(B)'}, {name: B, "
		"valueFrom: "
		"{secretKeyRef: {name: login, key: user}}}, {name: C, valueFrom: {fieldRef: {fieldPath: metadata.labels}}}]}");
	int r = RH_ENOMEM;

	for (long i = 0; r != 0; i++) {
		rh_auto_environment environment = {0};

		(void)rh_mem_fail_after(i);
		r = rh_environment_add(&environment, &test->context, container, NULL);
		(void)rh_mem_fail_after(-1);
		assert_true(r == 0 || r == RH_ENOMEM);
	}
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, test_pod_setup, test_pod_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_variables__are_filled),
		CASE(test_variables__are_refused),
		CASE(test_variables__bad_names_are_left_out_and_reported),
		CASE(test_variables__survive_a_lack_of_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
