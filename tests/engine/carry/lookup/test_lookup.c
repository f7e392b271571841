/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs that name other objects: tests/abi/plugins/lookup.c. */
#include <string.h>

#include "base/os/clock.h"
#include "engine/carry/sim.h"

static const struct rh_resource lookup_runtimes = {"example.org/v1alpha1", "ClusterRuntime", "clusterruntimes"};
static const struct rh_resource lookup_queues = {"example.org/v1alpha1", "Queue", "queues"};

/* @param state whether the plugin runs in a process of its own */
static void lookup_open(struct sim *sim, void **state)
{
	struct rh_error err = {0};

	sim_open(sim, false);
	sim->jobs = (struct rh_resource){"example.org/v1", "RuntimeJob", "runtimejobs"};
	sim->config->plugin_isolation = *(const bool *)*state ? RH_ISOLATION_PROCESS : RH_ISOLATION_NONE;
	if (rh_host_try_file(sim->host, RH_LOOKUP, &err) < 0)
		fail_msg("%s", err.message);
	sim_start(sim);
}

/* Create the job "r". @param spec members of it */
static void lookup_create(struct sim *sim, const char *spec)
{
	rh_auto_free char *text =
		rh_asprintf("{'metadata':{'name':'r'},'spec':{%s,'replicaSpecs':{'Node':{'template':{'spec':{"
	                "'containers':[{'name':'c','image':'i'}]}}}}}}",
	                spec);

	sim_create(sim, sim_json(text));
	sim_settle(sim);
}

static void lookup_runtime(struct sim *sim, enum rh_verb verb, const char *image)
{
	rh_auto_free char *text =
		rh_asprintf("{'apiVersion':'example.org/v1alpha1','kind':'ClusterRuntime','metadata':{'name':'torch'},"
	                "'spec':{'image':'%s'}}",
	                image);

	assert_int_equal(sim_user(sim, (struct rh_request){.verb = verb,
	                                                   .resource = &lookup_runtimes,
	                                                   .namespace_ = "",
	                                                   .name = "torch",
	                                                   .body = verb == RH_VERB_DELETE ? NULL : sim_json(text),
	                                                   .grace_seconds = -1}),
	                 RH_OUTCOME_OK);
}

static const char *lookup_stalled(const struct sim *sim)
{
	const struct rh_json *item = rh_json_first(rh_json_at(sim_job(sim, "r"), "status.conditions"));

	while (item && strcmp(rh_json_string_at(item, "type"), "Stalled") != 0)
		item = rh_json_next(item);
	assert_non_null(item);
	assert_string_equal(rh_json_string_at(item, "reason"), "RuntimeJobWaiting");
	return rh_json_string_at(item, "message");
}

static const char *lookup_image(const struct sim *sim, const char *pod)
{
	return rh_json_string_at(sim_pod(sim, pod), "spec.containers[0].image");
}

static void test_lookup__a_job_waits(void **state)
{
	auto_sim sim = {0};

	lookup_open(&sim, state);
	lookup_create(&sim, "'runtimeRef':{'name':'torch'}");
	sim_assert(&sim, "r", "Stalled | ");
	assert_string_equal(lookup_stalled(&sim),
	                    "waits for ClusterRuntime \"torch\" of example.org/v1alpha1, which does not exist");
	assert_int_equal(sim_assert_event(&sim, "Warning RuntimeJobWaiting waits for ClusterRuntime"), 1);
	sim_wait(&sim, 60);
	assert_int_equal(sim_assert_event(&sim, "Warning RuntimeJobWaiting waits for ClusterRuntime"), 1);
	lookup_runtime(&sim, RH_VERB_CREATE, "blue");
	sim_settle(&sim);
	assert_string_equal(lookup_image(&sim, "r-node-0"), "blue");
	sim_play_pod(&sim, "r-node-0", "Running");
	sim_assert(&sim, "r", "Created Running | node-0 Running");
}

static void test_lookup__one_that_is_there(void **state)
{
	auto_sim sim = {0};

	lookup_open(&sim, state);
	lookup_runtime(&sim, RH_VERB_CREATE, "blue");
	lookup_create(&sim, "'runtimeRef':{'name':'torch'}");
	sim_assert(&sim, "r", "Created | node-0 Pending");
	sim_assert_no_event(&sim, "Warning");
}

