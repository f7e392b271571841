/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/str.h"
#include "host/call/reply.h"
#include "host/call/view.h"
#include "host/fixture.h"

static const char view_job[] =
	"apiVersion: kubeflow.org/v1\n"
	"kind: PyTorchJob\n"
	"metadata: {name: mnist, namespace: team, annotations: {a.b/c: d}}\n"
	"spec:\n"
	"  text: words\n"
	"  number: 7\n"
	"  broken: 1.5\n"
	"  good: true\n"
	"  bad: false\n"
	"  nothing: null\n"
	"  quoted: '7'\n"
	"  list: [a, {k: v}]\n"
	"  empty: []\n"
	"  pytorchReplicaSpecs:\n"
	"    Master: {replicas: 1, template: {spec: {containers: [{name: pytorch, image: i}]}}}\n"
	"    Worker:\n"
	"      replicas: 2\n"
	"      restartPolicy: ExitCode\n"
	"      template:\n"
	"        spec:\n"
	"          containers:\n"
	"          - {name: pytorch, image: i, ports: [{name: pytorchjob-port, containerPort: 4000}]}\n"
	"status: {conditions: [{type: Running, status: 'True'}, {type: Created, status: 'False'}]}\n";

/** A view of the fixture's job. */
struct view_fixture {
	struct fixture base;
	struct rh_arena texts;
	struct rh_view view;
};

static void view_close(struct view_fixture *fixture)
{
	rh_arena_deinit(&fixture->texts);
	fixture_close(&fixture->base);
}

static void view_open(struct view_fixture *fixture)
{
	memset(fixture, 0, sizeof(*fixture));
	fixture_open(&fixture->base, fixture_plugin(), view_job);
	fixture->view =
		(struct rh_view){&fixture->base.snapshot, fixture->base.config, "plugin fake", &fixture->texts, NULL};
}

#define auto_view __attribute__((cleanup(view_close))) struct view_fixture

static void view_assert_text(const char *name, const char *got, const char *want)
{
	if (!rh_text_equal(got, want))
		fail_msg("%s: \"%s\" is not \"%s\"", name, got ? got : "NULL", want ? want : "NULL");
}

static void test_view__text_json_and_size(void **state)
{
	static const struct {
		const char *path;
		const char *text;
		const char *json;
		int32_t size;
	} rows[] = {
		{"spec.text", "words", "\"words\"", -1},
		{"spec.number", "7", "7", -1},
		{"spec.broken", "1.5", "1.5", -1},
		{"spec.good", "true", "true", -1},
		{"spec.nothing", NULL, NULL, -1},
		{"spec.list", NULL, "[\"a\",{\"k\":\"v\"}]", 2},
		{"spec.list[0]", "a", "\"a\"", -1},
		{"spec.list[1].k", "v", "\"v\"", -1},
		{"spec.list[1]", NULL, "{\"k\":\"v\"}", 1},
		{"spec.empty", NULL, "[]", 0},
		{"metadata.annotations[\"a.b/c\"]", "d", "\"d\"", -1},
		{"spec.absent", NULL, NULL, -1},
		{"spec..text", NULL, NULL, -1},
		{NULL, NULL, NULL, -1},
	};
	auto_view fixture;

	(void)state;
	view_open(&fixture);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		view_assert_text(rows[i].path, rh_view_text(&fixture.view, rows[i].path), rows[i].text);
		view_assert_text(rows[i].path, rh_view_json(&fixture.view, rows[i].path), rows[i].json);
		assert_int_equal(rh_view_size(&fixture.view, rows[i].path), rows[i].size);
	}
}

