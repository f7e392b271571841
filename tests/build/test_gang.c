/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "build/gang.h"
#include "host/fixture.h"

#define GANG_JOB(policy, master, worker)                                                               \
	"apiVersion: kubeflow.org/v1\nkind: PyTorchJob\n"                                                  \
	"metadata: {name: j, namespace: team, uid: u, annotations: {a: b, roundhouse.dev/ledger: '{}'}}\n" \
	"spec:\n  runPolicy: {schedulingPolicy: {" policy "}}\n  pytorchReplicaSpecs:\n"                   \
	"    Master: {replicas: 1, template: {spec: {" master "}}}\n"                                      \
	"    Worker: {replicas: 3, template: {spec: {" worker "}}}\n"
#define CONTAINER(resources) "containers: [{name: pytorch, image: i, resources: {" resources "}}]"
#define PLAIN CONTAINER("")

struct name_row {
	const char *text;
	int result;
	enum rh_gang_kind kind;
	const char *scheduler;
};

static const struct name_row own_rows[] = {
	{"none", 0, RH_GANG_NONE, ""},
	{"volcano", 0, RH_GANG_VOLCANO, "volcano"},
	{"scheduler-plugins", 0, RH_GANG_SCHEDULER_PLUGINS, "scheduler-plugins-scheduler"},
	{"scheduler-plugins:mine", 0, RH_GANG_SCHEDULER_PLUGINS, "mine"},
	{"scheduler-plugins:", RH_EINVAL, RH_GANG_NONE, ""},
	{"scheduler-plugins:My_Scheduler", RH_EINVAL, RH_GANG_NONE, ""},
	{"Volcano", RH_EINVAL, RH_GANG_NONE, ""},
	{"volcno", RH_EINVAL, RH_GANG_NONE, ""},
	{"", RH_EINVAL, RH_GANG_NONE, ""},
};

/* v1-behaviour B.8: any word but Volcano's is the name of a scheduler. */
static const struct name_row flag_rows[] = {
	{"", 0, RH_GANG_NONE, ""},
	{"None", 0, RH_GANG_NONE, ""},
	{"none", 0, RH_GANG_SCHEDULER_PLUGINS, "none"},
	{"volcano", 0, RH_GANG_VOLCANO, "volcano"},
	{"VolCano", 0, RH_GANG_VOLCANO, "volcano"},
	{"scheduler-plugins", 0, RH_GANG_SCHEDULER_PLUGINS, "scheduler-plugins"},
	{"scheduler-plugins-scheduler", 0, RH_GANG_SCHEDULER_PLUGINS, "scheduler-plugins-scheduler"},
	{"a b", RH_EINVAL, RH_GANG_NONE, ""},
};

static void check_names(const struct name_row *rows, size_t count,
                        int (*parse)(const char *text, struct rh_gang *ret_gang, struct rh_error *err))
{
	for (size_t i = 0; i < count; i++) {
		struct rh_gang gang = {0};
		int r = parse(rows[i].text, &gang, NULL);

		if (r != rows[i].result || gang.kind != rows[i].kind || strcmp(gang.scheduler, rows[i].scheduler) != 0)
			fail_msg("\"%s\": %d, kind %d, scheduler \"%s\"", rows[i].text, r, (int)gang.kind, gang.scheduler);
	}
}

static void test_gang__names(void **state)
{
	(void)state;
	check_names(own_rows, sizeof(own_rows) / sizeof(own_rows[0]), rh_gang_parse);
	check_names(flag_rows, sizeof(flag_rows) / sizeof(flag_rows[0]), rh_gang_parse_flag);
	assert_false(rh_gang_is_on(NULL));
	assert_null(rh_gang_api_version(NULL));
}

static struct rh_gang gang_of(const char *name)
{
	struct rh_gang gang;

	assert_int_equal(rh_gang_parse(name, &gang, NULL), 0);
	return gang;
}

static struct rh_json *make_group(struct fixture *fixture, const char *name)
{
	const struct rh_gang gang = gang_of(name);
	struct rh_json *group = NULL;

	if (rh_gang_pod_group(&gang, fixture->job, NULL, &group, &fixture->err) < 0)
		fail_msg("%s", fixture->err.message);
	return group;
}

