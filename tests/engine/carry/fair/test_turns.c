/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs of one namespace get their turns however many jobs of another are due. Turns are counted, not time. */
#include <stdio.h>
#include <string.h>

#include "base/os/clock.h"
#include "engine/carry/sim.h"
#include "engine/carry/snapshot.h"

#define FLOOD 400
#define WORKERS 5
#define CREATES 16
/* Jobs of 100 KB that take more than RH_TREES_BYTES. */
#define WIDE 90

/* Creates of pods and Services as they reach the store. */
struct counts {
	int flood;
	int calm;
	int flood_before; /* creates of the flood, when the calm one's first came */
	int others;
};

static bool count_create(void *arg, const struct rh_request *request, struct rh_outcome *ret_outcome, bool *ret_apply)
{
	struct counts *counts = arg;

	(void)ret_outcome;
	(void)ret_apply;
	if (request->verb != RH_VERB_CREATE || strcmp(request->resource->kind, "Event") == 0)
		return false;
	if (strcmp(request->resource->kind, "PyTorchJob") == 0)
		return false;
	if (strcmp(request->namespace_, "flood") == 0)
		counts->flood++;
	else if (counts->calm++ == 0)
		counts->flood_before = counts->flood;
	return false;
}

/** @param job taken */
static void create(struct sim *sim, const char *namespace_, struct rh_json *job)
{
	assert_int_equal(rh_json_set_string(rh_json_get(job, "metadata"), "namespace", namespace_), 0);
	assert_int_equal(
		sim_user(
			sim,
			(struct rh_request){.verb = RH_VERB_CREATE, .resource = &sim->jobs, .namespace_ = namespace_, .body = job}),
		RH_OUTCOME_OK);
}

static void create_job(struct sim *sim, const char *namespace_, const char *name)
{
	create(sim, namespace_, sim_new_job(name, "Worker=Never*5", NULL, NULL));
}

/* A flood has begun: all its jobs are known, and its creates have taken all places. */
static void open_flood(struct sim *sim, struct counts *counts)
{
	char name[32];

	sim_open(sim, false);
	sim->options.creates = CREATES;
	sim_start(sim);
	sim_settle(sim);
	rh_memory_store_set_gate(sim->store, count_create, counts);
	for (int i = 0; i < FLOOD; i++) {
		snprintf(name, sizeof(name), "j%d", i);
		create_job(sim, "flood", name);
	}
	while (snapshot_engine(sim->engine).creates < CREATES || snapshot_engine(sim->engine).throttled < FLOOD / 2) {
		assert_true(rh_memory_store_pump(sim->store, 0));
		rh_engine_step(sim->engine, sim->now);
	}
}

/* Deliver one after the other, until the calm job has @p creates. */
static void pump_until(struct sim *sim, const struct counts *counts, int creates)
{
	while (counts->calm < creates) {
		assert_true(rh_memory_store_pump(sim->store, 0));
		rh_engine_step(sim->engine, sim->now);
	}
}

static void test_turns__another_namespace_does_not_wait_for_a_flood(void **state)
{
	struct counts counts = {0};
	auto_sim sim = {0};
	int before;

	(void)state;
	open_flood(&sim, &counts);
	before = counts.flood;
	create_job(&sim, "calm", "j");
	pump_until(&sim, &counts, 2 * WORKERS);
	assert_in_range(counts.flood_before - before, 0, 2 * CREATES);
	assert_in_range(counts.flood - before, 0, 4 * CREATES);
	assert_true(counts.flood < FLOOD * WORKERS);
}

/* Within a namespace, each job has a turn before one has its second. */
static void test_turns__all_jobs_are_served_in_the_end(void **state)
{
	struct counts counts = {0};
	auto_sim sim = {0};
	struct snapshot_engine after;

	(void)state;
	open_flood(&sim, &counts);
	create_job(&sim, "calm", "j");
	sim_settle(&sim);
	assert_int_equal(counts.flood, 2 * FLOOD * WORKERS);
	assert_int_equal(counts.calm, 2 * WORKERS);
	after = snapshot_engine(sim.engine);
	assert_int_equal(after.creates + after.throttled, 0);
}

