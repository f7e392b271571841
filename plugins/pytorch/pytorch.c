/* SPDX-License-Identifier: Apache-2.0 */
/* PyTorchJob (kubeflow.org/v1): the plugin's table and the description of its kind. */
#include "pytorch.h"

static const struct rh_replica_type pytorch_master = {
	.head = RH_HEAD(struct rh_replica_type),
	.name = "Master",
	.default_replicas = 1,
	.min_replicas = 1,
	.max_replicas = 1,
	.flags = RH_REPLICA_LEADER | RH_REPLICA_EXPLICIT,
};

static const struct rh_replica_type pytorch_worker = {
	.head = RH_HEAD(struct rh_replica_type),
	.name = "Worker",
	.default_replicas = 1,
	.min_replicas = 1,
};

static const struct rh_replica_type *const pytorch_types[] = {&pytorch_master, &pytorch_worker, NULL};

/* torch's TCPStore listens on every interface, so two masters of one machine need two ports (RH_KIND_BINDS_ALL). */
static const struct rh_kind pytorch_kind = {
	.head = RH_HEAD(struct rh_kind),
	.group = "kubeflow.org",
	.version = "v1",
	.kind = "PyTorchJob",
	.plural = "pytorchjobs",
	.singular = "pytorchjob",
	.framework = "pytorch",
	.controller = "pytorchjob-controller",
	.replicas_field = "pytorchReplicaSpecs",
	.types = pytorch_types,
	.leader_fallback = "Worker",
	.container = "pytorch",
	.port_name = "pytorchjob-port",
	.port = 23456,
	.restart_policy = "OnFailure",
	.scale_type = "Worker",
	.spec_schema = pytorch_schema,
	.rbac_rules = pytorch_rbac,
	.flags = RH_KIND_SERVICES | RH_KIND_DNS_NAME | RH_KIND_SELECTOR | RH_KIND_BINDS_ALL,
	.contract = pytorch_contract,
	.cel_rules = pytorch_cel,
};

static int32_t pytorch_init(const struct rh_services *services, void **ret_self, struct rh_reply *reply)
{
	(void)reply;
	/* the services are all that the plugin keeps, and nothing here writes to them */
	*ret_self = (void *)(uintptr_t)services;
	return RH_OK;
}

static const struct rh_kind *pytorch_describe(void *self, uint32_t index)
{
	(void)self;
	return index == 0 ? &pytorch_kind : NULL;
}

static const struct rh_plugin pytorch_plugin = {
	.head = RH_HEAD(struct rh_plugin),
	.name = "pytorch",
	.release = "0.1.0",
	.init = pytorch_init,
	.describe = pytorch_describe,
	.validate = pytorch_validate,
	.pod = pytorch_pod,
	.objects = pytorch_objects,
	.judge = pytorch_judge,
	.settings = pytorch_settings,
};

RH_PLUGIN_EXPORT const struct rh_plugin *rh_plugin_entry_v1(void)
{
	return &pytorch_plugin;
}
