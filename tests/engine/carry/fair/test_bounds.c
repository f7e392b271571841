/* SPDX-License-Identifier: Apache-2.0 */
/* However many jobs there are, only so many creates and Events are in flight: the others wait, and none is forgotten.
 */
#include <stdio.h>
#include <string.h>

#include "base/os/clock.h"
#include "engine/carry/sim.h"
#include "engine/carry/snapshot.h"

#define JOBS 6
#define WORKERS 5

static void open_engine(struct sim *sim, size_t creates, size_t events)
{
	sim_open(sim, false);
	sim->options.creates = creates;
	sim->options.events = events;
	sim_start(sim);
	sim_settle(sim);
}

static void create_jobs(struct sim *sim)
{
	char name[32];

	for (int i = 0; i < JOBS; i++) {
		snprintf(name, sizeof(name), "j%d", i);
		sim_create(sim, sim_new_job(name, "Worker=Never*5", NULL, NULL));
	}
}

/* One delivery at a time, until nothing is left to do. @return the most Events that were in flight */
static size_t settle_slowly(struct sim *sim, size_t creates)
{
	struct snapshot_engine after;
	size_t most = 0;

	while (rh_memory_store_pump(sim->store, 0) || rh_engine_busy(sim->engine)) {
		rh_engine_step(sim->engine, sim->now);
		after = snapshot_engine(sim->engine);
		assert_in_range(after.creates, 0, creates + creates / 4);
		most = after.events > most ? after.events : most;
	}
	return most;
}

static void count_pod(void *arg, const struct rh_json *pod)
{
	(void)pod;
	(*(int *)arg)++;
}

static int pods_of(const struct sim *sim)
{
	int count = 0;

	rh_memory_store_each(sim->store, &rh_resource_pods, count_pod, &count);
	return count;
}

static void test_bounds__creates_of_all_jobs(void **state)
{
	static const size_t limits[] = {1, 2, 7, 1000};

	(void)state;
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		auto_sim sim = {0};

		open_engine(&sim, limits[i], 0);
		create_jobs(&sim);
		(void)settle_slowly(&sim, limits[i]);
		assert_int_equal(pods_of(&sim), JOBS * WORKERS);
		assert_int_equal(snapshot_engine(sim.engine).creates, 0);
		assert_int_equal(snapshot_engine(sim.engine).throttled, 0);
	}
}

/* Jobs that wait may be deleted meanwhile, and so may the job that uses the whole limit. */
static void test_bounds__jobs_that_are_deleted_hold_up_nobody(void **state)
{
	(void)state;
	for (int gone = 0; gone < JOBS; gone++) {
		auto_sim sim = {0};
		rh_auto_free char *name = rh_asprintf("j%d", gone);
		struct snapshot_engine after;

		open_engine(&sim, 3, 2);
		create_jobs(&sim);
		for (int i = 0; i < 12; i++) {
			(void)rh_memory_store_pump(sim.store, 0);
			rh_engine_step(sim.engine, sim.now);
		}
		sim_delete(&sim, name);
		(void)settle_slowly(&sim, 3);
		assert_int_equal(pods_of(&sim), (JOBS - 1) * WORKERS);
		after = snapshot_engine(sim.engine);
		assert_int_equal(after.throttled + after.pending_events, 0);
		assert_int_equal(after.creates + after.events, 0);
	}
}

static void test_bounds__events_of_all_jobs(void **state)
{
	auto_sim sim = {0};

	(void)state;
	open_engine(&sim, 0, 1);
	create_jobs(&sim);
	assert_int_equal(settle_slowly(&sim, 1000), 1);
	for (int i = 0; i < JOBS; i++) {
		rh_auto_free char *line = rh_asprintf("Normal SuccessfulCreatePod Created pod: j%d-worker-4", i);

		assert_int_equal(sim_assert_event(&sim, line), 1);
	}
}

/* The last Events of a job are written although the finished job is dropped from the cache. */
static void test_bounds__last_events_are_written(void **state)
{
	auto_sim sim = {0};

	(void)state;
	open_engine(&sim, 0, 1);
	create_jobs(&sim);
	(void)settle_slowly(&sim, 1000);
	for (int i = 0; i < JOBS; i++) {
		for (int worker = 0; worker < WORKERS; worker++) {
			rh_auto_free char *pod = rh_asprintf("j%d-worker-%d", i, worker);

			sim_set_pod(&sim, pod, "Succeeded", 0, 0);
		}
	}
	(void)settle_slowly(&sim, 1000);
	for (int i = 0; i < JOBS; i++) {
		rh_auto_free char *line =
			rh_asprintf("Normal PyTorchJobSucceeded PyTorchJob default/j%d successfully completed.", i);

		assert_int_equal(sim_assert_event(&sim, line), 1);
	}
	assert_int_equal(snapshot_engine(sim.engine).pending_events, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bounds__creates_of_all_jobs),
		cmocka_unit_test(test_bounds__jobs_that_are_deleted_hold_up_nobody),
		cmocka_unit_test(test_bounds__events_of_all_jobs),
		cmocka_unit_test(test_bounds__last_events_are_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
