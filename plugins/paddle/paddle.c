/* SPDX-License-Identifier: Apache-2.0 */
/* PaddleJob (kubeflow.org/v1): the plugin's table and the description of its kind. What counts mean is the core's
 * default. */
#include "paddle.h"

static const struct rh_replica_type paddle_master = {
	.head = RH_HEAD(struct rh_replica_type),
	.name = "Master",
	.default_replicas = 1,
	.flags = RH_REPLICA_LEADER,
};

static const struct rh_replica_type paddle_worker = {
	.head = RH_HEAD(struct rh_replica_type),
	.name = "Worker",
	.default_replicas = 1,
	.flags = RH_REPLICA_RANKED,
};

static const struct rh_replica_type *const paddle_types[] = {&paddle_master, &paddle_worker, NULL};

/* Paddle's launcher serves its rendezvous on every interface (RH_KIND_BINDS_ALL). */
static const struct rh_kind paddle_kind = {
	.head = RH_HEAD(struct rh_kind),
	.group = "kubeflow.org",
	.version = "v1",
	.kind = "PaddleJob",
	.plural = "paddlejobs",
	.singular = "paddlejob",
	.framework = "paddle",
	.controller = "paddlejob-controller",
	.replicas_field = "paddleReplicaSpecs",
	.types = paddle_types,
	.container = "paddle",
	.port_name = "master",
	.port = 36543,
	.restart_policy = "OnFailure",
	.scale_type = "Worker",
	.spec_schema = paddle_schema,
	.flags = RH_KIND_SERVICES | RH_KIND_DNS_NAME | RH_KIND_SELECTOR | RH_KIND_BINDS_ALL,
	.contract = paddle_contract,
};

static int32_t paddle_init(const struct rh_services *services, void **ret_self, struct rh_reply *reply)
{
	(void)reply;
	*ret_self = (void *)(uintptr_t)services;
	return RH_OK;
}

static const struct rh_kind *paddle_describe(void *self, uint32_t index)
{
	(void)self;
	return index == 0 ? &paddle_kind : NULL;
}

static const struct rh_plugin paddle_plugin = {
	.head = RH_HEAD(struct rh_plugin),
	.name = "paddle",
	.release = "0.1.0",
	.init = paddle_init,
	.describe = paddle_describe,
	.validate = paddle_validate,
	.pod = paddle_pod,
	.settings = "{}",
};

RH_PLUGIN_EXPORT const struct rh_plugin *rh_plugin_entry_v1(void)
{
	return &paddle_plugin;
}
