/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plugin built outside the tree: the kind EchoJob, whose only replica type is Peer. Each peer gets its number, how
 * many there are, and where the first one listens. The job is done when all peers are (the core's default judge()).
 */
#include <inttypes.h>
#include <stdio.h>

#include "roundhouse/plugin.h"

static const struct rh_replica_type echo_peer = {
	.head = RH_HEAD(struct rh_replica_type),
	.name = "Peer",
	.default_replicas = 1,
	.min_replicas = 1,
	.flags = RH_REPLICA_REQUIRED,
};

static const struct rh_replica_type *const echo_types[] = {&echo_peer, NULL};

static const char echo_contract[] = "[{\"what\":\"env\",\"name\":\"ECHO_PEER\",\"value\":\"the replica's index\"},"
									"{\"what\":\"env\",\"name\":\"ECHO_PEERS\",\"value\":\"all replicas\"},"
									"{\"what\":\"env\",\"name\":\"ECHO_FIRST\",\"value\":\"host and port of Peer 0\"}]";

static const struct rh_kind echo_kind = {
	.head = RH_HEAD(struct rh_kind),
	.group = "example.org",
	.version = "v1",
	.kind = "EchoJob",
	.plural = "echojobs",
	.singular = "echojob",
	.framework = "echo",
	.controller = "echojob-controller",
	.replicas_field = "echoReplicaSpecs",
	.types = echo_types,
	.container = "echo",
	.port_name = "echo-port",
	.port = 7007,
	.restart_policy = "OnFailure",
	.flags = RH_KIND_SERVICES | RH_KIND_DNS_NAME,
	.contract = echo_contract,
};

static int32_t echo_init(const struct rh_services *services, void **ret_self, struct rh_reply *reply)
{
	(void)reply;
	/* the plugin needs nothing but the services, so they are its self; it never writes to them */
	*ret_self = (void *)(uintptr_t)services;
	return RH_OK;
}

static const struct rh_kind *echo_describe(void *self, uint32_t index)
{
	(void)self;
	return index == 0 ? &echo_kind : NULL;
}

static int32_t echo_pod(void *self, const struct rh_view *view, const struct rh_replica *me, struct rh_reply *reply)
{
	const struct rh_services *host = (const struct rh_services *)self;
	const char *first = host->host(view, "Peer", 0);
	char number[16], count[16], address[300];
	int32_t r;

	if (!first)
		return host->fail(reply, RH_ENOMEM, "out of memory");
	snprintf(number, sizeof(number), "%" PRId32, me->index);
	snprintf(count, sizeof(count), "%" PRId32, host->replicas(view, "Peer"));
	snprintf(address, sizeof(address), "%s:%" PRId32, first, host->port(view, "Peer", 0));
	r = host->env(reply, NULL, "ECHO_PEER", number);
	if (r == RH_OK)
		r = host->env(reply, NULL, "ECHO_PEERS", count);
	return r == RH_OK ? host->env(reply, NULL, "ECHO_FIRST", address) : r;
}

static const struct rh_plugin echo_plugin = {
	.head = RH_HEAD(struct rh_plugin),
	.name = "echo",
	.release = "0.1.0",
	.init = echo_init,
	.describe = echo_describe,
	.pod = echo_pod,
	.settings = "{}",
};

RH_PLUGIN_EXPORT const struct rh_plugin *rh_plugin_entry_v1(void)
{
	return &echo_plugin;
}