static void test_view__a_namespace_is_always_there(void **state)
{
	static const char *const jobs[][2] = {
		{"{apiVersion: kubeflow.org/v1, kind: PyTorchJob, metadata: {name: a, namespace: team}, spec: {}}", "team"},
		{"{apiVersion: kubeflow.org/v1, kind: PyTorchJob, metadata: {name: a}, spec: {}}", "default"},
		{"{apiVersion: kubeflow.org/v1, kind: PyTorchJob, metadata: {name: a, namespace: ''}, spec: {}}", "default"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(jobs) / sizeof(jobs[0]); i++) {
		auto_fixture fixture;
		struct rh_view view = {.snapshot = &fixture.snapshot};

		fixture_open(&fixture, fixture_plugin(), jobs[i][0]);
		view_assert_text(jobs[i][0], rh_view_text(&view, "metadata.namespace"), jobs[i][1]);
	}
}

static void test_view__attempt(void **state)
{
	auto_view fixture;

	(void)state;
	view_open(&fixture);
	assert_int_equal(rh_view_attempt(&fixture.view), 0);
	fixture.base.snapshot.attempt = 3;
	assert_int_equal(rh_view_attempt(&fixture.view), 3);
}

static void test_view__integer_and_boolean(void **state)
{
	auto_view fixture;
	int64_t value = 42;

	(void)state;
	view_open(&fixture);
	assert_int_equal(rh_view_integer(&fixture.view, "spec.quoted", &value), 0);
	assert_int_equal(rh_view_integer(&fixture.view, "spec.broken", &value), 0);
	assert_int_equal(rh_view_integer(&fixture.view, "spec.nothing", &value), 0);
	assert_int_equal(rh_view_integer(&fixture.view, NULL, &value), 0);
	assert_int_equal(value, 42);
	assert_int_equal(rh_view_integer(&fixture.view, "spec.number", NULL), 1);
	assert_int_equal(rh_view_integer(&fixture.view, "spec.number", &value), 1);
	assert_int_equal(value, 7);
	assert_int_equal(rh_view_boolean(&fixture.view, "spec.good"), 1);
	assert_int_equal(rh_view_boolean(&fixture.view, "spec.bad"), 0);
	assert_int_equal(rh_view_boolean(&fixture.view, "spec.number"), 0);
	assert_int_equal(rh_view_boolean(&fixture.view, NULL), 0);
}

static void test_view__quote(void **state)
{
	auto_view fixture;

	(void)state;
	view_open(&fixture);
	view_assert_text("quote", rh_view_quote(&fixture.view, "a\"b\\c\n"), "\"a\\\"b\\\\c\\n\"");
	assert_null(rh_view_quote(&fixture.view, NULL));
	assert_false(fixture.texts.failed);
}

static void test_view__setting(void **state)
{
	static const char ini[] = "[plugin fake]\nimage = a\nimage = b\n[plugin other]\nonly = c\n";
	auto_view fixture;

	(void)state;
	view_open(&fixture);
	assert_int_equal(rh_config_parse(fixture.base.config, "x.ini", ini, strlen(ini), &fixture.base.err), 0);
	view_assert_text("image", rh_view_setting(&fixture.view, "image"), "b");
	assert_null(rh_view_setting(&fixture.view, "only"));
	assert_null(rh_view_setting(&fixture.view, NULL));
}

static void test_view__replicas_and_policies(void **state)
{
	auto_view fixture;

	(void)state;
	view_open(&fixture);
	assert_int_equal(rh_view_replicas(&fixture.view, "Worker"), 2);
	assert_int_equal(rh_view_replicas(&fixture.view, "worker"), -1);
	assert_int_equal(rh_view_replicas(&fixture.view, NULL), -1);
	view_assert_text("Worker", rh_view_restart_policy(&fixture.view, "Worker"), "ExitCode");
	view_assert_text("Master", rh_view_restart_policy(&fixture.view, "Master"), "OnFailure");
	assert_null(rh_view_restart_policy(&fixture.view, "PS"));
	view_assert_text("first", rh_view_type(&fixture.view, 0), "Master");
	view_assert_text("second", rh_view_type(&fixture.view, 1), "Worker");
	assert_null(rh_view_type(&fixture.view, 2));
	assert_null(rh_view_type(&fixture.view, UINT32_MAX));
}

static void test_view__hosts_and_ports_of_a_cluster(void **state)
{
	auto_view fixture;

	(void)state;
	view_open(&fixture);
	view_assert_text("host", rh_view_host(&fixture.view, "Worker", 1), "mnist-worker-1");
	view_assert_text("beyond the replicas", rh_view_host(&fixture.view, "Worker", 9), "mnist-worker-9");
	assert_null(rh_view_host(&fixture.view, "Worker", -1));
	assert_null(rh_view_host(&fixture.view, "PS", 0));
	view_assert_text("pod", rh_view_pod_name(&fixture.view, "Worker", 1), "mnist-worker-1");
	assert_null(rh_view_pod_name(&fixture.view, "Worker", -1));
	assert_null(rh_view_pod_name(&fixture.view, "PS", 0));
	assert_int_equal(rh_view_port(&fixture.view, "Master", 0), 23456);
	assert_int_equal(rh_view_port(&fixture.view, "Worker", 0), 4000);
	assert_int_equal(rh_view_port(&fixture.view, "PS", 0), -1);
	assert_int_equal(rh_view_state(&fixture.view), 0);
}

static void test_view__hosts_and_ports_of_a_plan(void **state)
{
	struct rh_address places[] = {{.type = "Master", .index = 0, .host = "127.1.0.1", .port = 20001},
	                              {.type = "Worker", .index = 0, .host = "127.1.0.2", .port = 20002}};
	const struct rh_addresses plan = {places, 2};
	auto_view fixture;

	(void)state;
	view_open(&fixture);
	fixture.base.snapshot.addresses = &plan;
	view_assert_text("host", rh_view_host(&fixture.view, "Worker", 0), "127.1.0.2");
	assert_null(rh_view_host(&fixture.view, "Worker", 1));
	view_assert_text("a pod has its name, not its address", rh_view_pod_name(&fixture.view, "Worker", 0),
	                 "mnist-worker-0");
	assert_int_equal(rh_view_port(&fixture.view, "Master", 0), 20001);
	assert_int_equal(rh_view_port(&fixture.view, "Worker", 1), 4000);
	assert_int_equal(rh_view_state(&fixture.view), RH_STATE_LOCAL);
}

static void test_view__state_reports_suspension_and_the_end(void **state)
{
	const struct rh_addresses empty = {NULL, 0};
	auto_view fixture;

	(void)state;
	view_open(&fixture);
	fixture.base.snapshot.addresses = &empty;
	fixture.base.snapshot.suspended = true;
	assert_int_equal(rh_view_state(&fixture.view), RH_STATE_SUSPENDED);
	fixture.base.snapshot.finished = true;
	assert_int_equal(rh_view_state(&fixture.view), RH_STATE_SUSPENDED | RH_STATE_FINISHED);
}

static void test_view__counts(void **state)
{
	struct rh_counts counts = {.head = RH_HEAD(struct rh_counts)};
	auto_view fixture;

	(void)state;
	view_open(&fixture);
	fixture.base.counts[1] =
		(struct rh_counts){.desired = 5, .active = 4, .succeeded = 3, .failed = 2, .restarting = 1};
	assert_int_equal(rh_view_counts(&fixture.view, "Worker", &counts), 1);
	assert_int_equal(counts.head.size, sizeof(counts));
	assert_int_equal(counts.desired, 5);
	assert_int_equal(counts.restarting, 1);
	assert_int_equal(rh_view_counts(&fixture.view, "PS", &counts), 0);
	assert_int_equal(rh_view_counts(&fixture.view, "Worker", NULL), 0);
	fixture.base.snapshot.counts = NULL;
	assert_int_equal(rh_view_counts(&fixture.view, "Worker", &counts), 0);
}

/* A plugin that was compiled with a shorter struct gets only what it has room for. */
static void test_view__counts_fill_what_the_plugin_knows(void **state)
{
	struct rh_counts counts = {.head = RH_HEAD(struct rh_counts), .succeeded = 77};
	auto_view fixture;

	(void)state;
	view_open(&fixture);
	fixture.base.counts[0] = (struct rh_counts){.desired = 1, .active = 1, .succeeded = 1};
	counts.head.size = offsetof(struct rh_counts, succeeded);
	assert_int_equal(rh_view_counts(&fixture.view, "Master", &counts), 1);
	assert_int_equal(counts.active, 1);
	assert_int_equal(counts.succeeded, 77);
	counts.head.size = 3;
	assert_int_equal(rh_view_counts(&fixture.view, "Master", &counts), 0);
}

static void test_view__replica(void **state)
{
	struct rh_pod pod = {.phase = RH_PHASE_FAILED, .exit_code = 137};
	const struct rh_pod *pods[] = {NULL, NULL, &pod};
	const size_t offsets[] = {0, 1};
	struct rh_replica_state replica = {.head = RH_HEAD(struct rh_replica_state)};
	auto_view fixture;

	(void)state;
	view_open(&fixture);
	assert_int_equal(rh_view_replica(&fixture.view, "Worker", 1, &replica), 0);
	fixture.base.snapshot.pods = pods;
	fixture.base.snapshot.offsets = offsets;
	assert_int_equal(rh_view_replica(&fixture.view, "Worker", 1, &replica), 1);
	assert_int_equal(replica.phase, RH_PHASE_FAILED);
	assert_int_equal(replica.exit_code, 137);
	assert_int_equal(rh_view_replica(&fixture.view, "Master", 0, &replica), 1);
	assert_int_equal(replica.phase, RH_PHASE_ABSENT);
	assert_int_equal(replica.exit_code, -1);
	assert_int_equal(rh_view_replica(&fixture.view, "Worker", 2, &replica), 0);
	assert_int_equal(rh_view_replica(&fixture.view, "Worker", -1, &replica), 0);
}

static void test_view__condition(void **state)
{
	auto_view fixture;

	(void)state;
	view_open(&fixture);
	assert_int_equal(rh_view_condition(&fixture.view, "Running"), 1);
	assert_int_equal(rh_view_condition(&fixture.view, "Created"), 0);
	assert_int_equal(rh_view_condition(&fixture.view, "Failed"), 0);
	assert_int_equal(rh_view_condition(&fixture.view, NULL), 0);
}

static void test_view__out_of_memory_is_null(void **state)
{
	auto_view fixture;

	(void)state;
	view_open(&fixture);
	rh_mem_fail_after(0);
	assert_null(rh_view_text(&fixture.view, "spec.number"));
	assert_null(rh_view_json(&fixture.view, "spec.text"));
	assert_null(rh_view_quote(&fixture.view, "x"));
	assert_null(rh_view_host(&fixture.view, "Worker", 0));
	assert_null(rh_view_pod_name(&fixture.view, "Worker", 0));
	assert_true(fixture.texts.failed);
	view_assert_text("borrowed from the job", rh_view_text(&fixture.view, "spec.text"), "words");
	rh_mem_fail_after(-1);
}

static void test_view__the_table_has_every_service(void **state)
{
	const struct rh_services *services = rh_services_table();
	const char *at = (const char *)services + sizeof(services->head);
	void (*none)(void) = NULL;

	(void)state;
	assert_int_equal(services->head.size, sizeof(*services));
	for (; at < (const char *)services + sizeof(*services); at += sizeof(none))
		assert_memory_not_equal(at, &none, sizeof(none));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_view__text_json_and_size),
		cmocka_unit_test(test_view__a_namespace_is_always_there),
		cmocka_unit_test(test_view__attempt),
		cmocka_unit_test(test_view__integer_and_boolean),
		cmocka_unit_test(test_view__quote),
		cmocka_unit_test(test_view__setting),
		cmocka_unit_test(test_view__replicas_and_policies),
		cmocka_unit_test(test_view__hosts_and_ports_of_a_cluster),
		cmocka_unit_test(test_view__hosts_and_ports_of_a_plan),
		cmocka_unit_test(test_view__state_reports_suspension_and_the_end),
		cmocka_unit_test(test_view__counts),
		cmocka_unit_test(test_view__counts_fill_what_the_plugin_knows),
		cmocka_unit_test(test_view__replica),
		cmocka_unit_test(test_view__condition),
		cmocka_unit_test(test_view__out_of_memory_is_null),
		cmocka_unit_test(test_view__the_table_has_every_service),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
