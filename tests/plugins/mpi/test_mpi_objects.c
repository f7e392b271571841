/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "jobs.h"

#define OBJECTS_GPU \
	"    Launcher: {template: {spec: {containers: [{name: l, resources: {limits: {nvidia.com/gpu: 1}}}]}}}\n"
#define OBJECTS_AGENT(container) \
	"#!/bin/sh\nset -x\nPOD_NAME=$1\nshift\n/opt/kube/kubectl exec ${POD_NAME}" container " -- /bin/sh -c \"$*\""

static const struct rh_json *objects_find(const struct rh_json *objects, const char *kind)
{
	const struct rh_json *object = rh_json_first(objects);

	while (object && !rh_text_equal(rh_json_string_at(object, "kind"), kind))
		object = rh_json_next(object);
	return object;
}

static const char *objects_file(const struct rh_json *objects, const char *key)
{
	return rh_json_string(rh_json_get(rh_json_get(objects_find(objects, "ConfigMap"), "data"), key));
}

/** A job, how many of its workers run (from the last on), and the files of its ConfigMap (v1-behaviour C.11). */
struct files_case {
	const char *name;
	const char *job;
	int32_t running;
	const char *hostfile;
	const char *discovery;
	const char *agent;
};

static const struct files_case files_cases[] = {
	{"plain", JOBS_JOB("", JOBS_TYPE("Launcher", "1") JOBS_TYPE("Worker", "2")), 0,
     "mnist-worker-0 slots=1\nmnist-worker-1 slots=1\n", "#!/bin/sh", OBJECTS_AGENT("")},
	{"no workers", JOBS_JOB("", JOBS_TYPE("Launcher", "1")), 0, "", "#!/bin/sh", OBJECTS_AGENT("")},
	{"one of two runs",
     JOBS_JOB("  slotsPerWorker: 4\n  mainContainer: main\n", JOBS_TYPE("Launcher", "1") JOBS_TYPE("Worker", "2")), 1,
     "mnist-worker-0 slots=4\nmnist-worker-1 slots=4\n", "#!/bin/sh\necho mnist-worker-1:4",
     OBJECTS_AGENT(" --container main")},
	{"in the order of names", JOBS_JOB("  mainContainer: ''\n", JOBS_TYPE("Launcher", "1") JOBS_TYPE("Worker", "11")),
     11,
     "mnist-worker-0 slots=1\nmnist-worker-1 slots=1\nmnist-worker-2 slots=1\nmnist-worker-3 slots=1\n"
     "mnist-worker-4 slots=1\nmnist-worker-5 slots=1\nmnist-worker-6 slots=1\nmnist-worker-7 slots=1\n"
     "mnist-worker-8 slots=1\nmnist-worker-9 slots=1\nmnist-worker-10 slots=1\n",
     "#!/bin/sh\necho mnist-worker-0:1\necho mnist-worker-1:1\necho mnist-worker-10:1\necho mnist-worker-2:1\n"
     "echo mnist-worker-3:1\necho mnist-worker-4:1\necho mnist-worker-5:1\necho mnist-worker-6:1\n"
     "echo mnist-worker-7:1\necho mnist-worker-8:1\necho mnist-worker-9:1",
     OBJECTS_AGENT("")},
	{"the launcher works, too", JOBS_JOB("", OBJECTS_GPU JOBS_TYPE("Worker", "1")), 1,
     "mnist-launcher slots=1\nmnist-worker-0 slots=1\n", "#!/bin/sh\necho mnist-launcher:1\n\necho mnist-worker-0:1",
     OBJECTS_AGENT("")},
};

static void test_mpi_objects__files(void **state)
{
	(void)state;
	for (size_t i = 0; i < KIT_COUNT(files_cases); i++) {
		const struct files_case *row = &files_cases[i];
		rh_auto(json) objects = NULL;
		auto_kit kit;

		print_message("%s\n", row->name);
		kit_open(&kit, "mpi", NULL, row->job);
		for (int32_t n = 1; n <= row->running; n++)
			kit_set_pod(&kit, "Worker", rh_job_spec(kit.fixture.job, "Worker")->replicas - n, RH_PHASE_RUNNING, -1);
		objects = kit_objects(&kit);
		assert_string_equal(objects_file(objects, "hostfile"), row->hostfile);
		assert_string_equal(objects_file(objects, "discover_hosts.sh"), row->discovery);
		assert_string_equal(objects_file(objects, "kubexec.sh"), row->agent);
	}
}

/* On one machine replicas have addresses, but `kubectl exec` asks for a pod, and kubectl may be anywhere. */
static void test_mpi_objects__files_on_one_machine(void **state)
{
	struct rh_address places[] = {{.type = "Launcher", .host = "127.1.0.1", .port = 20000},
	                              {.type = "Worker", .host = "127.1.0.2", .port = 20001}};
	const struct rh_addresses plan = {places, 2};
	rh_auto(json) objects = NULL;
	auto_kit kit;

	(void)state;
	kit_open(&kit, "mpi", NULL,
	         JOBS_JOB("  mainContainer: main\n", JOBS_TYPE("Launcher", "1") JOBS_TYPE("Worker", "1")));
	kit.fixture.snapshot.addresses = &plan;
	objects = kit_objects(&kit);
	assert_string_equal(objects_file(objects, "hostfile"), "mnist-worker-0 slots=1\n");
	assert_string_equal(
		objects_file(objects, "kubexec.sh"),
		"#!/bin/sh\nset -x\nPOD_NAME=$1\nshift\n\"${MPI_KUBECTL}\" exec ${POD_NAME} --container main -- "
		"/bin/sh -c \"$*\"");
}

