/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plugin of ABI 1.2 whose jobs name a runtime, as those of Kubeflow Trainer: an object of the cluster or of the
 * namespace, of which each job keeps a snapshot in a ConfigMap of its own.
 */
#include <stdbool.h>
#include <stdio.h>

#include "roundhouse/plugin.h"

/** Room for the JSON of an object. */
#define LOOKUP_JSON_SIZE 8192

static const struct rh_replica_type lookup_node = {
	.head = RH_HEAD(struct rh_replica_type), .name = "Node", .default_replicas = 1};
static const struct rh_replica_type *const lookup_types[] = {&lookup_node, NULL};

static const struct rh_kind lookup_kind = {
	.head = RH_HEAD(struct rh_kind),
	.group = "example.org",
	.version = "v1",
	.kind = "RuntimeJob",
	.plural = "runtimejobs",
	.singular = "runtimejob",
	.framework = "runtime",
	.controller = "runtimejob-controller",
	.replicas_field = "replicaSpecs",
	.types = lookup_types,
	.restart_policy = "Never",
	.spec_schema = "{\"runtimeRef\":{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\"},\"kind\":{"
				   "\"type\":\"string\"}}},\"queue\":{\"type\":\"string\"}}",
	.rbac_rules = "[{\"apiGroups\":[\"\"],\"resources\":[\"configmaps\"],"
				  "\"verbs\":[\"create\",\"list\",\"update\",\"delete\"]}]",
	.lookups = "[{\"name\":\"runtime\",\"apiVersion\":\"example.org/v1alpha1\","
			   "\"kind\":{\"from\":\"spec.runtimeRef.kind\",\"default\":\"ClusterRuntime\"},"
			   "\"kinds\":[{\"kind\":\"ClusterRuntime\",\"plural\":\"clusterruntimes\",\"scope\":\"Cluster\"},"
			   "{\"kind\":\"Runtime\",\"plural\":\"runtimes\",\"scope\":\"Namespaced\"}],"
			   "\"object\":{\"from\":\"spec.runtimeRef.name\"},\"unless\":\"snapshot\"},"
			   "{\"name\":\"snapshot\",\"apiVersion\":\"v1\","
			   "\"kinds\":[{\"kind\":\"ConfigMap\",\"plural\":\"configmaps\",\"scope\":\"Namespaced\"}],"
			   "\"object\":{\"pattern\":\"{job}-runtime\"},\"own\":true,\"parse\":[\"data.spec\"]},"
			   "{\"name\":\"queue\",\"apiVersion\":\"example.org/v1alpha1\","
			   "\"kinds\":[{\"kind\":\"Queue\",\"plural\":\"queues\",\"scope\":\"Namespaced\"}],"
			   "\"object\":{\"from\":\"spec.queue\"},\"required\":false,\"metadata\":true}]",
};

static int32_t lookup_init(const struct rh_services *services, void **ret_self, struct rh_reply *reply)
{
	if (!RH_HAS(services, struct rh_services, lookup))
		return services->fail(reply, RH_EPLUGIN, "needs a host of ABI 1.2");
	*ret_self = (void *)services;
	return RH_OK;
}

static const struct rh_kind *lookup_describe(void *self, uint32_t index)
{
	(void)self;
	return index == 0 ? &lookup_kind : NULL;
}

/** The path of a member of the runtime's spec: of the snapshot, once there is one. */
static const char *lookup_path(const struct rh_services *services, const struct rh_view *view, const char *member)
{
	bool kept = services->lookup(view, "snapshot") == RH_LOOKUP_FOUND;

	return services->member(view, kept ? "@snapshot.data.spec" : "@runtime.spec", member);
}

static int32_t lookup_validate(void *self, const struct rh_view *view, struct rh_reply *reply)
{
	const struct rh_services *services = self;

	if (services->lookup(view, "runtime") == RH_LOOKUP_UNNAMED)
		return services->refuse(reply, "spec.runtimeRef.name", "Required value: must name a runtime");
	if (!services->text(view, lookup_path(services, view, "image")))
		return services->refuse(reply, lookup_path(services, view, "image"), "Required value: must be configured");
	return 0;
}

static int32_t lookup_env(const struct rh_services *services, const struct rh_view *view, struct rh_reply *reply)
{
	char text[32];
	int32_t r;

	(void)snprintf(text, sizeof(text), "%d %d %d", (int)services->lookup(view, "runtime"),
	               (int)services->lookup(view, "queue"), (int)services->lookup(view, "other"));
	r = services->env(reply, NULL, "LOOKUPS", text);
	if (r == 0 && services->lookup(view, "queue") == RH_LOOKUP_FOUND)
		r = services->env(reply, NULL, "QUEUE", services->text(view, "@queue.metadata.labels.tier"));
	return r;
}

static int32_t lookup_pod(void *self, const struct rh_view *view, const struct rh_replica *me, struct rh_reply *reply)
{
	const struct rh_services *services = self;
	const char *env = lookup_path(services, view, "env");
	const char *key;
	int32_t r =
		services->edit(reply, "spec.containers[0].image", services->json(view, lookup_path(services, view, "image")));

	(void)me;
	for (uint32_t i = 0; r == 0 && (key = services->key(view, env, i)); i++)
		r = services->env(reply, NULL, key, services->text(view, services->member(view, env, key)));
	return r == 0 ? lookup_env(services, view, reply) : r;
}

/** The snapshot is made of the runtime at first, and then of itself. */
static int32_t lookup_objects(void *self, const struct rh_view *view, struct rh_reply *reply)
{
	const struct rh_object_options once = {.head = RH_HEAD(struct rh_object_options), .flags = RH_OBJECT_ONCE};
	const struct rh_services *services = self;
	bool kept = services->lookup(view, "snapshot") == RH_LOOKUP_FOUND;
	const char *spec = services->json(view, kept ? "@snapshot.data.spec" : "@runtime.spec");
	char text[LOOKUP_JSON_SIZE];
	int length;

	if (!spec)
		return services->fail(reply, RH_EPLUGIN, "there is no runtime");
	length = snprintf(text, sizeof(text),
	                  "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"%s-runtime\"},"
	                  "\"data\":{\"spec\":%s}}",
	                  services->text(view, "metadata.name"), services->quote(view, spec));
	if (length < 0 || (size_t)length >= sizeof(text))
		return services->fail(reply, RH_EINVAL, "the runtime is too long");
	return services->object_with(reply, text, &once);
}

static const struct rh_plugin lookup_plugin = {
	.head = RH_HEAD(struct rh_plugin),
	.name = "lookup",
	.release = "1",
	.init = lookup_init,
	.describe = lookup_describe,
	.validate = lookup_validate,
	.pod = lookup_pod,
	.objects = lookup_objects,
	.resources =
		"[{\"group\":\"example.org\",\"version\":\"v1alpha1\",\"kind\":\"ClusterRuntime\",\"plural\":"
		"\"clusterruntimes\",\"singular\":\"clusterruntime\",\"scope\":\"Cluster\",\"schema\":{\"spec\":{\"type\":"
		"\"object\",\"properties\":{\"image\":{\"type\":\"string\"},\"env\":{\"type\":\"object\","
		"\"additionalProperties\":{\"type\":\"string\"}}}}}}]",
};

RH_PLUGIN_EXPORT const struct rh_plugin *rh_plugin_entry_v1(void)
{
	return &lookup_plugin;
}
