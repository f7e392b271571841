/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs whose replica types come from their plugin: tests/abi/plugins/expand.c. */
#include <string.h>

#include "engine/carry/job/tree_state.h"
#include "engine/carry/sim.h"
#include "engine/carry/snapshot.h"

static const struct rh_resource bodies_runtimes = {"example.org/v1alpha1", "NodesRuntime", "nodesruntimes"};

#define BODIES_NODE(image) "'node':{'spec':{'containers':[{'name':'c','image':'" image "'}]}}"

/* @param state whether the plugin runs in a process of its own */
static void bodies_open(struct sim *sim, void **state)
{
	struct rh_error err = {0};

	sim_open(sim, false);
	sim->jobs = (struct rh_resource){"example.org/v1", "NodesJob", "nodesjobs"};
	sim->config->plugin_isolation = *(const bool *)*state ? RH_ISOLATION_PROCESS : RH_ISOLATION_NONE;
	if (rh_host_try_file(sim->host, RH_EXPAND, &err) < 0)
		fail_msg("%s", err.message);
	sim_start(sim);
}

static void bodies_runtime(struct sim *sim, enum rh_verb verb, const char *spec)
{
	rh_auto_free char *text =
		rh_asprintf("{'apiVersion':'example.org/v1alpha1','kind':'NodesRuntime','metadata':{'name':'torch'},"
	                "'spec':{%s}}",
	                spec);

	assert_int_equal(sim_user(sim, (struct rh_request){.verb = verb,
	                                                   .resource = &bodies_runtimes,
	                                                   .namespace_ = "",
	                                                   .name = "torch",
	                                                   .body = sim_json(text),
	                                                   .grace_seconds = -1}),
	                 RH_OUTCOME_OK);
	sim_settle(sim);
}

/* Create the job "r". @param spec more members of it */
static void bodies_create(struct sim *sim, const char *spec)
{
	rh_auto_free char *text = rh_asprintf("{'metadata':{'name':'r'},'spec':{'runtimeRef':{'name':'torch'}%s}}", spec);

	sim_create(sim, sim_json(text));
	sim_settle(sim);
}

static void test_bodies__a_job_runs(void **state)
{
	auto_sim sim = {0};

	bodies_open(&sim, state);
	bodies_create(&sim, ",'trainer':{'numNodes':2}");
	sim_assert(&sim, "r", "Stalled | ");
	bodies_runtime(&sim, RH_VERB_CREATE, BODIES_NODE("blue"));
	sim_wait(&sim, 15);
	sim_assert(&sim, "r", "Created | node-0 Pending, node-1 Pending");
	sim_play_pod(&sim, "r-node-0", "Running");
	sim_play_pod(&sim, "r-node-1", "Running");
	sim_assert(&sim, "r", "Created Running | node-0 Running, node-1 Running");
	sim_play_pod(&sim, "r-node-0", "Succeeded");
	sim_play_pod(&sim, "r-node-1", "Succeeded");
	assert_int_equal(sim_assert_event(&sim, "Normal NodesJobSucceeded"), 1);
}

/* What is edited is asked for again: of the job, and of the runtime. */
static void test_bodies__it_changes(void **state)
{
	auto_sim sim = {0};

	bodies_open(&sim, state);
	bodies_runtime(&sim, RH_VERB_CREATE, BODIES_NODE("blue"));
	bodies_create(&sim, "");
	sim_assert(&sim, "r", "Created | node-0 Pending");
	sim_patch(&sim, "r", "{'spec':{'trainer':{'numNodes':3}}}");
	sim_settle(&sim);
	sim_assert(&sim, "r", "Created | node-0 Pending, node-1 Pending, node-2 Pending");
	bodies_runtime(&sim, RH_VERB_PATCH, BODIES_NODE("red"));
	sim_delete_pod(&sim, "r-node-1", 0);
	sim_wait(&sim, 60);
	assert_string_equal(rh_json_string_at(sim_pod(&sim, "r-node-1"), "spec.containers[0].image"), "red");
	assert_string_equal(rh_json_string_at(sim_pod(&sim, "r-node-0"), "spec.containers[0].image"), "blue");
	sim_patch(&sim, "r", "{'spec':{'trainer':{'numNodes':1}}}");
	sim_wait(&sim, 60);
	sim_assert(&sim, "r", "Created | node-0 Pending");
}

