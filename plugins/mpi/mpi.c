/* SPDX-License-Identifier: Apache-2.0 */
/* MPIJob (kubeflow.org/v1): the plugin's table and the description of its kind. What counts mean is the core's default.
 */
#include "mpi.h"

static const struct rh_replica_type mpi_worker = {
	.head = RH_HEAD(struct rh_replica_type),
	.name = "Worker",
	.default_replicas = 0,
};

static const struct rh_replica_type mpi_launcher = {
	.head = RH_HEAD(struct rh_replica_type),
	.name = "Launcher",
	.default_replicas = 1,
	.min_replicas = 1,
	.max_replicas = 1,
	.flags = RH_REPLICA_LEADER | RH_REPLICA_REQUIRED | RH_REPLICA_UNINDEXED,
};

static const struct rh_replica_type *const mpi_types[] = {&mpi_worker, &mpi_launcher, NULL};

static const struct rh_kind mpi_kind = {
	.head = RH_HEAD(struct rh_kind),
	.group = "kubeflow.org",
	.version = "v1",
	.kind = "MPIJob",
	.plural = "mpijobs",
	.singular = "mpijob",
	.framework = "mpi",
	.controller = "mpijob-controller",
	.replicas_field = "mpiReplicaSpecs",
	.types = mpi_types,
	.restart_policy = "Never",
	.spec_schema = mpi_schema,
	.columns = mpi_columns,
	.rbac_rules = mpi_rbac,
	.contract = mpi_contract,
	.cel_rules = mpi_cel,
	.flags = RH_KIND_FALLBACK, /* jobs that are older than a definition with several versions are V1's */
};

static int32_t mpi_init(const struct rh_services *services, void **ret_self, struct rh_reply *reply)
{
	(void)reply;
	*ret_self = (void *)(uintptr_t)services;
	return RH_OK;
}

static const struct rh_kind *mpi_describe(void *self, uint32_t index)
{
	(void)self;
	return index == 0 ? &mpi_kind : NULL;
}

static const struct rh_plugin mpi_plugin = {
	.head = RH_HEAD(struct rh_plugin),
	.name = "mpi",
	.release = "0.1.0",
	.init = mpi_init,
	.describe = mpi_describe,
	.validate = mpi_validate,
	.pod = mpi_pod,
	.objects = mpi_objects,
	.settings = mpi_settings,
};

RH_PLUGIN_EXPORT const struct rh_plugin *rh_plugin_entry_v1(void)
{
	return &mpi_plugin;
}
