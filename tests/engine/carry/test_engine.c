/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/engine.h"

#include <string.h>

#include "base/os/clock.h"
#include "engine/carry/sim.h"
#include "engine/carry/snapshot.h"
#include "job/values/names.h"

#define FORCED \
	"Warning ForcedDeletePod Deleted pod by force: j-worker-1 did not end within roundhouse.dev/terminating-timeout"
#define PAIR "Master=OnFailure Worker=OnFailure"

/* A job whose pods run, under an engine. */
static void open_running(struct sim *sim, const char *replicas, const char *policy)
{
	sim_open(sim, false);
	sim_start(sim);
	sim_create(sim, sim_new_job("j", replicas, policy, NULL));
	sim_settle(sim);
	sim_set_pod(sim, "j-master-0", "Running", 0, 0);
	sim_set_pod(sim, "j-worker-0", "Running", 0, 0);
	sim_settle(sim);
	sim_assert(sim, "j", "Created Running | master-0 Running, worker-0 Running");
}

/* No request, no timer. */
static void assert_idle(const struct sim *sim)
{
	assert_false(rh_engine_busy(sim->engine));
	assert_true(rh_engine_deadline(sim->engine) == RH_NEVER);
}

static void test_engine__a_job_lives_to_its_end(void **state)
{
	auto_sim sim = {0};

	(void)state;
	open_running(&sim, PAIR, NULL);
	sim_set_pod(&sim, "j-worker-0", "Succeeded", 0, 0);
	sim_set_pod(&sim, "j-master-0", "Succeeded", 0, 0);
	sim_settle(&sim);
	sim_assert(&sim, "j", "Created Succeeded | master-0 Succeeded, worker-0 Succeeded");
	assert_int_equal(sim_assert_event(&sim, "Normal SuccessfulCreatePod Created pod: j-master-0"), 1);
	sim_assert_event(&sim, "Normal SuccessfulCreateService Created service: j-worker-0");
	sim_assert_event(&sim, "Normal PyTorchJobSucceeded PyTorchJob j is successfully completed.");
	assert_idle(&sim);
}

static void test_engine__pods_and_services_are_what_the_builder_makes(void **state)
{
	auto_sim sim = {0};
	const struct rh_json *pod;

	(void)state;
	open_running(&sim, PAIR, NULL);
	pod = sim_pod(&sim, "j-worker-0");
	assert_string_equal(rh_json_string(rh_json_get(rh_json_at(pod, "metadata.labels"), RH_LABEL_JOB)), "j");
	assert_string_equal(rh_json_string_at(pod, "metadata.ownerReferences[0].uid"),
	                    rh_json_string_at(sim_job(&sim, "j"), "metadata.uid"));
	assert_string_equal(rh_json_string_at(pod, "spec.restartPolicy"), "OnFailure");
	assert_non_null(rh_memory_store_find(sim.store, &rh_resource_services, "default", "j-worker-0"));
}

static void test_engine__nothing_is_decided_before_all_is_listed(void **state)
{
	auto_sim sim = {0};

	(void)state;
	sim_open(&sim, false);
	sim_create(&sim, sim_new_job("j", PAIR, NULL, NULL));
	sim_start(&sim);
	while (rh_memory_store_pending(sim.store) > 1) {
		assert_true(rh_engine_deadline(sim.engine) == RH_NEVER);
		assert_true(rh_engine_busy(sim.engine));
		assert_true(rh_memory_store_pump(sim.store, 0));
		rh_engine_step(sim.engine, sim.now);
	}
	assert_int_equal(rh_json_size(rh_json_get(sim_job(&sim, "j"), "status")), 0);
	sim_settle(&sim);
	sim_assert(&sim, "j", "Created | master-0 Pending, worker-0 Pending");
}

static void test_engine__a_restart_changes_nothing(void **state)
{
	auto_sim sim = {0};
	rh_auto_free char *before = NULL;
	rh_auto_free char *after = NULL;
	rh_auto_free char *events = NULL;

	(void)state;
	open_running(&sim, PAIR, NULL);
	before = rh_json_text(sim_job(&sim, "j"));
	events = sim_events(&sim);
	sim_kill(&sim);
	sim_start(&sim);
	sim_settle(&sim);
	after = rh_json_text(sim_job(&sim, "j"));
	assert_string_equal(after, before);
	rh_free(after);
	after = sim_events(&sim);
	assert_string_equal(after, events);
	assert_idle(&sim);
}