/* A new job that is refused fails; one with pods goes on, also when the controller starts anew. */
static void test_bodies__refused(void **state)
{
	auto_sim sim = {0};

	bodies_open(&sim, state);
	bodies_runtime(&sim, RH_VERB_CREATE, BODIES_NODE("blue"));
	bodies_create(&sim, ",'trainer':{'numNodes':2}");
	sim_patch(&sim, "r", "{'spec':{'trainer':{'numNodes':-1}}}");
	sim_wait(&sim, 60);
	sim_assert(&sim, "r", "Created | node-0 Pending, node-1 Pending");
	assert_int_equal(sim_assert_event(&sim, "Warning NodesJobFailedValidation NodesJob failed validation because "
	                                        "spec.trainer.numNodes: Invalid value: must be 1 to 1000"),
	                 1);
	sim_kill(&sim);
	sim_start(&sim);
	sim_wait(&sim, 60);
	sim_assert(&sim, "r", "Created | node-0 Pending, node-1 Pending");
	sim_patch(&sim, "r", "{'spec':{'trainer':{'numNodes':1}}}");
	sim_wait(&sim, 60);
	sim_assert(&sim, "r", "Created | node-0 Pending");
}

/* A new controller has no expansion: it asks for it before it judges, and no pod is made or ended meanwhile. */
static void test_bodies__a_new_controller(void **state)
{
	rh_auto_free char *uid = NULL;
	auto_sim sim = {0};

	bodies_open(&sim, state);
	bodies_runtime(&sim, RH_VERB_CREATE, BODIES_NODE("blue"));
	bodies_create(&sim, ",'trainer':{'numNodes':2}");
	sim_play_pod(&sim, "r-node-0", "Running");
	sim_play_pod(&sim, "r-node-1", "Running");
	uid = rh_strdup(rh_json_string_at(sim_pod(&sim, "r-node-1"), "metadata.uid"));
	sim_kill(&sim);
	sim_set_pod(&sim, "r-node-0", "Succeeded", 0, 0);
	sim_start(&sim);
	sim_wait(&sim, 60);
	sim_assert(&sim, "r", "Created Running | node-0 Succeeded, node-1 Running");
	assert_string_equal(rh_json_string_at(sim_pod(&sim, "r-node-1"), "metadata.uid"), uid);
	sim_kill(&sim);
	sim_set_pod(&sim, "r-node-1", "Succeeded", 0, 0);
	sim_start(&sim);
	sim_settle(&sim);
	assert_int_equal(sim_assert_event(&sim, "Normal NodesJobSucceeded"), 1);
}

/* Nor can it ask when the runtime is gone. It says so and touches no pod; what happened meanwhile counts later. */
static void test_bodies__a_new_controller_without_the_runtime(void **state)
{
	auto_sim sim = {0};

	bodies_open(&sim, state);
	bodies_runtime(&sim, RH_VERB_CREATE, BODIES_NODE("blue"));
	bodies_create(&sim, ",'trainer':{'numNodes':2}");
	sim_play_pod(&sim, "r-node-0", "Running");
	sim_play_pod(&sim, "r-node-1", "Running");
	bodies_runtime(&sim, RH_VERB_DELETE, "");
	sim_kill(&sim);
	sim_start(&sim);
	sim_wait(&sim, 60);
	sim_assert(&sim, "r", "Created Running Stalled | node-0 Running, node-1 Running");
	sim_play_pod(&sim, "r-node-0", "Succeeded");
	sim_delete_pod(&sim, "r-node-1", 0);
	sim_wait(&sim, 60);
	sim_assert(&sim, "r", "Created Running Stalled | node-0 Succeeded");
	bodies_runtime(&sim, RH_VERB_CREATE, BODIES_NODE("blue"));
	sim_wait(&sim, 60);
	sim_play_pod(&sim, "r-node-1", "Running");
	sim_assert(&sim, "r", "Created Running | node-0 Succeeded, node-1 Running");
	sim_play_pod(&sim, "r-node-1", "Succeeded");
	assert_int_equal(sim_assert_event(&sim, "Normal NodesJobSucceeded"), 1);
}