/* What a namespace shares is there as long as something of it is known. */
static void test_turns__shares_go_with_their_jobs(void **state)
{
	auto_sim sim = {0};

	(void)state;
	sim_open(&sim, false);
	sim_start(&sim);
	create_job(&sim, "a", "one");
	create_job(&sim, "a", "two");
	create_job(&sim, "b", "one");
	sim_settle(&sim);
	assert_int_equal(snapshot_engine(sim.engine).namespaces, 2);
	(void)sim_user(
		&sim,
		(struct rh_request){
			.verb = RH_VERB_DELETE, .resource = &sim.jobs, .namespace_ = "a", .name = "one", .grace_seconds = -1});
	(void)sim_user(
		&sim,
		(struct rh_request){
			.verb = RH_VERB_DELETE, .resource = &sim.jobs, .namespace_ = "b", .name = "one", .grace_seconds = -1});
	sim_settle(&sim);
	assert_int_equal(snapshot_engine(sim.engine).namespaces, 1);
}

/* A job whose tree takes some 100 KB. */
static struct rh_json *new_wide_job(const char *name)
{
	struct rh_json *job = sim_new_job(name, "Worker=Never*5", NULL, NULL);
	struct rh_json *containers = rh_json_at(job, "spec.pytorchReplicaSpecs.Worker.template.spec.containers");
	static char text[100 << 10];

	memset(text, 'x', sizeof(text) - 1);
	assert_int_equal(rh_json_set_string(rh_json_first(containers), "unknown", text), 0);
	return job;
}

/* The engine knows all jobs of a flood, and no server has answered it: trees in use have left no room for another. */
static void fill_trees(struct sim *sim)
{
	char name[32];

	for (int i = 0; i < WIDE; i++) {
		snprintf(name, sizeof(name), "wide%d", i);
		create(sim, "flood", new_wide_job(name));
		snprintf(name, sizeof(name), "small%d", i);
		create_job(sim, "flood", name);
	}
	for (int i = 0; i < 2 * WIDE; i++) {
		assert_true(rh_memory_store_pump(sim->store, 0));
		rh_engine_step(sim->engine, sim->now);
	}
	assert_true(snapshot_engine(sim->engine).tree_waiters > 0);
}

static void test_turns__trees_of_a_flood_leave_room_for_others(void **state)
{
	auto_sim sim = {0};

	(void)state;
	sim_open(&sim, false);
	sim_start(&sim);
	sim_create(&sim, sim_new_job("calm", "Worker=Never", NULL, NULL));
	sim_settle(&sim);
	rh_engine_rest(sim.engine);
	assert_int_equal(snapshot_engine(sim.engine).tree_bytes, 0);
	assert_int_equal(snapshot_engine(sim.engine).tree_spaces, 0);
	fill_trees(&sim);
	assert_int_equal(snapshot_engine(sim.engine).tree_spaces, 1);
	sim_set_pod(&sim, "calm-worker-0", "Running", 0, 0);
	/* the newest: the event of that pod */
	assert_true(rh_memory_store_pump(sim.store, rh_memory_store_pending(sim.store) - 1));
	rh_engine_step(sim.engine, sim.now);
	assert_false(snapshot_job(sim.engine, "calm").waits_for_room);
	assert_true(snapshot_job(sim.engine, "calm").is_written);
	assert_int_equal(snapshot_engine(sim.engine).tree_spaces, 2);
	sim_settle(&sim);
	sim_assert(&sim, "calm", "Created Running | worker-0 Running");
	rh_engine_rest(sim.engine);
	assert_int_equal(snapshot_engine(sim.engine).tree_spaces, 0);
}

/* One step decides about some of what is due; the rest is due at once. */
static void test_turns__a_step_is_bounded(void **state)
{
	struct counts counts = {0};
	auto_sim sim = {0};
	struct rh_engine_load load;
	char name[32];

	(void)state;
	sim_open(&sim, false);
	sim.options.creates = 1;
	for (int i = 0; i < FLOOD; i++) {
		snprintf(name, sizeof(name), "j%d", i);
		create_job(&sim, "flood", name);
	}
	sim_start(&sim);
	rh_memory_store_set_gate(sim.store, count_create, &counts);
	rh_memory_store_drain(sim.store);
	rh_engine_step(sim.engine, sim.now);
	rh_engine_load(sim.engine, &load);
	assert_in_range(load.due, FLOOD / 4, FLOOD - 1);
	assert_true(rh_engine_deadline(sim.engine) <= sim.now);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_turns__another_namespace_does_not_wait_for_a_flood),
		cmocka_unit_test(test_turns__all_jobs_are_served_in_the_end),
		cmocka_unit_test(test_turns__shares_go_with_their_jobs),
		cmocka_unit_test(test_turns__trees_of_a_flood_leave_room_for_others),
		cmocka_unit_test(test_turns__a_step_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
