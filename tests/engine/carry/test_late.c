/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plugins in processes of their own, whose answers come after the pass that asked: after any delay each job is where it
 * is without delays, and jobs of others do not wait. Usage: test_engine_carry_late [COUNT [FIRST SEED]]
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/clock.h"
#include "base/os/random.h"
#include "engine/carry/sim.h"
#include "engine/carry/snapshot.h"
#include "host/registry.h"

#define ACTIONS 7
#define JOBS 2
/** Rounds until the test fails; in each, some of the wait before a process is started again passes. */
#define ROUNDS_MAX 3000

static const struct rh_resource hostile_jobs = {"example.org/v1", "HostileJob", "hostilejobs"};

/* A simulation whose answers come late. */
struct late {
	struct sim sim; /* first */
	struct rh_loop *loop;
	struct rh_host_attachment *attachment;
	uint64_t random;
	size_t delayed; /* rounds in which no answer was taken */
};

static void late_close(struct late *late)
{
	rh_host_attachment_free(rh_take(late->attachment));
	rh_loop_free(rh_take(late->loop));
	sim_close(&late->sim);
}

/* A local simulation that is closed when it goes out of scope. */
#define auto_late __attribute__((cleanup(late_close))) struct late

/* Its plugins are loaded. */
static void late_attach(struct late *late)
{
	struct rh_error err = {0};

	if (rh_loop_new(&late->loop, &err) < 0 ||
	    rh_host_attach(late->sim.host, late->loop, 0, &late->attachment, &err) < 0)
		fail_msg("%s", err.message);
}

/* Take what has come, or let it wait, in some rounds of virtual time. */
static bool come_late(struct sim *sim)
{
	struct late *late = (struct late *)sim;

	if (rh_random_below(&late->random, 3) > 0) {
		late->delayed++;
	} else {
		struct pollfd poll_fd = {.fd = sim->host->events, .events = POLLIN};

		(void)poll(&poll_fd, 1, 1);
		(void)rh_loop_turn(late->loop, rh_clock_monotonic());
	}
	return snapshot_engine(sim->engine).awaited > 0;
}

static void open_plugin(struct sim *sim, const char *path, enum rh_isolation isolation)
{
	struct rh_error err = {0};

	sim_open_empty(sim, false);
	sim->config->plugin_isolation = isolation;
	if (rh_host_try_file(sim->host, path, &err) < 0)
		fail_msg("%s", err.message);
}

/* What happens to a job: numbers, so that both simulations do the same. */
struct action {
	uint64_t job;
	uint64_t what;
	uint64_t pod;
};

static void act(struct sim *sim, const struct action *action)
{
	static const char *const pods[] = {"master-0", "worker-0", "worker-1"};
	rh_auto_free char *job = rh_asprintf("j%d", (int)action->job);
	rh_auto_free char *pod = rh_asprintf("%s-%s", job, pods[action->pod]);
	bool exists = sim_pod(sim, pod) != NULL;

	switch (action->what) {
	case 0:
		sim_patch(sim, job, "{'spec':{'runPolicy':{'suspend':true}}}");
		break;
	case 1:
		sim_patch(sim, job, "{'spec':{'runPolicy':{'suspend':false}}}");
		break;
	case 2:
		if (exists)
			sim_set_pod(sim, pod, "Failed", 137, 0);
		break;
	case 3:
		if (exists)
			sim_set_pod(sim, pod, "Succeeded", 0, 0);
		break;
	case 4:
		if (exists)
			sim_delete_pod(sim, pod, 0);
		break;
	default:
		if (exists)
			sim_set_pod(sim, pod, "Running", 0, 0);
		break;
	}
}

static void create_jobs(struct sim *sim)
{
	for (int i = 0; i < JOBS; i++) {
		rh_auto_free char *name = rh_asprintf("j%d", i);

		sim_create(sim, sim_new_job(name, "Master=ExitCode Worker=ExitCode*2", NULL, NULL));
	}
}

static void compare(const struct sim *late, const struct sim *prompt, uint64_t seed, size_t step)
{
	for (int i = 0; i < JOBS; i++) {
		rh_auto_free char *name = rh_asprintf("j%d", i);
		rh_auto_free char *is = sim_show(late, name);
		rh_auto_free char *ought = sim_show(prompt, name);

		if (strcmp(is, ought) != 0)
			fail_msg("seed %d, action %d: %s: it is \"%s\" and would be \"%s\"", (int)seed, (int)step, name, is, ought);
	}
}

