/* SPDX-License-Identifier: Apache-2.0 */
/* XGBoostJob (kubeflow.org/v1): the plugin's table and the description of its kind. */
#include "xgboost.h"

static const struct rh_replica_type xgboost_master = {
	.head = RH_HEAD(struct rh_replica_type),
	.name = "Master",
	.default_replicas = 1,
	.min_replicas = 1,
	.max_replicas = 1,
	.flags = RH_REPLICA_LEADER | RH_REPLICA_EXPLICIT | RH_REPLICA_REQUIRED,
};

static const struct rh_replica_type xgboost_worker = {
	.head = RH_HEAD(struct rh_replica_type),
	.name = "Worker",
	.default_replicas = 1,
};

static const struct rh_replica_type *const xgboost_types[] = {&xgboost_master, &xgboost_worker, NULL};

/* The contract has one WORKER_PORT for all workers (RH_KIND_SHARED_PORT). */
static const struct rh_kind xgboost_kind = {
	.head = RH_HEAD(struct rh_kind),
	.group = "kubeflow.org",
	.version = "v1",
	.kind = "XGBoostJob",
	.plural = "xgboostjobs",
	.singular = "xgboostjob",
	.framework = "xgboost",
	.controller = "xgboostjob-controller",
	.replicas_field = "xgbReplicaSpecs",
	.types = xgboost_types,
	.container = "xgboost",
	.port_name = "xgboostjob-port",
	.port = 9999,
	.restart_policy = "Never",
	.flags = RH_KIND_SERVICES | RH_KIND_DNS_NAME | RH_KIND_SHARED_PORT,
	.contract = xgboost_contract,
};

static int32_t xgboost_init(const struct rh_services *services, void **ret_self, struct rh_reply *reply)
{
	(void)reply;
	*ret_self = (void *)(uintptr_t)services;
	return RH_OK;
}

static const struct rh_kind *xgboost_describe(void *self, uint32_t index)
{
	(void)self;
	return index == 0 ? &xgboost_kind : NULL;
}

static const struct rh_plugin xgboost_plugin = {
	.head = RH_HEAD(struct rh_plugin),
	.name = "xgboost",
	.release = "0.1.0",
	.init = xgboost_init,
	.describe = xgboost_describe,
	.validate = xgboost_validate,
	.pod = xgboost_pod,
	.judge = xgboost_judge,
	.settings = "{}",
};

RH_PLUGIN_EXPORT const struct rh_plugin *rh_plugin_entry_v1(void)
{
	return &xgboost_plugin;
}