static void test_engine__an_idle_job_costs_no_request(void **state)
{
	auto_sim sim = {0};

	(void)state;
	open_running(&sim, PAIR, NULL);
	sim_patch(&sim, "j", "{'metadata':{'labels':{'team':'x'}}}");
	rh_memory_store_drain(sim.store);
	rh_engine_step(sim.engine, sim.now);
	assert_int_equal(rh_memory_store_pending(sim.store), 0);
	assert_idle(&sim);
}

static void test_engine__jobs_of_other_managers_are_left_alone(void **state)
{
	auto_sim sim = {0};

	(void)state;
	sim_open(&sim, false);
	sim_start(&sim);
	sim_create(&sim, sim_new_job("j", PAIR, "{'managedBy':'kueue.x-k8s.io/multikueue'}", NULL));
	sim_settle(&sim);
	sim_assert(&sim, "j", "| ");
	assert_idle(&sim);
}

static void test_engine__lost_pods_come_back(void **state)
{
	auto_sim sim = {0};

	(void)state;
	open_running(&sim, PAIR, NULL);
	sim_delete_pod(&sim, "j-worker-0", 0);
	sim_settle(&sim);
	sim_assert(&sim, "j", "Created Running | master-0 Running, worker-0 Pending");
}

static void test_engine__a_restart_is_in_the_ledger_before_its_pod_goes(void **state)
{
	auto_sim sim = {0};
	const struct rh_json *annotations = NULL;

	(void)state;
	open_running(&sim, "Master=ExitCode Worker=ExitCode", NULL);
	sim_set_pod(&sim, "j-worker-0", "Failed", 137, 0);
	while (sim_pod(&sim, "j-worker-0") &&
	       strcmp(rh_json_string_at(sim_pod(&sim, "j-worker-0"), "status.phase"), "Failed") == 0) {
		annotations = rh_json_at(sim_job(&sim, "j"), "metadata.annotations");
		if (!rh_memory_store_pump(sim.store, 0))
			rh_engine_step(sim.engine, sim.now);
	}
	assert_non_null(annotations);
	assert_non_null(strstr(rh_json_string(rh_json_get(annotations, RH_ANNOTATION_LEDGER)), "exit"));
	sim_settle(&sim);
	sim_assert(&sim, "j", "Created Running | master-0 Running, worker-0 Pending");
}

static void test_engine__deleted_pods_wait_for_their_kubelet(void **state)
{
	auto_sim sim = {0};

	(void)state;
	sim_open(&sim, true);
	sim_start(&sim);
	sim_create(&sim, sim_new_job("j", PAIR, NULL, NULL));
	sim_settle(&sim);
	sim_patch(&sim, "j", "{'spec':{'runPolicy':{'suspend':true}}}");
	sim_settle(&sim);
	sim_assert(&sim, "j", "Created Suspended | master-0 Pending stopping, worker-0 Pending stopping");
	assert_false(rh_engine_busy(sim.engine));
	sim_delete_pod(&sim, "j-master-0", 0);
	sim_delete_pod(&sim, "j-worker-0", 0);
	sim_settle(&sim);
	sim_assert(&sim, "j", "Created Suspended | ");
	assert_idle(&sim);
}

static void test_engine__a_pod_that_never_ends_is_forced(void **state)
{
	auto_sim sim = {0};

	(void)state;
	sim_open(&sim, true);
	sim_start(&sim);
	sim_create(&sim, sim_new_job("j", "Worker=OnFailure*2", NULL, "{'roundhouse.dev/terminating-timeout':'10s'}"));
	sim_settle(&sim);
	sim_patch(&sim, "j", "{'spec':{'pytorchReplicaSpecs':{'Worker':{'replicas':1}}}}");
	sim_settle(&sim);
	sim_assert(&sim, "j", "Created | worker-0 Pending, worker-1 Pending stopping");
	sim_wait(&sim, 8);
	sim_assert(&sim, "j", "Created | worker-0 Pending, worker-1 Pending stopping");
	sim_wait(&sim, 3);
	sim_assert(&sim, "j", "Created | worker-0 Pending");
	assert_int_equal(sim_assert_event(&sim, FORCED), 1);
}