struct spec_row {
	const char *name;
	const char *gang;
	const char *job;
	const char *spec;
};

static const struct spec_row spec_rows[] = {
	{"all replicas, the default queue", "volcano", GANG_JOB("", PLAIN, PLAIN), "{'minMember':4,'queue':'default'}"},
	{"what the policy says", "volcano",
     GANG_JOB("minAvailable: 2, queue: q, priorityClass: p, scheduleTimeoutSeconds: 5", PLAIN, PLAIN),
     "{'minMember':2,'priorityClassName':'p','queue':'q'}"},
	{"the coscheduling plugin knows neither queue nor priority", "scheduler-plugins",
     GANG_JOB("queue: q, priorityClass: p, scheduleTimeoutSeconds: 5", PLAIN, PLAIN),
     "{'minMember':4,'scheduleTimeoutSeconds':5}"},
	{"given resources, in canonical form", "scheduler-plugins",
     GANG_JOB("minResources: {cpu: 4000m, memory: 2048Mi, gpu: 3}", PLAIN, PLAIN),
     "{'minMember':4,'minResources':{'cpu':'4','memory':'2Gi','gpu':'3'}}"},
	{"the sum of all", "scheduler-plugins",
     GANG_JOB("", CONTAINER("requests: {cpu: 500m}"), CONTAINER("requests: {cpu: '1', memory: 1Gi}")),
     "{'minMember':4,'minResources':{'cpu':'3500m','memory':'3Gi'}}"},
	{"fewer than all: leaders first, always the same", "scheduler-plugins",
     GANG_JOB("minAvailable: 2", CONTAINER("requests: {cpu: 10}"), CONTAINER("requests: {cpu: 1}")),
     "{'minMember':2,'minResources':{'cpu':'11'}}"},
	{"a limit is a request where there is none", "scheduler-plugins",
     GANG_JOB("minAvailable: 1", CONTAINER("requests: {cpu: 1}, limits: {cpu: 2, nvidia.com/gpu: 8}"), PLAIN),
     "{'minMember':1,'minResources':{'cpu':'1','nvidia.com/gpu':'8'}}"},
	{"containers of one pod add up", "scheduler-plugins",
     GANG_JOB("minAvailable: 1",
              "containers: [{name: pytorch, image: i, resources: {requests: {cpu: 1}}}, {name: side, image: i, "
              "resources: {requests: {cpu: 2}}}]",
              PLAIN),
     "{'minMember':1,'minResources':{'cpu':'3'}}"},
	{"the largest init container counts where it needs more", "scheduler-plugins",
     GANG_JOB(
		 "minAvailable: 1",
		 "initContainers: [{name: a, image: i, resources: {requests: {cpu: 5}}}, {name: b, image: i, resources: "
		 "{requests: {cpu: 3, memory: 1Gi}}}], containers: [{name: pytorch, image: i, resources: {requests: {cpu: 4, "
		 "memory: 2Gi}}}]",
		 PLAIN),
     "{'minMember':1,'minResources':{'cpu':'5','memory':'2Gi'}}"},
	{"one that goes on runs beside the containers", "scheduler-plugins",
     GANG_JOB("minAvailable: 1",
              "initContainers: [{name: a, image: i, restartPolicy: Always, resources: {requests: {cpu: 5}}}, {name: b, "
              "image: i, resources: {requests: {cpu: 1}}}], " CONTAINER("requests: {cpu: 4}"),
              PLAIN),
     "{'minMember':1,'minResources':{'cpu':'9'}}"},
	{"more than there are", "scheduler-plugins", GANG_JOB("minAvailable: 10", CONTAINER("requests: {cpu: 1}"), PLAIN),
     "{'minMember':10,'minResources':{'cpu':'1'}}"},
};

/* @return a copy in which ' stands for ", owned by the caller */
static char *quoted(const char *text)
{
	char *copy = rh_strdup(text);

	for (char *c = copy; *c; c++)
		*c = *c == '\'' ? '"' : *c;
	return copy;
}

