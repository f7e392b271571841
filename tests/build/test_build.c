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
#include "job/kinds.h"

/** A job whose Worker template is @p worker, in flow style. */
#define BUILD_JOB(worker)                                                                             \
	"apiVersion: kubeflow.org/v1\n"                                                                   \
	"kind: PyTorchJob\n"                                                                              \
	"metadata: {name: mnist, namespace: team, uid: u-1, labels: {of: job}, annotations: {of: job}}\n" \
	"spec:\n"                                                                                         \
	"  pytorchReplicaSpecs:\n"                                                                        \
	"    Worker: {replicas: 2, " worker "}\n"

#define BUILD_OWNER                                                                                        \
	"\"ownerReferences\":[{\"apiVersion\":\"kubeflow.org/v1\",\"kind\":\"PyTorchJob\",\"name\":\"mnist\"," \
	"\"uid\":\"u-1\",\"controller\":true,\"blockOwnerDeletion\":true}]"

#define BUILD_LABELS(index)                                                                                           \
	"\"training.kubeflow.org/operator-name\":\"pytorchjob-controller\",\"training.kubeflow.org/job-name\":\"mnist\"," \
	"\"training.kubeflow.org/replica-type\":\"worker\",\"training.kubeflow.org/replica-index\":\"" index "\""

#define BUILD_PORTS "\"ports\":[{\"name\":\"pytorchjob-port\",\"containerPort\":23456}]"

static struct rh_json *build_pod(struct fixture *fixture, const char *type, int32_t index)
{
	rh_auto(builder) builder = NULL;
	struct rh_json *pod = NULL;

	assert_int_equal(rh_builder_new(&fixture->snapshot, &builder, NULL), 0);
	if (rh_build_pod(builder, type, index, &pod, &fixture->err) < 0)
		fail_msg("%s", fixture->err.message);
	return pod;
}

static struct rh_json *build_service(struct fixture *fixture, const char *type, int32_t index)
{
	rh_auto(builder) builder = NULL;
	struct rh_json *service = NULL;

	assert_int_equal(rh_builder_new(&fixture->snapshot, &builder, NULL), 0);
	if (rh_build_service(builder, type, index, &service, &fixture->err) < 0)
		fail_msg("%s", fixture->err.message);
	return service;
}

static void test_build__a_pod_in_full(void **state)
{
	auto_fixture fixture;

	(void)state;
	fixture_open(
		&fixture, fixture_plugin(),
		BUILD_JOB(
			"template: {metadata: {name: x, namespace: y, labels: {a: b, training.kubeflow.org/job-name: evil}, "
			"annotations: {c: d}, finalizers: [f]}, spec: {restartPolicy: Always, containers: [{name: pytorch}]}}"));
	rh_auto(json) pod = build_pod(&fixture, "Worker", 1);
	fixture_assert_json(
		pod, "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"mnist-worker-1\",\"namespace\":\"team\","
			 "\"labels\":{\"a\":\"b\",\"training.kubeflow.org/job-name\":\"mnist\","
			 "\"training.kubeflow.org/operator-name\":\"pytorchjob-controller\","
			 "\"training.kubeflow.org/replica-type\":\"worker\",\"training.kubeflow.org/replica-index\":\"1\"},"
			 "\"annotations\":{\"c\":\"d\"},\"finalizers\":[\"f\"]," BUILD_OWNER "},"
			 "\"spec\":{\"restartPolicy\":\"OnFailure\",\"containers\":[{\"name\":\"pytorch\"," BUILD_PORTS "}]}}");
}

static void test_build__a_service_in_full(void **state)
{
	auto_fixture fixture;

	(void)state;
	fixture_open(&fixture, fixture_plugin(), BUILD_JOB("template: {spec: {containers: [{name: pytorch}]}}"));
	rh_auto(json) service = build_service(&fixture, "Worker", 0);
	fixture_assert_json(
		service,
		"{\"apiVersion\":\"v1\",\"kind\":\"Service\",\"metadata\":{\"name\":\"mnist-worker-0\",\"namespace\":\"team\","
		"\"labels\":{" BUILD_LABELS(
			"0") "}," BUILD_OWNER "},\"spec\":{\"ports\":["
				 "{\"name\":\"pytorchjob-port\",\"port\":23456}],\"clusterIP\":\"None\",\"selector\":{" BUILD_LABELS(
					 "0") "}}}");
}

