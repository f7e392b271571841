/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plugin that 1.1 cannot carry: each job has a Secret with a key that is made once, of random bytes, and a claim that
 * outlives the job. spec.claim names it; spec.snapshot names a ConfigMap that is written once as it is.
 */
#include <stdio.h>
#include <string.h>

#include "roundhouse/plugin.h"

#define KEYPAIR_BYTES 16
#define KEYPAIR_TEXT 1024

static const struct rh_replica_type keypair_worker = {
	.head = RH_HEAD(struct rh_replica_type), .name = "Worker", .default_replicas = 1};

static const struct rh_replica_type *const keypair_types[] = {&keypair_worker, 0};

static const struct rh_kind keypair_kind = {
	.head = RH_HEAD(struct rh_kind),
	.group = "example.org",
	.version = "v1",
	.kind = "KeypairJob",
	.plural = "keypairjobs",
	.singular = "keypairjob",
	.framework = "keypair",
	.controller = "keypairjob-controller",
	.replicas_field = "keypairReplicaSpecs",
	.types = keypair_types,
	.restart_policy = "Never",
	.spec_schema = "{\"claim\":{\"type\":\"string\"},\"snapshot\":{\"type\":\"string\"}}",
	.rbac_rules = "[{\"apiGroups\":[\"\"],\"resources\":[\"secrets\",\"configmaps\",\"persistentvolumeclaims\"],"
				  "\"verbs\":[\"create\",\"delete\",\"list\",\"update\"]}]",
};

static int32_t keypair_init(const struct rh_services *services, void **ret_self, struct rh_reply *reply)
{
	if (!RH_HAS(services, struct rh_services, object_with))
		return services->fail(reply, RH_EPLUGIN, "needs a host of ABI 1.2");
	*ret_self = (void *)services;
	return 0;
}

static const struct rh_kind *keypair_describe(void *self, uint32_t index)
{
	(void)self;
	return index == 0 ? &keypair_kind : NULL;
}

static int32_t keypair_secret(const struct rh_services *services, const struct rh_view *view, struct rh_reply *reply)
{
	const struct rh_object_options once = {
		.head = RH_HEAD(struct rh_object_options), .flags = RH_OBJECT_ONCE, .random_bytes = KEYPAIR_BYTES};
	char text[KEYPAIR_TEXT];

	(void)snprintf(text, sizeof(text),
	               "{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"%s-keys\"}}",
	               services->text(view, "metadata.name"));
	return services->object_with(reply, text, &once);
}

static int32_t keypair_claim(const struct rh_services *services, const char *name, struct rh_reply *reply)
{
	const struct rh_object_options retain = {.head = RH_HEAD(struct rh_object_options), .flags = RH_OBJECT_RETAIN};
	char text[KEYPAIR_TEXT];

	(void)snprintf(text, sizeof(text),
	               "{\"apiVersion\":\"v1\",\"kind\":\"PersistentVolumeClaim\",\"metadata\":{\"name\":\"%s\"},\"spec\":"
	               "{\"accessModes\":[\"ReadWriteOnce\"],\"resources\":{\"requests\":{\"storage\":\"1Gi\"}}}}",
	               name);
	return services->object_with(reply, text, &retain);
}

/* What the job has today, for good. */
static int32_t keypair_snapshot(const struct rh_services *services, const char *name, struct rh_reply *reply)
{
	const struct rh_object_options once = {.head = RH_HEAD(struct rh_object_options), .flags = RH_OBJECT_ONCE};
	char text[KEYPAIR_TEXT];

	(void)snprintf(
		text, sizeof(text),
		"{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"%s\"},\"data\":{\"a\":\"b\"}}", name);
	return services->object_with(reply, text, &once);
}

static int32_t keypair_objects(void *self, const struct rh_view *view, struct rh_reply *reply)
{
	const struct rh_services *services = self;
	const char *claim = services->text(view, "spec.claim");
	const char *snapshot = services->text(view, "spec.snapshot");
	int32_t r = keypair_secret(services, view, reply);

	if (r == 0 && claim)
		r = keypair_claim(services, claim, reply);
	if (r == 0 && snapshot)
		r = keypair_snapshot(services, snapshot, reply);
	return r;
}

static int32_t keypair_make(void *self, const struct rh_view *view, const struct rh_made *made, struct rh_reply *reply)
{
	const struct rh_services *services = self;
	char key[2 * KEYPAIR_BYTES + 1] = "";
	char text[KEYPAIR_TEXT];

	(void)view;
	for (uint32_t i = 0; i < made->random_bytes && i < KEYPAIR_BYTES; i++)
		(void)snprintf(key + 2 * (size_t)i, 3, "%02x", made->random[i]);
	(void)snprintf(text, sizeof(text),
	               "{\"apiVersion\":\"%s\",\"kind\":\"%s\",\"metadata\":{\"name\":\"%s\"},\"immutable\":true,"
	               "\"stringData\":{\"key\":\"%s\"}}",
	               made->api_version, made->kind, made->name, key);
	return services->object(reply, text);
}

RH_PLUGIN_EXPORT const struct rh_plugin *rh_plugin_entry_v1(void)
{
	static const struct rh_plugin plugin = {
		.head = RH_HEAD(struct rh_plugin),
		.name = "keypair",
		.release = "1",
		.init = keypair_init,
		.describe = keypair_describe,
		.objects = keypair_objects,
		.make = keypair_make,
	};

	return &plugin;
}