/* Only workers that run are there to be used. */
static void test_mpi_objects__only_running_workers_are_discovered(void **state)
{
	rh_auto(json) objects = NULL;
	auto_kit kit;

	(void)state;
	kit_open(&kit, "mpi", NULL, JOBS_JOB("", JOBS_TYPE("Launcher", "1") JOBS_TYPE("Worker", "4")));
	kit_set_pod(&kit, "Worker", 0, RH_PHASE_PENDING, -1);
	kit_set_pod(&kit, "Worker", 1, RH_PHASE_FAILED, 1);
	kit_set_pod(&kit, "Worker", 2, RH_PHASE_SUCCEEDED, 0);
	kit_set_pod(&kit, "Worker", 3, RH_PHASE_RUNNING, -1);
	objects = kit_objects(&kit);
	assert_string_equal(objects_file(objects, "discover_hosts.sh"), "#!/bin/sh\necho mnist-worker-3:1");
}

#define OBJECTS_METADATA                                                                               \
	"\"metadata\":{\"name\":\"mnist-launcher\",\"labels\":{\"app\":\"mnist\"},\"namespace\":\"team\"," \
	"\"ownerReferences\":[{\"apiVersion\":\"kubeflow.org/v1\",\"kind\":\"MPIJob\",\"name\":\"mnist\"," \
	"\"controller\":true,\"blockOwnerDeletion\":true}]}"
#define OBJECTS_READ "{\"verbs\":[\"get\",\"list\",\"watch\"],\"apiGroups\":[\"\"],\"resources\":[\"pods\"]}"
#define OBJECTS_RBAC "\"apiVersion\":\"rbac.authorization.k8s.io/v1\""

static void test_mpi_objects__rights_of_the_launcher(void **state)
{
	rh_auto(json) objects = NULL;
	auto_kit kit;

	(void)state;
	kit_open(&kit, "mpi", NULL, JOBS_JOB("", JOBS_TYPE("Launcher", "1") JOBS_TYPE("Worker", "2")));
	objects = kit_objects(&kit);
	assert_int_equal(rh_json_size(objects), 4);
	fixture_assert_json(objects_find(objects, "ServiceAccount"),
	                    "{\"apiVersion\":\"v1\",\"kind\":\"ServiceAccount\"," OBJECTS_METADATA "}");
	fixture_assert_json(objects_find(objects, "Role"),
	                    "{" OBJECTS_RBAC ",\"kind\":\"Role\"," OBJECTS_METADATA ",\"rules\":[" OBJECTS_READ
	                    ",{\"verbs\":[\"create\"],\"apiGroups\":[\"\"],\"resources\":[\"pods/exec\"],"
	                    "\"resourceNames\":[\"mnist-worker-0\",\"mnist-worker-1\"]}]}");
	fixture_assert_json(
		objects_find(objects, "RoleBinding"),
		"{" OBJECTS_RBAC ",\"kind\":\"RoleBinding\"," OBJECTS_METADATA
		",\"subjects\":[{\"kind\":\"ServiceAccount\",\"name\":\"mnist-launcher\",\"namespace\":\"team\"}],"
		"\"roleRef\":{\"apiGroup\":\"rbac.authorization.k8s.io\",\"kind\":\"Role\","
		"\"name\":\"mnist-launcher\"}}");
}

/* A rule without names would open every pod of the namespace. */
static void test_mpi_objects__no_workers_no_exec(void **state)
{
	rh_auto(json) objects = NULL;
	auto_kit kit;

	(void)state;
	kit_open(&kit, "mpi", NULL, JOBS_JOB("", JOBS_TYPE("Launcher", "1")));
	objects = kit_objects(&kit);
	fixture_assert_json(rh_json_get(objects_find(objects, "Role"), "rules"), "[" OBJECTS_READ "]");
}

static void test_mpi_objects__account_of_the_user(void **state)
{
	rh_auto(json) objects = NULL;
	auto_kit kit;

	(void)state;
	kit_open(&kit, "mpi", NULL,
	         JOBS_JOB("", "    Launcher: {template: {spec: {serviceAccountName: mine, containers: [{name: l}]}}}\n"));
	objects = kit_objects(&kit);
	assert_null(objects_find(objects, "ServiceAccount"));
	assert_string_equal(rh_json_string_at(objects_find(objects, "RoleBinding"), "subjects[0].name"), "mine");
}

/* They go with a suspended job's pods, and stay when the job has finished. */
static void test_mpi_objects__suspended_and_finished(void **state)
{
	rh_auto(json) suspended = NULL;
	rh_auto(json) finished = NULL;
	auto_kit kit;

	(void)state;
	kit_open(&kit, "mpi", NULL, JOBS_JOB("", JOBS_TYPE("Launcher", "1")));
	kit.fixture.snapshot.suspended = true;
	suspended = kit_objects(&kit);
	assert_int_equal(rh_json_size(suspended), 0);
	kit.fixture.snapshot.suspended = false;
	kit.fixture.snapshot.finished = true;
	finished = kit_objects(&kit);
	assert_int_equal(rh_json_size(finished), 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mpi_objects__files),
		cmocka_unit_test(test_mpi_objects__files_on_one_machine),
		cmocka_unit_test(test_mpi_objects__only_running_workers_are_discovered),
		cmocka_unit_test(test_mpi_objects__rights_of_the_launcher),
		cmocka_unit_test(test_mpi_objects__no_workers_no_exec),
		cmocka_unit_test(test_mpi_objects__account_of_the_user),
		cmocka_unit_test(test_mpi_objects__suspended_and_finished),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
