/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs of a kind with conditions and a status of its own: tests/abi/plugins/conditions.c. */
#include <string.h>

#include "engine/carry/sim.h"

#define COUNTS(active, ready, succeeded, failed, suspended)                                                   \
	"\"jobsStatus\":[{\"name\":\"worker\",\"active\":" active ",\"ready\":" ready ",\"succeeded\":" succeeded \
	",\"failed\":" failed ",\"suspended\":" suspended "}]"

/* @param state whether the plugin runs in a process of its own */
static void shown_open(struct sim *sim, void **state)
{
	struct rh_error err = {0};

	sim_open(sim, false);
	sim->jobs = (struct rh_resource){"example.org/v1", "WordsJob", "wordsjobs"};
	sim->config->plugin_isolation = *(const bool *)*state ? RH_ISOLATION_PROCESS : RH_ISOLATION_NONE;
	if (rh_host_try_file(sim->host, RH_CONDITIONS, &err) < 0)
		fail_msg("%s", err.message);
	sim_start(sim);
}

static void shown_create(struct sim *sim, const char *spec)
{
	rh_auto_free char *text =
		rh_asprintf("{'metadata':{'name':'w'},'spec':{%s'wordsReplicaSpecs':{'Worker':{'template':"
	                "{'spec':{'containers':[{'name':'c','image':'i'}]}}}}}}",
	                spec);

	sim_create(sim, sim_json(text));
	sim_settle(sim);
}

/* The status without times. */
static void shown_assert(const struct sim *sim, const char *wanted)
{
	rh_auto(json) status = rh_json_copy(rh_json_get(sim_job(sim, "w"), "status"));
	rh_auto_free char *text = NULL;

	for (struct rh_json *at = rh_json_first(rh_json_get(status, "conditions")); at; at = rh_json_next(at)) {
		rh_json_remove(at, "lastUpdateTime");
		rh_json_remove(at, "lastTransitionTime");
	}
	text = status ? rh_json_text(status) : rh_strdup("");
	if (strcmp(text, wanted) != 0)
		fail_msg("status is %s, not %s", text, wanted);
}

/* Let another engine go on, which must find all as it is. */
static void shown_restart(struct sim *sim)
{
	sim_kill(sim);
	sim_start(sim);
	sim_settle(sim);
}

static void test_shown__a_job_that_runs_has_no_condition(void **state)
{
	auto_sim sim = {0};

	shown_open(&sim, state);
	shown_create(&sim, "");
	sim_play_pod(&sim, "w-worker-0", "Running");
	sim_play_pod(&sim, "w-worker-1", "Running");
	sim_wait(&sim, 5);
	shown_assert(&sim, "{" COUNTS("2", "2", "0", "0", "0") "}");
	assert_false(rh_engine_busy(sim.engine));
	shown_restart(&sim);
	shown_assert(&sim, "{" COUNTS("2", "2", "0", "0", "0") "}");
	sim_assert(&sim, "w", "| worker-0 Running, worker-1 Running");
	sim_assert_no_event(&sim, "Normal WordsJobCreated");
}

static void test_shown__the_end_has_the_kinds_words(void **state)
{
	auto_sim sim = {0};

	shown_open(&sim, state);
	shown_create(&sim, "");
	sim_play_pod(&sim, "w-worker-0", "Running");
	sim_play_pod(&sim, "w-worker-1", "Running");
	sim_play_pod(&sim, "w-worker-0", "Succeeded");
	shown_restart(&sim);
	sim_play_pod(&sim, "w-worker-1", "Succeeded");
	shown_assert(
		&sim, "{" COUNTS("0", "0", "2", "0", "0") ",\"conditions\":[{\"type\":\"Complete\",\"status\":\"True\","
												  "\"reason\":\"AllJobsCompleted\",\"message\":\"all completed\"}]}");
	sim_assert_no_event(&sim, "Normal AllJobsCompleted");
	shown_restart(&sim);
	sim_assert(&sim, "w", "Complete | worker-0 Succeeded, worker-1 Succeeded");
}

static void test_shown__a_failure_has_them_too(void **state)
{
	rh_auto_free char *text = NULL;
	auto_sim sim = {0};

	shown_open(&sim, state);
	shown_create(&sim, "");
	sim_play_pod(&sim, "w-worker-0", "Running");
	sim_set_pod(&sim, "w-worker-1", "Failed", 3, 0);
	sim_settle(&sim);
	assert_string_equal(rh_json_string_at(sim_job(&sim, "w"), "status.conditions[0].reason"), "FailedJobs");
	assert_true(
		rh_starts_with(rh_json_string_at(sim_job(&sim, "w"), "status.conditions[0].message"), "default/w failed"));
	assert_int_equal(sim_assert_event(&sim, "Warning FailedJobs default/w failed"), 1);
	/* the plugin goes on to count what is left */
	sim_play_pod(&sim, "w-worker-0", "Succeeded");
	text = rh_json_text(rh_json_get(sim_job(&sim, "w"), "status"));
	assert_non_null(strstr(text, COUNTS("0", "0", "1", "1", "0")));
}