/* The node is unreachable: one Event of the job reports it. */
static void test_engine__a_lost_node_is_named(void **state)
{
	auto_sim sim = {0};

	(void)state;
	sim_open(&sim, true);
	sim_start(&sim);
	sim_create(&sim, sim_new_job("j", "Worker=OnFailure*2", NULL, "{'roundhouse.dev/terminating-timeout':'10s'}"));
	sim_settle(&sim);
	assert_int_equal(sim_user(&sim, (struct rh_request){.verb = RH_VERB_PATCH,
	                                                    .resource = &rh_resource_pods,
	                                                    .name = "j-worker-1",
	                                                    .body = sim_json("{'spec':{'nodeName':'dead'}}")}),
	                 RH_OUTCOME_OK);
	sim_delete_pod(&sim, "j-worker-1", 30);
	sim_wait(&sim, 60);
	sim_assert(&sim, "j", "Created | worker-0 Pending, worker-1 Pending");
	assert_int_equal(sim_assert_event(&sim, FORCED "; its node dead may be lost"), 1);
	sim_assert_no_event(&sim, "Normal SuccessfulDeletePod");
}

static void test_engine__a_deadline_needs_no_event(void **state)
{
	auto_sim sim = {0};

	(void)state;
	open_running(&sim, PAIR, "{'activeDeadlineSeconds':60}");
	assert_true(rh_engine_deadline(sim.engine) <= SIM_START + 61 * RH_SECOND);
	sim_wait(&sim, 61);
	sim_assert(&sim, "j", "Created Failed | ");
}

static void test_engine__a_finished_job_goes_when_its_time_is_over(void **state)
{
	auto_sim sim = {0};

	(void)state;
	open_running(&sim, PAIR, "{'ttlSecondsAfterFinished':30}");
	sim_set_pod(&sim, "j-master-0", "Succeeded", 0, 0);
	sim_wait(&sim, 29);
	sim_assert(&sim, "j", "Created Succeeded | master-0 Succeeded, worker-0 Running");
	sim_wait(&sim, 2);
	sim_assert(&sim, "j", "gone | ");
	sim_assert_event(&sim, "Normal SuccessfulDeletePod Deleted job: j");
	assert_int_equal(snapshot_engine(sim.engine).jobs, 0);
	assert_idle(&sim);
}

static void test_engine__a_time_to_live_holds_over_a_restart(void **state)
{
	auto_sim sim = {0};

	(void)state;
	open_running(&sim, PAIR, "{'ttlSecondsAfterFinished':30}");
	sim_set_pod(&sim, "j-master-0", "Succeeded", 0, 0);
	sim_settle(&sim);
	sim_kill(&sim);
	sim.now += 100 * RH_SECOND;
	sim_start(&sim);
	sim_settle(&sim);
	sim_assert(&sim, "j", "gone | ");
}

static void test_engine__a_finished_job_is_kept_as_little_as_can_be(void **state)
{
	auto_sim sim = {0};
	struct snapshot_job job;

	(void)state;
	open_running(&sim, PAIR, NULL);
	sim_set_pod(&sim, "j-master-0", "Succeeded", 0, 0);
	sim_settle(&sim);
	job = snapshot_job(sim.engine, "j");
	assert_false(job.has_tree);
	assert_string_not_equal(job.uid, "");
	assert_false(job.has_builder);
	sim_patch(&sim, "j", "{'spec':{'runPolicy':{'cleanPodPolicy':'All'}}}");
	sim_settle(&sim);
	sim_assert(&sim, "j", "Created Succeeded | ");
}

static void test_engine__deleted_jobs_are_forgotten(void **state)
{
	auto_sim sim = {0};

	(void)state;
	open_running(&sim, PAIR, NULL);
	sim_delete(&sim, "j");
	sim_settle(&sim);
	sim_assert(&sim, "j", "gone | ");
	assert_int_equal(snapshot_engine(sim.engine).jobs, 0);
	assert_int_equal(snapshot_engine(sim.engine).queue_members, 0);
	assert_idle(&sim);
}

