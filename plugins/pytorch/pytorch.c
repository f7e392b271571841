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

static const char pytorch_schema[] =
	"{"
	"\"nprocPerNode\":{\"type\":\"string\","
	"\"description\":\"Processes of one replica: a number, or a word of torchrun's: auto, cpu, gpu, xpu, or that of a "
	"device. Default: auto.\"},"
	"\"elasticPolicy\":{\"type\":\"object\",\"description\":\"Lets torchrun go on with more or fewer Workers.\","
	"\"x-kubernetes-validations\":[{"
	"\"rule\":\"!has(self.minReplicas) || !has(self.maxReplicas) || self.minReplicas <= self.maxReplicas\","
	"\"message\":\"must not be greater than maxReplicas\",\"fieldPath\":\".minReplicas\"}],"
	"\"properties\":{"
	"\"minReplicas\":{\"type\":\"integer\","
	"\"description\":\"Fewest Workers. Default: maxReplicas, or else the number of Workers.\","
	"\"format\":\"int32\",\"minimum\":1,\"maximum\":2147483647},"
	"\"maxReplicas\":{\"type\":\"integer\","
	"\"description\":\"Most Workers. Default: minReplicas, or else the number of Workers.\","
	"\"format\":\"int32\",\"minimum\":1,\"maximum\":2147483647},"
	"\"rdzvBackend\":{\"type\":\"string\","
	"\"description\":\"Backend of the rendezvous: c10d, etcd, etcd-v2 or static. Default: c10d.\"},"
	"\"rdzvHost\":{\"type\":\"string\",\"description\":\"Host of the rendezvous. Default: Worker 0.\"},"
	"\"rdzvPort\":{\"type\":\"integer\","
	"\"description\":\"Port of the rendezvous. Default: the port of Worker 0.\",\"format\":\"int32\","
	"\"minimum\":1,\"maximum\":65535},"
	"\"rdzvId\":{\"type\":\"string\",\"description\":\"Name of the rendezvous.\"},"
	"\"rdzvConf\":{\"type\":\"array\",\"description\":\"Further settings of the rendezvous.\","
	"\"maxItems\":64,\"items\":{\"type\":\"object\",\"x-kubernetes-validations\":[{"
	"\"rule\":\"has(self.key) && has(self.value)\",\"message\":\"must have a key and a value\"}],\"properties\":{"
	"\"key\":{\"type\":\"string\",\"description\":\"Name of the setting, without comma and equals sign.\","
	"\"pattern\":\"^[^,=]+$\"},"
	"\"value\":{\"type\":\"string\",\"description\":\"Value of the setting, without comma.\","
	"\"pattern\":\"^[^,]+$\"}}}},"
	"\"standalone\":{\"type\":\"boolean\","
	"\"description\":\"Whether torchrun brings its own rendezvous along, for one replica. Default: false.\"},"
	"\"nProcPerNode\":{\"type\":\"integer\","
	"\"description\":\"Deprecated: see nprocPerNode, beside which it is refused.\",\"format\":\"int32\","
	"\"minimum\":1},"
	"\"maxRestarts\":{\"type\":\"integer\",\"description\":\"How often torchrun starts its processes again.\","
	"\"format\":\"int32\",\"minimum\":0,\"maximum\":2147483647},"
	"\"metrics\":{\"type\":\"array\","
	"\"description\":\"Metrics of a HorizontalPodAutoscaler (autoscaling/v2) that scales the Workers.\","
	"\"items\":{\"type\":\"object\",\"x-kubernetes-preserve-unknown-fields\":true}}}}}";

/* COMPAT A.5, rules 13 and 14; a job that broke them before stays as it is. */
static const char pytorch_cel[] =
	"[{\"at\":\"spec\","
	"\"rule\":\"!has(self.elasticPolicy) || 'Worker' in self.pytorchReplicaSpecs || oldSelf.hasValue() && "
	"has(oldSelf.value().elasticPolicy) && !('Worker' in oldSelf.value().pytorchReplicaSpecs)\","
	"\"message\":\"must be configured if elastic policy is used\","
	"\"reason\":\"FieldValueRequired\","
	"\"fieldPath\":\".pytorchReplicaSpecs.Worker\","
	"\"optionalOldSelf\":true},"
	"{\"at\":\"spec\","
	"\"rule\":\"!has(self.nprocPerNode) || !has(self.elasticPolicy) || !has(self.elasticPolicy.nProcPerNode) "
	"|| oldSelf.hasValue() && has(oldSelf.value().nprocPerNode) && has(oldSelf.value().elasticPolicy) && "
	"has(oldSelf.value().elasticPolicy.nProcPerNode)\","
	"\"message\":\"must not be used with spec.nprocPerNode\","
	"\"reason\":\"FieldValueForbidden\","
	"\"fieldPath\":\".elasticPolicy.nProcPerNode\","
	"\"optionalOldSelf\":true}]";

static const char pytorch_rules[] = "[{\"apiGroups\":[\"autoscaling\"],\"resources\":[\"horizontalpodautoscalers\"],"
									"\"verbs\":[\"create\",\"delete\",\"list\",\"update\"]}]";

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
	.rbac_rules = pytorch_rules,
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

static const char pytorch_settings[] =
	"{\"init-container-image\":{\"type\":\"string\",\"format\":\"image\",\"default\":\"alpine:3.10\","
	"\"description\":\"Image of the container that waits until the master's name resolves; on a cluster only.\"},"
	"\"init-container-max-tries\":{\"type\":\"integer\",\"minimum\":1,\"default\":100,"
	"\"description\":\"How often it tries.\"},"
	"\"init-container-template-file\":{\"type\":\"string\",\"format\":\"containers\","
	"\"variables\":[\"MasterAddr\",\"InitContainerImage\",\"MaxTries\"],"
	"\"description\":\"File with the containers to use in its place, in YAML, as the flag of V1.\"}}";

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
