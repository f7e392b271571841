/* SPDX-License-Identifier: Apache-2.0 */
/* Pods and Services that have a job's labels and name, and no owner. */
#include <string.h>

#include "base/os/clock.h"
#include "engine/carry/sim.h"

#define PAIR "Master=OnFailure Worker=OnFailure"

static enum rh_outcome_code patch_child(struct sim *sim, const struct rh_resource *resource, const char *name,
                                        const char *patch)
{
	return sim_user(
		sim, (struct rh_request){.verb = RH_VERB_PATCH, .resource = resource, .name = name, .body = sim_json(patch)});
}

/* A job that ran, was deleted with orphan propagation, and is created again. */
static void orphan(struct sim *sim, const char *owners)
{
	static const char *const names[] = {"j-master-0", "j-worker-0"};
	rh_auto_free char *patch = rh_asprintf("{'metadata':{'ownerReferences':%s}}", owners);

	sim_open(sim, false);
	rh_memory_store_set_collector(sim->store, false);
	sim_start(sim);
	sim_create(sim, sim_new_job("j", PAIR, NULL, NULL));
	sim_settle(sim);
	sim_set_pod(sim, "j-master-0", "Running", 0, 0);
	sim_set_pod(sim, "j-worker-0", "Running", 0, 0);
	sim_settle(sim);
	sim_kill(sim);
	sim_delete(sim, "j");
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(patch_child(sim, &rh_resource_pods, names[i], patch), RH_OUTCOME_OK);
		assert_int_equal(patch_child(sim, &rh_resource_services, names[i], patch), RH_OUTCOME_OK);
	}
	sim->now += RH_SECOND;
	sim_create(sim, sim_new_job("j", PAIR, NULL, NULL));
}

static const char *owner_of(const struct sim *sim, const struct rh_resource *resource, const char *name, int place)
{
	rh_auto_free char *path = rh_asprintf("metadata.ownerReferences[%d].uid", place);

	return rh_json_string_at(rh_memory_store_find(sim->store, resource, "default", name), path);
}

static void test_adopt__what_was_left_behind_goes_on(void **state)
{
	auto_sim sim = {0};
	rh_auto_free char *uid = NULL;
	const char *job;

	(void)state;
	orphan(&sim, "null");
	uid = rh_strdup(rh_json_string_at(sim_pod(&sim, "j-worker-0"), "metadata.uid"));
	sim_start(&sim);
	sim_settle(&sim);
	sim_assert(&sim, "j", "Created Running | master-0 Running, worker-0 Running");
	assert_string_equal(rh_json_string_at(sim_pod(&sim, "j-worker-0"), "metadata.uid"), uid);
	job = rh_json_string_at(sim_job(&sim, "j"), "metadata.uid");
	assert_string_equal(owner_of(&sim, &rh_resource_pods, "j-master-0", 0), job);
	assert_string_equal(owner_of(&sim, &rh_resource_services, "j-worker-0", 0), job);
	sim_assert_event(&sim, "Normal SuccessfulAdoptPod Adopted pod: j-master-0");
	sim_assert_event(&sim, "Normal SuccessfulAdoptService Adopted service: j-worker-0");
	sim_assert_no_event(&sim, "Warning FailedCreate");
}

static void test_adopt__other_owners_stay(void **state)
{
	auto_sim sim = {0};

	(void)state;
	orphan(&sim, "[{'apiVersion':'v1','kind':'ConfigMap','name':'c','uid':'c1'}]");
	sim_start(&sim);
	sim_settle(&sim);
	assert_string_equal(owner_of(&sim, &rh_resource_pods, "j-master-0", 0), "c1");
	assert_string_equal(owner_of(&sim, &rh_resource_pods, "j-master-0", 1),
	                    rh_json_string_at(sim_job(&sim, "j"), "metadata.uid"));
}

static void test_adopt__foreign_ones_are_reported(void **state)
{
	auto_sim sim = {0};

	(void)state;
	orphan(&sim, "[{'apiVersion':'v1','kind':'ReplicaSet','name':'web','uid':'w1','controller':true}]");
	sim_start(&sim);
	sim_settle(&sim);
	assert_string_equal(owner_of(&sim, &rh_resource_pods, "j-master-0", 0), "w1");
	assert_null(owner_of(&sim, &rh_resource_pods, "j-master-0", 1));
	sim_assert_event(&sim, "Warning FailedCreatePod Error creating: pods \"j-master-0\" already exists, and belongs to "
	                       "ReplicaSet \"web\" (UID w1)");
}

/* V1's role may not patch Services: an existing one is used nevertheless. */
static bool deny_patches(void *arg, const struct rh_request *request, struct rh_outcome *ret_outcome, bool *ret_apply)
{
	int *seen = arg;

	if (request->verb != RH_VERB_PATCH || strcmp(request->resource->kind, "Service") != 0)
		return false;
	(*seen)++;
	*ret_outcome = (struct rh_outcome){.code = RH_OUTCOME_DENIED, .message = "services is forbidden"};
	*ret_apply = false;
	return true;
}

static void test_adopt__without_permission_the_job_goes_on(void **state)
{
	auto_sim sim = {0};
	int seen = 0;

	(void)state;
	orphan(&sim, "null");
	rh_memory_store_set_gate(sim.store, deny_patches, &seen);
	sim_start(&sim);
	sim_settle(&sim);
	sim_assert(&sim, "j", "Created Running | master-0 Running, worker-0 Running");
	sim_assert_event(&sim, "Warning FailedAdoptService Error adopting: services is forbidden");
	seen = 0;
	sim_wait(&sim, 3600);
	assert_in_range(seen, 3, 30);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_adopt__what_was_left_behind_goes_on),
		cmocka_unit_test(test_adopt__other_owners_stay),
		cmocka_unit_test(test_adopt__foreign_ones_are_reported),
		cmocka_unit_test(test_adopt__without_permission_the_job_goes_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
