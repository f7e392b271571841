/* SPDX-License-Identifier: Apache-2.0 */
/* A plugin whose process crashes at one job: the job waits and says why, others go on, and a new spec is tried. */
#include <poll.h>
#include <string.h>

#include "engine/carry/sim.h"

/** Rounds until the test fails; in each, some of the wait before a process is started again passes. */
#define ROUNDS_MAX 3000

static const struct rh_resource hostile_jobs = {"example.org/v1", "HostileJob", "hostilejobs"};

static void create(struct sim *sim, const char *name)
{
	rh_auto_free char *text = rh_asprintf("{'metadata':{'name':'%s'},'spec':{'hostileReplicaSpecs':{'Worker':{"
	                                      "'template':{'spec':{'containers':[{'name':'hostile','image':'i'}]}}}}}}",
	                                      name);

	assert_non_null(text);
	assert_int_equal(
		sim_user(sim, (struct rh_request){.verb = RH_VERB_CREATE, .resource = &hostile_jobs, .body = sim_json(text)}),
		RH_OUTCOME_OK);
}

static void start(struct sim *sim, const char *plugin)
{
	rh_auto_free char *path = rh_asprintf("%s/%s.so", RH_HOSTILE_DIR, plugin);

	sim_open(sim, false);
	sim->config->plugin_isolation = RH_ISOLATION_PROCESS;
	rh_host_set_retry(sim->host, true);
	assert_int_equal(rh_host_try_file(sim->host, path, NULL), 0);
	sim_start(sim);
	create(sim, "j");
	sim_create(sim, sim_new_job("other", "Master=Never", "{}", "{}"));
}

/* @return the condition @p type of the hostile job, borrowed; NULL: it is not there */
static const struct rh_json *condition(const struct sim *sim, const char *type)
{
	const struct rh_json *job = rh_memory_store_find(sim->store, &hostile_jobs, "default", "j");
	const struct rh_json *item = rh_json_first(rh_json_at(job, "status.conditions"));

	while (item && !rh_text_equal(rh_json_string_at(item, "type"), type))
		item = rh_json_next(item);
	return item;
}

static const char *await_stalled(struct sim *sim)
{
	for (int i = 0; i < ROUNDS_MAX && !condition(sim, "Stalled"); i++) {
		sim_wait(sim, 600);
		(void)poll(NULL, 0, 10); /* the back-off of processes is real time */
	}
	assert_non_null(condition(sim, "Stalled"));
	assert_string_equal(rh_json_string_at(condition(sim, "Stalled"), "reason"), "HostileJobPluginFailed");
	return rh_json_string_at(condition(sim, "Stalled"), "message");
}

static void test_aside__a_job_at_which_the_process_fails_waits(void **state)
{
	static const char *const operations[] = {"validate", "pod", "objects", "judge"};

	(void)state;
	for (size_t i = 0; i < sizeof(operations) / sizeof(operations[0]); i++) {
		rh_auto_free char *plugin = rh_asprintf("%s-kernel", operations[i]);
		auto_sim sim = {0};
		const char *message;

		start(&sim, plugin);
		message = await_stalled(&sim);
		assert_non_null(strstr(message, plugin));
		assert_non_null(strstr(message, "it failed at this job 3 times"));
		assert_null(condition(&sim, "Failed"));
		sim_wait(&sim, 3600);
		assert_non_null(condition(&sim, "Stalled"));
		assert_false(rh_engine_busy(sim.engine));
		sim_assert(&sim, "other", "Created | master-0 Pending");
	}
}

static void test_aside__a_new_spec_is_tried(void **state)
{
	auto_sim sim = {0};

	(void)state;
	start(&sim, "pod-kernel");
	(void)await_stalled(&sim);
	assert_int_equal(sim_user(&sim, (struct rh_request){.verb = RH_VERB_PATCH,
	                                                    .resource = &hostile_jobs,
	                                                    .name = "j",
	                                                    .body = sim_json("{'spec':{'hostileReplicaSpecs':{'Worker':{"
	                                                                     "'replicas':0}}}}")}),
	                 RH_OUTCOME_OK);
	sim_wait(&sim, 3600);
	assert_null(condition(&sim, "Stalled"));
	assert_null(condition(&sim, "Failed"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_aside__a_job_at_which_the_process_fails_waits),
		cmocka_unit_test(test_aside__a_new_spec_is_tried),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
