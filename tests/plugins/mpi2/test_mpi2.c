/* SPDX-License-Identifier: Apache-2.0 */
/* What recordings cannot show: suspended jobs, elastic ones, a launcher that waits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "plugins/kit.h"

#define MPI2_JOB(spec, workers)                  \
	"apiVersion: kubeflow.org/v2beta1\n"         \
	"kind: MPIJob\n"                             \
	"metadata: {name: mnist, namespace: team}\n" \
	"spec:\n" spec "  mpiReplicaSpecs:\n" KIT_TYPE("Launcher", "1", "main") KIT_TYPE("Worker", workers, "main")

static const struct rh_json *mpi2_find(const struct rh_json *objects, const char *kind)
{
	const struct rh_json *object = rh_json_first(objects);

	while (object && strcmp(rh_json_string_at(object, "kind"), kind) != 0)
		object = rh_json_next(object);
	return object;
}

/* v1-behaviour has none of it: a suspended job has all objects, and its launcher's Job is suspended. */
static void test_mpi2__a_suspended_job_has_its_objects(void **state)
{
	auto_kit kit;
	rh_auto(json) objects = NULL;

	(void)state;
	kit_open(&kit, "mpi2", NULL, MPI2_JOB("  runPolicy: {suspend: true}\n", "2"));
	kit.fixture.snapshot.suspended = true;
	objects = kit_objects(&kit);
	assert_non_null(mpi2_find(objects, "ConfigMap"));
	assert_non_null(mpi2_find(objects, "Secret"));
	assert_non_null(mpi2_find(objects, "Service"));
	assert_true(rh_json_bool(rh_json_at(mpi2_find(objects, "Job"), "spec.suspend"), false));
}

/* The Job of a launcher that waits is made when all workers are ready, not when they run. */
static void test_mpi2__a_launcher_waits_for_ready_workers(void **state)
{
	auto_kit kit;

	(void)state;
	kit_open(&kit, "mpi2", NULL, MPI2_JOB("  launcherCreationPolicy: WaitForWorkersReady\n", "2"));
	for (int step = 0; step < 4; step++) {
		rh_auto(json) objects = NULL;

		for (int32_t i = 0; i < 2; i++) {
			kit_set_pod(&kit, "Worker", i, RH_PHASE_RUNNING, -1);
			kit.pods[kit.offsets[0] + (size_t)i].ready = step > i;
		}
		objects = kit_objects(&kit);
		assert_int_equal(mpi2_find(objects, "Job") != NULL, step >= 2);
	}
}

/* Elastic Horovod asks discover_hosts.sh: only the workers that run, in the order of their names. */
static void test_mpi2__discovery_has_the_workers_that_run(void **state)
{
	auto_kit kit;
	rh_auto(json) objects = NULL;

	(void)state;
	kit_open(&kit, "mpi2", NULL, MPI2_JOB("", "11"));
	for (int32_t i = 9; i < 11; i++)
		kit_set_pod(&kit, "Worker", i, RH_PHASE_RUNNING, -1);
	kit_set_pod(&kit, "Worker", 2, RH_PHASE_FAILED, 1);
	objects = kit_objects(&kit);
	assert_string_equal(
		rh_json_string(rh_json_get(rh_json_get(mpi2_find(objects, "ConfigMap"), "data"), "discover_hosts.sh")),
		"#!/bin/sh\necho mnist-worker-10.mnist.team.svc\necho mnist-worker-9.mnist.team.svc\n");
}

static void test_mpi2__hosts_end_with_the_domain_of_the_cluster(void **state)
{
	auto_kit kit;
	rh_auto(json) objects = NULL;
	rh_auto(json) pod = NULL;

	(void)state;
	kit_open(&kit, "mpi2", "[plugin mpi2]\ncluster-domain = example.org\n",
	         MPI2_JOB("  mpiImplementation: MPICH\n", "1"));
	objects = kit_objects(&kit);
	assert_string_equal(rh_json_string_at(mpi2_find(objects, "ConfigMap"), "data.hostfile"),
	                    "mnist-worker-0.mnist.team.svc.example.org:1\n");
	pod = kit_pod(&kit, "Worker", 0);
	assert_string_equal(rh_json_string_at(pod, "spec.dnsConfig.searches[0]"), "mnist.team.svc.example.org");
}

static void test_mpi2__survives_without_memory(void **state)
{
	auto_kit kit;

	(void)state;
	kit_open(&kit, "mpi2", NULL, MPI2_JOB("", "2"));
	kit_assert_survives(&kit, "Worker", 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mpi2__a_suspended_job_has_its_objects),
		cmocka_unit_test(test_mpi2__a_launcher_waits_for_ready_workers),
		cmocka_unit_test(test_mpi2__discovery_has_the_workers_that_run),
		cmocka_unit_test(test_mpi2__hosts_end_with_the_domain_of_the_cluster),
		cmocka_unit_test(test_mpi2__survives_without_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
