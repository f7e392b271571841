/* SPDX-License-Identifier: Apache-2.0 */
/* A plugin that says why a job failed in the words of another operator, whose jobs it takes over. */
#include "roundhouse/plugin.h"

static const struct rh_services *conclude_host;

static const struct rh_replica_type conclude_worker = {
	.head = RH_HEAD(struct rh_replica_type),
	.name = "Worker",
	.default_replicas = 1,
};

static const struct rh_replica_type *const conclude_types[] = {&conclude_worker, 0};

static const struct rh_kind conclude_kind = {
	.head = RH_HEAD(struct rh_kind),
	.group = "example.org",
	.version = "v1",
	.kind = "ConcludeJob",
	.plural = "concludejobs",
	.singular = "concludejob",
	.framework = "conclude",
	.controller = "concludejob-controller",
	.replicas_field = "concludeReplicaSpecs",
	.types = conclude_types,
	.restart_policy = "Never",
	.managers = "[\"example.org/operator\",\"example.org/other\"]",
};

static int32_t conclude_init(const struct rh_services *services, void **ret_self, struct rh_reply *reply)
{
	(void)ret_self;
	if (!RH_HAS(services, struct rh_services, conclude))
		return services->fail(reply, RH_EPLUGIN, "needs a host of ABI 1.2");
	conclude_host = services;
	return RH_OK;
}

static const struct rh_kind *conclude_describe(void *self, uint32_t index)
{
	(void)self;
	return index == 0 ? &conclude_kind : 0;
}

/* The reason is what the job asks for. */
static int32_t conclude_judge(void *self, const struct rh_view *view, struct rh_reply *reply)
{
	(void)self;
	return conclude_host->conclude(reply, RH_VERDICT_FAILED, "Worker", conclude_host->text(view, "spec.reason"),
	                               "1/1 workers are evicted");
}

static const struct rh_plugin conclude_plugin = {
	.head = RH_HEAD(struct rh_plugin),
	.name = "conclude",
	.release = "1",
	.init = conclude_init,
	.describe = conclude_describe,
	.judge = conclude_judge,
};

const struct rh_plugin *rh_plugin_entry_v1(void)
{
	return &conclude_plugin;
}
