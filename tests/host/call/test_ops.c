/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "host/call/reply.h"
#include "host/call/view.h"
#include "host/fixture.h"

/** What the operations of the fake plugin do, and what they saw. */
struct ops_script {
	int32_t result;       /**< returned */
	int32_t fail_code;    /**< given to fail(); 0: not called */
	const char *edit;     /**< path of an edit whose result is ignored; NULL: none */
	struct rh_replica me; /**< that pod() was called for */
	int fini_calls;
};

static int32_t ops_act(struct ops_script *script, struct rh_reply *reply)
{
	const struct rh_services *services = rh_services_table();

	if (script->edit)
		(void)services->edit(reply, script->edit, "1");
	if (script->fail_code)
		(void)(services->fail)(reply, script->fail_code, "the words");
	return script->result;
}

static struct ops_script *ops_script(void)
{
	static struct ops_script script;

	return &script;
}

static int32_t ops_operation(void *self, const struct rh_view *view, struct rh_reply *reply)
{
	(void)self;
	(void)view;
	return ops_act(ops_script(), reply);
}

static int32_t ops_pod(void *self, const struct rh_view *view, const struct rh_replica *me, struct rh_reply *reply)
{
	(void)self;
	(void)view;
	ops_script()->me = *me;
	return ops_act(ops_script(), reply);
}

static void ops_fini(void *self)
{
	(void)self;
	ops_script()->fini_calls++;
}

static struct rh_plugin ops_plugin(void)
{
	struct rh_plugin plugin = *fixture_plugin();

	plugin.fini = ops_fini;
	plugin.validate = ops_operation;
	plugin.pod = ops_pod;
	plugin.objects = ops_operation;
	plugin.judge = ops_operation;
	return plugin;
}

/** What an operation does, and how the host passes it on. */
struct ops_case {
	const char *name;
	int32_t result;
	int32_t fail_code;
	const char *edit;
	int want;
	const char *words; /**< NULL: any */
};

static const struct ops_case ops_cases[] = {
	{"well", 0, 0, NULL, 0, NULL},
	{"refused in its own words", RH_EINVAL, RH_EINVAL, NULL, RH_EINVAL, "PyTorchJob team/mnist: the words"},
	{"a fault that passes is none that a plugin may have", RH_EAGAIN, RH_EAGAIN, NULL, RH_EPLUGIN,
     "plugin fake, pod(): the words"},
	{"no words", RH_EINVAL, 0, NULL, RH_EPLUGIN, "pod() returned -1 without saying why"},
	{"a positive result", 7, 0, NULL, RH_EPLUGIN, "pod() returned 7"},
	{"an unknown code", -99, 0, NULL, RH_EPLUGIN, "pod() returned -99"},
	{"out of memory", RH_ENOMEM, 0, NULL, RH_ENOMEM, "out of memory"},
	{"fail() and success", 0, RH_EINVAL, NULL, RH_EINVAL, "the words"},
	{"an error of a service that was ignored", 0, 0, "spec..x", RH_EPLUGIN, "pod(): path \"spec..x\""},
	{"the first error counts", RH_EINVAL, RH_EINVAL, "spec..x", RH_EPLUGIN, "path \"spec..x\""},
};

static void ops_check(struct fixture *fixture, const struct ops_case *row)
{
	rh_auto(json) pod = fixture_yaml("spec: {containers: [{name: pytorch}]}");
	struct rh_error err = {0};
	int r;

	*ops_script() = (struct ops_script){.result = row->result, .fail_code = row->fail_code, .edit = row->edit};
	r = rh_host_pod(&fixture->snapshot, "Worker", 1, pod, &err);
	if (r != row->want || !strstr(err.message, row->words ? row->words : ""))
		fail_msg("%s: %d \"%s\"", row->name, r, err.message);
	assert_string_equal(ops_script()->me.type, "Worker");
	assert_int_equal(ops_script()->me.index, 1);
	assert_int_equal(ops_script()->me.rank, 2);
	assert_int_equal(ops_script()->me.head.size, sizeof(struct rh_replica));
}

