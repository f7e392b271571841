/* SPDX-License-Identifier: Apache-2.0 */
/* Objects that are made once, of random bytes, and objects that outlive their job. */
#include <stdio.h>
#include <string.h>

#include "engine/carry/sim.h"
#include "store/memory.h"

/* More steps than a job needs until its pods are there. */
#define STEPS_MAX 400

static const struct rh_resource secrets = {"v1", "Secret", "secrets"};
static const struct rh_resource claims = {"v1", "PersistentVolumeClaim", "persistentvolumeclaims"};

/* What the requests about Secrets looked like. */
struct watched_requests {
	int creates;
	int reads;
	int with_content; /* of those that may show content: these must be none */
	bool open;        /* the body of a create may be kept in memory */
	char key[128];    /* what the last Secret had */
};

static bool made_gate(void *arg, const struct rh_request *request, struct rh_outcome *ret_outcome, bool *ret_apply)
{
	struct watched_requests *seen = arg;

	(void)ret_outcome;
	(void)ret_apply;
	if (strcmp(request->resource->kind, "Secret") != 0)
		return false;
	seen->creates += request->verb == RH_VERB_CREATE;
	seen->reads += request->verb == RH_VERB_FIND || request->verb == RH_VERB_GET;
	seen->with_content += request->verb != RH_VERB_DELETE && !request->metadata;
	seen->open = seen->open || (request->verb == RH_VERB_CREATE && !request->secret);
	return false;
}

/* @param state whether the plugin runs in a process of its own */
static void made_open(struct sim *sim, struct watched_requests *seen, void **state)
{
	struct rh_error err = {0};
	int r;

	sim_open(sim, false);
	sim->jobs = (struct rh_resource){"example.org/v1", "KeypairJob", "keypairjobs"};
	sim->config->plugin_isolation = *(const bool *)*state ? RH_ISOLATION_PROCESS : RH_ISOLATION_NONE;
	r = rh_host_try_file(sim->host, RH_KEYPAIR, &err);
	if (r < 0)
		fail_msg("%s", err.message);
	rh_memory_store_set_gate(sim->store, made_gate, seen);
	sim_start(sim);
}

static void made_create(struct sim *sim, const char *spec)
{
	rh_auto_free char *text = rh_asprintf(
		"{'metadata':{'name':'k'},'spec':{%s'keypairReplicaSpecs':{'Worker':{'replicas':2,'template':{'spec':"
		"{'containers':[{'name':'c','image':'i'}]}}}}}}",
		spec);

	sim_create(sim, sim_json(text));
}

static const struct rh_json *made_secret(const struct sim *sim)
{
	return rh_memory_store_find(sim->store, &secrets, "default", "k-keys");
}

/* @return its key, owned by the caller */
static char *made_key(const struct sim *sim)
{
	const char *key = rh_json_string_at(made_secret(sim), "stringData.key");

	if (!key)
		fail_msg("there is no key");
	assert_int_equal(strlen(key), 32);
	assert_null(strstr(key, "00000000000000000000000000000000"));
	return rh_strdup(key);
}

/* The ledger names the Secret that there is, and all pods are there. */
static void made_assert_complete(const struct sim *sim)
{
	const char *ledger =
		rh_json_string(rh_json_get(rh_json_at(sim_job(sim, "k"), "metadata.annotations"), "roundhouse.dev/ledger"));
	rh_auto_free char *entry =
		rh_asprintf("\"made\":{\"Secret/k-keys\":\"%s\"}", rh_json_string_at(made_secret(sim), "metadata.uid"));

	assert_non_null(ledger);
	if (!strstr(ledger, entry))
		fail_msg("%s is not in %s", entry, ledger);
	assert_non_null(sim_pod(sim, "k-worker-0"));
	assert_non_null(sim_pod(sim, "k-worker-1"));
}

static void made_delete_secret(struct sim *sim)
{
	assert_int_equal(sim_user(sim, (struct rh_request){.verb = RH_VERB_DELETE, .resource = &secrets, .name = "k-keys"}),
	                 RH_OUTCOME_OK);
}

/* Somebody else makes a Secret of that name. */
static void made_forge(struct sim *sim, const char *owner)
{
	rh_auto_free char *text = rh_asprintf("{'metadata':{'name':'k-keys',%s},'stringData':{'key':'forged'}}", owner);

	assert_int_equal(
		sim_user(sim, (struct rh_request){.verb = RH_VERB_CREATE, .resource = &secrets, .body = sim_json(text)}),
		RH_OUTCOME_OK);
}

