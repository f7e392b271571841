/* SPDX-License-Identifier: Apache-2.0 */
/* Replicas that a plugin holds back until others are ready. */
#include <string.h>

#include "engine/carry/sim.h"

static const struct rh_resource hold_groups = {"scheduling.volcano.sh/v1beta1", "PodGroup", "podgroups"};

/* @param state whether the plugin runs in a process of its own */
static void hold_open(struct sim *sim, const struct rh_gang *gang, void **state)
{
	struct rh_error err = {0};

	sim_open(sim, false);
	sim->jobs = (struct rh_resource){"example.org/v1", "ReadyJob", "readyjobs"};
	sim->options.gang = gang;
	sim->config->plugin_isolation = *(const bool *)*state ? RH_ISOLATION_PROCESS : RH_ISOLATION_NONE;
	if (rh_host_try_file(sim->host, RH_READY, &err) < 0)
		fail_msg("%s", err.message);
	sim_start(sim);
}

static void hold_create(struct sim *sim, const char *spec)
{
	rh_auto_free char *text =
		rh_asprintf("{'metadata':{'name':'r'},'spec':{%s'readyReplicaSpecs':{"
	                "'Leader':{'template':{'spec':{'containers':[{'name':'c','image':'i'}]}}},"
	                "'Worker':{'replicas':2,'template':{'spec':{'containers':[{'name':'c','image':'i'}]}}}}}}",
	                spec);

	sim_create(sim, sim_json(text));
	sim_settle(sim);
}

static void hold_play(struct sim *sim, const char *name, const char *phase)
{
	sim_set_pod(sim, name, phase, 0, 0);
	sim_settle(sim);
}

static void test_hold__leaders_wait_for_workers(void **state)
{
	auto_sim sim = {0};

	hold_open(&sim, NULL, state);
	hold_create(&sim, "");
	sim_assert(&sim, "r", "Created | worker-0 Pending, worker-1 Pending");
	hold_play(&sim, "r-worker-0", "Running");
	sim_assert(&sim, "r", "Created | worker-0 Running, worker-1 Pending");
	/* another engine finds the same */
	sim_kill(&sim);
	sim_start(&sim);
	sim_settle(&sim);
	sim_assert(&sim, "r", "Created | worker-0 Running, worker-1 Pending");
	hold_play(&sim, "r-worker-1", "Running");
	sim_assert(&sim, "r", "Created | leader-0 Pending, worker-0 Running, worker-1 Running");
	/* one that is not ready any more stops no leader */
	(void)sim_user(&sim, (struct rh_request){.verb = RH_VERB_PATCH_STATUS,
	                                         .resource = &rh_resource_pods,
	                                         .name = "r-worker-1",
	                                         .body = sim_json("{'status':{'conditions':[{'type':'Ready','status':"
	                                                          "'False'}]}}")});
	sim_settle(&sim);
	sim_assert(&sim, "r", "Created | leader-0 Pending, worker-0 Running, worker-1 Running");
}

static void test_hold__single_replicas(void **state)
{
	auto_sim sim = {0};

	hold_open(&sim, NULL, state);
	hold_create(&sim, "'first':1,");
	sim_assert(&sim, "r", "Created | worker-1 Pending");
	hold_play(&sim, "r-worker-1", "Running");
	sim_assert(&sim, "r", "Created | worker-0 Pending, worker-1 Running");
}

static int64_t hold_members(const struct sim *sim)
{
	int64_t value = -1;

	(void)rh_json_integer(rh_json_at(rh_memory_store_find(sim->store, &hold_groups, "default", "r"), "spec.minMember"),
	                      &value);
	return value;
}

/* The gang does not wait for pods that wait for the gang. */
static void test_hold__the_gang_counts_none_of_them(void **state)
{
	struct rh_gang gang = {0};
	auto_sim sim = {0};

	assert_int_equal(rh_gang_parse("volcano", &gang, NULL), 0);
	hold_open(&sim, &gang, state);
	hold_create(&sim, "");
	assert_int_equal(hold_members(&sim), 2);
	(void)sim_user(&sim, (struct rh_request){.verb = RH_VERB_PATCH_STATUS,
	                                         .resource = &hold_groups,
	                                         .name = "r",
	                                         .body = sim_json("{'status':{'phase':'Inqueue'}}")});
	sim_settle(&sim);
	sim_assert(&sim, "r", "Created | worker-0 Pending, worker-1 Pending");
	hold_play(&sim, "r-worker-0", "Running");
	hold_play(&sim, "r-worker-1", "Running");
	assert_int_equal(hold_members(&sim), 3);
	sim_assert(&sim, "r", "Created | leader-0 Pending, worker-0 Running, worker-1 Running");
}

int main(void)
{
	static bool places[] = {false, true};
	int failed = 0;

	for (size_t i = 0; i < 2; i++) {
		const struct CMUnitTest tests[] = {
			cmocka_unit_test_prestate(test_hold__leaders_wait_for_workers, &places[i]),
			cmocka_unit_test_prestate(test_hold__single_replicas, &places[i]),
			cmocka_unit_test_prestate(test_hold__the_gang_counts_none_of_them, &places[i]),
		};

		failed +=
			cmocka_run_group_tests_name(i == 0 ? "in this process" : "in a process of its own", tests, NULL, NULL);
	}
	return failed;
}
