/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs under a gang scheduler: the test is the scheduler that puts phases into PodGroups. */
#include <string.h>

#include "base/os/clock.h"
#include "engine/carry/sim.h"

#define PAIR "Master=OnFailure Worker=OnFailure"

static const struct rh_resource volcano_groups = {"scheduling.volcano.sh/v1beta1", "PodGroup", "podgroups"};
static const struct rh_resource plugins_groups = {"scheduling.x-k8s.io/v1alpha1", "PodGroup", "podgroups"};

/* Shared by all steps of a simulation. */
struct gang_sim {
	struct sim sim;
	struct rh_gang gang;
	const struct rh_resource *groups;
};

static void gang_close(struct gang_sim *gang)
{
	sim_close(&gang->sim);
}

#define auto_gang __attribute__((cleanup(gang_close))) struct gang_sim

static void gang_open(struct gang_sim *gang, const char *scheduler)
{
	sim_open(&gang->sim, false);
	assert_int_equal(rh_gang_parse(scheduler, &gang->gang, NULL), 0);
	gang->groups = gang->gang.kind == RH_GANG_VOLCANO ? &volcano_groups : &plugins_groups;
	gang->sim.options.gang = &gang->gang;
	sim_start(&gang->sim);
}

static void gang_create(struct gang_sim *gang, const char *policy)
{
	sim_create(&gang->sim, sim_new_job("j", PAIR, policy, "{'kueue':'q'}"));
	sim_settle(&gang->sim);
}

static const struct rh_json *group(const struct gang_sim *gang)
{
	return rh_memory_store_find(gang->sim.store, gang->groups, "default", "j");
}

static void set_group(struct gang_sim *gang, enum rh_verb verb, const char *patch)
{
	assert_int_equal(sim_user(&gang->sim, (struct rh_request){.verb = verb,
	                                                          .resource = gang->groups,
	                                                          .name = "j",
	                                                          .body = patch ? sim_json(patch) : NULL,
	                                                          .grace_seconds = -1}),
	                 RH_OUTCOME_OK);
	sim_settle(&gang->sim);
}

static void set_phase(struct gang_sim *gang, const char *phase)
{
	rh_auto_free char *patch = rh_asprintf("{'status':{'phase':'%s'}}", phase);

	set_group(gang, RH_VERB_PATCH_STATUS, patch);
}

static int64_t min_member(const struct gang_sim *gang)
{
	int64_t value = -1;

	(void)rh_json_integer(rh_json_at(group(gang), "spec.minMember"), &value);
	return value;
}

static void test_gang__volcano_holds_pods_back(void **state)
{
	auto_gang gang = {0};

	(void)state;
	gang_open(&gang, "volcano");
	gang_create(&gang, NULL);
	sim_assert(&gang.sim, "j", "Created | ");
	assert_non_null(rh_json_at(sim_job(&gang.sim, "j"), "status.lastReconcileTime"));
	assert_null(rh_json_at(sim_job(&gang.sim, "j"), "status.startTime"));
	set_phase(&gang, "Pending");
	sim_assert(&gang.sim, "j", "Created | ");
	set_phase(&gang, "Inqueue");
	sim_assert(&gang.sim, "j", "Created | master-0 Pending, worker-0 Pending");
	assert_string_equal(rh_json_string_at(sim_pod(&gang.sim, "j-master-0"), "spec.schedulerName"), "volcano");
}

static void test_gang__the_podgroup_is_the_jobs(void **state)
{
	auto_gang gang = {0};

	(void)state;
	gang_open(&gang, "volcano");
	gang_create(&gang, "{'schedulingPolicy':{'queue':'q1','priorityClass':'high','minAvailable':1}}");
	assert_int_equal(min_member(&gang), 1);
	assert_string_equal(rh_json_string_at(group(&gang), "spec.queue"), "q1");
	assert_string_equal(rh_json_string_at(group(&gang), "spec.priorityClassName"), "high");
	assert_string_equal(rh_json_string_at(group(&gang), "metadata.annotations.kueue"), "q");
	assert_string_equal(rh_json_string_at(group(&gang), "metadata.ownerReferences[0].uid"),
	                    rh_json_string_at(sim_job(&gang.sim, "j"), "metadata.uid"));
}

static void test_gang__scheduler_plugins_wait_for_nothing(void **state)
{
	auto_gang gang = {0};

	(void)state;
	gang_open(&gang, "scheduler-plugins");
	gang_create(&gang, "{'schedulingPolicy':{'queue':'q1','scheduleTimeoutSeconds':7}}");
	sim_assert(&gang.sim, "j", "Created | master-0 Pending, worker-0 Pending");
	assert_int_equal(rh_json_number(rh_json_at(group(&gang), "spec.scheduleTimeoutSeconds"), 0), 7);
	assert_null(rh_json_at(group(&gang), "spec.queue"));
}