/* @return the part of an owner reference of the job, owned by the caller */
static char *made_owner(const struct sim *sim)
{
	return rh_asprintf("'ownerReferences':[{'apiVersion':'example.org/"
	                   "v1','kind':'KeypairJob','name':'k','uid':'%s','controller':true}]",
	                   rh_json_string_at(sim_job(sim, "k"), "metadata.uid"));
}

static void test_made__once_before_pods(void **state)
{
	struct watched_requests seen = {0};
	rh_auto_free char *key = NULL;
	rh_auto_free char *later = NULL;
	auto_sim sim = {0};

	made_open(&sim, &seen, state);
	made_create(&sim, "");
	sim_settle(&sim);
	made_assert_complete(&sim);
	key = made_key(&sim);
	sim_set_pod(&sim, "k-worker-0", "Running", 0, 0);
	sim_wait(&sim, 100);
	sim_set_pod(&sim, "k-worker-1", "Running", 0, 0);
	sim_wait(&sim, 100);
	later = made_key(&sim);
	assert_string_equal(key, later);
	assert_int_equal(seen.creates, 1);
	assert_int_equal(seen.with_content, 0);
	assert_false(seen.open);
}

static void test_made__another_engine_makes_none(void **state)
{
	struct watched_requests seen = {0};
	auto_sim sim = {0};

	made_open(&sim, &seen, state);
	made_create(&sim, "");
	sim_settle(&sim);
	sim_kill(&sim);
	sim_start(&sim);
	sim_settle(&sim);
	made_assert_complete(&sim);
	assert_int_equal(seen.creates, 1);
}

static void test_made__gone_is_made_anew(void **state)
{
	struct watched_requests seen = {0};
	rh_auto_free char *key = NULL;
	rh_auto_free char *later = NULL;
	auto_sim sim = {0};

	made_open(&sim, &seen, state);
	made_create(&sim, "");
	sim_settle(&sim);
	key = made_key(&sim);
	made_delete_secret(&sim);
	sim_wait(&sim, 31);
	sim_set_pod(&sim, "k-worker-0", "Running", 0, 0);
	sim_settle(&sim);
	later = made_key(&sim);
	assert_string_not_equal(key, later);
	made_assert_complete(&sim);
}

static void test_made__forged_is_replaced(void **state)
{
	struct watched_requests seen = {0};
	rh_auto_free char *owner = NULL;
	auto_sim sim = {0};

	made_open(&sim, &seen, state);
	made_create(&sim, "");
	sim_settle(&sim);
	owner = made_owner(&sim);
	made_delete_secret(&sim);
	made_forge(&sim, owner);
	sim_wait(&sim, 31);
	sim_set_pod(&sim, "k-worker-0", "Running", 0, 0);
	sim_wait(&sim, 3);
	rh_free(made_key(&sim));
	made_assert_complete(&sim);
	assert_int_equal(seen.with_content, 1); /* the forged one's create */
}

static void test_made__forged_before_the_job_is_served(void **state)
{
	struct watched_requests seen = {0};
	rh_auto_free char *owner = NULL;
	auto_sim sim = {0};

	made_open(&sim, &seen, state);
	sim_kill(&sim);
	made_create(&sim, "");
	owner = made_owner(&sim);
	made_forge(&sim, owner);
	sim_start(&sim);
	sim_wait(&sim, 3);
	rh_free(made_key(&sim));
	made_assert_complete(&sim);
}

static void test_made__without_a_ledger_pods_vouch(void **state)
{
	struct watched_requests seen = {0};
	rh_auto_free char *key = NULL;
	rh_auto_free char *later = NULL;
	auto_sim sim = {0};

	made_open(&sim, &seen, state);
	made_create(&sim, "");
	sim_settle(&sim);
	key = made_key(&sim);
	sim_kill(&sim);
	sim_patch(&sim, "k", "{'metadata':{'annotations':{'roundhouse.dev/ledger':null}}}");
	sim_start(&sim);
	sim_settle(&sim);
	later = made_key(&sim);
	assert_string_equal(key, later);
	made_assert_complete(&sim);
}

static void test_made__name_of_another(void **state)
{
	struct watched_requests seen = {0};
	rh_auto_free char *show = NULL;
	auto_sim sim = {0};

	made_open(&sim, &seen, state);
	made_forge(&sim, "'labels':{}");
	made_create(&sim, "");
	sim_settle(&sim);
	show = sim_show(&sim, "k");
	assert_string_equal(show, "Created Stalled | ");
	assert_string_equal(rh_json_string_at(made_secret(&sim), "stringData.key"), "forged");
}

