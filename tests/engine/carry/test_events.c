/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "base/os/clock.h"
#include "engine/carry/sim.h"
#include "engine/carry/snapshot.h"

/* An engine with the job "j". */
static void open_job(struct sim *sim)
{
	sim_open(sim, false);
	sim_start(sim);
	sim_create(sim, sim_new_job("j", "Worker=Never", "{'suspend':true}", NULL));
	sim_settle(sim);
}

static void emit(const struct sim *sim, bool warning, const char *reason, const char *message)
{
	snapshot_emit(sim->engine, "j", warning, reason, message);
}

/* The first Event of a reason. */
struct found {
	const char *reason;
	struct rh_json *event;
};

static void find_event(void *arg, const struct rh_json *event)
{
	struct found *found = arg;

	if (!found->event && strcmp(rh_json_string_at(event, "reason"), found->reason) == 0)
		found->event = rh_json_copy(event);
}

static struct rh_json *event_of(const struct sim *sim, const char *reason)
{
	struct found found = {reason, NULL};

	rh_memory_store_each(sim->store, &rh_resource_events, find_event, &found);
	assert_non_null(found.event);
	return found.event;
}

static void test_events__have_what_kubectl_shows(void **state)
{
	static const char *const texts[][2] = {
		{"involvedObject.apiVersion", "kubeflow.org/v1"},
		{"involvedObject.kind", "PyTorchJob"},
		{"involvedObject.name", "j"},
		{"involvedObject.namespace", "default"},
		{"source.component", "pytorchjob-controller"},
		{"reportingComponent", "pytorchjob-controller"},
		{"type", "Warning"},
		{"message", "m"},
		{"metadata.namespace", "default"},
		{"firstTimestamp", "2026-01-01T00:00:00Z"},
		{"lastTimestamp", "2026-01-01T00:00:00Z"},
	};
	auto_sim sim = {0};
	rh_auto(json) event = NULL;

	(void)state;
	open_job(&sim);
	emit(&sim, true, "Odd", "m");
	sim_settle(&sim);
	event = event_of(&sim, "Odd");
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_string_equal(rh_json_string_at(event, texts[i][0]), texts[i][1]);
	assert_true(rh_starts_with(rh_json_string_at(event, "metadata.name"), "j."));
	assert_string_equal(rh_json_string_at(event, "involvedObject.uid"),
	                    rh_json_string_at(sim_job(&sim, "j"), "metadata.uid"));
}

static void test_events__what_happens_again_is_counted(void **state)
{
	auto_sim sim = {0};
	rh_auto(json) event = NULL;

	(void)state;
	open_job(&sim);
	emit(&sim, true, "Odd", "m");
	sim_settle(&sim);
	sim_wait(&sim, 5);
	emit(&sim, true, "Odd", "m");
	sim_settle(&sim);
	assert_int_equal(sim_assert_event(&sim, "Warning Odd m"), 2);
	event = event_of(&sim, "Odd");
	assert_string_equal(rh_json_string_at(event, "firstTimestamp"), "2026-01-01T00:00:00Z");
	assert_string_equal(rh_json_string_at(event, "lastTimestamp"), "2026-01-01T00:00:05Z");
}

static void test_events__are_apart_by_type_reason_and_message(void **state)
{
	auto_sim sim = {0};

	(void)state;
	open_job(&sim);
	emit(&sim, true, "Odd", "m");
	emit(&sim, false, "Odd", "m");
	emit(&sim, true, "Even", "m");
	emit(&sim, true, "Odd", "n");
	sim_settle(&sim);
	assert_int_equal(sim_assert_event(&sim, "Warning Odd m"), 1);
	assert_int_equal(sim_assert_event(&sim, "Normal Odd m"), 1);
	assert_int_equal(sim_assert_event(&sim, "Warning Even m"), 1);
	assert_int_equal(sim_assert_event(&sim, "Warning Odd n"), 1);
}

static void test_events__while_one_is_written_others_only_count(void **state)
{
	auto_sim sim = {0};

	(void)state;
	open_job(&sim);
	for (int i = 0; i < 100; i++)
		emit(&sim, true, "Odd", "m");
	assert_int_equal(rh_memory_store_pending(sim.store), 1);
	sim_settle(&sim);
	assert_int_equal(sim_assert_event(&sim, "Warning Odd m"), 100);
}

static void test_events__the_oftener_the_rarer_they_are_written(void **state)
{
	auto_sim sim = {0};
	int writes = 0;

	(void)state;
	open_job(&sim);
	for (int i = 0; i < 3600; i++) {
		emit(&sim, true, "Odd", "m");
		writes += rh_memory_store_pending(sim.store) > 0;
		sim_wait(&sim, 1);
	}
	assert_in_range(writes, 12, 25);
}

/* Ten similar Events are written, further ones are combined, and other Events are not affected. */
static void test_events__similar_ones_are_combined(void **state)
{
	auto_sim sim = {0};
	rh_auto_free char *events = NULL;
	size_t lines = 1;

	(void)state;
	open_job(&sim);
	for (int i = 0; i < 1000; i++) {
		rh_auto_free char *message = rh_asprintf("Created pod: j-worker-%d", i);

		emit(&sim, false, "SuccessfulCreatePod", message);
	}
	emit(&sim, true, "Bad", "it failed");
	sim_settle(&sim);
	assert_int_equal(
		sim_assert_event(&sim, "Normal SuccessfulCreatePod (combined from similar events): Created pod: j-worker-999"),
		990);
	sim_assert_event(&sim, "Warning Bad it failed");
	events = sim_events(&sim);
	for (const char *c = events; *c; c++)
		lines += *c == '\n';
	assert_int_equal(lines, 10 + 1 + 1 + 1); /* with that of the suspension */
}