static void bodies_expire(void **state, bool is_gone)
{
	auto_sim sim = {0};

	bodies_open(&sim, state);
	bodies_runtime(&sim, RH_VERB_CREATE, BODIES_NODE("blue") ",'runPolicy':{'ttlSecondsAfterFinished':1000}");
	bodies_create(&sim, "");
	sim_play_pod(&sim, "r-node-0", "Running");
	sim_play_pod(&sim, "r-node-0", "Succeeded");
	if (is_gone)
		bodies_runtime(&sim, RH_VERB_DELETE, "");
	sim_kill(&sim);
	sim_start(&sim);
	sim_wait(&sim, 60);
	sim_assert(&sim, "r", "Created Succeeded | node-0 Succeeded");
	if (is_gone)
		bodies_runtime(&sim, RH_VERB_CREATE, BODIES_NODE("blue") ",'runPolicy':{'ttlSecondsAfterFinished':1000}");
	sim_wait(&sim, 2000);
	assert_null(sim_job(&sim, "r"));
}

/* The run policy of an expansion also counts for a job that ended under another controller. */
static void test_bodies__a_new_controller_of_a_finished_job(void **state)
{
	bodies_expire(state, false);
}

/* It is known again when the runtime is there. */
static void test_bodies__a_finished_job_without_the_runtime(void **state)
{
	bodies_expire(state, true);
}

/* No tree of the job is left, as after a while without work. @param has_text whether its text is */
static void bodies_evict(struct sim *sim, bool has_text)
{
	struct snapshot_job job;

	rh_engine_rest(sim->engine);
	job = snapshot_job(sim->engine, "r");
	assert_false(job.has_tree);
	assert_int_equal(job.has_text, has_text);
	assert_true(job.has_expansion);
}

/* The job "r" of two nodes is refused and has to go on; a third node comes when it is corrected. */
static void bodies_refuse_evicted(struct sim *sim, bool has_text)
{
	bodies_evict(sim, has_text);
	sim_patch(sim, "r", "{'spec':{'trainer':{'numNodes':-1}}}");
	sim_settle(sim);
	assert_int_equal(sim_assert_event(sim, "Warning NodesJobFailedValidation"), 1);
	bodies_evict(sim, has_text);
	sim_delete_pod(sim, "r-node-1", 0);
	sim_wait(sim, 60);
	sim_assert(sim, "r", "Created | node-0 Pending, node-1 Pending");
	sim_patch(sim, "r", "{'spec':{'trainer':{'numNodes':3}}}");
	sim_wait(sim, 60);
	sim_assert(sim, "r", "Created | node-0 Pending, node-1 Pending, node-2 Pending");
}

/* A job that was evicted when it is edited still has the replica types that it had. */
static void test_bodies__refused_when_evicted(void **state)
{
	auto_sim sim = {0};

	bodies_open(&sim, state);
	bodies_runtime(&sim, RH_VERB_CREATE, BODIES_NODE("blue"));
	bodies_create(&sim, ",'trainer':{'numNodes':2}");
	bodies_refuse_evicted(&sim, true);
	sim_delete(&sim, "r");
	sim_wait(&sim, 60);
	assert_int_equal(snapshot_engine(sim.engine).text_bytes, 0);
}

/* Likewise one that is large: nothing but its name and its replica types were kept. */
static void test_bodies__refused_when_unread(void **state)
{
	auto_sim sim = {0};
	rh_auto_free char *command = rh_alloc(RH_TREES_TEXT_WEIGHT + 1);
	rh_auto_free char *spec = NULL;

	assert_non_null(command);
	memset(command, 'x', RH_TREES_TEXT_WEIGHT);
	spec = rh_asprintf(",'trainer':{'numNodes':2,'command':['%s']}", command);
	assert_non_null(spec);
	bodies_open(&sim, state);
	bodies_runtime(&sim, RH_VERB_CREATE, BODIES_NODE("blue"));
	bodies_create(&sim, spec);
	bodies_refuse_evicted(&sim, false);
}