static void test_gang__specs(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(spec_rows) / sizeof(spec_rows[0]); i++) {
		auto_fixture fixture;
		rh_auto(json) group = NULL;
		rh_auto(json) wanted = NULL;
		rh_auto_free char *text = quoted(spec_rows[i].spec);
		rh_auto_free char *got = NULL;

		fixture_open(&fixture, fixture_plugin(), spec_rows[i].job);
		group = make_group(&fixture, spec_rows[i].gang);
		assert_int_equal(rh_json_parse(text, strlen(text), &wanted, NULL), 0);
		got = rh_json_text(rh_json_get(group, "spec"));
		if (!rh_json_equal(rh_json_get(group, "spec"), wanted))
			fail_msg("%s: %s", spec_rows[i].name, got);
	}
}

static void test_gang__the_group_is_named_after_the_job(void **state)
{
	auto_fixture fixture;
	rh_auto(json) group = NULL;

	(void)state;
	fixture_open(&fixture, fixture_plugin(), GANG_JOB("", PLAIN, PLAIN));
	group = make_group(&fixture, "volcano");
	assert_string_equal(rh_json_string_at(group, "apiVersion"), "scheduling.volcano.sh/v1beta1");
	fixture_assert_json(rh_json_get(group, "metadata"),
	                    "{\"labels\":{\"training.kubeflow.org/job-name\":\"j\"},\"name\":\"j\",\"annotations\":{\"a\":"
	                    "\"b\"}}");
}

static void test_gang__a_quantity_that_is_none_is_named(void **state)
{
	auto_fixture fixture;
	const struct rh_gang gang = gang_of("volcano");
	struct rh_json *group = NULL;

	(void)state;
	fixture_open(&fixture, fixture_plugin(), GANG_JOB("minResources: {cpu: many}", PLAIN, PLAIN));
	assert_int_equal(rh_gang_pod_group(&gang, fixture.job, NULL, &group, &fixture.err), RH_EINVAL);
	assert_non_null(strstr(fixture.err.message, "minResources of the PodGroup of PyTorchJob team/j"));
	assert_non_null(strstr(fixture.err.message, "resources.cpu"));
}

struct pod_row {
	const char *name;
	const char *gang;
	const char *worker;
	const char *path;
	const char *value; /* NULL: absent */
};

static const struct pod_row pod_rows[] = {
	{"Volcano's scheduler", "volcano", PLAIN, "spec.schedulerName", "volcano"},
	{"Volcano's group", "volcano", PLAIN, "metadata.annotations[\"scheduling.k8s.io/group-name\"]", "j"},
	{"Volcano's task", "volcano", PLAIN, "metadata.annotations[\"volcano.sh/task-spec\"]", "worker"},
	{"no label for Volcano", "volcano", PLAIN, "metadata.labels[\"scheduling.x-k8s.io/pod-group\"]", NULL},
	{"the plugin's scheduler", "scheduler-plugins", PLAIN, "spec.schedulerName", "scheduler-plugins-scheduler"},
	{"the plugin's group", "scheduler-plugins", PLAIN, "metadata.labels[\"scheduling.x-k8s.io/pod-group\"]", "j"},
	{"no annotation for the plugin", "scheduler-plugins", PLAIN, "metadata.annotations", NULL},
	{"a template's own scheduler stays", "volcano", "schedulerName: mine, " PLAIN, "spec.schedulerName", "mine"},
	{"nothing without a gang scheduler", "none", PLAIN, "spec.schedulerName", NULL},
};

static void test_gang__pods(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(pod_rows) / sizeof(pod_rows[0]); i++) {
		const struct pod_row *row = &pod_rows[i];
		const struct rh_gang gang = gang_of(row->gang);
		rh_auto_free char *yaml = rh_asprintf(
			"apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: j}\nspec:\n  pytorchReplicaSpecs:\n"
			"    Worker: {template: {spec: {%s}}}\n",
			row->worker);
		auto_fixture fixture;
		rh_auto(builder) builder = NULL;
		rh_auto(json) pod = NULL;

		fixture_open(&fixture, fixture_plugin(), yaml);
		fixture.snapshot.gang = &gang;
		assert_int_equal(rh_builder_new(&fixture.snapshot, &builder, NULL), 0);
		assert_int_equal(rh_build_pod(builder, "Worker", 0, &pod, &fixture.err), 0);
		if (!rh_text_equal(rh_json_string_at(pod, row->path), row->value))
			fail_msg("%s", row->name);
	}
}