static void test_events__what_was_long_ago_is_not_similar(void **state)
{
	auto_sim sim = {0};

	(void)state;
	open_job(&sim);
	for (int i = 0; i < 20; i++) {
		rh_auto_free char *message = rh_asprintf("m%d", i);

		emit(&sim, false, "Odd", message);
		sim_settle(&sim);
		sim_wait(&sim, 100);
	}
	sim_assert_event(&sim, "Normal Odd m19");
	sim_assert_no_event(&sim, "Normal Odd (combined");
}

static void test_events__only_so_many_are_remembered(void **state)
{
	auto_sim sim = {0};

	(void)state;
	open_job(&sim);
	for (int i = 0; i < 300; i++) {
		rh_auto_free char *reason = rh_asprintf("Odd%d", i);

		emit(&sim, false, reason, "m");
		sim_settle(&sim);
	}
	assert_int_equal(snapshot_job(sim.engine, "j").events, 64);
	sim_assert_event(&sim, "Normal Odd0 m");
	sim_assert_event(&sim, "Normal Odd299 m");
}

static void delete_event(void *arg, const struct rh_json *event)
{
	char *name = arg;

	if (strcmp(rh_json_string_at(event, "reason"), "Odd") == 0)
		rh_copy(name, 128, rh_json_string_at(event, "metadata.name"));
}

static void test_events__one_whose_time_is_over_is_written_anew(void **state)
{
	auto_sim sim = {0};
	char name[128] = "";

	(void)state;
	open_job(&sim);
	emit(&sim, true, "Odd", "m");
	sim_settle(&sim);
	rh_memory_store_each(sim.store, &rh_resource_events, delete_event, name);
	(void)sim_user(&sim, (struct rh_request){.verb = RH_VERB_DELETE, .resource = &rh_resource_events, .name = name});
	emit(&sim, true, "Odd", "m");
	sim_settle(&sim);
	sim_wait(&sim, 10);
	emit(&sim, true, "Odd", "m");
	sim_settle(&sim);
	assert_int_equal(sim_assert_event(&sim, "Warning Odd m"), 3);
}

static void test_events__outlive_their_job_only_while_they_are_written(void **state)
{
	auto_sim sim = {0};

	(void)state;
	open_job(&sim);
	sim_delete(&sim, "j");
	emit(&sim, true, "Odd", "m");
	sim_settle(&sim);
	assert_int_equal(snapshot_engine(sim.engine).jobs, 0);
	assert_false(rh_engine_busy(sim.engine));
}

/* An engine with the job "j" of a master and a worker that run. */
static void open_pair(struct sim *sim)
{
	sim_open(sim, false);
	sim_start(sim);
	sim_create(sim, sim_new_job("j", "Master=Never Worker=Never", NULL, NULL));
	sim_settle(sim);
	sim_play_pod(sim, "j-master-0", "Running");
	sim_play_pod(sim, "j-worker-0", "Running");
}

/* A pass reports the exit of every pod that has ended when it begins (v1-behaviour C.3-2), here of both. */
static void test_events__exits_that_are_seen_at_once_are_all_reported(void **state)
{
	auto_sim sim = {0};

	(void)state;
	open_pair(&sim);
	sim_set_pod(&sim, "j-master-0", "Succeeded", 0, 0);
	sim_set_pod(&sim, "j-worker-0", "Succeeded", 0, 0);
	sim_settle(&sim);
	assert_int_equal(sim_assert_event(&sim, "Normal ExitedWithCode Pod: default.j-master-0 exited with code 0"), 1);
	assert_int_equal(sim_assert_event(&sim, "Normal ExitedWithCode Pod: default.j-worker-0 exited with code 0"), 1);
	sim_assert_event(&sim, "Normal PyTorchJobSucceeded");
}

/* Where the master's end is seen first, it ends the job, and the worker ends in a job that has ended. */
static void test_events__an_exit_after_the_jobs_end_is_not_reported(void **state)
{
	auto_sim sim = {0};

	(void)state;
	open_pair(&sim);
	sim_play_pod(&sim, "j-master-0", "Succeeded");
	sim_play_pod(&sim, "j-worker-0", "Succeeded");
	sim_assert_event(&sim, "Normal ExitedWithCode Pod: default.j-master-0 exited with code 0");
	sim_assert_no_event(&sim, "Normal ExitedWithCode Pod: default.j-worker-0");
	sim_assert_event(&sim, "Normal PyTorchJobSucceeded");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_events__have_what_kubectl_shows),
		cmocka_unit_test(test_events__what_happens_again_is_counted),
		cmocka_unit_test(test_events__are_apart_by_type_reason_and_message),
		cmocka_unit_test(test_events__while_one_is_written_others_only_count),
		cmocka_unit_test(test_events__the_oftener_the_rarer_they_are_written),
		cmocka_unit_test(test_events__similar_ones_are_combined),
		cmocka_unit_test(test_events__what_was_long_ago_is_not_similar),
		cmocka_unit_test(test_events__only_so_many_are_remembered),
		cmocka_unit_test(test_events__one_whose_time_is_over_is_written_anew),
		cmocka_unit_test(test_events__outlive_their_job_only_while_they_are_written),
		cmocka_unit_test(test_events__exits_that_are_seen_at_once_are_all_reported),
		cmocka_unit_test(test_events__an_exit_after_the_jobs_end_is_not_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
