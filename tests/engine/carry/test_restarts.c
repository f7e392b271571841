/* SPDX-License-Identifier: Apache-2.0 */
/* Lives of jobs whose plugin says what restarts: with the plugin in this process, and in one of its own. */
#include <string.h>

#include "engine/carry/sim.h"

/* @param state whether the plugin runs in a process of its own */
static void restarts_open(struct sim *sim, void **state, const char *spec)
{
	struct rh_error err = {0};
	rh_auto_free char *text =
		rh_asprintf("{'metadata':{'name':'r'},'spec':{%s'restartsReplicaSpecs':{"
	                "'Leader':{'template':{'spec':{'containers':[{'name':'c','image':'i'}]}}},"
	                "'Worker':{'replicas':2,'template':{'spec':{'containers':[{'name':'c','image':'i'}]}}}}}}",
	                spec);

	sim_open(sim, true);
	sim->jobs = (struct rh_resource){"example.org/v1", "RestartsJob", "restartsjobs"};
	sim->config->plugin_isolation = *(const bool *)*state ? RH_ISOLATION_PROCESS : RH_ISOLATION_NONE;
	if (rh_host_try_file(sim->host, RH_RESTARTS, &err) < 0)
		fail_msg("%s", err.message);
	sim_start(sim);
	sim_create(sim, sim_json(text));
	sim_settle(sim);
	sim_play_pod(sim, "r-leader-0", "Running");
	sim_play_pod(sim, "r-worker-0", "Running");
	sim_play_pod(sim, "r-worker-1", "Running");
	sim_assert(sim, "r", "Created Running | leader-0 Running, worker-0 Running, worker-1 Running");
}

static void restarts_fail(struct sim *sim, const char *name)
{
	sim_set_pod(sim, name, "Failed", 1, 0);
	sim_settle(sim);
}

/* Another engine goes on where the one before stopped. */
static void restarts_change_engine(struct sim *sim)
{
	sim_kill(sim);
	sim_start(sim);
	sim_settle(sim);
}

static void restarts_assert_ledger(const struct sim *sim, const char *part)
{
	const char *ledger =
		rh_json_string(rh_json_get(rh_json_at(sim_job(sim, "r"), "metadata.annotations"), "roundhouse.dev/ledger"));

	if (!ledger || !strstr(ledger, part))
		fail_msg("the ledger is %s, without %s", ledger ? ledger : "not there", part);
}

static void test_restarts__of_one_replica(void **state)
{
	auto_sim sim = {0};

	restarts_open(&sim, state, "'scope':'replica',");
	restarts_fail(&sim, "r-worker-1");
	sim_assert(&sim, "r", "Created Running | leader-0 Running, worker-0 Running, worker-1 Pending");
	restarts_assert_ledger(&sim, "\"plugin\":1");
	assert_int_equal(sim_assert_event(&sim, "Warning RestartsJobRestarting RestartsJob r is restarting Worker-1."), 1);
	sim_play_pod(&sim, "r-worker-1", "Running");
	sim_assert(&sim, "r", "Created Running | leader-0 Running, worker-0 Running, worker-1 Running");
}

static void test_restarts__of_a_type(void **state)
{
	auto_sim sim = {0};

	restarts_open(&sim, state, "'scope':'type',");
	restarts_fail(&sim, "r-worker-1");
	/* the one that failed is gone at once, the other one has its grace */
	sim_assert(&sim, "r", "Created Restarting | leader-0 Running, worker-0 Running stopping");
	restarts_change_engine(&sim);
	sim_assert(&sim, "r", "Created Restarting | leader-0 Running, worker-0 Running stopping");
	sim_delete_pod(&sim, "r-worker-0", 0);
	sim_settle(&sim);
	sim_assert(&sim, "r", "Created Running | leader-0 Running, worker-0 Pending, worker-1 Pending");
	restarts_assert_ledger(&sim, "\"plugin\":1");
	assert_int_equal(sim_assert_event(&sim, "Warning RestartsJobRestarting workers run together"), 1);
	sim_play_pod(&sim, "r-worker-0", "Running");
	sim_play_pod(&sim, "r-worker-1", "Running");
	sim_assert(&sim, "r", "Created Running | leader-0 Running, worker-0 Running, worker-1 Running");
}

static void restarts_end_all(struct sim *sim)
{
	static const char *const names[] = {"r-leader-0", "r-worker-0", "r-worker-1"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (sim_pod(sim, names[i]))
			sim_delete_pod(sim, names[i], 0);
	}
	sim_settle(sim);
}

static void test_restarts__of_all_as_often_as_the_plugin_says(void **state)
{
	auto_sim sim = {0};

	restarts_open(&sim, state, "'limit':1,'runPolicy':{'backoffLimit':0},");
	restarts_fail(&sim, "r-worker-1");
	restarts_change_engine(&sim);
	restarts_end_all(&sim);
	sim_assert(&sim, "r", "Created Restarting | leader-0 Pending, worker-0 Pending, worker-1 Pending");
	restarts_assert_ledger(&sim, "\"attempt\":1");
	sim_play_pod(&sim, "r-leader-0", "Running");
	restarts_fail(&sim, "r-worker-0");
	sim_assert(&sim, "r", "Created Failed | leader-0 Running, worker-0 Failed, worker-1 Pending");
}

static void test_restarts__once_for_a_token(void **state)
{
	auto_sim sim = {0};

	restarts_open(&sim, state, "'generation':'one',");
	restarts_assert_ledger(&sim, "\"token\":\"one\"");
	sim_patch(&sim, "r", "{'spec':{'generation':'two'}}");
	sim_settle(&sim);
	restarts_end_all(&sim);
	sim_assert(&sim, "r", "Created Restarting | leader-0 Pending, worker-0 Pending, worker-1 Pending");
	restarts_change_engine(&sim);
	sim_play_pod(&sim, "r-leader-0", "Running");
	sim_assert(&sim, "r", "Created Running | leader-0 Running, worker-0 Pending, worker-1 Pending");
	restarts_assert_ledger(&sim, "\"attempt\":1,\"token\":\"two\"");
}

int main(void)
{
	static bool places[] = {false, true};
	int failed = 0;

	for (size_t i = 0; i < 2; i++) {
		const struct CMUnitTest tests[] = {
			cmocka_unit_test_prestate(test_restarts__of_one_replica, &places[i]),
			cmocka_unit_test_prestate(test_restarts__of_a_type, &places[i]),
			cmocka_unit_test_prestate(test_restarts__of_all_as_often_as_the_plugin_says, &places[i]),
			cmocka_unit_test_prestate(test_restarts__once_for_a_token, &places[i]),
		};

		failed +=
			cmocka_run_group_tests_name(i == 0 ? "in this process" : "in a process of its own", tests, NULL, NULL);
	}
	return failed;
}
