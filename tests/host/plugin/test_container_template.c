/* SPDX-License-Identifier: Apache-2.0 */
#include "host/plugin/container_template.h"

#include <string.h>

#include "base/support.h"

/* V1's own template. */
static const char template_v1[] =
	"\n"
	"- name: init-pytorch\n"
	"  image: {{.InitContainerImage}}\n"
	"  imagePullPolicy: IfNotPresent\n"
	"  resources:\n"
	"    limits:\n"
	"      cpu: 100m\n"
	"  command: ['sh', '-c', 'for i in $(seq {{.MaxTries}}); do nslookup {{ .MasterAddr }}; done']\n";

static int template_read(const char *text, char **ret_lines, struct rh_error *err)
{
	rh_auto(json) variables = support_json("[\"MasterAddr\",\"InitContainerImage\",\"MaxTries\"]");

	return rh_container_template_read(text, variables, ret_lines, err);
}

static void template_assert(const char *text, const char *want)
{
	rh_auto_free char *lines = NULL;
	struct rh_error err = {0};

	if (template_read(text, &lines, &err) < 0)
		fail_msg("%s: %s", text, err.message);
	assert_string_equal(lines, want);
}

static void test_container_template__v1(void **state)
{
	(void)state;
	template_assert(
		template_v1,
		"{\"name\":\"init-pytorch\",\"image\":\"{{.InitContainerImage}}\",\"imagePullPolicy\":\"IfNotPresent\","
		"\"resources\":{\"limits\":{\"cpu\":\"100m\"}},\"command\":[\"sh\",\"-c\",\"for i in $(seq "
		"{{.MaxTries}}); do nslookup {{.MasterAddr}}; done\"]}\n");
}

static void test_container_template__forms(void **state)
{
	(void)state;
	template_assert("[]", "");
	template_assert("- {name: a, image: x}\n- {name: b, image: z}\n",
	                "{\"name\":\"a\",\"image\":\"x\"}\n{\"name\":\"b\",\"image\":\"z\"}\n");
	template_assert("- name: a\n  image: x   {{- .MaxTries -}}   y\n",
	                "{\"name\":\"a\",\"image\":\"x{{.MaxTries}}y\"}\n");
	template_assert("- {name: a, image: \"\xEE\x80\x90\"}", "{\"name\":\"a\",\"image\":\"\xEE\x80\x90\"}\n");
}

static void test_container_template__refused(void **state)
{
	static const char *const rows[][2] = {
		{"", "no list of containers"},
		{"name: a", "no list of containers"},
		{"- a\n---\n- b\n", "no list of containers"},
		{"- x", "[0] is string; write a container"},
		{"- {name: A, image: x}", "[0].name: \"A\" is not the name"},
		{"- {image: x}", "[0].name: \"\" is not the name"},
		{"- {name: a}", "[0].image is missing"},
		{"- {name: a, image: x}\n- {name: b}", "[1].image is missing"},
		{"- name: {{.Nope}}",
	     "\"{{.Nope}}\" is not understood; there are {{.MasterAddr}}, {{.InitContainerImage}}, {{."},
		{"{{if .MaxTries}}", "is not understood"},
		{"{{.MaxTries", "is not understood"},
		{"{{.MaxTries}", "is not understood"},
		{"{{MaxTries}}", "is not understood"},
		{"{{.Max}}", "is not understood"},
		{"{{-.MaxTries}}", "is not understood"},
		{"{{", "is not understood"},
		{"- name: [", "line"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		rh_auto_free char *lines = NULL;
		struct rh_error err = {0};

		if (template_read(rows[i][0], &lines, &err) != RH_EINVAL || !strstr(err.message, rows[i][1]))
			fail_msg("%s: \"%s\" does not say \"%s\"", rows[i][0], err.message, rows[i][1]);
		assert_null(lines);
	}
}

static int template_read_v1(void *arg)
{
	rh_auto_free char *lines = NULL;

	return rh_container_template_read(template_v1, arg, &lines, NULL);
}

static void test_container_template__survives_allocation_failures(void **state)
{
	rh_auto(json) variables = support_json("[\"MasterAddr\",\"InitContainerImage\",\"MaxTries\"]");

	(void)state;
	support_fail_each(template_read_v1, variables);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_container_template__v1),
		cmocka_unit_test(test_container_template__forms),
		cmocka_unit_test(test_container_template__refused),
		cmocka_unit_test(test_container_template__survives_allocation_failures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
