/* SPDX-License-Identifier: Apache-2.0 */
/* Labels and owners of a job's objects change, and the job goes on as after a controller start. */
#include <string.h>

#include "base/os/clock.h"
#include "engine/carry/sim.h"
#include "job/values/names.h"

#define PAIR "Master=OnFailure Worker=OnFailure"
#define RUNNING_PAIR "Created Running | master-0 Running, worker-0 Running"
#define FOREIGN "{'kind':'ReplicaSet','name':'web','uid':'u1','controller':true}"

static void patch(struct sim *sim, const struct rh_resource *resource, const char *name, const char *metadata)
{
	rh_auto_free char *text = rh_asprintf("{'metadata':%s}", metadata);

	assert_int_equal(sim_user(sim,
	                          (struct rh_request){
								  .verb = RH_VERB_PATCH, .resource = resource, .name = name, .body = sim_json(text)}),
	                 RH_OUTCOME_OK);
	sim_settle(sim);
}

static void relabel(struct sim *sim, const char *name, const char *label, const char *value)
{
	rh_auto_free char *metadata = rh_asprintf("{'labels':{'%s':%s}}", label, value);

	patch(sim, &rh_resource_pods, name, metadata);
}

static void remove_now(struct sim *sim, const struct rh_resource *resource, const char *name)
{
	assert_int_equal(sim_user(sim, (struct rh_request){.verb = RH_VERB_DELETE, .resource = resource, .name = name}),
	                 RH_OUTCOME_OK);
	sim_settle(sim);
}

static void open_pair(struct sim *sim)
{
	sim_open(sim, false);
	sim_start(sim);
	sim_create(sim, sim_new_job("j", PAIR, NULL, NULL));
	sim_settle(sim);
	sim_play_pod(sim, "j-master-0", "Running");
	sim_play_pod(sim, "j-worker-0", "Running");
	sim_assert(sim, "j", RUNNING_PAIR);
}

static void test_relabel__a_pod_that_was_another_jobs_is_replaced_once_it_is_gone(void **state)
{
	static const struct {
		const char *label, *value;
	} rows[] = {
		{RH_LABEL_JOB, "'k'"},           {RH_LABEL_JOB, "'nobody'"}, {RH_LABEL_OPERATOR, "null"},
		{RH_LABEL_OPERATOR, "'nobody'"}, {RH_LABEL_TYPE, "null"},    {RH_LABEL_INDEX, "'x'"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		auto_sim sim = {0};

		open_pair(&sim);
		sim_create(&sim, sim_new_job("k", "Worker=OnFailure", NULL, NULL));
		sim_settle(&sim);
		relabel(&sim, "j-worker-0", rows[i].label, rows[i].value);
		sim_wait(&sim, 500);
		assert_string_equal(rh_json_string_at(sim_pod(&sim, "j-worker-0"), "status.phase"), "Running");
		assert_true(sim_assert_event(&sim, "Warning FailedCreatePod Error creating: pods \"j-worker-0\" already "
		                                   "exists, and ") > 0);
		remove_now(&sim, &rh_resource_pods, "j-worker-0");
		assert_string_equal(rh_json_string_at(sim_pod(&sim, "j-worker-0"), "status.phase"), "Pending");
		sim_play_pod(&sim, "j-worker-0", "Running");
		sim_assert(&sim, "j", RUNNING_PAIR);
		sim_assert(&sim, "k", "Created | worker-0 Pending");
	}
}

/* There are no events of an unwatched object: the create is retried with back-off. */
static void test_relabel__a_pod_that_is_not_watched_any_more_is_replaced_too(void **state)
{
	auto_sim sim = {0};

	(void)state;
	open_pair(&sim);
	relabel(&sim, "j-worker-0", RH_LABEL_JOB, "null");
	sim_assert(&sim, "j", "Created Stalled Running | master-0 Running");
	assert_true(sim_assert_event(&sim,
	                             "Warning FailedCreatePod Error creating: pods \"j-worker-0\" already exists, and "
	                             "its labels do not name this job: delete it, or set "
	                             "training.kubeflow.org/job-name to \"j\" and training.kubeflow.org/"
	                             "operator-name to \"pytorchjob-controller\"") > 0);
	sim_wait(&sim, 10);
	remove_now(&sim, &rh_resource_pods, "j-worker-0");
	sim_wait(&sim, 20);
	sim_assert(&sim, "j", "Created Running | master-0 Running, worker-0 Pending");
}

static void test_relabel__labels_that_come_back_make_it_the_jobs_again(void **state)
{
	static const char *const labels[] = {RH_LABEL_JOB, RH_LABEL_OPERATOR};
	static const char *const values[] = {"'j'", "'pytorchjob-controller'"};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		auto_sim sim = {0};

		open_pair(&sim);
		relabel(&sim, "j-worker-0", labels[i], "null");
		sim_wait(&sim, 100);
		relabel(&sim, "j-worker-0", labels[i], values[i]);
		sim_assert(&sim, "j", RUNNING_PAIR);
		assert_false(rh_engine_busy(sim.engine));
		remove_now(&sim, &rh_resource_pods, "j-worker-0");
		sim_assert(&sim, "j", "Created Running | master-0 Running, worker-0 Pending");
	}
}

