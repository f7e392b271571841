/* SPDX-License-Identifier: Apache-2.0 */
/* More jobs than keep their trees: none of them may notice. */
#include <stdio.h>
#include <string.h>

#include "base/os/clock.h"
#include "engine/carry/sim.h"
#include "engine/carry/snapshot.h"

#define JOBS 80

static const char *job_name(int i, char name[32])
{
	snprintf(name, 32, "job%03d", i);
	return name;
}

static void set_worker(struct sim *sim, int i, const char *phase, int code)
{
	rh_auto_free char *pod = rh_asprintf("job%03d-worker-0", i);

	sim_set_pod(sim, pod, phase, code, 0);
}

static void open_jobs(struct sim *sim)
{
	char name[32];

	sim_open(sim, false);
	sim_start(sim);
	for (int i = 0; i < JOBS; i++)
		sim_create(sim, sim_new_job(job_name(i, name), "Worker=OnFailure", NULL, NULL));
	sim_settle(sim);
}

/* Entries that have a tree; the others have a text. */
static size_t count_trees(const struct sim *sim)
{
	static struct snapshot_job jobs[JOBS];
	size_t known = snapshot_jobs(sim->engine, jobs, JOBS);
	size_t count = 0;

	for (size_t i = 0; i < known; i++) {
		assert_true(jobs[i].is_cached == jobs[i].has_tree);
		assert_true(jobs[i].has_tree || (jobs[i].has_text && !jobs[i].has_ledger && !jobs[i].has_builder));
		count += jobs[i].has_tree;
	}
	assert_int_equal(count, snapshot_engine(sim->engine).trees);
	return count;
}

static void test_trees__few_keep_their_trees(void **state)
{
	auto_sim sim = {0};

	(void)state;
	open_jobs(&sim);
	assert_in_range(count_trees(&sim), 1, 64);
	assert_false(rh_engine_busy(sim.engine));
}

static void test_trees__all_go_on(void **state)
{
	auto_sim sim = {0};
	char name[32];

	(void)state;
	open_jobs(&sim);
	for (int i = 0; i < JOBS; i++)
		set_worker(&sim, i, "Running", 0);
	sim_settle(&sim);
	for (int i = 0; i < JOBS; i++)
		sim_assert(&sim, job_name(i, name), "Created Running | worker-0 Running");
	for (int i = 0; i < JOBS; i++)
		set_worker(&sim, i, i % 2 ? "Succeeded" : "Failed", i % 2 ? 0 : 1);
	sim_settle(&sim);
	for (int i = 1; i < JOBS; i += 2)
		sim_assert(&sim, job_name(i, name), "Created Succeeded | worker-0 Succeeded");
	for (int i = 0; i < JOBS; i += 2)
		sim_assert(&sim, job_name(i, name), "Created Restarting | worker-0 Pending");
}

/* After a while without anything to do no tree is left, and nobody notices. */
static void test_trees__at_rest_there_are_no_trees(void **state)
{
	auto_sim sim = {0};

	(void)state;
	open_jobs(&sim);
	rh_engine_rest(sim.engine);
	assert_int_equal(count_trees(&sim), 0);
	set_worker(&sim, 0, "Running", 0);
	set_worker(&sim, JOBS - 1, "Failed", 1);
	sim_settle(&sim);
	sim_assert(&sim, "job000", "Created Running | worker-0 Running");
	sim_assert(&sim, "job079", "Created Restarting | worker-0 Pending");
	assert_int_equal(count_trees(&sim), 2);
}

/* Jobs that were all in use at once keep their trees no longer than that. */
static void test_trees__after_a_burst_few_keep_their_trees(void **state)
{
	auto_sim sim = {0};
	char name[32];

	(void)state;
	sim_open(&sim, false);
	sim_start(&sim);
	rh_memory_store_drain(sim.store);
	for (int i = 0; i < JOBS; i++)
		sim_create(&sim, sim_new_job(job_name(i, name), "Worker=OnFailure", NULL, NULL));
	rh_memory_store_drain(sim.store);
	assert_int_equal(snapshot_engine(sim.engine).trees, 64);
	rh_engine_step(sim.engine, sim.now); /* now each has a write in flight */
	assert_int_equal(snapshot_engine(sim.engine).trees, JOBS);
	while (rh_engine_busy(sim.engine)) {
		while (rh_memory_store_pump(sim.store, 0))
			continue;
		rh_engine_step(sim.engine, sim.now);
	}
	assert_in_range(count_trees(&sim), 1, 64);
}

/* What was decided from the old spec is known to be old, though that had become text. */
static void test_trees__an_edit_is_seen(void **state)
{
	auto_sim sim = {0};

	(void)state;
	open_jobs(&sim);
	sim_patch(&sim, "job000", "{'spec':{'pytorchReplicaSpecs':{'Worker':{'replicas':2}}}}");
	sim_settle(&sim);
	sim_assert(&sim, "job000", "Created | worker-0 Pending, worker-1 Pending");
	sim_patch(&sim, "job000", "{'spec':{'runPolicy':{'suspend':true}}}");
	sim_settle(&sim);
	sim_assert(&sim, "job000", "Created Suspended | ");
	sim_delete(&sim, "job001");
	sim_settle(&sim);
	assert_null(sim_job(&sim, "job001"));
	assert_int_equal(snapshot_engine(sim.engine).jobs, JOBS - 1);
	(void)count_trees(&sim);
}

/* Restarts are counted in the ledger, which becomes text with the job. */
static void test_trees__the_ledger_is_kept(void **state)
{
	auto_sim sim = {0};

	(void)state;
	open_jobs(&sim);
	sim_patch(&sim, "job000", "{'spec':{'runPolicy':{'backoffLimit':2}}}");
	sim_settle(&sim);
	for (int round = 0; round < 3; round++) {
		set_worker(&sim, 0, "Failed", 1);
		sim_settle(&sim);
		for (int i = 1; i < JOBS; i++)
			set_worker(&sim, i, round % 2 ? "Pending" : "Running", 0);
		sim_settle(&sim);
	}
	assert_non_null(strstr(rh_json_string_at(sim_job(&sim, "job000"), "status.conditions[2].reason"), "Failed"));
}

static void test_trees__without_memory_it_is_tried_again(void **state)
{
	(void)state;
	for (long n = 0; n < 60; n += 7) {
		auto_sim sim = {0};

		open_jobs(&sim);
		set_worker(&sim, 0, "Running", 0);
		rh_mem_fail_after(n);
		rh_memory_store_drain(sim.store);
		rh_engine_step(sim.engine, sim.now);
		rh_mem_fail_after(-1);
		sim_wait(&sim, 10);
		sim_assert(&sim, "job000", "Created Running | worker-0 Running");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_trees__few_keep_their_trees),
		cmocka_unit_test(test_trees__all_go_on),
		cmocka_unit_test(test_trees__at_rest_there_are_no_trees),
		cmocka_unit_test(test_trees__after_a_burst_few_keep_their_trees),
		cmocka_unit_test(test_trees__an_edit_is_seen),
		cmocka_unit_test(test_trees__the_ledger_is_kept),
		cmocka_unit_test(test_trees__without_memory_it_is_tried_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