struct state_row {
	const char *gang;
	bool suspended;
	bool finished;
	size_t count;
};

static void test_gang__only_a_job_that_is_to_run_has_a_group(void **state)
{
	static const struct state_row rows[] = {{"none", false, false, 0},
	                                        {"volcano", false, false, 1},
	                                        {"volcano", true, false, 0},
	                                        {"volcano", false, true, 0}};

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		const struct rh_gang gang = gang_of(rows[i].gang);
		auto_fixture fixture;
		rh_auto(builder) builder = NULL;
		rh_auto(json) objects = NULL;

		fixture_open(&fixture, fixture_plugin(), GANG_JOB("", PLAIN, PLAIN));
		fixture.snapshot.gang = &gang;
		fixture.snapshot.suspended = rows[i].suspended;
		fixture.snapshot.finished = rows[i].finished;
		assert_int_equal(rh_builder_new(&fixture.snapshot, &builder, NULL), 0);
		assert_int_equal(rh_build_objects(builder, &objects, &fixture.err), 0);
		assert_int_equal(rh_json_size(objects), rows[i].count);
	}
}

/* Many resources, as numbers, must not take the square of their number. */
static void test_gang__many_resources(void **state)
{
	const struct rh_gang gang = gang_of("volcano");
	auto_fixture fixture;
	struct rh_json *resources;
	rh_auto(json) list = rh_json_new_object();
	rh_auto(builder) builder = NULL;
	rh_auto(json) group = NULL;
	rh_auto(json) pod = NULL;

	(void)state;
	fixture_open(&fixture, fixture_plugin(), GANG_JOB("", CONTAINER("requests: {cpu: 1}"), PLAIN));
	for (int i = 0; i < 200000; i++) {
		char name[16];

		snprintf(name, sizeof(name), "r/%d", i);
		assert_int_equal(rh_json_add(list, name, rh_json_new_integer(1)), 0);
	}
	resources = rh_json_at(fixture.job->specs[0].template_, "spec.containers[0].resources");
	assert_int_equal(rh_json_set(resources, "limits", rh_json_copy(list)), 0);
	assert_int_equal(rh_json_set(resources, "requests", rh_take(list)), 0);
	assert_int_equal(rh_gang_pod_group(&gang, fixture.job, NULL, &group, NULL), 0);
	assert_true(rh_json_size(rh_json_at(group, "spec.minResources")) >= 200000);
	assert_int_equal(rh_builder_new(&fixture.snapshot, &builder, NULL), 0);
	assert_int_equal(rh_build_pod(builder, fixture.job->specs[0].type, 0, &pod, &fixture.err), 0);
	assert_string_equal(rh_json_string_at(pod, "spec.containers[0].resources.limits[\"r/7\"]"), "1");
}

static void test_gang__survives_allocation_failures(void **state)
{
	const struct rh_gang gang = gang_of("volcano");
	auto_fixture fixture;
	int r = RH_ENOMEM;

	(void)state;
	fixture_open(&fixture, fixture_plugin(),
	             GANG_JOB("", CONTAINER("requests: {cpu: 1}, limits: {memory: 1Gi}"), PLAIN));
	for (long n = 0; r == RH_ENOMEM && n < 1000; n++) {
		rh_auto(json) group = NULL;

		rh_mem_fail_after(n);
		r = rh_gang_pod_group(&gang, fixture.job, NULL, &group, NULL);
		rh_mem_fail_after(-1);
	}
	assert_int_equal(r, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gang__names),
		cmocka_unit_test(test_gang__specs),
		cmocka_unit_test(test_gang__the_group_is_named_after_the_job),
		cmocka_unit_test(test_gang__a_quantity_that_is_none_is_named),
		cmocka_unit_test(test_gang__pods),
		cmocka_unit_test(test_gang__only_a_job_that_is_to_run_has_a_group),
		cmocka_unit_test(test_gang__many_resources),
		cmocka_unit_test(test_gang__survives_allocation_failures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
