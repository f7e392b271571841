/* SPDX-License-Identifier: Apache-2.0 */
/* Pods with names and labels of another shape: tests/abi/plugins/names.c. */
#include <string.h>

#include "engine/carry/sim.h"

/* @param state whether the plugin runs in a process of its own */
static void names_open(struct sim *sim, void **state)
{
	struct rh_error err = {0};

	sim_open(sim, false);
	sim->jobs = (struct rh_resource){"example.org/v1", "NamesJob", "namesjobs"};
	sim->config->plugin_isolation = *(const bool *)*state ? RH_ISOLATION_PROCESS : RH_ISOLATION_NONE;
	if (rh_host_try_file(sim->host, RH_NAMES, &err) < 0)
		fail_msg("%s", err.message);
	sim_start(sim);
}

/* @param labels of the template of nodes */
static void names_create(struct sim *sim, const char *nodes, const char *labels)
{
	rh_auto_free char *text =
		rh_asprintf("{'metadata':{'name':'n'},'spec':{'namesReplicaSpecs':{"
	                "'Launcher':{'template':{'spec':{'containers':[{'name':'c','image':'i'}]}}},"
	                "'Node':{'replicas':%s,'restartPolicy':'ExitCode','template':{'metadata':{'labels':{%s}},"
	                "'spec':{'containers':[{'name':'c','image':'i'}]}}}}}}",
	                nodes, labels);

	sim_create(sim, sim_json(text));
	sim_settle(sim);
}

/* A search for the pod whose name begins so. */
struct names_search {
	const char *begin;
	char *found; /* owned */
};

static void names_look(void *arg, const struct rh_json *object)
{
	struct names_search *search = arg;
	const char *name = rh_json_string_at(object, "metadata.name");

	if (rh_starts_with(name, search->begin) && !search->found)
		search->found = rh_strdup(name);
}

/* @return its name, owned by the caller; NULL: there is none */
static char *names_find(const struct sim *sim, const char *begin)
{
	struct names_search search = {begin, NULL};

	rh_memory_store_each(sim->store, &rh_resource_pods, names_look, &search);
	return search.found;
}

static void names_play(struct sim *sim, const char *begin, const char *phase, int code)
{
	rh_auto_free char *name = names_find(sim, begin);

	assert_non_null(name);
	sim_set_pod(sim, name, phase, code, 0);
	sim_settle(sim);
}

static int64_t names_count(const struct sim *sim, const char *path)
{
	int64_t value = 0;

	(void)rh_json_integer(rh_json_at(sim_job(sim, "n"), path), &value);
	return value;
}

static void test_names__a_life(void **state)
{
	rh_auto_free char *shown = NULL;
	auto_sim sim = {0};

	names_open(&sim, state);
	names_create(
		&sim, "2",
		"'training.kubeflow.org/replica-type':'worker','training.kubeflow.org/operator-name':'pytorchjob-controller'");
	names_play(&sim, "n-launcher-0-", "Running", 0);
	names_play(&sim, "n-node-0-0-", "Running", 0);
	names_play(&sim, "n-node-0-1-", "Running", 0);
	sim_wait(&sim, 5);
	assert_int_equal(names_count(&sim, "status.replicaStatuses.Node.active"), 2);
	assert_true(rh_starts_with(rh_json_string_at(sim_job(&sim, "n"), "status.replicaStatuses.Node.selector"),
	                           "roundhouse.dev/operator-name=namesjob-controller,"));
	/* another engine finds them */
	sim_kill(&sim);
	sim_start(&sim);
	sim_settle(&sim);
	assert_false(rh_engine_busy(sim.engine));
	/* a failure that may be tried again */
	names_play(&sim, "n-node-0-1-", "Failed", 130);
	names_play(&sim, "n-node-0-1-", "Running", 0);
	names_play(&sim, "n-launcher-0-", "Succeeded", 0);
	shown = sim_show(&sim, "n");
	if (!strstr(shown, "Succeeded"))
		fail_msg("%s", shown);
}

static void test_names__scaling_down(void **state)
{
	char *gone[2], *kept;
	auto_sim sim = {0};

	names_open(&sim, state);
	names_create(&sim, "3", "");
	names_play(&sim, "n-node-0-0-", "Running", 0);
	names_play(&sim, "n-node-0-2-", "Running", 0);
	sim_patch(&sim, "n", "{'spec':{'namesReplicaSpecs':{'Node':{'replicas':1}}}}");
	sim_wait(&sim, 5);
	gone[0] = names_find(&sim, "n-node-0-1-");
	gone[1] = names_find(&sim, "n-node-0-2-");
	kept = names_find(&sim, "n-node-0-0-");
	assert_null(gone[0]);
	assert_null(gone[1]);
	assert_non_null(kept);
	rh_free(kept);
}

/* A pod of somebody else has the name: its end makes the job due at once, not after a back-off. */
static void test_names__a_name_is_free_again(void **state)
{
	rh_auto_free char *name = NULL;
	rh_auto_free char *pod = NULL;
	auto_sim sim = {0};

	names_open(&sim, state);
	names_create(&sim, "1", "");
	name = names_find(&sim, "n-node-0-0-");
	pod = rh_asprintf("{'metadata':{'name':'%s','labels':{'training.kubeflow.org/"
	                  "job-name':'other'}},'spec':{'containers':[{'name':'c','image':'i'}]}}",
	                  name);
	sim_kill(&sim);
	sim_delete_pod(&sim, name, 0);
	assert_int_equal(
		sim_user(&sim,
	             (struct rh_request){.verb = RH_VERB_CREATE, .resource = &rh_resource_pods, .body = sim_json(pod)}),
		RH_OUTCOME_OK);
	sim_start(&sim);
	sim_wait(&sim, 30);
	assert_null(rh_json_at(sim_pod(&sim, name), "metadata.ownerReferences"));
	sim_delete_pod(&sim, name, 0);
	sim_settle(&sim);
	assert_non_null(rh_json_at(sim_pod(&sim, name), "metadata.ownerReferences"));
}

/* Pods without an owner become the job's again. */
static void test_names__orphans_are_adopted(void **state)
{
	rh_auto_free char *name = NULL;
	auto_sim sim = {0};

	names_open(&sim, state);
	names_create(&sim, "1", "");
	name = names_find(&sim, "n-node-0-0-");
	sim_kill(&sim);
	assert_int_equal(sim_user(&sim, (struct rh_request){.verb = RH_VERB_PATCH,
	                                                    .resource = &rh_resource_pods,
	                                                    .name = name,
	                                                    .body = sim_json("{'metadata':{'ownerReferences':null}}")}),
	                 RH_OUTCOME_OK);
	sim_start(&sim);
	sim_settle(&sim);
	assert_string_equal(rh_json_string_at(sim_pod(&sim, name), "metadata.ownerReferences[0].kind"), "NamesJob");
}

int main(void)
{
	static bool places[] = {false, true};
	int failed = 0;

	for (size_t i = 0; i < 2; i++) {
		const struct CMUnitTest tests[] = {
			cmocka_unit_test_prestate(test_names__a_life, &places[i]),
			cmocka_unit_test_prestate(test_names__scaling_down, &places[i]),
			cmocka_unit_test_prestate(test_names__a_name_is_free_again, &places[i]),
			cmocka_unit_test_prestate(test_names__orphans_are_adopted, &places[i]),
		};

		failed +=
			cmocka_run_group_tests_name(i == 0 ? "in this process" : "in a process of its own", tests, NULL, NULL);
	}
	return failed;
}
