/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A replica type whose pods an object of the plugin makes: plugin mpi2, whose launcher is a batch/v1 Job. The test is
 * the Job controller.
 */
#include <string.h>

#include "engine/carry/sim.h"

static const struct rh_resource outside_jobs = {"batch/v1", "Job", "jobs"};
static const struct rh_resource outside_secrets = {"v1", "Secret", "secrets"};

#define OUTSIDE_TYPE(type, count, more)                                              \
	"'" type "':{'replicas':" count ",'template':{'spec':{'containers':[{'name':'c'" \
	",'image':'i'" more "}]}}}"

/* @param state whether the plugin runs in a process of its own */
static void outside_open(struct sim *sim, void **state, const char *spec)
{
	rh_auto_free char *text =
		rh_asprintf("{'metadata':{'name':'m'},'spec':{%s'mpiReplicaSpecs':{" OUTSIDE_TYPE(
						"Launcher", "1",
						",'securityContext':{'runAsUser':9007199254740993}") "," OUTSIDE_TYPE("Worker", "2", "") "}}}",
	                spec);
	struct rh_error err = {0};

	sim_open(sim, false);
	sim->jobs = (struct rh_resource){"kubeflow.org/v2beta1", "MPIJob", "mpijobs"};
	sim->config->plugin_isolation = *(const bool *)*state ? RH_ISOLATION_PROCESS : RH_ISOLATION_NONE;
	if (rh_host_try_file(sim->host, RH_PLUGIN_DIR "/mpi2.so", &err) < 0)
		fail_msg("%s", err.message);
	sim_start(sim);
	sim_create(sim, sim_json(text));
	sim_settle(sim);
}

static const struct rh_json *outside_job(const struct sim *sim)
{
	return rh_memory_store_find(sim->store, &outside_jobs, "default", "m-launcher");
}

/* Let the Job report a status. */
static void outside_report(struct sim *sim, const char *status)
{
	rh_auto_free char *text = rh_asprintf("{'status':%s}", status);

	assert_int_equal(sim_user(sim, (struct rh_request){.verb = RH_VERB_PATCH_STATUS,
	                                                   .resource = &outside_jobs,
	                                                   .name = "m-launcher",
	                                                   .body = sim_json(text)}),
	                 RH_OUTCOME_OK);
	sim_settle(sim);
}

/* Let the pod of a worker be ready, or not. */
static void outside_set_ready(struct sim *sim, const char *pod, const char *ready)
{
	rh_auto_free char *text = rh_asprintf("{'status':{'conditions':[{'type':'Ready','status':'%s'}]}}", ready);

	assert_int_equal(sim_user(sim, (struct rh_request){.verb = RH_VERB_PATCH_STATUS,
	                                                   .resource = &rh_resource_pods,
	                                                   .name = pod,
	                                                   .body = sim_json(text)}),
	                 RH_OUTCOME_OK);
	sim_settle(sim);
}

static void outside_run_workers(struct sim *sim)
{
	sim_play_pod(sim, "m-worker-0", "Running");
	sim_play_pod(sim, "m-worker-1", "Running");
}

/* Compare the count of launchers that are there. */
static void outside_assert_active(const struct sim *sim, int64_t want)
{
	int64_t active = 0;

	(void)rh_json_integer(rh_json_at(sim_job(sim, "m"), "status.replicaStatuses.Launcher.active"), &active);
	assert_int_equal(active, want);
}

/* A launcher that is being deleted is there until it is gone. */
static void test_outside__the_job_of_the_launcher_decides(void **state)
{
	auto_sim sim = {0};

	outside_open(&sim, state, "");
	sim_assert(&sim, "m", "Created | worker-0 Pending, worker-1 Pending");
	assert_non_null(outside_job(&sim));
	outside_run_workers(&sim);
	sim_assert(&sim, "m", "Created | worker-0 Running, worker-1 Running");
	outside_report(&sim, "{'startTime':'2026-01-01T00:00:00Z','active':1,'ready':1}");
	sim_assert(&sim, "m", "Created Running | worker-0 Running, worker-1 Running");
	outside_report(&sim, "{'ready':0,'terminating':1}");
	outside_assert_active(&sim, 1);
	outside_report(&sim, "{'terminating':0}");
	outside_assert_active(&sim, 0);
	outside_report(&sim, "{'ready':0,'conditions':[{'type':'Complete','status':'True'}]}");
	sim_assert(&sim, "m", "Created Succeeded | worker-0 Running, worker-1 Running");
}

