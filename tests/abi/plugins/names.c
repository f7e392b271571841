/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plugin whose pods have names and labels of another shape, as those of TrainJob and of MPIJob of v2beta1: one
 * Service for the job, hosts below it, and the label replica-index with a meaning of its own.
 */
#include <inttypes.h>
#include <stdio.h>

#include "roundhouse/plugin.h"

static const struct rh_replica_type names_launcher = {
	.head = RH_HEAD(struct rh_replica_type),
	.name = "Launcher",
	.default_replicas = 1,
	.max_replicas = 1,
	.flags = RH_REPLICA_LEADER | RH_REPLICA_UNINDEXED,
};

static const struct rh_replica_type names_node = {
	.head = RH_HEAD(struct rh_replica_type),
	.name = "Node",
	.default_replicas = 1,
};

static const struct rh_replica_type *const names_types[] = {&names_launcher, &names_node, 0};

static const struct rh_kind names_kind = {
	.head = RH_HEAD(struct rh_kind),
	.group = "example.org",
	.version = "v1",
	.kind = "NamesJob",
	.plural = "namesjobs",
	.singular = "namesjob",
	.framework = "names",
	.controller = "namesjob-controller",
	.replicas_field = "namesReplicaSpecs",
	.types = names_types,
	.restart_policy = "Never",
	.flags = RH_KIND_OWN_LABELS | RH_KIND_SELECTOR | RH_KIND_DNS_NAME,
	.pod_name = "{job}-{type}-0-{index}-{suffix}",
	.host_name = "{job}-{type}-0-{index}.{job}.{namespace}.svc{domain}",
	.rbac_rules = "[{\"apiGroups\":[\"\"],\"resources\":[\"services\"],"
				  "\"verbs\":[\"create\",\"list\",\"update\",\"delete\"]}]",
};

static int32_t names_init(const struct rh_services *services, void **ret_self, struct rh_reply *reply)
{
	if (!RH_HAS(services, struct rh_services, status))
		return services->fail(reply, RH_EPLUGIN, "needs a host of ABI 1.2");
	*ret_self = (void *)services;
	return RH_OK;
}

static const struct rh_kind *names_describe(void *self, uint32_t index)
{
	(void)self;
	return index == 0 ? &names_kind : 0;
}

static int32_t names_pod(void *self, const struct rh_view *view, const struct rh_replica *me, struct rh_reply *reply)
{
	const struct rh_services *services = self;
	const char *first = services->host(view, "Node", 0);
	char index[16];
	int32_t r;

	(void)snprintf(index, sizeof(index), "\"%" PRId32 "\"", me->index + 1);
	r = services->edit(reply, "metadata.labels[\"training.kubeflow.org/replica-index\"]", index);
	if (r == 0)
		r = services->edit(reply, "spec.subdomain", services->quote(view, services->text(view, "metadata.name")));
	if (r == 0 && first)
		r = services->env(reply, 0, "FIRST_HOST", first);
	return r == 0 ? services->env(reply, 0, "MY_POD", services->pod_name(view, me->type, me->index)) : r;
}

static int32_t names_objects(void *self, const struct rh_view *view, struct rh_reply *reply)
{
	const struct rh_services *services = self;
	char text[256];

	(void)snprintf(text, sizeof(text),
	               "{\"apiVersion\":\"v1\",\"kind\":\"Service\",\"metadata\":{\"name\":%s},\"spec\":{\"clusterIP\":"
	               "\"None\"}}",
	               services->quote(view, services->text(view, "metadata.name")));
	return services->object(reply, text);
}

static const struct rh_plugin names_plugin = {
	.head = RH_HEAD(struct rh_plugin),
	.name = "names",
	.release = "1",
	.init = names_init,
	.describe = names_describe,
	.pod = names_pod,
	.objects = names_objects,
	.settings = "{\"cluster-domain\":{\"type\":\"string\",\"format\":\"domain\",\"description\":\"Of the cluster.\"}}",
};

RH_PLUGIN_EXPORT const struct rh_plugin *rh_plugin_entry_v1(void)
{
	return &names_plugin;
}
