/* SPDX-License-Identifier: Apache-2.0 */
/* A plugin whose process crashes at one job: the job waits and says why, others go on, and a new spec is tried. */
#include <poll.h>
#include <string.h>

#include "engine/carry/sim.h"

/** Rounds until the test fails; in each, some of the wait before a process is started again passes. */
#define ROUNDS_MAX 3000

static const struct rh_resource trouble_jobs = {"example.org/v1", "TroubleJob", "troublejobs"};

/** Have the plugin end its process in @p operation of the job "j"; beside it is a job of another plugin. */
static void start(struct sim *sim, const char *operation)
{
	rh_auto_free char *text =
		rh_asprintf("{'metadata':{'name':'j','annotations':{'example.org/trouble':'%s kernel'}},'spec':{}}", operation);

	assert_non_null(text);
	sim_open(sim, false);
	sim->config->plugin_isolation = RH_ISOLATION_PROCESS;
	rh_host_set_retry(sim->host, true);
	assert_int_equal(rh_host_try_file(sim->host, RH_TROUBLE, NULL), 0);
	sim_start(sim);
	assert_int_equal(
		sim_user(sim, (struct rh_request){.verb = RH_VERB_CREATE, .resource = &trouble_jobs, .body = sim_json(text)}),
		RH_OUTCOME_OK);
	sim_create(sim, sim_new_job("other", "Master=Never", "{}", "{}"));
}

/* @return the condition @p type of the job in trouble, borrowed; NULL: it is not there */
static const struct rh_json *condition(const struct sim *sim, const char *type)
{
	const struct rh_json *job = rh_memory_store_find(sim->store, &trouble_jobs, "default", "j");
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
	assert_string_equal(rh_json_string_at(condition(sim, "Stalled"), "reason"), "TroubleJobPluginFailed");
	return rh_json_string_at(condition(sim, "Stalled"), "message");
}

static void test_aside__a_job_at_which_the_process_fails_waits(void **state)
{
	static const char *const operations[] = {"expand", "validate", "pod", "objects", "make", "judge"};

	(void)state;
	for (size_t i = 0; i < sizeof(operations) / sizeof(operations[0]); i++) {
		rh_auto_free char *words = rh_asprintf("it ended the process in %s()", operations[i]);
		auto_sim sim = {0};
		const char *message;

		start(&sim, operations[i]);
		message = await_stalled(&sim);
		assert_non_null(strstr(message, "plugin trouble"));
		assert_non_null(strstr(message, "it failed at this job 3 times"));
		assert_non_null(strstr(message, words));
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
	start(&sim, "pod");
	(void)await_stalled(&sim);
	assert_int_equal(
		sim_user(&sim, (struct rh_request){.verb = RH_VERB_PATCH,
	                                       .resource = &trouble_jobs,
	                                       .name = "j",
	                                       .body = sim_json("{'metadata':{'annotations':{'example.org/trouble':null}},"
	                                                        "'spec':{'suspend':false}}")}),
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