static void test_relabel__a_pod_with_another_owner_is_replaced_once_it_is_gone(void **state)
{
	auto_sim sim = {0};

	(void)state;
	open_pair(&sim);
	patch(&sim, &rh_resource_pods, "j-worker-0", "{'ownerReferences':[" FOREIGN "]}");
	sim_wait(&sim, 500);
	assert_true(sim_assert_event(&sim,
	                             "Warning FailedCreatePod Error creating: pods \"j-worker-0\" already exists, and "
	                             "belongs to ReplicaSet \"web\" (UID u1)") > 0);
	remove_now(&sim, &rh_resource_pods, "j-worker-0");
	sim_assert(&sim, "j", "Created Running | master-0 Running, worker-0 Pending");
	patch(&sim, &rh_resource_pods, "j-worker-0", "{'ownerReferences':null}");
	assert_string_equal(rh_json_string_at(sim_pod(&sim, "j-worker-0"), "metadata.ownerReferences[0].name"), "j");
}

static void test_relabel__services_likewise(void **state)
{
	static const char *const labels[] = {"{'labels':{'" RH_LABEL_JOB "':'k'}}",
	                                     "{'labels':{'" RH_LABEL_OPERATOR "':null}}"};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		auto_sim sim = {0};
		rh_auto_free char *uid = NULL;

		open_pair(&sim);
		patch(&sim, &rh_resource_services, "j-worker-0", labels[i]);
		sim_wait(&sim, 500);
		uid = rh_strdup(rh_json_string_at(
			rh_memory_store_find(sim.store, &rh_resource_services, "default", "j-worker-0"), "metadata.uid"));
		remove_now(&sim, &rh_resource_services, "j-worker-0");
		assert_string_not_equal(
			rh_json_string_at(rh_memory_store_find(sim.store, &rh_resource_services, "default", "j-worker-0"),
		                      "metadata.uid"),
			uid);
	}
}

static void test_relabel__a_podgroup_that_was_anothers_comes_again_once_it_is_gone(void **state)
{
	static const struct rh_resource groups = {"scheduling.volcano.sh/v1beta1", "PodGroup", "podgroups"};
	struct rh_gang gang;
	auto_sim sim = {0};

	(void)state;
	assert_int_equal(rh_gang_parse("volcano", &gang, NULL), 0);
	sim_open(&sim, false);
	sim.options.gang = &gang;
	sim_start(&sim);
	sim_create(&sim, sim_new_job("j", PAIR, NULL, NULL));
	sim_settle(&sim);
	patch(&sim, &groups, "j", "{'ownerReferences':[" FOREIGN "]}");
	assert_true(sim_assert_event(&sim,
	                             "Warning FailedCreatePodGroup Error creating: podgroups \"j\" already exists, and "
	                             "belongs to ReplicaSet \"web\" (UID u1)") > 0);
	sim_wait(&sim, 500);
	remove_now(&sim, &groups, "j");
	assert_string_equal(
		rh_json_string_at(rh_memory_store_find(sim.store, &groups, "default", "j"), "metadata.ownerReferences[0].name"),
		"j");
}

static void test_relabel__a_job_whose_pods_all_are_taken_away_ends_no_other(void **state)
{
	auto_sim sim = {0};

	(void)state;
	open_pair(&sim);
	sim_create(&sim, sim_new_job("k", PAIR, NULL, NULL));
	sim_settle(&sim);
	relabel(&sim, "j-worker-0", RH_LABEL_JOB, "'k'");
	relabel(&sim, "j-master-0", RH_LABEL_JOB, "'k'");
	sim_delete(&sim, "k");
	sim_settle(&sim);
	assert_non_null(sim_pod(&sim, "j-worker-0"));
	remove_now(&sim, &rh_resource_pods, "j-worker-0");
	remove_now(&sim, &rh_resource_pods, "j-master-0");
	sim_assert(&sim, "j", "Created Restarting | master-0 Pending, worker-0 Pending");
	sim_assert(&sim, "k", "gone | ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_relabel__a_pod_that_was_another_jobs_is_replaced_once_it_is_gone),
		cmocka_unit_test(test_relabel__a_pod_that_is_not_watched_any_more_is_replaced_too),
		cmocka_unit_test(test_relabel__labels_that_come_back_make_it_the_jobs_again),
		cmocka_unit_test(test_relabel__a_pod_with_another_owner_is_replaced_once_it_is_gone),
		cmocka_unit_test(test_relabel__services_likewise),
		cmocka_unit_test(test_relabel__a_podgroup_that_was_anothers_comes_again_once_it_is_gone),
		cmocka_unit_test(test_relabel__a_job_whose_pods_all_are_taken_away_ends_no_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