static const struct rh_kind *build_describe_mpi(void *self, uint32_t index)
{
	(void)self;
	return index == 0 ? &test_mpi : NULL;
}

/* v1-behaviour C.11: the launcher has no index, in its name or as a label. */
static void test_build__a_type_without_index(void **state)
{
	struct rh_plugin plugin = *fixture_plugin();
	auto_fixture fixture;

	(void)state;
	plugin.describe = build_describe_mpi;
	fixture_open(&fixture, &plugin,
	             "apiVersion: kubeflow.org/v1\nkind: MPIJob\nmetadata: {name: sum}\nspec: {mpiReplicaSpecs: {\n"
	             "  Launcher: {template: {spec: {containers: [{name: l}]}}},\n"
	             "  Worker: {replicas: 1, template: {spec: {containers: [{name: w}]}}}}}\n");
	rh_auto(json) launcher = build_pod(&fixture, "Launcher", 0);
	rh_auto(json) worker = build_pod(&fixture, "Worker", 0);
	assert_string_equal(rh_json_string_at(launcher, "metadata.name"), "sum-launcher");
	fixture_assert_json(rh_json_at(launcher, "metadata.labels"),
	                    "{\"training.kubeflow.org/operator-name\":\"mpijob-controller\","
	                    "\"training.kubeflow.org/job-name\":\"sum\","
	                    "\"training.kubeflow.org/replica-type\":\"launcher\","
	                    "\"training.kubeflow.org/job-role\":\"master\"}");
	assert_string_equal(rh_json_string_at(worker, "metadata.name"), "sum-worker-0");
	assert_string_equal(rh_json_string_at(worker, "metadata.labels[\"training.kubeflow.org/replica-index\"]"), "0");
}

static void test_build__quantities_are_texts(void **state)
{
	auto_fixture fixture;

	(void)state;
	fixture_open(
		&fixture, fixture_plugin(),
		BUILD_JOB("template: {spec: {initContainers: [{name: i, resources: {limits: {cpu: 2}}}], containers: [{name: "
	              "pytorch, resources: {limits: {nvidia.com/gpu: 1, cpu: 0.5, memory: 1Gi}, requests: null}}]}}"));
	rh_auto(json) pod = build_pod(&fixture, "Worker", 0);
	fixture_assert_json(rh_json_at(pod, "spec.initContainers[0].resources"), "{\"limits\":{\"cpu\":\"2\"}}");
	fixture_assert_json(rh_json_at(pod, "spec.containers[0].resources"),
	                    "{\"limits\":{\"nvidia.com/gpu\":\"1\",\"cpu\":\"0.5\",\"memory\":\"1Gi\"}}");
}

static void test_build__the_job_is_not_changed(void **state)
{
	auto_fixture fixture;

	(void)state;
	fixture_open(&fixture, fixture_plugin(), fixture_job);
	rh_auto(json) before = rh_json_copy(fixture.job->object);
	rh_auto(json) pod = build_pod(&fixture, "Worker", 0);
	assert_non_null(pod);
	assert_true(rh_json_equal(before, fixture.job->object));
}

static void test_build__leaders_have_the_master_role(void **state)
{
	auto_fixture fixture;

	(void)state;
	fixture_open(&fixture, fixture_plugin(), fixture_job);
	rh_auto(json) master = build_pod(&fixture, "Master", 0);
	rh_auto(json) worker = build_pod(&fixture, "Worker", 0);
	rh_auto(json) service = build_service(&fixture, "Master", 0);
	assert_string_equal(rh_json_string_at(master, "metadata.labels[\"training.kubeflow.org/job-role\"]"), "master");
	assert_null(rh_json_string_at(worker, "metadata.labels[\"training.kubeflow.org/job-role\"]"));
	assert_null(rh_json_string_at(service, "metadata.labels[\"training.kubeflow.org/job-role\"]"));
}

/* One builder makes many pods: what is constant is copied, so none sees what another got. */
static void test_build__pods_of_one_builder_do_not_share(void **state)
{
	rh_auto(builder) builder = NULL;
	rh_auto(json) first = NULL;
	rh_auto(json) second = NULL;
	auto_fixture fixture;

	(void)state;
	fixture_open(&fixture, fixture_plugin(), BUILD_JOB("template: {spec: {containers: [{name: pytorch}]}}"));
	assert_int_equal(rh_builder_new(&fixture.snapshot, &builder, NULL), 0);
	assert_int_equal(rh_build_pod(builder, "Worker", 0, &first, NULL), 0);
	assert_int_equal(rh_build_pod(builder, "Worker", 1, &second, NULL), 0);
	assert_string_equal(rh_json_string_at(first, "metadata.name"), "mnist-worker-0");
	assert_string_equal(rh_json_string_at(first, "metadata.labels[\"training.kubeflow.org/job-role\"]"), "master");
	assert_string_equal(rh_json_string_at(second, "metadata.name"), "mnist-worker-1");
	assert_null(rh_json_string_at(second, "metadata.labels[\"training.kubeflow.org/job-role\"]"));
}

