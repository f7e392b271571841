/* SPDX-License-Identifier: Apache-2.0 */
/* Only a few large jobs are in memory at a time, and a job that is too large is refused. */
#include <stdio.h>
#include <string.h>

#include "base/os/clock.h"
#include "engine/carry/fair/share.h"
#include "engine/carry/job/tree_state.h"
#include "engine/carry/sim.h"
#include "engine/carry/snapshot.h"

#define JOBS 12

/* A job whose tree takes about this many bytes, in an unknown field. */
static struct rh_json *new_job(const char *name, size_t bytes)
{
	struct rh_json *job = sim_new_job(name, "Worker=OnFailure", NULL, NULL);
	struct rh_json *containers = rh_json_at(job, "spec.pytorchReplicaSpecs.Worker.template.spec.containers");
	rh_auto_free char *text = rh_alloc(bytes + 1);

	assert_non_null(text);
	memset(text, 'x', bytes);
	assert_int_equal(rh_json_set_string(rh_json_first(containers), "unknown", text), 0);
	return job;
}

static const char *job_name(int i, char name[32])
{
	snprintf(name, 32, "large%02d", i);
	return name;
}

static void step(struct sim *sim)
{
	struct snapshot_engine after;

	rh_engine_step(sim->engine, sim->now);
	after = snapshot_engine(sim->engine);
	assert_in_range(after.tree_bytes, 0, 2 * RH_TREES_BYTES);
	assert_in_range(after.create_bytes, 0, 2 * RH_SHARE_CREATE_BYTES);
}

/* One delivery at a time, so that what is in memory is looked at between all of them. */
static void settle_slowly(struct sim *sim)
{
	for (int quiet = 0; quiet < 3;) {
		bool pumped = rh_memory_store_pump(sim->store, 0);

		step(sim);
		quiet = pumped || rh_engine_busy(sim->engine) ? 0 : quiet + 1;
	}
}

static void open_large_jobs(struct sim *sim)
{
	char name[32];

	sim_open(sim, false);
	sim_start(sim);
	for (int i = 0; i < JOBS; i++)
		sim_create(sim, new_job(job_name(i, name), (size_t)1 << 20));
	settle_slowly(sim);
}

static void assert_all(const struct sim *sim, const char *format)
{
	char name[32];
	char line[128];

	for (int i = 0; i < JOBS; i++) {
		snprintf(line, sizeof(line), "%s", format);
		sim_assert(sim, job_name(i, name), line);
	}
}

static void test_large__trees_are_bounded_by_bytes(void **state)
{
	auto_sim sim = {0};
	struct snapshot_engine rest;

	(void)state;
	open_large_jobs(&sim);
	assert_all(&sim, "Created | worker-0 Pending");
	assert_int_equal(snapshot_engine(sim.engine).tree_waiters, 0);
	rh_engine_rest(sim.engine);
	rest = snapshot_engine(sim.engine);
	assert_int_equal(rest.tree_bytes, 0);
	assert_int_equal(rest.text_bytes, 0); /* large texts are not kept either */
}

/* All change at once, as when a tenant annotates them. */
static void test_large__all_go_on(void **state)
{
	auto_sim sim = {0};
	char name[64];

	(void)state;
	open_large_jobs(&sim);
	rh_engine_rest(sim.engine);
	for (int i = 0; i < JOBS; i++)
		sim_patch(&sim, job_name(i, name), "{'metadata':{'annotations':{'note':'x'}}}");
	for (int i = 0; i < JOBS; i++) {
		snprintf(name, sizeof(name), "large%02d-worker-0", i);
		sim_set_pod(&sim, name, "Running", 0, 0);
	}
	settle_slowly(&sim);
	assert_all(&sim, "Created Running | worker-0 Running");
	sim_kill(&sim);
	sim_start(&sim);
	for (int i = 0; i < JOBS; i++) {
		snprintf(name, sizeof(name), "large%02d-worker-0", i);
		sim_set_pod(&sim, name, "Succeeded", 0, 0);
	}
	settle_slowly(&sim);
	assert_all(&sim, "Created Succeeded | worker-0 Succeeded");
	assert_int_equal(snapshot_engine(sim.engine).tree_bytes, 0);
}