static void test_shown__a_deadline(void **state)
{
	auto_sim sim = {0};

	shown_open(&sim, state);
	shown_create(&sim, "'runPolicy':{'activeDeadlineSeconds':60},");
	sim_play_pod(&sim, "w-worker-0", "Running");
	shown_restart(&sim);
	sim_wait(&sim, 62);
	assert_string_equal(rh_json_string_at(sim_job(&sim, "w"), "status.conditions[0].reason"), "DeadlineExceeded");
	sim_assert(&sim, "w", "Failed | ");
}

static void test_shown__suspension(void **state)
{
	auto_sim sim = {0};

	shown_open(&sim, state);
	shown_create(&sim, "");
	sim_play_pod(&sim, "w-worker-0", "Running");
	sim_patch(&sim, "w", "{'spec':{'runPolicy':{'suspend':true}}}");
	sim_settle(&sim);
	shown_restart(&sim);
	sim_wait(&sim, 5);
	shown_assert(&sim,
	             "{" COUNTS("0", "0", "0", "0", "1") ",\"conditions\":[{\"type\":\"Suspended\",\"status\":\"True\","
	                                                 "\"reason\":\"Suspended\",\"message\":\"w is suspended\"}]}");
	sim_patch(&sim, "w", "{'spec':{'runPolicy':{'suspend':false}}}");
	sim_settle(&sim);
	sim_assert(&sim, "w", "| worker-0 Pending, worker-1 Pending");
	sim_wait(&sim, 5);
	shown_assert(&sim,
	             "{" COUNTS("0", "0", "0", "0", "0") ",\"conditions\":[{\"type\":\"Suspended\",\"status\":\"False\","
	                                                 "\"reason\":\"Resumed\",\"message\":\"w is resumed\"}]}");
	sim_assert_no_event(&sim, "Normal Suspended");
}

static void test_shown__a_member_of_others_stays(void **state)
{
	auto_sim sim = {0};

	shown_open(&sim, state);
	shown_create(&sim, "");
	(void)sim_user(&sim, (struct rh_request){.verb = RH_VERB_PATCH_STATUS,
	                                         .resource = &sim.jobs,
	                                         .name = "w",
	                                         .body = sim_json("{'status':{'trainerStatus':{'progress':7}}}")});
	sim_play_pod(&sim, "w-worker-0", "Running");
	sim_play_pod(&sim, "w-worker-1", "Running");
	sim_play_pod(&sim, "w-worker-0", "Succeeded");
	sim_play_pod(&sim, "w-worker-1", "Succeeded");
	sim_assert(&sim, "w", "Complete | worker-0 Succeeded, worker-1 Succeeded");
	assert_non_null(rh_json_at(sim_job(&sim, "w"), "status.trainerStatus.progress"));
}

/* A job that is not valid has no status, and begins when it is corrected. */
static void test_shown__an_invalid_job_waits(void **state)
{
	auto_sim sim = {0};

	shown_open(&sim, state);
	shown_create(&sim, "'refused':true,");
	shown_restart(&sim);
	sim_wait(&sim, 120);
	shown_assert(&sim, "");
	assert_int_equal(sim_assert_event(&sim, "Warning ValidationError Found validation errors: spec.refused"), 1);
	sim_patch(&sim, "w", "{'spec':{'refused':null}}");
	sim_settle(&sim);
	sim_assert(&sim, "w", "| worker-0 Pending, worker-1 Pending");
}

/* What no status shows is found by another engine: a pod that vanished meanwhile is a loss. */
static void test_shown__losses_are_seen_without_counts(void **state)
{
	auto_sim sim = {0};

	shown_open(&sim, state);
	shown_create(&sim, "");
	sim_play_pod(&sim, "w-worker-0", "Running");
	sim_play_pod(&sim, "w-worker-1", "Running");
	sim_wait(&sim, 5);
	sim_kill(&sim);
	sim_delete_pod(&sim, "w-worker-1", 0);
	sim_start(&sim);
	sim_settle(&sim);
	sim_assert(&sim, "w", "| worker-0 Running, worker-1 Pending");
	assert_non_null(strstr(rh_json_string_at(sim_job(&sim, "w"), "metadata.annotations[\"roundhouse.dev/ledger\"]"),
	                       "\"deleted\":1"));
}

int main(void)
{
	static bool places[] = {false, true};
	int failed = 0;

	for (size_t i = 0; i < 2; i++) {
		const struct CMUnitTest tests[] = {
			cmocka_unit_test_prestate(test_shown__a_job_that_runs_has_no_condition, &places[i]),
			cmocka_unit_test_prestate(test_shown__the_end_has_the_kinds_words, &places[i]),
			cmocka_unit_test_prestate(test_shown__a_failure_has_them_too, &places[i]),
			cmocka_unit_test_prestate(test_shown__a_deadline, &places[i]),
			cmocka_unit_test_prestate(test_shown__suspension, &places[i]),
			cmocka_unit_test_prestate(test_shown__a_member_of_others_stays, &places[i]),
			cmocka_unit_test_prestate(test_shown__an_invalid_job_waits, &places[i]),
			cmocka_unit_test_prestate(test_shown__losses_are_seen_without_counts, &places[i]),
		};

		failed +=
			cmocka_run_group_tests_name(i == 0 ? "in this process" : "in a process of its own", tests, NULL, NULL);
	}
	return failed;
}
