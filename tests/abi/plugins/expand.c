/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plugin of ABI 1.2 whose jobs have no map of replica types, as the TrainJob of Kubeflow Trainer: a job names a
 * runtime, which has the pod templates, and says how many nodes it wants. Its annotation example.org/answer is given
 * instead, as it is.
 */
#include <stdbool.h>
#include <stdio.h>

#include "roundhouse/plugin.h"

/** Room for an expansion. */
#define EXPAND_JSON_SIZE 16384

static const struct rh_replica_type *const expand_types[] = {NULL};

static const struct rh_kind expand_kind = {
	.head = RH_HEAD(struct rh_kind),
	.group = "example.org",
	.version = "v1",
	.kind = "NodesJob",
	.plural = "nodesjobs",
	.singular = "nodesjob",
	.framework = "nodes",
	.controller = "nodesjob-controller",
	.types = expand_types,
	.container = "c",
	.restart_policy = "Never",
	.flags = RH_KIND_EXPANDED | RH_KIND_SERVICES,
	.run_policy_path = "spec",
	.spec_schema =
		"{\"runtimeRef\":{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\",\"maxLength\":253}},"
		"\"required\":[\"name\"]},\"trainer\":{\"type\":\"object\",\"properties\":{\"numNodes\":{\"type\":\"integer\"},"
		"\"command\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}}}},"
		"\"suspend\":{\"type\":\"boolean\"}}",
	.spec_required = "[\"runtimeRef\"]",
	.lookups = "[{\"name\":\"runtime\",\"apiVersion\":\"example.org/v1alpha1\","
			   "\"kinds\":[{\"kind\":\"NodesRuntime\",\"plural\":\"nodesruntimes\",\"scope\":\"Cluster\"}],"
			   "\"object\":{\"from\":\"spec.runtimeRef.name\"}}]",
};

static int32_t expand_init(const struct rh_services *services, void **ret_self, struct rh_reply *reply)
{
	if (!RH_HAS(services, struct rh_services, expansion))
		return services->fail(reply, RH_EPLUGIN, "needs a host of ABI 1.2");
	*ret_self = (void *)services;
	return RH_OK;
}

static const struct rh_kind *expand_describe(void *self, uint32_t index)
{
	(void)self;
	return index == 0 ? &expand_kind : NULL;
}

/** The template of the runtime's launcher, where it has one, and of its nodes. */
static int32_t expand_give(const struct rh_services *services, const struct rh_view *view, struct rh_reply *reply,
                           int64_t nodes)
{
	const char *launcher = services->json(view, "@runtime.spec.launcher");
	const char *policy = services->json(view, "@runtime.spec.runPolicy");
	char text[EXPAND_JSON_SIZE];
	int length =
		snprintf(text, sizeof(text),
	             "{\"types\":[%s%s%s{\"name\":\"node\",\"replicas\":%lld,\"flags\":[\"ranked\"%s],"
	             "\"restartPolicy\":\"OnFailure\",\"template\":%s}]%s%s}",
	             launcher ? "{\"name\":\"launcher\",\"flags\":[\"leader\",\"unindexed\"],\"template\":" : "",
	             launcher ? launcher : "", launcher ? "}," : "", (long long)nodes, launcher ? "" : ",\"leader\"",
	             services->json(view, "@runtime.spec.node"), policy ? ",\"runPolicy\":" : "", policy ? policy : "");

	if (length < 0 || (size_t)length >= sizeof(text))
		return services->refuse(reply, "@runtime.spec", "Too long: the templates are larger than 16 KiB");
	return services->expansion(reply, text);
}

static int32_t expand_expand(void *self, const struct rh_view *view, struct rh_reply *reply)
{
	const struct rh_services *services = self;
	const char *answer = services->text(view, "metadata.annotations[\"example.org/answer\"]");
	int64_t nodes = 1;

	if (answer && *answer)
		return services->expansion(reply, answer);
	if (services->lookup(view, "runtime") != RH_LOOKUP_FOUND)
		return services->refuse(reply, "spec.runtimeRef.name", "Required value: must name a runtime");
	if (services->size(view, "@runtime.spec.node") < 0)
		return services->refuse(reply, "@runtime.spec.node", "Required value: must be a pod template");
	(void)services->integer(view, "@runtime.spec.numNodes", &nodes);
	(void)services->integer(view, "spec.trainer.numNodes", &nodes);
	if (nodes < 1 || nodes > 1000)
		return services->refuse(reply, "spec.trainer.numNodes", "Invalid value: must be 1 to 1000");
	return expand_give(services, view, reply, nodes);
}

/** What later operations see of the types, and of the view that expand() had nothing else of. */
static int32_t expand_pod(void *self, const struct rh_view *view, const struct rh_replica *me, struct rh_reply *reply)
{
	const struct rh_services *services = self;
	const char *command = services->json(view, "spec.trainer.command");
	char text[64];
	int32_t r;

	(void)snprintf(text, sizeof(text), "%d %d %d", (int)services->replicas(view, "node"), (int)me->index,
	               (int)me->rank);
	r = services->env(reply, NULL, "NODES", text);
	if (r == 0)
		r = services->env(reply, NULL, "FIRST", services->host(view, "node", 0));
	return r == 0 && command ? services->edit(reply, "spec.containers[0].command", command) : r;
}

static const struct rh_plugin expand_plugin = {
	.head = RH_HEAD(struct rh_plugin),
	.name = "expand",
	.release = "1",
	.init = expand_init,
	.describe = expand_describe,
	.pod = expand_pod,
	.expand = expand_expand,
	.resources = "[{\"group\":\"example.org\",\"version\":\"v1alpha1\",\"kind\":\"NodesRuntime\",\"plural\":"
				 "\"nodesruntimes\",\"singular\":\"nodesruntime\",\"scope\":\"Cluster\",\"schema\":{\"spec\":{\"type\":"
				 "\"object\",\"x-kubernetes-preserve-unknown-fields\":true}}}]",
};

RH_PLUGIN_EXPORT const struct rh_plugin *rh_plugin_entry_v1(void)
{
	return &expand_plugin;
}
