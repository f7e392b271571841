/* SPDX-License-Identifier: Apache-2.0 */
/* TFJob (kubeflow.org/v1): the plugin's table and the description of its kind. */
#include "tensorflow.h"

/* V1 lets several chiefs in, but a TensorFlow cluster has at most one. */
static const struct rh_replica_type tensorflow_chief = {
	.head = RH_HEAD(struct rh_replica_type),
	.name = "Chief",
	.default_replicas = 1,
	.max_replicas = 1,
	.flags = RH_REPLICA_RANKED | RH_REPLICA_LEADER,
};

/* What a chief was called before. */
static const struct rh_replica_type tensorflow_master = {
	.head = RH_HEAD(struct rh_replica_type),
	.name = "Master",
	.default_replicas = 1,
	.max_replicas = 1,
	.flags = RH_REPLICA_RANKED | RH_REPLICA_LEADER,
};

static const struct rh_replica_type tensorflow_ps = {
	.head = RH_HEAD(struct rh_replica_type),
	.name = "PS",
	.default_replicas = 1,
};

static const struct rh_replica_type tensorflow_worker = {
	.head = RH_HEAD(struct rh_replica_type),
	.name = "Worker",
	.default_replicas = 1,
	.flags = RH_REPLICA_RANKED,
};

static const struct rh_replica_type tensorflow_evaluator = {
	.head = RH_HEAD(struct rh_replica_type),
	.name = "Evaluator",
	.default_replicas = 1,
};

static const struct rh_replica_type *const tensorflow_types[] = {
	&tensorflow_chief, &tensorflow_master, &tensorflow_ps, &tensorflow_worker, &tensorflow_evaluator, NULL};

/* TensorFlow's servers listen on every interface, so those of one machine need a port each (RH_KIND_BINDS_ALL). */
static const struct rh_kind tensorflow_kind = {
	.head = RH_HEAD(struct rh_kind),
	.group = "kubeflow.org",
	.version = "v1",
	.kind = "TFJob",
	.plural = "tfjobs",
	.singular = "tfjob",
	.framework = "tensorflow",
	.controller = "tfjob-controller",
	.replicas_field = "tfReplicaSpecs",
	.types = tensorflow_types,
	.leader_fallback = "Worker",
	.container = "tensorflow",
	.port_name = "tfjob-port",
	.port = 2222,
	.restart_policy = "Never",
	.spec_schema = tensorflow_schema,
	.flags = RH_KIND_SERVICES | RH_KIND_DNS_NAME | RH_KIND_ANY_CASE | RH_KIND_OPEN_TYPES | RH_KIND_BINDS_ALL,
	.contract = tensorflow_contract,
	.cel_rules = tensorflow_cel,
};

static int32_t tensorflow_init(const struct rh_services *services, void **ret_self, struct rh_reply *reply)
{
	(void)reply;
	*ret_self = (void *)(uintptr_t)services;
	return RH_OK;
}

static const struct rh_kind *tensorflow_describe(void *self, uint32_t index)
{
	(void)self;
	return index == 0 ? &tensorflow_kind : NULL;
}

static const struct rh_plugin tensorflow_plugin = {
	.head = RH_HEAD(struct rh_plugin),
	.name = "tensorflow",
	.release = "0.1.0",
	.init = tensorflow_init,
	.describe = tensorflow_describe,
	.validate = tensorflow_validate,
	.pod = tensorflow_pod,
	.judge = tensorflow_judge,
	.settings = tensorflow_settings,
};

RH_PLUGIN_EXPORT const struct rh_plugin *rh_plugin_entry_v1(void)
{
	return &tensorflow_plugin;
}