/* What the job keeps itself counts from then on. */
static void test_lookup__a_snapshot(void **state)
{
	auto_sim sim = {0};

	lookup_open(&sim, state);
	lookup_runtime(&sim, RH_VERB_CREATE, "blue");
	lookup_create(&sim, "'runtimeRef':{'name':'torch'}");
	assert_non_null(rh_memory_store_find(sim.store, &sim_config_maps, "default", "r-runtime"));
	sim_wait(&sim, 40);
	lookup_runtime(&sim, RH_VERB_DELETE, "");
	sim_wait(&sim, 40);
	sim_patch(&sim, "r", "{'spec':{'replicaSpecs':{'Node':{'replicas':2}}}}");
	sim_wait(&sim, 40);
	assert_string_equal(lookup_image(&sim, "r-node-1"), "blue");
	sim_kill(&sim);
	sim_start(&sim);
	sim_delete_pod(&sim, "r-node-1", 0);
	sim_wait(&sim, 60);
	sim_assert(&sim, "r", "Created | node-0 Pending, node-1 Pending");
}

static const char *lookup_tier(const struct sim *sim, const char *pod)
{
	return rh_json_string_at(sim_pod(sim, pod), "spec.containers[0].env[1].value");
}

static void lookup_queue(struct sim *sim, enum rh_verb verb, const char *tier)
{
	rh_auto_free char *text = rh_asprintf("{'metadata':{'name':'q','labels':{'tier':'%s'}}}", tier);

	assert_int_equal(
		sim_user(sim,
	             (struct rh_request){.verb = verb, .resource = &lookup_queues, .name = "q", .body = sim_json(text)}),
		RH_OUTCOME_OK);
}

/* Pods that exist are left alone, new ones have the new content. */
static void test_lookup__it_changes(void **state)
{
	auto_sim sim = {0};

	lookup_open(&sim, state);
	lookup_runtime(&sim, RH_VERB_CREATE, "blue");
	lookup_queue(&sim, RH_VERB_CREATE, "gold");
	lookup_create(&sim, "'runtimeRef':{'name':'torch'},'queue':'q'");
	lookup_queue(&sim, RH_VERB_PATCH, "silver");
	sim_settle(&sim);
	sim_patch(&sim, "r", "{'spec':{'replicaSpecs':{'Node':{'replicas':2}}}}");
	sim_settle(&sim);
	assert_string_equal(lookup_tier(&sim, "r-node-0"), "gold");
	assert_string_equal(lookup_tier(&sim, "r-node-1"), "silver");
}

/* A job that runs goes on without it; a new controller does not know what it saw, and touches nothing. */
static void test_lookup__it_goes(void **state)
{
	auto_sim sim = {0};

	lookup_open(&sim, state);
	rh_memory_store_set_collector(sim.store, false);
	lookup_runtime(&sim, RH_VERB_CREATE, "blue");
	lookup_create(&sim, "'runtimeRef':{'name':'torch'}");
	lookup_runtime(&sim, RH_VERB_DELETE, "");
	sim_kill(&sim);
	(void)sim_user(&sim,
	               (struct rh_request){
					   .verb = RH_VERB_DELETE, .resource = &sim_config_maps, .name = "r-runtime", .grace_seconds = -1});
	sim_start(&sim);
	sim_wait(&sim, 60);
	sim_assert(&sim, "r", "Created Stalled | node-0 Pending");
	sim_play_pod(&sim, "r-node-0", "Running");
	sim_assert(&sim, "r", "Created Stalled | node-0 Running");
	lookup_runtime(&sim, RH_VERB_CREATE, "blue");
	sim_wait(&sim, 60);
	sim_assert(&sim, "r", "Created Running | node-0 Running");
}