static void test_gang__follows_the_replicas(void **state)
{
	auto_gang gang = {0};

	(void)state;
	gang_open(&gang, "volcano");
	gang_create(&gang, NULL);
	set_phase(&gang, "Running");
	assert_int_equal(min_member(&gang), 2);
	sim_patch(&gang.sim, "j", "{'spec':{'pytorchReplicaSpecs':{'Worker':{'replicas':3}}}}");
	sim_settle(&gang.sim);
	assert_int_equal(min_member(&gang), 4);
	assert_string_equal(rh_json_string_at(group(&gang), "status.phase"), "Running");
	assert_non_null(sim_pod(&gang.sim, "j-worker-2"));
}

static void test_gang__a_queue_that_was_chosen_stays(void **state)
{
	auto_gang gang = {0};

	(void)state;
	gang_open(&gang, "volcano");
	gang_create(&gang, NULL);
	set_group(&gang, RH_VERB_PATCH, "{'spec':{'queue':'other','minMember':9}}");
	assert_string_equal(rh_json_string_at(group(&gang), "spec.queue"), "other");
	assert_int_equal(min_member(&gang), 2);
	assert_false(rh_engine_busy(gang.sim.engine));
}

static void test_gang__goes_with_the_end_of_the_job(void **state)
{
	auto_gang gang = {0};

	(void)state;
	gang_open(&gang, "volcano");
	gang_create(&gang, NULL);
	set_phase(&gang, "Running");
	sim_set_pod(&gang.sim, "j-master-0", "Succeeded", 0, 0);
	sim_settle(&gang.sim);
	assert_null(group(&gang));
	sim_assert_event(&gang.sim, "Normal JobTerminated Job has been terminated. Deleting PodGroup");
	sim_assert_event(&gang.sim, "Normal SuccessfulDeletePodGroup Deleted PodGroup: j");
}

static void test_gang__goes_after_a_start_in_between(void **state)
{
	auto_gang gang = {0};

	(void)state;
	gang_open(&gang, "volcano");
	gang_create(&gang, NULL);
	set_phase(&gang, "Running");
	sim_kill(&gang.sim);
	sim_set_pod(&gang.sim, "j-master-0", "Succeeded", 0, 0);
	sim_start(&gang.sim);
	sim_settle(&gang.sim);
	assert_null(group(&gang));
}

static void test_gang__goes_with_suspension_and_comes_again(void **state)
{
	auto_gang gang = {0};

	(void)state;
	gang_open(&gang, "volcano");
	gang_create(&gang, NULL);
	set_phase(&gang, "Running");
	sim_patch(&gang.sim, "j", "{'spec':{'runPolicy':{'suspend':true}}}");
	sim_settle(&gang.sim);
	assert_null(group(&gang));
	sim_assert(&gang.sim, "j", "Created Suspended | ");
	sim_patch(&gang.sim, "j", "{'spec':{'runPolicy':{'suspend':false}}}");
	sim_settle(&gang.sim);
	assert_non_null(group(&gang));
	sim_assert(&gang.sim, "j", "Created | ");
	set_phase(&gang, "Inqueue");
	sim_assert(&gang.sim, "j", "Created | master-0 Pending, worker-0 Pending");
}

static void test_gang__one_that_is_deleted_comes_again(void **state)
{
	auto_gang gang = {0};

	(void)state;
	gang_open(&gang, "volcano");
	gang_create(&gang, NULL);
	set_phase(&gang, "Running");
	set_group(&gang, RH_VERB_DELETE, NULL);
	assert_non_null(group(&gang));
	assert_null(rh_json_at(group(&gang), "status.phase"));
	sim_delete_pod(&gang.sim, "j-worker-0", 0);
	sim_settle(&gang.sim);
	assert_null(sim_pod(&gang.sim, "j-worker-0"));
	set_phase(&gang, "Inqueue");
	assert_non_null(sim_pod(&gang.sim, "j-worker-0"));
}

/* A new engine does not write existing objects again; V1's PodGroup has no label, and gets one. */
static void test_gang__one_of_v1_is_taken_over(void **state)
{
	auto_gang gang = {0};
	rh_auto_free char *uid = NULL;

	(void)state;
	gang_open(&gang, "volcano");
	gang_create(&gang, NULL);
	uid = rh_strdup(rh_json_string_at(group(&gang), "metadata.uid"));
	sim_kill(&gang.sim);
	assert_int_equal(sim_user(&gang.sim, (struct rh_request){.verb = RH_VERB_PATCH,
	                                                         .resource = gang.groups,
	                                                         .name = "j",
	                                                         .body = sim_json("{'metadata':{'labels':null}}")}),
	                 RH_OUTCOME_OK);
	sim_start(&gang.sim);
	sim_settle(&gang.sim);
	assert_string_equal(rh_json_string_at(group(&gang), "metadata.uid"), uid);
	assert_string_equal(rh_json_string_at(group(&gang), "metadata.labels[\"training.kubeflow.org/job-name\"]"), "j");
	set_phase(&gang, "Inqueue");
	sim_assert(&gang.sim, "j", "Created | master-0 Pending, worker-0 Pending");
}

