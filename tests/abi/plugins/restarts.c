/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plugin that 1.1 cannot carry: it says what restarts when a worker fails. spec.scope is "all", "type" or "replica";
 * after spec.limit restarts of all, which count against nothing, a failure is one. spec.generation restarts all once
 * for each of its values.
 */
#include <string.h>

#include "roundhouse/plugin.h"

static const struct rh_replica_type restarts_leader = {
	.head = RH_HEAD(struct rh_replica_type), .name = "Leader", .default_replicas = 1, .flags = RH_REPLICA_LEADER};
static const struct rh_replica_type restarts_worker = {
	.head = RH_HEAD(struct rh_replica_type), .name = "Worker", .default_replicas = 1};

static const struct rh_replica_type *const restarts_types[] = {&restarts_leader, &restarts_worker, 0};

static const struct rh_kind restarts_kind = {
	.head = RH_HEAD(struct rh_kind),
	.group = "example.org",
	.version = "v1",
	.kind = "RestartsJob",
	.plural = "restartsjobs",
	.singular = "restartsjob",
	.framework = "restarts",
	.controller = "restartsjob-controller",
	.replicas_field = "restartsReplicaSpecs",
	.types = restarts_types,
	.restart_policy = "Never",
	.spec_schema = "{\"scope\":{\"type\":\"string\",\"enum\":[\"all\",\"type\",\"replica\"]},"
				   "\"limit\":{\"type\":\"integer\",\"minimum\":0},"
				   "\"generation\":{\"type\":\"string\",\"pattern\":\"^[a-z0-9]{1,63}$\"}}",
};

static int32_t restarts_init(const struct rh_services *services, void **ret_self, struct rh_reply *reply)
{
	if (!RH_HAS(services, struct rh_services, restart))
		return services->fail(reply, RH_EPLUGIN, "needs a host of ABI 1.2");
	*ret_self = (void *)services;
	return 0;
}

static const struct rh_kind *restarts_describe(void *self, uint32_t index)
{
	(void)self;
	return index == 0 ? &restarts_kind : NULL;
}

/* Restart what spec.scope says because worker @p index failed. */
static int32_t restarts_again(const struct rh_services *services, const struct rh_view *view, int32_t index,
                              struct rh_reply *reply)
{
	const char *scope = services->text(view, "spec.scope");
	int64_t limit;

	if (services->integer(view, "spec.limit", &limit) && services->attempt(view) >= limit)
		return services->verdict(reply, RH_VERDICT_FAILED, "Worker", "the limit is reached");
	if (scope && strcmp(scope, "type") == 0)
		return services->restart(reply, "Worker", -1, 0, NULL, "workers run together");
	if (scope && strcmp(scope, "replica") == 0)
		return services->restart(reply, "Worker", index, 0, NULL, NULL);
	return services->restart(reply, NULL, -1, RH_RESTART_FREE, NULL, "a worker failed");
}

static int32_t restarts_judge(void *self, const struct rh_view *view, struct rh_reply *reply)
{
	const struct rh_services *services = self;
	const char *generation = services->text(view, "spec.generation");
	int32_t failed = 0;
	int32_t r = 0;

	if (generation)
		r = services->restart(reply, NULL, -1, 0, generation, NULL);
	for (int32_t i = 0; i < services->replicas(view, "Worker") && r == 0; i++) {
		struct rh_replica_state state = {.head = RH_HEAD(struct rh_replica_state)};

		if (!services->replica(view, "Worker", i, &state) || state.phase != RH_PHASE_FAILED)
			continue;
		failed++;
		r = restarts_again(services, view, i, reply);
	}
	/* the core's verdict of these failures would be that the job has failed */
	return r < 0 || failed > 0 ? r : RH_DEFAULT;
}

RH_PLUGIN_EXPORT const struct rh_plugin *rh_plugin_entry_v1(void)
{
	static const struct rh_plugin plugin = {
		.head = RH_HEAD(struct rh_plugin),
		.name = "restarts",
		.release = "1",
		.init = restarts_init,
		.describe = restarts_describe,
		.judge = restarts_judge,
	};

	return &plugin;
}
