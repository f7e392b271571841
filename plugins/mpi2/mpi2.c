/* SPDX-License-Identifier: Apache-2.0 */
/* MPIJob of kubeflow.org/v2beta1, the API of the MPI Operator: the plugin's table and the description of its kind. */
#include "mpi2.h"

static const struct rh_replica_type mpi2_worker = {
	.head = RH_HEAD(struct rh_replica_type),
	.name = MPI2_WORKER,
	.min_replicas = 1,
	.flags = RH_REPLICA_EXPLICIT,
	.restart_policy = "Never",
};

static const struct rh_replica_type mpi2_launcher = {
	.head = RH_HEAD(struct rh_replica_type),
	.name = MPI2_LAUNCHER,
	.default_replicas = 1,
	.min_replicas = 1,
	.max_replicas = 1,
	.flags = RH_REPLICA_LEADER | RH_REPLICA_REQUIRED | RH_REPLICA_UNINDEXED | RH_REPLICA_OUTSIDE,
	.restart_policy = "OnFailure",
};

static const struct rh_replica_type *const mpi2_types[] = {&mpi2_worker, &mpi2_launcher, NULL};

static const struct rh_kind mpi2_kind = {
	.head = RH_HEAD(struct rh_kind),
	.group = "kubeflow.org",
	.version = "v2beta1",
	.kind = "MPIJob",
	.plural = "mpijobs",
	.singular = "mpijob",
	.framework = "mpi",
	.controller = MPI2_OPERATOR,
	.replicas_field = "mpiReplicaSpecs",
	.types = mpi2_types,
	.restart_policy = "Never",
	.flags = RH_KIND_OWN_LABELS | RH_KIND_OPT_IN | RH_KIND_OWN_LIMITS,
	.spec_schema = mpi2_schema,
	.columns = "[]",
	.rbac_rules = mpi2_rbac,
	.contract = mpi2_contract,
	.run_policy = "{\"cleanPodPolicy\":\"None\"}",
	.managers = "[\"kubeflow.org/mpi-operator\",\"kueue.x-k8s.io/multikueue\"]",
	.conditions = mpi2_conditions,
	.status_schema = mpi2_status,
	.host_name = "{pod}.{job}.{namespace}.svc{domain}",
	.lookups = mpi2_lookups,
};

static int32_t mpi2_init(const struct rh_services *services, void **ret_self, struct rh_reply *reply)
{
	if (!RH_HAS(services, struct rh_services, lookup))
		return services->fail(reply, RH_EPLUGIN, "needs a host of ABI 1.2");
	*ret_self = (void *)(uintptr_t)services;
	return RH_OK;
}

static const struct rh_kind *mpi2_describe(void *self, uint32_t index)
{
	(void)self;
	return index == 0 ? &mpi2_kind : NULL;
}

static const struct rh_plugin mpi2_plugin = {
	.head = RH_HEAD(struct rh_plugin),
	.name = "mpi2",
	.release = "0.1.0",
	.init = mpi2_init,
	.describe = mpi2_describe,
	.validate = mpi2_validate,
	.pod = mpi2_make_pod,
	.objects = mpi2_objects,
	.make = mpi2_make,
	.judge = mpi2_judge,
	.settings = mpi2_settings,
};

RH_PLUGIN_EXPORT const struct rh_plugin *rh_plugin_entry_v1(void)
{
	return &mpi2_plugin;
}