/* The engine ends after each of its steps, and another one goes on. */
static void test_made__crashes(void **state)
{
	bool whole = false;

	for (int steps = 1; steps < STEPS_MAX && !whole; steps++) {
		struct watched_requests seen = {0};
		auto_sim sim = {0};
		int done = 0;

		made_open(&sim, &seen, state);
		made_create(&sim, "");
		while (done < steps && !sim_pod(&sim, "k-worker-1")) {
			if (!rh_memory_store_pump(sim.store, 0))
				rh_engine_step(sim.engine, sim.now);
			done++;
		}
		whole = done < steps;
		sim_kill(&sim);
		sim_start(&sim);
		sim_wait(&sim, 3);
		rh_free(made_key(&sim));
		made_assert_complete(&sim);
		assert_in_range(seen.creates, 1, 2);
	}
	assert_true(whole);
}

static void test_made__snapshot_is_as_named(void **state)
{
	const struct rh_json *map;
	struct watched_requests seen = {0};
	auto_sim sim = {0};

	made_open(&sim, &seen, state);
	made_create(&sim, "'snapshot':'now',");
	sim_settle(&sim);
	map = rh_memory_store_find(sim.store, &sim_config_maps, "default", "now");
	assert_string_equal(rh_json_string_at(map, "data.a"), "b");
	assert_int_equal(sim_user(&sim, (struct rh_request){.verb = RH_VERB_PATCH,
	                                                    .resource = &sim_config_maps,
	                                                    .name = "now",
	                                                    .body = sim_json("{'data':{'a':'c'}}")}),
	                 RH_OUTCOME_OK);
	sim_kill(&sim);
	sim_start(&sim);
	sim_wait(&sim, 40);
	map = rh_memory_store_find(sim.store, &sim_config_maps, "default", "now");
	assert_string_equal(rh_json_string_at(map, "data.a"), "c");
}

static void test_made__retained_outlives_the_job(void **state)
{
	struct watched_requests seen = {0};
	const struct rh_json *claim;
	auto_sim sim = {0};

	made_open(&sim, &seen, state);
	made_create(&sim, "'claim':'disk',");
	sim_settle(&sim);
	claim = rh_memory_store_find(sim.store, &claims, "default", "disk");
	assert_non_null(claim);
	assert_null(rh_json_at(claim, "metadata.ownerReferences"));
	assert_string_equal(rh_json_string(rh_json_get(rh_json_at(claim, "metadata.labels"), "roundhouse.dev/job-uid")),
	                    rh_json_string_at(sim_job(&sim, "k"), "metadata.uid"));
	assert_non_null(sim_pod(&sim, "k-worker-0"));
	/* found again */
	sim_kill(&sim);
	sim_start(&sim);
	sim_wait(&sim, 3);
	sim_assert(&sim, "k", "Created | worker-0 Pending, worker-1 Pending");
	/* named no more */
	sim_patch(&sim, "k", "{'spec':{'claim':null}}");
	sim_wait(&sim, 3);
	assert_non_null(rh_memory_store_find(sim.store, &claims, "default", "disk"));
	sim_delete(&sim, "k");
	sim_wait(&sim, 3);
	assert_null(made_secret(&sim));
	assert_non_null(rh_memory_store_find(sim.store, &claims, "default", "disk"));
}

int main(void)
{
	static bool places[] = {false, true};
	int failed = 0;

	for (size_t i = 0; i < 2; i++) {
		const struct CMUnitTest tests[] = {
			cmocka_unit_test_prestate(test_made__once_before_pods, &places[i]),
			cmocka_unit_test_prestate(test_made__another_engine_makes_none, &places[i]),
			cmocka_unit_test_prestate(test_made__gone_is_made_anew, &places[i]),
			cmocka_unit_test_prestate(test_made__forged_is_replaced, &places[i]),
			cmocka_unit_test_prestate(test_made__forged_before_the_job_is_served, &places[i]),
			cmocka_unit_test_prestate(test_made__without_a_ledger_pods_vouch, &places[i]),
			cmocka_unit_test_prestate(test_made__name_of_another, &places[i]),
			cmocka_unit_test_prestate(test_made__crashes, &places[i]),
			cmocka_unit_test_prestate(test_made__snapshot_is_as_named, &places[i]),
			cmocka_unit_test_prestate(test_made__retained_outlives_the_job, &places[i]),
		};

		failed +=
			cmocka_run_group_tests_name(i == 0 ? "in this process" : "in a process of its own", tests, NULL, NULL);
	}
	return failed;
}
