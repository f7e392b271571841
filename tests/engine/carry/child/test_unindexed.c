/* SPDX-License-Identifier: Apache-2.0 */
/* A kind of somebody else's, whose one launcher has no index in its names and labels, and Services all the same. */
#include <string.h>

#include "engine/carry/sim.h"

static const struct rh_replica_type launcher = {.head = RH_HEAD(struct rh_replica_type),
                                                .name = "Launcher",
                                                .default_replicas = 1,
                                                .max_replicas = 1,
                                                .flags = RH_REPLICA_UNINDEXED};
static const struct rh_replica_type worker = {
	.head = RH_HEAD(struct rh_replica_type), .name = "Worker", .default_replicas = 1};
static const struct rh_replica_type *const types[] = {&launcher, &worker, NULL};

static const struct rh_kind lone = {
	.head = RH_HEAD(struct rh_kind),
	.group = "example.org",
	.version = "v1",
	.kind = "LoneJob",
	.plural = "lonejobs",
	.singular = "lonejob",
	.framework = "lone",
	.controller = "lonejob-controller",
	.replicas_field = "replicas",
	.types = types,
	.restart_policy = "Never",
	.flags = RH_KIND_SERVICES,
};

static const struct rh_kind *describe(void *self, uint32_t index)
{
	(void)self;
	return index == 0 ? &lone : NULL;
}

static const struct rh_plugin plugin = {
	.head = RH_HEAD(struct rh_plugin), .name = "lone", .release = "1", .describe = describe};
static const struct rh_resource lone_jobs = {"example.org/v1", "LoneJob", "lonejobs"};

/* Requests to create Services. */
static bool count_services(void *arg, const struct rh_request *request, struct rh_outcome *ret_outcome, bool *ret_apply)
{
	(void)ret_outcome;
	(void)ret_apply;
	*(int *)arg += request->verb == RH_VERB_CREATE && strcmp(request->resource->kind, "Service") == 0;
	return false;
}

static void open_lone(struct sim *sim, int *services)
{
	struct rh_error err = {0};

	sim_open(sim, false);
	if (rh_host_add(sim->host, "lone", &plugin, &err) < 0)
		fail_msg("%s", err.message);
	rh_memory_store_set_gate(sim->store, count_services, services);
	sim_start(sim);
	assert_int_equal(
		sim_user(sim, (struct rh_request){.verb = RH_VERB_CREATE,
	                                      .resource = &lone_jobs,
	                                      .body = sim_json("{'metadata':{'name':'j'},'spec':{'replicas':{'Launcher':{"
	                                                       "'template':{'spec':{'containers':[{'name':'main','image':"
	                                                       "'i','ports':[{'containerPort':1}]}]}}}}}}")}),
		RH_OUTCOME_OK);
	sim_settle(sim);
}

static const struct rh_json *service(const struct sim *sim)
{
	return rh_memory_store_find(sim->store, &rh_resource_services, "default", "j-launcher");
}

static void test_unindexed__has_one_service(void **state)
{
	auto_sim sim = {0};
	int services = 0;

	(void)state;
	open_lone(&sim, &services);
	sim_play_pod(&sim, "j-launcher", "Running");
	assert_non_null(service(&sim));
	assert_int_equal(services, 1);
	assert_false(rh_engine_busy(sim.engine));
}

static void test_unindexed__service_is_known_after_a_restart(void **state)
{
	auto_sim sim = {0};
	int services = 0;

	(void)state;
	open_lone(&sim, &services);
	sim_play_pod(&sim, "j-launcher", "Running");
	sim_kill(&sim);
	sim_start(&sim);
	sim_settle(&sim);
	assert_non_null(service(&sim));
	assert_int_equal(services, 1);
	assert_false(rh_engine_busy(sim.engine));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unindexed__has_one_service),
		cmocka_unit_test(test_unindexed__service_is_known_after_a_restart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
