/* SPDX-License-Identifier: Apache-2.0 */
/* A plugin that does gang scheduling itself, and has one Service for all of its pods. */
#include <stdio.h>

#include "roundhouse/plugin.h"

static const struct rh_services *gang_host;

static const struct rh_replica_type gang_worker = {
	.head = RH_HEAD(struct rh_replica_type),
	.name = "Worker",
	.default_replicas = 2,
};

static const struct rh_replica_type *const gang_types[] = {&gang_worker, 0};

static const struct rh_kind gang_kind = {
	.head = RH_HEAD(struct rh_kind),
	.group = "example.org",
	.version = "v1",
	.kind = "GangJob",
	.plural = "gangjobs",
	.singular = "gangjob",
	.framework = "gang",
	.controller = "gangjob-controller",
	.replicas_field = "gangReplicaSpecs",
	.types = gang_types,
	.restart_policy = "Never",
	.flags = RH_KIND_OWN_GANG,
};

static int32_t gang_init(const struct rh_services *services, void **ret_self, struct rh_reply *reply)
{
	(void)ret_self;
	if (!RH_HAS(services, struct rh_services, gang))
		return services->fail(reply, RH_EPLUGIN, "needs a host of ABI 1.2");
	gang_host = services;
	return RH_OK;
}

static const struct rh_kind *gang_describe(void *self, uint32_t index)
{
	(void)self;
	return index == 0 ? &gang_kind : 0;
}

static int32_t gang_pod(void *self, const struct rh_view *view, const struct rh_replica *me, struct rh_reply *reply)
{
	const char *scheduler = gang_host->gang(view);

	(void)self;
	(void)me;
	return scheduler ? gang_host->edit(reply, "spec.schedulerName", gang_host->quote(view, scheduler)) : RH_OK;
}

/* An object with the name of the job; @p rest follows its metadata. */
static int32_t gang_add(const struct rh_view *view, struct rh_reply *reply, const char *type, const char *rest)
{
	const char *name = gang_host->quote(view, gang_host->text(view, "metadata.name"));
	char text[256];

	(void)snprintf(text, sizeof(text), "{%s,\"metadata\":{\"name\":%s}%s}", type, name, rest);
	return gang_host->object(reply, text);
}

static int32_t gang_objects(void *self, const struct rh_view *view, struct rh_reply *reply)
{
	static const char service[] = "\"apiVersion\":\"v1\",\"kind\":\"Service\"";
	static const char group[] = "\"apiVersion\":\"scheduling.volcano.sh/v1beta1\",\"kind\":\"PodGroup\"";
	int32_t r = gang_add(view, reply, service, "");

	(void)self;
	return r < 0 || !gang_host->gang(view) ? r : gang_add(view, reply, group, ",\"spec\":{\"minMember\":1}");
}

static const struct rh_plugin gang_plugin = {
	.head = RH_HEAD(struct rh_plugin),
	.name = "gang",
	.release = "1",
	.init = gang_init,
	.describe = gang_describe,
	.pod = gang_pod,
	.objects = gang_objects,
};

const struct rh_plugin *rh_plugin_entry_v1(void)
{
	return &gang_plugin;
}
