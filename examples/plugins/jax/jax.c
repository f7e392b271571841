/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JAXJob (kubeflow.org/v1) as a plugin that is built outside the tree. What a job's counts mean, and what a job may
 * say, is the core's default.
 */
#include <inttypes.h>
#include <stdio.h>

#include "roundhouse/plugin.h"

static const struct rh_replica_type jax_worker = {
	.head = RH_HEAD(struct rh_replica_type),
	.name = "Worker",
	.default_replicas = 1,
	.min_replicas = 1,
	.flags = RH_REPLICA_RANKED,
};

static const struct rh_replica_type *const jax_types[] = {&jax_worker, NULL};

static const char jax_contract[] =
	"[{\"what\":\"env\",\"name\":\"PYTHONUNBUFFERED\",\"value\":\"1\"},"
	"{\"what\":\"env\",\"name\":\"COORDINATOR_PORT\",\"value\":\"Worker 0's port\","
	"\"source\":\"spec.jaxReplicaSpecs[Worker].template.spec.containers[].ports\"},"
	"{\"what\":\"env\",\"name\":\"COORDINATOR_ADDRESS\",\"value\":\"where Worker 0 is reached\"},"
	"{\"what\":\"env\",\"name\":\"NUM_PROCESSES\",\"value\":\"all replicas\"},"
	"{\"what\":\"env\",\"name\":\"PROCESS_ID\",\"value\":\"the replica's index\"}]";

/* The coordinator listens on every interface, so each job of a machine needs a port of its own (RH_KIND_BINDS_ALL). */
static const struct rh_kind jax_kind = {
	.head = RH_HEAD(struct rh_kind),
	.group = "kubeflow.org",
	.version = "v1",
	.kind = "JAXJob",
	.plural = "jaxjobs",
	.singular = "jaxjob",
	.framework = "jax",
	.controller = "jaxjob-controller",
	.replicas_field = "jaxReplicaSpecs",
	.types = jax_types,
	.leader_fallback = "Worker",
	.container = "jax",
	.port_name = "jaxjob-port",
	.port = 6666,
	.restart_policy = "Never",
	.scale_type = "Worker",
	.flags = RH_KIND_SERVICES | RH_KIND_DNS_NAME | RH_KIND_SELECTOR | RH_KIND_BINDS_ALL,
	.contract = jax_contract,
};

static int32_t jax_init(const struct rh_services *services, void **ret_self, struct rh_reply *reply)
{
	(void)reply;
	*ret_self = (void *)(uintptr_t)services;
	return RH_OK;
}

static const struct rh_kind *jax_describe(void *self, uint32_t index)
{
	(void)self;
	return index == 0 ? &jax_kind : NULL;
}

static int32_t jax_env_number(const struct rh_services *host, struct rh_reply *reply, const char *name, int32_t number)
{
	char text[16];

	snprintf(text, sizeof(text), "%" PRId32, number);
	return host->env(reply, NULL, name, text);
}

/* The arguments of jax.distributed.initialize() (v1-behaviour C.10). Every process gets the same values, except for its
 * own number. */
static int32_t jax_pod(void *self, const struct rh_view *view, const struct rh_replica *me, struct rh_reply *reply)
{
	const struct rh_services *host = (const struct rh_services *)self;
	int32_t r = host->env(reply, NULL, "PYTHONUNBUFFERED", "1");

	if (r == RH_OK)
		r = jax_env_number(host, reply, "COORDINATOR_PORT", host->port(view, "Worker", 0));
	if (r == RH_OK)
		r = host->env(reply, NULL, "COORDINATOR_ADDRESS", host->host(view, "Worker", 0));
	if (r == RH_OK)
		r = jax_env_number(host, reply, "NUM_PROCESSES", host->replicas(view, "Worker"));
	return r == RH_OK ? jax_env_number(host, reply, "PROCESS_ID", me->index) : r;
}

static const struct rh_plugin jax_plugin = {
	.head = RH_HEAD(struct rh_plugin),
	.name = "jax",
	.release = "0.1.0",
	.init = jax_init,
	.describe = jax_describe,
	.pod = jax_pod,
	.settings = "{}",
};

RH_PLUGIN_EXPORT const struct rh_plugin *rh_plugin_entry_v1(void)
{
	return &jax_plugin;
}