static void test_outside__its_limits_are_those_of_the_job(void **state)
{
	int64_t limit = 0;
	auto_sim sim = {0};

	outside_open(&sim, state, "'runPolicy':{'activeDeadlineSeconds':5,'backoffLimit':0},");
	assert_true(rh_json_integer(rh_json_at(outside_job(&sim), "spec.activeDeadlineSeconds"), &limit));
	assert_int_equal(limit, 5);
	outside_run_workers(&sim);
	sim_wait(&sim, 60);
	sim_assert(&sim, "m", "Created | worker-0 Running, worker-1 Running");
	outside_report(&sim, "{'conditions':[{'type':'Failed','status':'True','reason':'DeadlineExceeded',"
	                     "'message':'Job was active longer than specified deadline'}]}");
	sim_assert(&sim, "m", "Created Failed | worker-0 Running, worker-1 Running");
}

/* The plugin is asked again when a pod gets ready, though its phase is what it was. */
static void test_outside__objects_follow_readiness(void **state)
{
	auto_sim sim = {0};

	outside_open(&sim, state, "'launcherCreationPolicy':'WaitForWorkersReady',");
	sim_play_pod(&sim, "m-worker-0", "Running");
	sim_play_pod(&sim, "m-worker-1", "Running");
	assert_non_null(outside_job(&sim));
	(void)sim_user(&sim, (struct rh_request){.verb = RH_VERB_DELETE, .resource = &outside_jobs, .name = "m-launcher"});
	outside_set_ready(&sim, "m-worker-1", "False");
	sim_wait(&sim, 60);
	assert_null(outside_job(&sim));
	assert_null(rh_json_at(sim_job(&sim, "m"), "status.replicaStatuses.Launcher"));
	outside_set_ready(&sim, "m-worker-1", "True");
	assert_non_null(outside_job(&sim));
}

static void test_outside__a_job_that_is_gone_is_made_again(void **state)
{
	auto_sim sim = {0};

	outside_open(&sim, state, "");
	outside_run_workers(&sim);
	(void)sim_user(&sim, (struct rh_request){.verb = RH_VERB_DELETE, .resource = &outside_jobs, .name = "m-launcher"});
	sim_settle(&sim);
	assert_non_null(outside_job(&sim));
	assert_non_null(rh_json_at(sim_job(&sim, "m"), "status.replicaStatuses.Launcher"));
	outside_report(&sim, "{'active':1,'ready':1}");
	outside_assert_active(&sim, 1);
}

/* A number above 2^53 is what it was in the job. */
static void test_outside__the_template_is_exact(void **state)
{
	int64_t user = 0;
	auto_sim sim = {0};

	outside_open(&sim, state, "");
	assert_true(rh_json_integer(
		rh_json_at(outside_job(&sim), "spec.template.spec.containers[0].securityContext.runAsUser"), &user));
	assert_int_equal(user, INT64_C(9007199254740993));
}

/* The keys are made by this process, also where the plugin has one of its own that may open no file. */
static void test_outside__has_keys(void **state)
{
	const struct rh_json *secret;
	auto_sim sim = {0};

	outside_open(&sim, state, "");
	secret = rh_memory_store_find(sim.store, &outside_secrets, "default", "m-ssh");
	/* "-----BEGIN EC PRIVATE KEY-----" and "ecdsa-sha2-nistp521" in base64 */
	assert_int_equal(strncmp(rh_json_string(rh_json_get(rh_json_get(secret, "data"), "ssh-privatekey")),
	                         "LS0tLS1CRUdJTiBFQyBQUklWQVRFIEtFWS0tLS0t", 40),
	                 0);
	assert_int_equal(strncmp(rh_json_string(rh_json_get(rh_json_get(secret, "data"), "ssh-publickey")),
	                         "ZWNkc2Etc2hhMi1uaXN0cDUyM", 25),
	                 0);
}

int main(void)
{
	static bool places[] = {false, true};
	int failed = 0;

	for (size_t i = 0; i < 2; i++) {
		const struct CMUnitTest tests[] = {
			cmocka_unit_test_prestate(test_outside__the_job_of_the_launcher_decides, &places[i]),
			cmocka_unit_test_prestate(test_outside__its_limits_are_those_of_the_job, &places[i]),
			cmocka_unit_test_prestate(test_outside__objects_follow_readiness, &places[i]),
			cmocka_unit_test_prestate(test_outside__a_job_that_is_gone_is_made_again, &places[i]),
			cmocka_unit_test_prestate(test_outside__the_template_is_exact, &places[i]),
			cmocka_unit_test_prestate(test_outside__has_keys, &places[i]),
		};

		failed +=
			cmocka_run_group_tests_name(i == 0 ? "in this process" : "in a process of its own", tests, NULL, NULL);
	}
	return failed;
}
