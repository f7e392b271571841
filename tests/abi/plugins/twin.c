/* SPDX-License-Identifier: Apache-2.0 */
/* A plugin of ABI 1.2 that serves a second version of a kind of ours: MPIJob of kubeflow.org/v2beta1. */
#include <stddef.h>

#include "roundhouse/plugin.h"

static const struct rh_services *services;

static const struct rh_replica_type twin_launcher = {.head = RH_HEAD(struct rh_replica_type),
                                                     .name = "Launcher",
                                                     .default_replicas = 1,
                                                     .max_replicas = 1,
                                                     .flags = RH_REPLICA_LEADER | RH_REPLICA_REQUIRED |
                                                              RH_REPLICA_UNINDEXED};
static const struct rh_replica_type twin_worker = {
	.head = RH_HEAD(struct rh_replica_type), .name = "Worker", .default_replicas = 1};
static const struct rh_replica_type *const twin_types[] = {&twin_launcher, &twin_worker, NULL};

static const struct rh_kind twin_kind = {
	.head = RH_HEAD(struct rh_kind),
	.group = "kubeflow.org",
	.version = "v2beta1",
	.kind = "MPIJob",
	.plural = "mpijobs",
	.singular = "mpijob",
	.framework = "mpi",
	.controller = "mpi-operator",
	.replicas_field = "mpiReplicaSpecs",
	.types = twin_types,
	.restart_policy = "Never",
	.spec_schema = "{\"mpiImplementation\":{\"type\":\"string\",\"enum\":[\"OpenMPI\",\"Intel\",\"MPICH\"],"
				   "\"description\":\"Which MPI. Default: OpenMPI.\"},"
				   "\"sshAuthMountPath\":{\"type\":\"string\",\"description\":\"Where the keys are.\"}}",
};

static const struct rh_kind *twin_describe(void *self, uint32_t index)
{
	(void)self;
	return index == 0 ? &twin_kind : NULL;
}

static int32_t twin_init(const struct rh_services *given, void **ret_self, struct rh_reply *reply)
{
	(void)ret_self;
	(void)reply;
	services = given;
	return 0;
}

/* Shows by whom and in which version a job is handled. */
static int32_t twin_pod(void *self, const struct rh_view *view, const struct rh_replica *me, struct rh_reply *reply)
{
	const char *implementation = services->text(view, "spec.mpiImplementation");
	int32_t r = services->env(reply, NULL, "TWIN", services->text(view, "apiVersion"));

	(void)self;
	(void)me;
	return r < 0 ? r : services->env(reply, NULL, "IMPLEMENTATION", implementation ? implementation : "OpenMPI");
}

static const struct rh_plugin twin_plugin = {
	.head = RH_HEAD(struct rh_plugin),
	.name = "twin",
	.release = "1",
	.init = twin_init,
	.describe = twin_describe,
	.pod = twin_pod,
};

RH_PLUGIN_EXPORT const struct rh_plugin *rh_plugin_entry_v1(void)
{
	return &twin_plugin;
}
