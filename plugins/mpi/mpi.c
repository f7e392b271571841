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

static const char mpi_schema[] = "{\"slotsPerWorker\":{\"type\":\"integer\",\"format\":\"int32\"},"
								 "\"cleanPodPolicy\":{\"type\":\"string\"},"
								 "\"mainContainer\":{\"type\":\"string\"}}";

/* V1 shows the age first for this kind (COMPAT A.7). */
static const char mpi_columns[] =
	"[{\"name\":\"Age\",\"type\":\"date\",\"jsonPath\":\".metadata.creationTimestamp\"},"
	"{\"name\":\"State\",\"type\":\"string\",\"jsonPath\":\".status.conditions[-1:].type\"}]";

/* Who grants pods/exec to the launcher must have it. */
static const char mpi_rules[] =
	"[{\"apiGroups\":[\"\"],\"resources\":[\"configmaps\",\"serviceaccounts\"],"
	"\"verbs\":[\"create\",\"delete\",\"get\",\"list\",\"patch\",\"update\",\"watch\"]},"
	"{\"apiGroups\":[\"\"],\"resources\":[\"pods/exec\"],\"verbs\":[\"create\"]},"
	"{\"apiGroups\":[\"rbac.authorization.k8s.io\"],\"resources\":[\"rolebindings\",\"roles\"],"
	"\"verbs\":[\"create\",\"delete\",\"get\",\"list\",\"patch\",\"update\",\"watch\"]}]";

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
	.rules = mpi_rules,
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
};

RH_PLUGIN_EXPORT const struct rh_plugin *rh_plugin_entry_v0(void)
{
	return &mpi_plugin;
}