static void test_gang__nothing_is_written_again_after_a_start(void **state)
{
	auto_gang gang = {0};
	rh_auto_free char *version = NULL;

	(void)state;
	gang_open(&gang, "volcano");
	gang_create(&gang, NULL);
	set_phase(&gang, "Running");
	version = rh_strdup(rh_json_string_at(group(&gang), "metadata.resourceVersion"));
	sim_kill(&gang.sim);
	sim_start(&gang.sim);
	sim_settle(&gang.sim);
	assert_string_equal(rh_json_string_at(group(&gang), "metadata.resourceVersion"), version);
	sim_assert(&gang.sim, "j", "Created | master-0 Pending, worker-0 Pending");
}

/* A PodGroup of a deleted job of the same name blocks the new one until it is collected. */
static void test_gang__a_foreign_one_is_left_alone(void **state)
{
	auto_gang gang = {0};

	(void)state;
	gang_open(&gang, "volcano");
	assert_int_equal(
		sim_user(&gang.sim, (struct rh_request){.verb = RH_VERB_CREATE,
	                                            .resource = gang.groups,
	                                            .body = sim_json("{'metadata':{'name':'j','labels':{"
	                                                             "'training.kubeflow.org/job-name':'j'},"
	                                                             "'ownerReferences':[{'kind':'PyTorchJob',"
	                                                             "'apiVersion':'kubeflow.org/v1','name':'j',"
	                                                             "'uid':'old','controller':true}]},"
	                                                             "'spec':{'minMember':5}}")}),
		RH_OUTCOME_OK);
	gang_create(&gang, NULL);
	sim_assert(&gang.sim, "j", "Created Stalled | ");
	assert_int_equal(min_member(&gang), 5);
	set_group(&gang, RH_VERB_DELETE, NULL);
	assert_int_equal(min_member(&gang), 2);
	sim_assert(&gang.sim, "j", "Created | ");
}

static void test_gang__is_not_watched_without_a_scheduler(void **state)
{
	auto_gang gang = {0};

	(void)state;
	gang_open(&gang, "none");
	gang_create(&gang, NULL);
	assert_null(group(&gang));
	sim_assert(&gang.sim, "j", "Created | master-0 Pending, worker-0 Pending");
}

/* Out of memory at every allocation: the job recovers. */
static void test_gang__memory_comes_and_goes(void **state)
{
	(void)state;
	for (long nth = 0; nth < 400; nth += 3) {
		auto_gang gang = {0};

		gang_open(&gang, "volcano");
		sim_create(&gang.sim, sim_new_job("j", PAIR, NULL, NULL));
		rh_mem_fail_after(nth);
		rh_memory_store_drain(gang.sim.store);
		rh_engine_step(gang.sim.engine, gang.sim.now);
		rh_memory_store_drain(gang.sim.store);
		rh_mem_fail_after(-1);
		sim_wait(&gang.sim, 60);
		assert_non_null(group(&gang));
		set_phase(&gang, "Inqueue");
		sim_wait(&gang.sim, 60);
		sim_assert(&gang.sim, "j", "Created | master-0 Pending, worker-0 Pending");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gang__volcano_holds_pods_back),
		cmocka_unit_test(test_gang__the_podgroup_is_the_jobs),
		cmocka_unit_test(test_gang__scheduler_plugins_wait_for_nothing),
		cmocka_unit_test(test_gang__follows_the_replicas),
		cmocka_unit_test(test_gang__a_queue_that_was_chosen_stays),
		cmocka_unit_test(test_gang__goes_with_the_end_of_the_job),
		cmocka_unit_test(test_gang__goes_after_a_start_in_between),
		cmocka_unit_test(test_gang__goes_with_suspension_and_comes_again),
		cmocka_unit_test(test_gang__one_that_is_deleted_comes_again),
		cmocka_unit_test(test_gang__one_of_v1_is_taken_over),
		cmocka_unit_test(test_gang__nothing_is_written_again_after_a_start),
		cmocka_unit_test(test_gang__a_foreign_one_is_left_alone),
		cmocka_unit_test(test_gang__is_not_watched_without_a_scheduler),
		cmocka_unit_test(test_gang__memory_comes_and_goes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