static void test_build__restart_policies(void **state)
{
	static const struct {
		const char *job;
		const char *want;
	} rows[] = {
		{BUILD_JOB("restartPolicy: Always, template: {spec: {containers: [{name: pytorch}]}}"), "Always"},
		{BUILD_JOB("restartPolicy: OnFailure, template: {spec: {containers: [{name: pytorch}]}}"), "OnFailure"},
		{BUILD_JOB("restartPolicy: Never, template: {spec: {containers: [{name: pytorch}]}}"), "Never"},
		{BUILD_JOB("restartPolicy: ExitCode, template: {spec: {containers: [{name: pytorch}]}}"), "Never"},
		{BUILD_JOB("restartPolicy: Sometimes, template: {spec: {containers: [{name: pytorch}]}}"), "Never"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		auto_fixture fixture;

		fixture_open(&fixture, fixture_plugin(), rows[i].job);
		rh_auto(json) pod = build_pod(&fixture, "Worker", 0);
		assert_string_equal(rh_json_string_at(pod, "spec.restartPolicy"), rows[i].want);
	}
}

/* A failure that restarts the whole job must be seen, whatever the policy of its replica. */
static void test_build__restart_scope_job(void **state)
{
	(void)state;
	for (int policy = RH_RESTART_ALWAYS; policy <= RH_RESTART_UNKNOWN; policy++) {
		auto_fixture fixture;

		fixture_open(&fixture, fixture_plugin(), fixture_job);
		fixture.job->scope = RH_SCOPE_JOB;
		fixture.job->specs[0].policy = (enum rh_restart_policy)policy;
		rh_auto(json) pod = build_pod(&fixture, fixture.job->specs[0].type, 0);
		assert_string_equal(rh_json_string_at(pod, "spec.restartPolicy"), "Never");
	}
}

/** The main container of a pod, and its Service's ports. */
struct build_port_case {
	const char *job;
	const char *containers;
	const char *service;
};

static const struct build_port_case build_ports[] = {
	{BUILD_JOB("template: {spec: {containers: [{name: side}, {name: pytorch}]}}"),
     "[{\"name\":\"side\"},{\"name\":\"pytorch\"," BUILD_PORTS "}]", "[{\"name\":\"pytorchjob-port\",\"port\":23456}]"},
	{BUILD_JOB("template: {spec: {containers: [{name: first}, {name: second}]}}"),
     "[{\"name\":\"first\"," BUILD_PORTS "},{\"name\":\"second\"}]", "[{\"name\":\"pytorchjob-port\",\"port\":23456}]"},
	{BUILD_JOB("template: {spec: {containers: [{name: pytorch, ports: [{name: pytorchjob-port, containerPort: 7}]}]}}"),
     "[{\"name\":\"pytorch\",\"ports\":[{\"name\":\"pytorchjob-port\",\"containerPort\":7}]}]",
     "[{\"name\":\"pytorchjob-port\",\"port\":7}]"},
	{BUILD_JOB(
		 "template: {spec: {containers: [{name: pytorch, ports: [{name: z, containerPort: 2}, {containerPort: 1}]}]}}"),
     "[{\"name\":\"pytorch\",\"ports\":[{\"name\":\"z\",\"containerPort\":2},{\"containerPort\":1},"
     "{\"name\":\"pytorchjob-port\",\"containerPort\":23456}]}]",
     "[{\"name\":\"z\",\"port\":2},{\"name\":\"pytorchjob-port\",\"port\":23456}]"},
	{BUILD_JOB("template: {spec: {containers: [{name: pytorch, ports: [{name: a, containerPort: 1}, {name: b, "
               "containerPort: 2}, "
               "{name: a, containerPort: 3, protocol: UDP}]}]}}"),
     NULL, "[{\"name\":\"a\",\"port\":3},{\"name\":\"b\",\"port\":2},{\"name\":\"pytorchjob-port\",\"port\":23456}]"},
};

static void test_build__ports(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(build_ports) / sizeof(build_ports[0]); i++) {
		auto_fixture fixture;

		fixture_open(&fixture, fixture_plugin(), build_ports[i].job);
		rh_auto(json) pod = build_pod(&fixture, "Worker", 0);
		rh_auto(json) service = build_service(&fixture, "Worker", 0);
		if (build_ports[i].containers)
			fixture_assert_json(rh_json_at(pod, "spec.containers"), build_ports[i].containers);
		fixture_assert_json(rh_json_at(service, "spec.ports"), build_ports[i].service);
	}
}

