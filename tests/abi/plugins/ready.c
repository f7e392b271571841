/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plugin that 1.1 cannot carry: leaders come when all workers are ready, and stay when one is not ready any more.
 * With spec.first set only the worker of that index comes at first.
 */
#include "roundhouse/plugin.h"

static const struct rh_replica_type ready_leader = {
	.head = RH_HEAD(struct rh_replica_type), .name = "Leader", .default_replicas = 1, .flags = RH_REPLICA_LEADER};
static const struct rh_replica_type ready_worker = {
	.head = RH_HEAD(struct rh_replica_type), .name = "Worker", .default_replicas = 1};

static const struct rh_replica_type *const ready_types[] = {&ready_leader, &ready_worker, 0};

static const struct rh_kind ready_kind = {
	.head = RH_HEAD(struct rh_kind),
	.group = "example.org",
	.version = "v1",
	.kind = "ReadyJob",
	.plural = "readyjobs",
	.singular = "readyjob",
	.framework = "ready",
	.controller = "readyjob-controller",
	.replicas_field = "readyReplicaSpecs",
	.types = ready_types,
	.restart_policy = "Never",
	.spec_schema = "{\"first\":{\"type\":\"integer\",\"minimum\":0}}",
};

static int32_t ready_init(const struct rh_services *services, void **ret_self, struct rh_reply *reply)
{
	if (!RH_HAS(services, struct rh_services, hold))
		return services->fail(reply, RH_EPLUGIN, "needs a host of ABI 1.2");
	*ret_self = (void *)services;
	return 0;
}

static const struct rh_kind *ready_describe(void *self, uint32_t index)
{
	(void)self;
	return index == 0 ? &ready_kind : NULL;
}

/* All workers but the first one wait for it. */
static int32_t ready_hold_workers(const struct rh_services *services, const struct rh_view *view, int64_t first,
                                  struct rh_reply *reply)
{
	struct rh_replica_state state = {.head = RH_HEAD(struct rh_replica_state), .ready = -1};
	int32_t r = 0;

	if (services->replica(view, "Worker", (int32_t)first, &state) && state.ready == 1)
		return 0;
	for (int32_t i = 0; i < services->replicas(view, "Worker") && r == 0; i++)
		r = i == first ? 0 : services->hold(reply, "Worker", i, "waits for the first worker");
	return r;
}

static int32_t ready_judge(void *self, const struct rh_view *view, struct rh_reply *reply)
{
	const struct rh_services *services = self;
	struct rh_counts workers = {.head = RH_HEAD(struct rh_counts), .ready = -1};
	int64_t first;
	int32_t r = 0;

	if (services->integer(view, "spec.first", &first))
		r = ready_hold_workers(services, view, first, reply);
	if (r == 0 && services->counts(view, "Worker", &workers) && workers.ready < workers.desired)
		r = services->hold(reply, "Leader", -1, "waits until all workers are ready");
	return r < 0 ? r : RH_DEFAULT;
}

RH_PLUGIN_EXPORT const struct rh_plugin *rh_plugin_entry_v1(void)
{
	static const struct rh_plugin plugin = {
		.head = RH_HEAD(struct rh_plugin),
		.name = "ready",
		.release = "1",
		.init = ready_init,
		.describe = ready_describe,
		.judge = ready_judge,
	};

	return &plugin;
}
