/* SPDX-License-Identifier: Apache-2.0 */
/* A plugin of ABI 1.2 that brings the definition of an object that its jobs name: a FlavorRuntime of the cluster. */
#include <stddef.h>

#include "roundhouse/plugin.h"

static const struct rh_replica_type resources_worker = {
	.head = RH_HEAD(struct rh_replica_type), .name = "Worker", .default_replicas = 1};
static const struct rh_replica_type *const resources_types[] = {&resources_worker, NULL};

static const struct rh_kind resources_kind = {
	.head = RH_HEAD(struct rh_kind),
	.group = "example.org",
	.version = "v1",
	.kind = "FlavorJob",
	.plural = "flavorjobs",
	.singular = "flavorjob",
	.framework = "flavor",
	.controller = "flavorjob-controller",
	.replicas_field = "replicaSpecs",
	.types = resources_types,
	.restart_policy = "Never",
	.spec_schema = "{\"runtime\":{\"type\":\"string\",\"description\":\"Name of a FlavorRuntime.\"}}",
};

static const struct rh_kind *resources_describe(void *self, uint32_t index)
{
	(void)self;
	return index == 0 ? &resources_kind : NULL;
}

static const struct rh_plugin resources_plugin = {
	.head = RH_HEAD(struct rh_plugin),
	.name = "resources",
	.release = "1",
	.describe = resources_describe,
	.resources =
		"[{\"group\":\"example.org\",\"version\":\"v1alpha1\",\"kind\":\"FlavorRuntime\",\"plural\":\"flavorruntimes\","
		"\"singular\":\"flavorruntime\",\"scope\":\"Cluster\",\"shortNames\":[\"frt\"],\"columns\":[{\"name\":"
		"\"Nodes\","
		"\"type\":\"integer\",\"jsonPath\":\".spec.nodes\"}],\"schema\":{\"spec\":{\"type\":\"object\",\"required\":["
		"\"nodes\"],\"properties\":{\"nodes\":{\"type\":\"integer\",\"minimum\":1,\"description\":\"How many.\"},"
		"\"spare\":{\"type\":\"integer\"}},\"x-kubernetes-validations\":[{\"rule\":\"!has(self.spare) || self.spare < "
		"self.nodes\",\"message\":\"fewer spare nodes than nodes\"}]}}}]",
};

RH_PLUGIN_EXPORT const struct rh_plugin *rh_plugin_entry_v1(void)
{
	return &resources_plugin;
}