static void test_engine__a_name_that_is_used_again_is_another_job(void **state)
{
	auto_sim sim = {0};

	(void)state;
	sim_open(&sim, true);
	sim_start(&sim);
	sim_create(&sim, sim_new_job("j", PAIR, NULL, NULL));
	sim_settle(&sim);
	sim_set_pod(&sim, "j-master-0", "Running", 0, 0);
	sim_delete(&sim, "j");
	sim_create(&sim, sim_new_job("j", PAIR, NULL, NULL));
	sim_settle(&sim);
	sim_assert(&sim, "j", "Created | master-0 Running stopping, worker-0 Pending stopping");
	sim_delete_pod(&sim, "j-master-0", 0);
	sim_delete_pod(&sim, "j-worker-0", 0);
	sim_settle(&sim);
	sim_assert(&sim, "j", "Created | master-0 Pending, worker-0 Pending");
	assert_string_equal(rh_json_string_at(sim_pod(&sim, "j-master-0"), "metadata.ownerReferences[0].uid"),
	                    rh_json_string_at(sim_job(&sim, "j"), "metadata.uid"));
}

static void test_engine__two_kinds_of_one_name_do_not_mix(void **state)
{
	static const char foreign[] = "{'metadata':{'name':'j-ps-0','labels':{'training.kubeflow.org/job-name':'j',"
								  "'training.kubeflow.org/operator-name':'tfjob-controller',"
								  "'training.kubeflow.org/replica-type':'worker',"
								  "'training.kubeflow.org/replica-index':'0'}},'spec':{}}";
	auto_sim sim = {0};

	(void)state;
	open_running(&sim, PAIR, NULL);
	(void)sim_user(
		&sim, (struct rh_request){.verb = RH_VERB_CREATE, .resource = &rh_resource_pods, .body = sim_json(foreign)});
	sim_settle(&sim);
	sim_assert(&sim, "j", "Created Running | master-0 Running, ps-0 Pending, worker-0 Running");
}

/* At most this many writes are in flight for one job. */
static void test_engine__the_window_bounds_what_is_under_way(void **state)
{
	auto_sim sim = {0};
	size_t most = 0;

	(void)state;
	sim_open(&sim, false);
	sim.options.window = 4;
	sim_start(&sim);
	sim_create(&sim, sim_new_job("j", "Worker=OnFailure*30", NULL, NULL));
	while (rh_memory_store_pump(sim.store, 0) || rh_engine_deadline(sim.engine) <= sim.now) {
		struct snapshot_job job;

		rh_engine_step(sim.engine, sim.now);
		if (snapshot_jobs(sim.engine, &job, 1) > 0 && job.requests > most)
			most = job.requests;
	}
	assert_int_equal(most, 4);
	assert_non_null(sim_pod(&sim, "j-worker-29"));
	assert_non_null(rh_memory_store_find(sim.store, &rh_resource_services, "default", "j-worker-29"));
}

/* Counts calls for address plans. */
struct plans {
	int calls;
	int32_t attempt;
	int refusals;
};

static int make_addresses(void *arg, const struct rh_job *job, int32_t attempt, struct rh_addresses *ret_addresses,
                          struct rh_error *err)
{
	struct plans *plans = arg;

	plans->calls++;
	plans->attempt = attempt;
	if (plans->refusals-- > 0)
		return rh_fail(err, RH_EAGAIN, "no free port for %s", job->name);
	ret_addresses->items = rh_alloc_array(1, sizeof(*ret_addresses->items));
	assert_non_null(ret_addresses->items);
	ret_addresses->count = 1;
	rh_copy(ret_addresses->items[0].type, sizeof(ret_addresses->items[0].type), "Master");
	rh_copy(ret_addresses->items[0].host, sizeof(ret_addresses->items[0].host), "127.9.9.9");
	ret_addresses->items[0].port = 20000 + plans->calls;
	return 0;
}

static const char *env_value(const struct rh_json *pod, const char *name)
{
	const struct rh_json *env = rh_json_at(pod, "spec.containers[0].env");

	for (const struct rh_json *item = rh_json_first(env); item; item = rh_json_next(item)) {
		if (strcmp(rh_json_string_at(item, "name"), name) == 0)
			return rh_json_string_at(item, "value");
	}
	return NULL;
}