/* A new job of the same name has nothing of the one before. */
static void test_bodies__another_job(void **state)
{
	auto_sim sim = {0};

	bodies_open(&sim, state);
	bodies_runtime(&sim, RH_VERB_CREATE, BODIES_NODE("blue"));
	bodies_create(&sim, ",'trainer':{'numNodes':2}");
	bodies_evict(&sim, true);
	sim_delete(&sim, "r");
	bodies_create(&sim, ",'trainer':{'numNodes':-1}");
	sim_wait(&sim, 60);
	sim_assert(&sim, "r", "Created Failed | ");
}

static void test_bodies__refused_at_once(void **state)
{
	auto_sim sim = {0};

	bodies_open(&sim, state);
	bodies_runtime(&sim, RH_VERB_CREATE, BODIES_NODE("blue"));
	bodies_create(&sim, ",'trainer':{'numNodes':-1}");
	sim_assert(&sim, "r", "Created Failed | ");
}

/* An expansion that does not fit is the plugin's failure. */
static void test_bodies__hostile(void **state)
{
	auto_sim sim = {0};

	bodies_open(&sim, state);
	bodies_runtime(&sim, RH_VERB_CREATE, BODIES_NODE("blue"));
	sim_create(&sim, sim_json("{'metadata':{'name':'r','annotations':{'example.org/answer':'[]'}},"
	                          "'spec':{'runtimeRef':{'name':'torch'}}}"));
	sim_settle(&sim);
	sim_assert(&sim, "r", "Created Failed | ");
	assert_int_equal(sim_assert_event(&sim, "Warning NodesJobPluginFailed NodesJob default/r: plugin expand, expand(): "
	                                        "expansion(): it must be an object"),
	                 1);
}

/* Members of the run policy that the plugin gives count. */
static void test_bodies__policy(void **state)
{
	auto_sim sim = {0};

	bodies_open(&sim, state);
	bodies_runtime(&sim, RH_VERB_CREATE, BODIES_NODE("blue") ",'runPolicy':{'activeDeadlineSeconds':100}");
	bodies_create(&sim, "");
	sim_assert(&sim, "r", "Created | node-0 Pending");
	sim_wait(&sim, 200);
	sim_assert(&sim, "r", "Created Failed | ");
}

int main(void)
{
	static bool places[] = {false, true};
	int failed = 0;

	for (size_t i = 0; i < 2; i++) {
		const struct CMUnitTest tests[] = {
			cmocka_unit_test_prestate(test_bodies__a_job_runs, &places[i]),
			cmocka_unit_test_prestate(test_bodies__it_changes, &places[i]),
			cmocka_unit_test_prestate(test_bodies__refused, &places[i]),
			cmocka_unit_test_prestate(test_bodies__a_new_controller, &places[i]),
			cmocka_unit_test_prestate(test_bodies__a_new_controller_without_the_runtime, &places[i]),
			cmocka_unit_test_prestate(test_bodies__a_new_controller_of_a_finished_job, &places[i]),
			cmocka_unit_test_prestate(test_bodies__a_finished_job_without_the_runtime, &places[i]),
			cmocka_unit_test_prestate(test_bodies__refused_when_evicted, &places[i]),
			cmocka_unit_test_prestate(test_bodies__refused_when_unread, &places[i]),
			cmocka_unit_test_prestate(test_bodies__another_job, &places[i]),
			cmocka_unit_test_prestate(test_bodies__refused_at_once, &places[i]),
			cmocka_unit_test_prestate(test_bodies__hostile, &places[i]),
			cmocka_unit_test_prestate(test_bodies__policy, &places[i]),
		};

		failed +=
			cmocka_run_group_tests_name(i == 0 ? "in this process" : "in a process of its own", tests, NULL, NULL);
	}
	return failed;
}