static void test_build__a_plan_of_addresses_leaves_the_container_port(void **state)
{
	struct rh_address places[] = {{.type = "Worker", .index = 0, .host = "127.1.0.2", .port = 20002}};
	const struct rh_addresses plan = {places, 1};
	auto_fixture fixture;

	(void)state;
	fixture_open(&fixture, fixture_plugin(), BUILD_JOB("template: {spec: {containers: [{name: pytorch}]}}"));
	fixture.snapshot.addresses = &plan;
	rh_auto(json) pod = build_pod(&fixture, "Worker", 0);
	fixture_assert_json(rh_json_at(pod, "spec.containers"), "[{\"name\":\"pytorch\"," BUILD_PORTS "}]");
}

/* The kubelet shows the end of the output of those whose template does not say otherwise; on one machine we do. */
static void test_build__messages(void **state)
{
	struct rh_address places[] = {{.type = "Worker", .index = 0, .host = "127.1.0.2", .port = 20002}};
	const struct rh_addresses plan = {places, 1};
	auto_fixture fixture;

	(void)state;
	fixture_open(
		&fixture, fixture_plugin(),
		BUILD_JOB("template: {spec: {containers: [{name: pytorch}, {name: own, terminationMessagePolicy: File}], "
	              "initContainers: [{name: i}]}}"));
	rh_auto(json) plain = build_pod(&fixture, "Worker", 0);
	assert_null(rh_json_at(plain, "spec.containers[0].terminationMessagePolicy"));
	assert_int_equal(rh_config_set(fixture.config, "controller", "first-fault", "messages", "a test"), 0);
	rh_auto(json) shown = build_pod(&fixture, "Worker", 0);
	assert_string_equal(rh_json_string_at(shown, "spec.containers[0].terminationMessagePolicy"),
	                    "FallbackToLogsOnError");
	assert_string_equal(rh_json_string_at(shown, "spec.containers[1].terminationMessagePolicy"), "File");
	assert_string_equal(rh_json_string_at(shown, "spec.initContainers[0].terminationMessagePolicy"),
	                    "FallbackToLogsOnError");
	fixture.snapshot.addresses = &plan;
	rh_auto(json) here = build_pod(&fixture, "Worker", 0);
	assert_null(rh_json_at(here, "spec.containers[0].terminationMessagePolicy"));
}

static void test_build__later_attempts_are_noted(void **state)
{
	auto_fixture fixture;

	(void)state;
	fixture_open(&fixture, fixture_plugin(), fixture_job);
	rh_auto(json) first = build_pod(&fixture, "Worker", 0);
	assert_null(rh_json_at(first, "metadata.annotations"));
	fixture.snapshot.attempt = 3;
	rh_auto(json) later = build_pod(&fixture, "Worker", 0);
	fixture_assert_json(rh_json_at(later, "metadata.annotations"), "{\"roundhouse.dev/attempt\":\"3\"}");
}

static void test_build__an_object_that_is_not_stored_has_no_uid_to_name(void **state)
{
	auto_fixture fixture;

	(void)state;
	fixture_open(&fixture, fixture_plugin(), fixture_job);
	fixture.job->uid = "";
	rh_auto(json) pod = build_pod(&fixture, "Worker", 0);
	assert_null(rh_json_at(pod, "metadata.ownerReferences[0].uid"));
	assert_string_equal(rh_json_string_at(pod, "metadata.ownerReferences[0].name"), "mnist");
}