static void test_engine__each_attempt_has_one_address_plan(void **state)
{
	auto_sim sim = {0};
	struct plans plans = {.refusals = 1};

	(void)state;
	sim_open(&sim, false);
	sim.options.addresses = make_addresses;
	sim.options.arg = &plans;
	sim_start(&sim);
	sim_create(&sim, sim_new_job("j", "Master=ExitCode Worker=ExitCode", NULL, "{'roundhouse.dev/restart':'job'}"));
	sim_settle(&sim);
	assert_int_equal(plans.calls, 2);
	sim_assert_event(&sim, "Warning PyTorchJobFailedReconcile no free port for j");
	assert_string_equal(env_value(sim_pod(&sim, "j-worker-0"), "MASTER_ADDR"), "127.9.9.9");
	assert_string_equal(env_value(sim_pod(&sim, "j-worker-0"), "MASTER_PORT"), "20002");
	sim_set_pod(&sim, "j-master-0", "Running", 0, 0);
	sim_set_pod(&sim, "j-worker-0", "Failed", 137, 0);
	sim_settle(&sim);
	assert_int_equal(plans.calls, 3);
	assert_int_equal(plans.attempt, 1);
	assert_string_equal(env_value(sim_pod(&sim, "j-worker-0"), "MASTER_PORT"), "20003");
}

/* Counts the plans that were carried out. */
static void count_plan(void *arg, const struct rh_job *job, const struct rh_plan *plan)
{
	assert_string_equal(job->name, "j");
	assert_false(rh_plan_is_empty(plan));
	++*(int *)arg;
}

static void test_engine__plans_can_be_observed(void **state)
{
	auto_sim sim = {0};
	int plans = 0;

	(void)state;
	sim_open(&sim, false);
	sim.options.observe = count_plan;
	sim.options.arg = &plans;
	sim_start(&sim);
	sim_create(&sim, sim_new_job("j", PAIR, NULL, NULL));
	sim_settle(&sim);
	assert_true(plans > 0);
	plans = 0;
	sim_wait(&sim, 1000);
	assert_int_equal(plans, 0);
}

static void test_engine__a_thousand_jobs_leave_nothing_behind(void **state)
{
	auto_sim sim = {0};
	struct snapshot_engine after;

	(void)state;
	sim_open(&sim, false);
	sim_start(&sim);
	for (int i = 0; i < 1000; i++) {
		rh_auto_free char *name = rh_asprintf("j%d", i);
		rh_auto_free char *pod = rh_asprintf("j%d-worker-0", i);

		sim_create(&sim, sim_new_job(name, "Worker=Never", NULL, NULL));
		sim_settle(&sim);
		sim_set_pod(&sim, pod, "Succeeded", 0, 0);
		sim_settle(&sim);
		sim_assert(&sim, name, "Created Succeeded | worker-0 Succeeded");
		sim_delete(&sim, name);
		sim_settle(&sim);
	}
	after = snapshot_engine(sim.engine);
	assert_int_equal(after.jobs, 0);
	assert_int_equal(after.queue_members, 0);
	assert_int_equal(after.queue_capacity, 16);
	assert_int_equal(after.requests, 0);
	assert_idle(&sim);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_engine__a_job_lives_to_its_end),
		cmocka_unit_test(test_engine__pods_and_services_are_what_the_builder_makes),
		cmocka_unit_test(test_engine__nothing_is_decided_before_all_is_listed),
		cmocka_unit_test(test_engine__a_restart_changes_nothing),
		cmocka_unit_test(test_engine__an_idle_job_costs_no_request),
		cmocka_unit_test(test_engine__jobs_of_other_managers_are_left_alone),
		cmocka_unit_test(test_engine__lost_pods_come_back),
		cmocka_unit_test(test_engine__a_restart_is_in_the_ledger_before_its_pod_goes),
		cmocka_unit_test(test_engine__deleted_pods_wait_for_their_kubelet),
		cmocka_unit_test(test_engine__a_pod_that_never_ends_is_forced),
		cmocka_unit_test(test_engine__a_lost_node_is_named),
		cmocka_unit_test(test_engine__a_deadline_needs_no_event),
		cmocka_unit_test(test_engine__a_finished_job_goes_when_its_time_is_over),
		cmocka_unit_test(test_engine__a_time_to_live_holds_over_a_restart),
		cmocka_unit_test(test_engine__a_finished_job_is_kept_as_little_as_can_be),
		cmocka_unit_test(test_engine__deleted_jobs_are_forgotten),
		cmocka_unit_test(test_engine__a_name_that_is_used_again_is_another_job),
		cmocka_unit_test(test_engine__two_kinds_of_one_name_do_not_mix),
		cmocka_unit_test(test_engine__the_window_bounds_what_is_under_way),
		cmocka_unit_test(test_engine__each_attempt_has_one_address_plan),
		cmocka_unit_test(test_engine__plans_can_be_observed),
		cmocka_unit_test(test_engine__a_thousand_jobs_leave_nothing_behind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
