/* SPDX-License-Identifier: Apache-2.0 */
/* TrainJob of trainer.kubeflow.org/v1alpha1, the API of Kubeflow Trainer: the plugin's table and what it describes. */
#include "trainer.h"
#include "trainer_texts.h"

static const struct rh_replica_type *const trainer_types[] = {NULL};

static const struct rh_kind trainer_kind = {
	.head = RH_HEAD(struct rh_kind),
	.group = "trainer.kubeflow.org",
	.version = "v1alpha1",
	.kind = "TrainJob",
	.plural = "trainjobs",
	.singular = "trainjob",
	.framework = "trainer",
	.controller = "trainjob-controller",
	.types = trainer_types,
	.container = TRAINER_NODE,
	.port_name = "trainer-port",
	.restart_policy = "OnFailure",
	.port = TRAINER_PORT,
	.flags = RH_KIND_DNS_NAME | RH_KIND_BINDS_ALL | RH_KIND_OWN_LABELS | RH_KIND_OWN_STATUS | RH_KIND_OWN_GANG |
             RH_KIND_STORAGE | RH_KIND_EXPANDED | RH_KIND_OPT_IN,
	.spec_schema = trainer_schema,
	.columns = trainer_columns,
	.rbac_rules = trainer_rbac,
	.cel_rules = trainer_cel,
	.contract = trainer_contract,
	.run_policy_path = "spec",
	.run_policy = "{\"cleanPodPolicy\":\"Running\"}",
	.managers = "[\"trainer.kubeflow.org/trainjob-controller\",\"kueue.x-k8s.io/multikueue\"]",
	.spec_required = "[\"runtimeRef\"]",
	.conditions = trainer_conditions,
	.status_schema = trainer_status,
	.pod_name = "{job}-{type}-0-{index}-{suffix}",
	.host_name = "{job}-{type}-0-{index}.{job}",
	.lookups = trainer_lookups,
};

static int32_t trainer_init(const struct rh_services *services, void **ret_self, struct rh_reply *reply)
{
	if (!RH_HAS(services, struct rh_services, restart))
		return services->fail(reply, RH_EPLUGIN, "needs a host of ABI 1.2");
	*ret_self = (void *)(uintptr_t)services;
	return RH_OK;
}

static const struct rh_kind *trainer_describe(void *self, uint32_t index)
{
	(void)self;
	return index == 0 ? &trainer_kind : NULL;
}

static const struct rh_plugin trainer_plugin = {
	.head = RH_HEAD(struct rh_plugin),
	.name = "trainer",
	.release = "0.1.0",
	.init = trainer_init,
	.describe = trainer_describe,
	.validate = trainer_validate,
	.pod = trainer_make_pod,
	.objects = trainer_objects,
	.judge = trainer_judge,
	.settings = "{}",
	.resources = trainer_resources,
	.make = trainer_make,
	.expand = trainer_expand,
};

RH_PLUGIN_EXPORT const struct rh_plugin *rh_plugin_entry_v1(void)
{
	return &trainer_plugin;
}