static void test_build__what_cannot_be_built(void **state)
{
	static const struct {
		const char *job;
		const char *type;
		const char *words;
	} rows[] = {
		{fixture_job, "PS", "PyTorchJob team/mnist: it has no replica type PS"},
		{fixture_job, "worker", "it has no replica type worker"},
		{BUILD_JOB("template: {spec: {containers: []}}"), "Worker",
	     "spec.pytorchReplicaSpecs[Worker].template.spec.containers: Required value: must be specified"},
		{BUILD_JOB("template: {spec: {}}"), "Worker", "containers: Required value"},
		{BUILD_JOB("template: {}"), "Worker", "containers: Required value"},
		{BUILD_JOB("restartPolicy: Never"), "Worker", "containers: Required value"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		rh_auto(builder) builder = NULL;
		struct rh_json *pod = NULL;
		auto_fixture fixture;

		fixture_open(&fixture, fixture_plugin(), rows[i].job);
		assert_int_equal(rh_builder_new(&fixture.snapshot, &builder, NULL), 0);
		assert_int_equal(rh_build_pod(builder, rows[i].type, 0, &pod, &fixture.err), RH_EINVAL);
		if (!strstr(fixture.err.message, rows[i].words))
			fail_msg("\"%s\" does not say \"%s\"", fixture.err.message, rows[i].words);
		assert_null(pod);
	}
}

static int32_t build_objects(void *self, const struct rh_view *view, struct rh_reply *reply)
{
	const struct rh_services *services = rh_services_table();

	(void)self;
	(void)view;
	return services->object(reply, "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"m\","
	                               "\"namespace\":\"elsewhere\",\"ownerReferences\":[1]},\"data\":{}}");
}

static void test_build__further_objects_get_namespace_and_owner(void **state)
{
	struct rh_plugin plugin = *fixture_plugin();
	rh_auto(builder) builder = NULL;
	rh_auto(json) objects = NULL;
	auto_fixture fixture;

	(void)state;
	plugin.objects = build_objects;
	fixture_open(&fixture, &plugin, fixture_job);
	assert_int_equal(rh_builder_new(&fixture.snapshot, &builder, NULL), 0);
	assert_int_equal(rh_build_objects(builder, &objects, NULL), 0);
	fixture_assert_json(objects, "[{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"m\","
	                             "\"namespace\":\"team\"," BUILD_OWNER "},\"data\":{}}]");
}

static int build_all(const struct rh_snapshot *snapshot)
{
	rh_auto(builder) builder = NULL;
	rh_auto(json) pod = NULL;
	rh_auto(json) service = NULL;
	rh_auto(json) objects = NULL;
	int r = rh_builder_new(snapshot, &builder, NULL);

	if (r == 0)
		r = rh_build_pod(builder, "Worker", 0, &pod, NULL);
	if (r == 0)
		r = rh_build_service(builder, "Worker", 0, &service, NULL);
	if (r == 0)
		r = rh_build_objects(builder, &objects, NULL);
	return r;
}

static void test_build__survives_allocation_failures(void **state)
{
	struct rh_plugin plugin = *fixture_plugin();
	int r = RH_ENOMEM;
	auto_fixture fixture;

	(void)state;
	plugin.objects = build_objects;
	fixture_open(
		&fixture, &plugin,
		BUILD_JOB(
			"template: {metadata: {labels: {a: b}, annotations: {c: d}}, spec: {containers: [{name: pytorch}]}}"));
	fixture.snapshot.attempt = 1;
	for (long n = 0; r == RH_ENOMEM && n < 2000; n++) {
		rh_mem_fail_after(n);
		r = build_all(&fixture.snapshot);
		rh_mem_fail_after(-1);
	}
	assert_int_equal(r, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_build__a_pod_in_full),
		cmocka_unit_test(test_build__a_service_in_full),
		cmocka_unit_test(test_build__messages),
		cmocka_unit_test(test_build__a_type_without_index),
		cmocka_unit_test(test_build__quantities_are_texts),
		cmocka_unit_test(test_build__the_job_is_not_changed),
		cmocka_unit_test(test_build__leaders_have_the_master_role),
		cmocka_unit_test(test_build__pods_of_one_builder_do_not_share),
		cmocka_unit_test(test_build__restart_policies),
		cmocka_unit_test(test_build__restart_scope_job),
		cmocka_unit_test(test_build__ports),
		cmocka_unit_test(test_build__a_plan_of_addresses_leaves_the_container_port),
		cmocka_unit_test(test_build__later_attempts_are_noted),
		cmocka_unit_test(test_build__an_object_that_is_not_stored_has_no_uid_to_name),
		cmocka_unit_test(test_build__what_cannot_be_built),
		cmocka_unit_test(test_build__further_objects_get_namespace_and_owner),
		cmocka_unit_test(test_build__survives_allocation_failures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