static void test_lookup__refused(void **state)
{
	auto_sim sim = {0};

	lookup_open(&sim, state);
	lookup_create(&sim, "'runtimeRef':{'name':'torch','kind':'Secret'}");
	sim_assert(&sim, "r", "Created Failed | ");
	assert_int_equal(sim_assert_event(&sim, "Warning RuntimeJobFailedValidation RuntimeJob failed validation because "
	                                        "spec.runtimeRef.kind: Unsupported value: \"Secret\""),
	                 1);
}

/* After it has waited a job is as new: one that is not valid fails. */
static void test_lookup__refused_later(void **state)
{
	auto_sim sim = {0};

	lookup_open(&sim, state);
	lookup_create(&sim, "'runtimeRef':{'name':'torch'}");
	sim_assert(&sim, "r", "Stalled | ");
	assert_int_equal(sim_user(&sim, (struct rh_request){.verb = RH_VERB_CREATE,
	                                                    .resource = &lookup_runtimes,
	                                                    .namespace_ = "",
	                                                    .body = sim_json("{'metadata':{'name':'torch'},'spec':{}}")}),
	                 RH_OUTCOME_OK);
	sim_wait(&sim, 60);
	sim_assert(&sim, "r", "Created Failed | ");
}

static bool lookup_gate(void *arg, const struct rh_request *request, struct rh_outcome *ret_outcome, bool *ret_apply)
{
	const bool *open = arg;

	if (*open || strcmp(request->resource->kind, "ClusterRuntime") != 0)
		return false;
	*ret_outcome = (struct rh_outcome){.code = RH_OUTCOME_DENIED, .message = "clusterruntimes is forbidden"};
	*ret_apply = false;
	return true;
}

static void test_lookup__no_right(void **state)
{
	bool open = true;
	auto_sim sim = {0};

	lookup_open(&sim, state);
	lookup_runtime(&sim, RH_VERB_CREATE, "blue");
	open = false;
	rh_memory_store_set_gate(sim.store, lookup_gate, &open);
	lookup_create(&sim, "'runtimeRef':{'name':'torch'}");
	sim_assert(&sim, "r", "Stalled | ");
	assert_string_equal(lookup_stalled(&sim),
	                    "waits for ClusterRuntime \"torch\", which cannot be read: clusterruntimes is forbidden");
	open = true;
	sim_wait(&sim, 60);
	assert_string_equal(lookup_image(&sim, "r-node-0"), "blue");
}

/* Nothing of a job that is deleted while it is read is left. */
static void test_lookup__a_job_that_goes(void **state)
{
	auto_sim sim = {0};

	lookup_open(&sim, state);
	sim_create(&sim, sim_json("{'metadata':{'name':'r'},'spec':{'runtimeRef':{'name':'torch'},'replicaSpecs':{'Node':{"
	                          "'template':{'spec':{'containers':[{'name':'c','image':'i'}]}}}}}}"));
	for (int i = 0; i < 3; i++) {
		while (rh_memory_store_pending(sim.store) > 0 && rh_memory_store_pump(sim.store, 0))
			;
		rh_engine_step(sim.engine, sim.now);
	}
	sim_delete(&sim, "r");
	sim_settle(&sim);
	assert_null(sim_job(&sim, "r"));
}

int main(void)
{
	static bool places[] = {false, true};
	int failed = 0;

	for (size_t i = 0; i < 2; i++) {
		const struct CMUnitTest tests[] = {
			cmocka_unit_test_prestate(test_lookup__a_job_waits, &places[i]),
			cmocka_unit_test_prestate(test_lookup__one_that_is_there, &places[i]),
			cmocka_unit_test_prestate(test_lookup__a_snapshot, &places[i]),
			cmocka_unit_test_prestate(test_lookup__it_changes, &places[i]),
			cmocka_unit_test_prestate(test_lookup__it_goes, &places[i]),
			cmocka_unit_test_prestate(test_lookup__refused, &places[i]),
			cmocka_unit_test_prestate(test_lookup__refused_later, &places[i]),
			cmocka_unit_test_prestate(test_lookup__no_right, &places[i]),
			cmocka_unit_test_prestate(test_lookup__a_job_that_goes, &places[i]),
		};

		failed +=
			cmocka_run_group_tests_name(i == 0 ? "in this process" : "in a process of its own", tests, NULL, NULL);
	}
	return failed;
}
