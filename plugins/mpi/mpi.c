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

static const char mpi_schema[] =
	"{"
	"\"slotsPerWorker\":{\"type\":\"integer\","
	"\"description\":\"Processes of one Worker, as the hostfile says. Default: 1.\",\"format\":\"int32\","
	"\"minimum\":1},"
	"\"cleanPodPolicy\":{\"type\":\"string\","
	"\"description\":\"The policy of runPolicy, where that has none. Default: None.\","
	"\"enum\":[\"All\",\"None\",\"Running\"]},"
	"\"mainContainer\":{\"type\":\"string\","
	"\"description\":\"Container of the Workers in which the launcher starts its processes. Default: the first.\","
	"\"maxLength\":63}}";

/* The name is looked at when it is new, so that a job that was stored with a bad one can change in other ways. */
static const char mpi_cel[] =
	"[{\"at\":\"spec\","
	"\"rule\":\"!has(self.mainContainer) || self.mainContainer == '' || oldSelf.hasValue() && "
	"has(oldSelf.value().mainContainer) && oldSelf.value().mainContainer == self.mainContainer || !('Worker' "
	"in self.mpiReplicaSpecs) || !has(self.mpiReplicaSpecs['Worker'].template) || "
	"!has(self.mpiReplicaSpecs['Worker'].template.spec) || "
	"!has(self.mpiReplicaSpecs['Worker'].template.spec.containers) || "
	"self.mpiReplicaSpecs['Worker'].template.spec.containers.exists(c, c.name == self.mainContainer)\","
	"\"message\":\"must be the name of a container of Worker\","
	"\"fieldPath\":\".mainContainer\","
	"\"optionalOldSelf\":true}]";

/* V1 shows the age first for this kind (COMPAT A.7). */
static const char mpi_columns[] =
	"[{\"name\":\"Age\",\"type\":\"date\",\"jsonPath\":\".metadata.creationTimestamp\"},"
	"{\"name\":\"State\",\"type\":\"string\",\"jsonPath\":\".status.conditions[-1:].type\"}]";

/* Who grants pods/exec to the launcher must have it. */
static const char mpi_rules[] =
	"[{\"apiGroups\":[\"\"],\"resources\":[\"configmaps\",\"serviceaccounts\"],"
	"\"verbs\":[\"create\",\"delete\",\"list\",\"update\"]},"
	"{\"apiGroups\":[\"\"],\"resources\":[\"pods/exec\"],\"verbs\":[\"create\"]},"
	"{\"apiGroups\":[\"rbac.authorization.k8s.io\"],\"resources\":[\"rolebindings\",\"roles\"],"
	"\"verbs\":[\"create\",\"delete\",\"list\",\"update\"]}]";

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
	.rbac_rules = mpi_rules,
	.contract = mpi_contract,
	.cel_rules = mpi_cel,
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
	.settings = "{\"kubectl-delivery-image\":{\"type\":\"string\",\"format\":\"image\","
				"\"default\":\"kubeflow/kubectl-delivery:latest\","
				"\"description\":\"Image of the container that brings kubectl to a launcher.\"}}",
};

RH_PLUGIN_EXPORT const struct rh_plugin *rh_plugin_entry_v1(void)
{
	return &mpi_plugin;
}