static void test_ops__results_of_pod(void **state)
{
	const struct rh_plugin plugin = ops_plugin();
	auto_fixture fixture;

	(void)state;
	fixture_open(&fixture, &plugin, fixture_job);
	for (size_t i = 0; i < sizeof(ops_cases) / sizeof(ops_cases[0]); i++)
		ops_check(&fixture, &ops_cases[i]);
}

static void test_ops__other_operations_pass_errors_on(void **state)
{
	const struct rh_plugin plugin = ops_plugin();
	rh_auto_findings findings = {0};
	struct rh_judgement judgement = {0};
	struct rh_json *objects = NULL;
	auto_fixture fixture;

	(void)state;
	fixture_open(&fixture, &plugin, fixture_job);
	*ops_script() = (struct ops_script){.result = RH_EINVAL, .fail_code = RH_EINVAL};
	assert_int_equal(rh_host_validate(&fixture.snapshot, &findings, &fixture.err), RH_EINVAL);
	assert_int_equal(rh_host_objects(&fixture.snapshot, &objects, &fixture.err), RH_EINVAL);
	assert_null(objects);
	assert_int_equal(rh_host_judge(&fixture.snapshot, &judgement, &fixture.err), RH_EINVAL);
	assert_int_equal(judgement.count, 0);
	*ops_script() = (struct ops_script){.edit = "spec.x"};
	assert_int_equal(rh_host_objects(&fixture.snapshot, &objects, &fixture.err), RH_EPLUGIN);
	assert_non_null(strstr(fixture.err.message, "objects(): edit(): no object was named before"));
}

static void test_ops__a_plugin_without_operations(void **state)
{
	rh_auto(json) pod = rh_json_new_object();
	rh_auto(json) objects = NULL;
	rh_auto_findings findings = {0};
	auto_fixture fixture;

	(void)state;
	fixture_open(&fixture, fixture_plugin(), fixture_job);
	assert_int_equal(rh_host_pod(&fixture.snapshot, "Master", 0, pod, &fixture.err), 0);
	fixture_assert_json(pod, "{}");
	assert_int_equal(rh_host_objects(&fixture.snapshot, &objects, &fixture.err), 0);
	fixture_assert_json(objects, "[]");
	assert_int_equal(rh_host_validate(&fixture.snapshot, &findings, &fixture.err), 0);
	assert_int_equal(rh_findings_errors(&findings), 0);
}

static void test_ops__a_kind_that_nobody_serves_any_more(void **state)
{
	struct rh_judgement judgement = {0};
	struct rh_snapshot snapshot;
	rh_auto(config) config = rh_config_new();
	rh_auto(host) empty = NULL;
	auto_fixture fixture;

	(void)state;
	fixture_open(&fixture, fixture_plugin(), fixture_job);
	assert_int_equal(rh_host_new(config, &empty, NULL), 0);
	snapshot = fixture.snapshot;
	snapshot.host = empty;
	assert_int_equal(rh_host_judge(&snapshot, &judgement, &fixture.err), RH_EPLUGIN);
	assert_non_null(strstr(fixture.err.message, "PyTorchJob team/mnist: no plugin serves this kind"));
}

static void test_ops__fini_is_called_once(void **state)
{
	const struct rh_plugin plugin = ops_plugin();
	struct fixture fixture;

	(void)state;
	*ops_script() = (struct ops_script){0};
	fixture_open(&fixture, &plugin, fixture_job);
	assert_int_equal(ops_script()->fini_calls, 0);
	fixture_close(&fixture);
	assert_int_equal(ops_script()->fini_calls, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ops__results_of_pod),
		cmocka_unit_test(test_ops__other_operations_pass_errors_on),
		cmocka_unit_test(test_ops__a_plugin_without_operations),
		cmocka_unit_test(test_ops__a_kind_that_nobody_serves_any_more),
		cmocka_unit_test(test_ops__fini_is_called_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
