/* SPDX-License-Identifier: Apache-2.0 */
/* How often the status of a job is written. */
#include <string.h>

#include "base/os/clock.h"
#include "engine/carry/sim.h"
#include "job/values/names.h"

static bool count_gate(void *arg, const struct rh_request *request, struct rh_outcome *ret_outcome, bool *ret_apply)
{
	int *writes = arg;

	(void)ret_outcome;
	(void)ret_apply;
	*writes += request->verb == RH_VERB_PATCH_STATUS && strcmp(request->resource->kind, "PyTorchJob") == 0;
	return false;
}

static void open_patient(struct sim *sim, int *writes)
{
	sim_open(sim, false);
	rh_memory_store_set_gate(sim->store, count_gate, writes);
	sim->options.patience = RH_SECOND / 5;
	sim_start(sim);
	sim_create(sim, sim_new_job("j", "Master=OnFailure Worker=OnFailure*3", NULL, NULL));
	sim_settle(sim);
}

/* Everything that needs no time at all. */
static void let_it_happen(struct sim *sim)
{
	for (int round = 0; round < 100; round++) {
		rh_memory_store_drain(sim->store);
		rh_engine_step(sim->engine, sim->now);
	}
	assert_int_equal(rh_memory_store_pending(sim->store), 0);
}

static void set_all(struct sim *sim, const char *const *names, size_t count, const char *phase)
{
	for (size_t i = 0; i < count; i++) {
		sim_set_pod(sim, names[i], phase, 0, 0);
		let_it_happen(sim);
	}
}

static int64_t count_of(const struct sim *sim, const char *path)
{
	int64_t value = 0;

	(void)rh_json_integer(rh_json_at(sim_job(sim, "j"), path), &value);
	return value;
}

/* Created; Running with whatever runs by then; all run; Succeeded. */
static void test_status__a_life_is_four_writes(void **state)
{
	static const char *const up[] = {"j-worker-1", "j-master-0", "j-worker-0", "j-worker-2"};
	static const char *const down[] = {"j-worker-0", "j-worker-2", "j-master-0", "j-worker-1"};
	auto_sim sim = {0};
	int writes = 0;

	(void)state;
	open_patient(&sim, &writes);
	assert_int_equal(writes, 1);
	set_all(&sim, up, 4, "Running");
	sim_assert(&sim, "j", "Created Running | master-0 Running, worker-0 Running, worker-1 Running, worker-2 Running");
	assert_int_equal(count_of(&sim, "status.replicaStatuses.Worker.active"), 3);
	assert_int_equal(writes, 3);
	set_all(&sim, down, 4, "Succeeded");
	sim_settle(&sim);
	assert_int_equal(count_of(&sim, "status.replicaStatuses.Worker.succeeded"), 3);
	assert_int_equal(writes, 4);
}

static void test_status__counts_are_written_in_a_moment(void **state)
{
	static const char *const some[] = {"j-master-0", "j-worker-0", "j-worker-1"};
	auto_sim sim = {0};
	int writes = 0;

	(void)state;
	open_patient(&sim, &writes);
	set_all(&sim, some, 3, "Running");
	assert_int_equal(count_of(&sim, "status.replicaStatuses.Worker.active"), 0);
	assert_true(rh_engine_deadline(sim.engine) <= sim.now + RH_SECOND / 5);
	sim_settle(&sim);
	assert_int_equal(count_of(&sim, "status.replicaStatuses.Worker.active"), 2);
	assert_int_equal(writes, 3);
	sim_wait(&sim, 3600);
	assert_int_equal(writes, 3);
}

/* A loss is written at once and counted, although the status that counts the pod was held back just before. */
static void test_status__a_pod_that_goes_is_written_at_once(void **state)
{
	static const char *const all[] = {"j-master-0", "j-worker-0", "j-worker-1", "j-worker-2"};
	auto_sim sim = {0};
	int writes = 0;

	(void)state;
	open_patient(&sim, &writes);
	set_all(&sim, all, 4, "Running");
	writes = 0;
	sim_delete_pod(&sim, "j-worker-1", 0);
	let_it_happen(&sim);
	assert_true(writes > 0);
	assert_int_equal(count_of(&sim, "status.replicaStatuses.Worker.active"), 2);
}

/* What is held back counts as written: a pod that vanishes meanwhile, without a word, is a loss and no pod that never
 * ran. */
static void test_status__a_loss_is_counted_although_the_status_did_not_show_it(void **state)
{
	static const char *const some[] = {"j-master-0", "j-worker-0", "j-worker-1"};
	auto_sim sim = {0};
	int writes = 0;

	(void)state;
	open_patient(&sim, &writes);
	set_all(&sim, some, 3, "Running");
	assert_int_equal(count_of(&sim, "status.replicaStatuses.Worker.active"), 0);
	sim_delete_pod(&sim, "j-worker-1", 0);
	sim_settle(&sim);
	sim_assert_event(&sim, "Warning PyTorchJobRestarting");
	assert_non_null(strstr(rh_json_string_at(sim_job(&sim, "j"), "metadata.annotations[\"" RH_ANNOTATION_LEDGER "\"]"),
	                       "\"deleted\":1"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_status__a_life_is_four_writes),
		cmocka_unit_test(test_status__counts_are_written_in_a_moment),
		cmocka_unit_test(test_status__a_loss_is_counted_although_the_status_did_not_show_it),
		cmocka_unit_test(test_status__a_pod_that_goes_is_written_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
