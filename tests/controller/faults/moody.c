/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plugin that fails: the kind MoodyJob, whose plugin does not know what to do for the last of two peers, and counts
 * three without a word.
 */
#include "roundhouse/plugin.h"

static const struct rh_replica_type moody_peer = {
	.head = RH_HEAD(struct rh_replica_type),
	.name = "Peer",
	.default_replicas = 1,
	.min_replicas = 1,
	.flags = RH_REPLICA_REQUIRED,
};

static const struct rh_replica_type *const moody_types[] = {&moody_peer, NULL};

static const struct rh_kind moody_kind = {
	.head = RH_HEAD(struct rh_kind),
	.group = "example.org",
	.version = "v1",
	.kind = "MoodyJob",
	.plural = "moodyjobs",
	.singular = "moodyjob",
	.framework = "moody",
	.controller = "moodyjob-controller",
	.replicas_field = "moodyReplicaSpecs",
	.types = moody_types,
	.container = "moody",
	.port_name = "moody-port",
	.port = 7008,
	.restart_policy = "OnFailure",
	.flags = RH_KIND_SERVICES,
};

static int32_t moody_init(const struct rh_services *services, void **ret_self, struct rh_reply *reply)
{
	(void)reply;
	/* the plugin needs nothing but the services, so they are its self; it never writes to them */
	*ret_self = (void *)(uintptr_t)services;
	return RH_OK;
}

static const struct rh_kind *moody_describe(void *self, uint32_t index)
{
	(void)self;
	return index == 0 ? &moody_kind : NULL;
}

static int32_t moody_pod(void *self, const struct rh_view *view, const struct rh_replica *me, struct rh_reply *reply)
{
	const struct rh_services *host = (const struct rh_services *)self;

	if (host->replicas(view, "Peer") == 2 && me->index == 1)
		return host->fail(reply, RH_EINVAL, "not with two");
	return RH_OK;
}

static const struct rh_plugin moody_plugin = {
	.head = RH_HEAD(struct rh_plugin),
	.name = "moody",
	.release = "0.1.0",
	.init = moody_init,
	.describe = moody_describe,
	.pod = moody_pod,
};

RH_PLUGIN_EXPORT const struct rh_plugin *rh_plugin_entry_v1(void)
{
	return &moody_plugin;
}
