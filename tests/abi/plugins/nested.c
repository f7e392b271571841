/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A kind whose object is not a flat map: the head stands at spec.head, the workers in spec.cluster.replicaSpecs, and
 * the members of the run policy in spec itself.
 */
#include "roundhouse/plugin.h"

static const struct rh_services *nested_host;

static const struct rh_replica_type nested_head = {
	.head = RH_HEAD(struct rh_replica_type),
	.name = "Head",
	.default_replicas = 1,
	.min_replicas = 1,
	.max_replicas = 1,
	.flags = RH_REPLICA_LEADER | RH_REPLICA_REQUIRED,
	.path = "spec.head",
};

static const struct rh_replica_type nested_worker = {
	.head = RH_HEAD(struct rh_replica_type),
	.name = "Worker",
	.default_replicas = 2,
	.min_replicas = 1,
};

static const struct rh_replica_type *const nested_types[] = {&nested_head, &nested_worker, 0};

static const struct rh_kind nested_kind = {
	.head = RH_HEAD(struct rh_kind),
	.group = "example.org",
	.version = "v1",
	.kind = "ClusterJob",
	.plural = "clusterjobs",
	.singular = "clusterjob",
	.framework = "nested",
	.controller = "clusterjob-controller",
	.types = nested_types,
	.container = "main",
	.restart_policy = "Never",
	.scale_type = "Worker",
	.flags = RH_KIND_SERVICES,
	.spec_schema = "{\"suspend\":{\"type\":\"boolean\"},\"ttlSecondsAfterFinished\":{\"type\":\"integer\"},"
				   "\"managedBy\":{\"type\":\"string\"},"
				   "\"cluster\":{\"type\":\"object\",\"properties\":{\"size\":{\"type\":\"string\"}}}}",
	.cel_rules = "[{\"at\":\"replicas\",\"rule\":\"self.all(t, t != 'Driver')\",\"message\":\"no drivers\"}]",
	.replicas_path = "spec.cluster.replicaSpecs",
	.run_policy_path = "spec",
	.spec_required = "[\"cluster\",\"head\"]",
};

static int32_t nested_init(const struct rh_services *services, void **ret_self, struct rh_reply *reply)
{
	(void)ret_self;
	(void)reply;
	nested_host = services;
	return RH_OK;
}

static const struct rh_kind *nested_describe(void *self, uint32_t index)
{
	(void)self;
	return index == 0 ? &nested_kind : 0;
}

static int32_t nested_pod(void *self, const struct rh_view *view, const struct rh_replica *me, struct rh_reply *reply)
{
	const char *size = nested_host->text(view, "spec.cluster.size");

	(void)self;
	(void)me;
	return nested_host->env(reply, 0, "HEAD", size ? size : nested_host->host(view, "Head", 0));
}

static const struct rh_plugin nested_plugin = {
	.head = RH_HEAD(struct rh_plugin),
	.name = "nested",
	.release = "1",
	.init = nested_init,
	.describe = nested_describe,
	.pod = nested_pod,
};

const struct rh_plugin *rh_plugin_entry_v1(void)
{
	return &nested_plugin;
}