/* A changed spec is detected although nothing of the old one was kept, and so is an unchanged one. */
static void test_large__an_edit_is_seen(void **state)
{
	auto_sim sim = {0};

	(void)state;
	open_large_jobs(&sim);
	rh_engine_rest(sim.engine);
	sim_patch(&sim, "large00", "{'spec':{'pytorchReplicaSpecs':{'Worker':{'replicas':2}}}}");
	settle_slowly(&sim);
	sim_assert(&sim, "large00", "Created | worker-0 Pending, worker-1 Pending");
	rh_engine_rest(sim.engine);
	sim_delete(&sim, "large01");
	settle_slowly(&sim);
	assert_int_equal(snapshot_engine(sim.engine).jobs, JOBS - 1);
}

static void test_large__one_that_is_too_large_is_refused(void **state)
{
	auto_sim sim = {0};
	const char *message;

	(void)state;
	sim_open(&sim, false);
	sim_start(&sim);
	sim_create(&sim, new_job("huge", RH_JOB_WEIGHT_MAX));
	sim_create(&sim, new_job("fits", RH_JOB_WEIGHT_MAX / 2));
	settle_slowly(&sim);
	sim_assert(&sim, "huge", "Created Failed | ");
	sim_assert(&sim, "fits", "Created | worker-0 Pending");
	message = rh_json_string_at(sim_job(&sim, "huge"), "status.conditions[1].message");
	assert_non_null(strstr(message, "spec: Too long: the parsed job takes "));
	assert_non_null(strstr(message, " bytes of memory and may take 8388608"));
	rh_engine_rest(sim.engine);
	assert_int_equal(snapshot_engine(sim.engine).tree_bytes, 0);
	/* it stays refused after a start, and nothing more is written */
	sim_kill(&sim);
	sim_start(&sim);
	settle_slowly(&sim);
	sim_assert(&sim, "huge", "Created Failed | ");
}

/* A running job that grows too large is not changed until it is smaller again. */
static void test_large__one_that_grows_too_large_waits(void **state)
{
	auto_sim sim = {0};
	rh_auto(json) huge = new_job("j", RH_JOB_WEIGHT_MAX);
	rh_auto(json) small = sim_new_job("j", "Worker=OnFailure", NULL, NULL);
	rh_auto(json) patch = rh_json_new_object();

	(void)state;
	sim_open(&sim, false);
	sim_start(&sim);
	sim_create(&sim, rh_json_copy(small));
	settle_slowly(&sim);
	sim_assert(&sim, "j", "Created | worker-0 Pending");
	assert_int_equal(rh_json_set(patch, "spec", rh_json_copy(rh_json_get(huge, "spec"))), 0);
	assert_int_equal(sim_user(&sim, (struct rh_request){.verb = RH_VERB_PATCH,
	                                                    .resource = &sim.jobs,
	                                                    .name = "j",
	                                                    .body = rh_json_copy(patch)}),
	                 RH_OUTCOME_OK);
	sim_wait(&sim, 5);
	sim_assert(&sim, "j", "Created | worker-0 Pending");
	sim_assert_event(&sim, "Warning PyTorchJobFailedReconcile ");
	assert_int_equal(rh_json_set(patch, "spec", rh_json_copy(rh_json_get(small, "spec"))), 0);
	assert_int_equal(sim_user(&sim, (struct rh_request){.verb = RH_VERB_PATCH,
	                                                    .resource = &sim.jobs,
	                                                    .name = "j",
	                                                    .body = rh_json_copy(patch)}),
	                 RH_OUTCOME_OK);
	sim_set_pod(&sim, "j-worker-0", "Running", 0, 0);
	sim_settle(&sim);
	sim_assert(&sim, "j", "Created Running | worker-0 Running");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_large__trees_are_bounded_by_bytes),
		cmocka_unit_test(test_large__all_go_on),
		cmocka_unit_test(test_large__an_edit_is_seen),
		cmocka_unit_test(test_large__one_that_is_too_large_is_refused),
		cmocka_unit_test(test_large__one_that_grows_too_large_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