/* Both jobs get an action at a time, so that one changes while an answer about the other one is to come. */
static size_t play(uint64_t seed)
{
	auto_late late = {.random = seed};
	auto_sim prompt = {0};

	open_plugin(&late.sim, RH_PLUGIN_DIR "/pytorch.so", RH_ISOLATION_PROCESS);
	late.sim.host->patience = 0;
	late_attach(&late);
	late.sim.turn = come_late;
	late.sim.options.concurrent = true;
	open_plugin(&prompt, RH_PLUGIN_DIR "/pytorch.so", RH_ISOLATION_NONE);
	sim_start(&late.sim);
	sim_start(&prompt);
	create_jobs(&late.sim);
	create_jobs(&prompt);
	for (size_t i = 0; i < ACTIONS; i++) {
		sim_settle(&late.sim);
		sim_settle(&prompt);
		compare(&late.sim, &prompt, seed, i);
		for (uint64_t job = 0; job < JOBS; job++) {
			const struct action action = {job, rh_random_below(&late.random, 8), rh_random_below(&late.random, 3)};

			act(&late.sim, &action);
			act(&prompt, &action);
			rh_engine_step(late.sim.engine, late.sim.now);
		}
	}
	sim_wait(&late.sim, 3600);
	sim_wait(&prompt, 3600);
	compare(&late.sim, &prompt, seed, ACTIONS);
	return late.delayed;
}

/* What main() got. */
struct effort {
	uint64_t first;
	uint64_t count;
};

static void test_late__jobs_end_as_without_delays(void **state)
{
	const struct effort *effort = *state;
	size_t delayed = 0;

	for (uint64_t seed = effort->first; seed < effort->first + effort->count; seed++)
		delayed += play(seed);
	assert_true(delayed > effort->count);
}

static void create_hostile(struct sim *sim, const char *name)
{
	rh_auto_free char *text = rh_asprintf("{'metadata':{'name':'%s'},'spec':{'hostileReplicaSpecs':{'Worker':{"
	                                      "'template':{'spec':{'containers':[{'name':'hostile','image':'i'}]}}}}}}",
	                                      name);

	assert_int_equal(
		sim_user(sim, (struct rh_request){.verb = RH_VERB_CREATE, .resource = &hostile_jobs, .body = sim_json(text)}),
		RH_OUTCOME_OK);
}

/* @return the reason of the condition Stalled, borrowed; NULL: it is not there */
static const char *stalled(const struct sim *sim, const char *name)
{
	const struct rh_json *job = rh_memory_store_find(sim->store, &hostile_jobs, "default", name);
	const struct rh_json *item = rh_json_first(rh_json_at(job, "status.conditions"));

	while (item && !rh_text_equal(rh_json_string_at(item, "type"), "Stalled"))
		item = rh_json_next(item);
	return rh_json_string_at(item, "reason");
}

static bool come(struct sim *sim)
{
	(void)rh_loop_turn(((struct late *)sim)->loop, rh_clock_monotonic());
	return false; /* the clock of the simulation does not wait for a plugin that hangs */
}

static void test_late__a_plugin_that_hangs_stops_no_job_of_others(void **state)
{
	auto_late late = {0};
	struct sim *sim = &late.sim;
	struct rh_error err = {0};

	(void)state;
	open_plugin(sim, RH_HOSTILE_DIR "/objects-sleep.so", RH_ISOLATION_PROCESS);
	sim->config->plugin_time_limit = 300 * RH_SECOND;
	if (rh_host_try_file(sim->host, RH_PLUGIN_DIR "/pytorch.so", &err) < 0)
		fail_msg("%s", err.message);
	rh_host_set_retry(sim->host, true);
	late_attach(&late);
	sim->turn = come;
	sim->options.concurrent = true;
	sim_start(sim);
	create_hostile(sim, "one");
	create_hostile(sim, "two");
	sim_create(sim, sim_new_job("other", "Master=Never", "{}", "{}"));
	for (int i = 0; i < ROUNDS_MAX && !sim_pod(sim, "other-master-0"); i++) {
		sim_settle(sim);
		(void)poll(NULL, 0, 1);
	}
	sim_settle(sim);
	sim_assert(sim, "other", "Created | master-0 Pending");
	assert_int_equal(snapshot_engine(sim->engine).awaited, 2); /* one is asked about, the other waits for its turn */
	assert_null(stalled(sim, "one"));
}

static void test_late__a_process_that_is_late_ends(void **state)
{
	auto_late late = {0};
	struct sim *sim = &late.sim;

	(void)state;
	open_plugin(sim, RH_HOSTILE_DIR "/objects-sleep.so", RH_ISOLATION_PROCESS);
	rh_host_set_retry(sim->host, true);
	sim->config->plugin_time_limit = RH_SECOND / 20;
	late_attach(&late);
	sim->turn = come;
	sim->options.concurrent = true;
	sim_start(sim);
	create_hostile(sim, "one");
	create_hostile(sim, "two");
	for (int i = 0; i < ROUNDS_MAX && !(stalled(sim, "one") && stalled(sim, "two")); i++) {
		sim_wait(sim, 600);
		(void)poll(NULL, 0, 10); /* limit and back-off of processes are real time */
	}
	assert_string_equal(stalled(sim, "one"), "HostileJobPluginFailed");
	assert_string_equal(stalled(sim, "two"), "HostileJobPluginFailed");
}

int main(int argc, char **argv)
{
	struct effort effort = {argc > 2 ? strtoull(argv[2], NULL, 10) : 1, argc > 1 ? strtoull(argv[1], NULL, 10) : 20};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_prestate(test_late__jobs_end_as_without_delays, &effort),
		cmocka_unit_test(test_late__a_plugin_that_hangs_stops_no_job_of_others),
		cmocka_unit_test(test_late__a_process_that_is_late_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
