/* SPDX-License-Identifier: Apache-2.0 */
/* A plugin that gives every pod the labels of its template as variables: it needs the keys of a map. */
#include "roundhouse/plugin.h"

static const struct rh_services *keys_host;

static const struct rh_replica_type keys_worker = {
	.head = RH_HEAD(struct rh_replica_type),
	.name = "Worker",
	.default_replicas = 1,
};

static const struct rh_replica_type *const keys_types[] = {&keys_worker, 0};

static const struct rh_kind keys_kind = {
	.head = RH_HEAD(struct rh_kind),
	.group = "example.org",
	.version = "v1",
	.kind = "KeysJob",
	.plural = "keysjobs",
	.singular = "keysjob",
	.framework = "keys",
	.controller = "keysjob-controller",
	.replicas_field = "keysReplicaSpecs",
	.types = keys_types,
	.restart_policy = "Never",
};

static int32_t keys_init(const struct rh_services *services, void **ret_self, struct rh_reply *reply)
{
	(void)ret_self;
	if (!RH_HAS(services, struct rh_services, member))
		return services->fail(reply, RH_EPLUGIN, "needs a host of ABI 1.2");
	keys_host = services;
	return RH_OK;
}

static const struct rh_kind *keys_describe(void *self, uint32_t index)
{
	(void)self;
	return index == 0 ? &keys_kind : 0;
}

/* Every label as a variable: its path, and its value. */
static int32_t keys_pod(void *self, const struct rh_view *view, const struct rh_replica *me, struct rh_reply *reply)
{
	const char *map = keys_host->member(view, "spec.keysReplicaSpecs", me->type);
	const char *key;
	int32_t r = RH_OK;

	(void)self;
	map = map ? keys_host->member(view, map, "template") : 0;
	map = map ? keys_host->member(view, map, "metadata") : 0;
	map = map ? keys_host->member(view, map, "labels") : 0;
	for (uint32_t i = 0; r == RH_OK && (key = keys_host->key(view, map, i)); i++) {
		const char *path = keys_host->member(view, map, key);

		r = keys_host->env(reply, 0, path, keys_host->text(view, path));
	}
	return r;
}

static const struct rh_plugin keys_plugin = {
	.head = RH_HEAD(struct rh_plugin),
	.name = "keys",
	.release = "1",
	.init = keys_init,
	.describe = keys_describe,
	.pod = keys_pod,
};

const struct rh_plugin *rh_plugin_entry_v1(void)
{
	return &keys_plugin;
}
