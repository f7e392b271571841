/* SPDX-License-Identifier: Apache-2.0 */
/* A runtime may have all fields of JobSet and of Job. Those that nobody here reads are refused by name. */
#include <inttypes.h>
#include <string.h>

#include "runtime.h"

#define SERVED_JOB "template.spec.replicatedJobs[]"
#define SERVED_EXCLUSIVE "alpha.jobset.sigs.k8s.io/exclusive-topology"

/** A map of the runtime, and the members of it that are served, separated by spaces. */
struct served_map {
	const char *path;
	const char *members;
};

static const struct served_map served_maps[] = {
	{"", "mlPolicy podGroupPolicy template"},
	{"mlPolicy", "numNodes torch jax xgboost mpi"},
	{"mlPolicy.torch", "envInjection"},
	{"mlPolicy.torch.envInjection", "targets"},
	{"mlPolicy.torch.envInjection.targets[]", "jobName containerNames"},
	{"mlPolicy.mpi", "numProcPerNode mpiImplementation sshAuthMountPath runLauncherAsNode"},
	{"mlPolicy.jax", ""},
	{"mlPolicy.xgboost", ""},
	{"podGroupPolicy", "coscheduling volcano"},
	{"podGroupPolicy.coscheduling", "scheduleTimeoutSeconds"},
	{"podGroupPolicy.volcano", "networkTopology"},
	{"template", "metadata spec"},
	{"template.spec", "network replicatedJobs successPolicy failurePolicy startupPolicy ttlSecondsAfterFinished "
                      "coordinator volumeClaimPolicies"},
	{"template.spec.network", "enableDNSHostnames subdomain publishNotReadyAddresses"},
	{"template.spec.successPolicy", "operator targetReplicatedJobs"},
	{"template.spec.failurePolicy", "maxRestarts rules restartStrategy"},
	{"template.spec.failurePolicy.rules[]", "name action targetReplicatedJobs onJobFailureReasons"},
	{"template.spec.startupPolicy", "startupPolicyOrder"},
	{"template.spec.coordinator", "replicatedJob jobIndex podIndex"},
	{"template.spec.volumeClaimPolicies[]", "templates retentionPolicy"},
	{"template.spec.volumeClaimPolicies[].retentionPolicy", "whenDeleted"},
	{SERVED_JOB, "name groupName replicas dependsOn template"},
	{SERVED_JOB ".dependsOn[]", "name status"},
	{SERVED_JOB ".template", "metadata spec"},
	{SERVED_JOB ".template.spec", "backoffLimit parallelism completions completionMode template"},
};

/** A value that would ask for something else than what is done anyway. */
struct served_value {
	const char *path;
	const char *only; /**< JSON of the one value that is served */
};

static const struct served_value served_values[] = {
	{"template.spec.network.enableDNSHostnames", "true"},
	{"template.spec.coordinator.jobIndex", "0"},
	{SERVED_JOB ".groupName", "\"default\""},
	{SERVED_JOB ".template.spec.completionMode", "\"Indexed\""},
};

/** What is done with each node that a path names. */
struct served_walk {
	struct trainer_call *call;
	struct tree *tree;
	void (*visit)(const struct served_walk *walk, const struct tree_node *node, const char *at);
	const void *what; /**< for visit() */
	int64_t *limit;   /**< retries of the jobs so far that have some; 0: none had */
};

static void served_refuse(const struct served_walk *walk, const char *at, const char *detail)
{
	char *path = tree_printf(walk->tree, "%s.spec%s%s", walk->call->runtime, *at ? "." : "", at);

	if (path)
		trainer_refuse(walk->call, path, "%s", detail);
}

/** Visit what @p path names below @p node, which stands at @p at. */
static void served_each(const struct served_walk *walk, const struct tree_node *node, const char *path, const char *at)
{
	size_t length = strcspn(path, ".[");
	char *key, *place;

	if (!node || !at)
		return;
	if (strncmp(path, "[]", 2) == 0) {
		const struct tree_node *item = node->type == TREE_LIST ? node->first : NULL;

		for (size_t i = 0; item; item = item->next, i++)
			served_each(walk, item, path + 2, tree_printf(walk->tree, "%s[%zu]", at, i));
		return;
	}
	if (!*path) {
		walk->visit(walk, node, at);
		return;
	}
	if (*path == '.') {
		served_each(walk, node, path + 1, at);
		return;
	}
	key = tree_printf(walk->tree, "%.*s", (int)length, path);
	place = key ? tree_printf(walk->tree, "%s%s%s", at, *at ? "." : "", key) : NULL;
	served_each(walk, key ? tree_get(node, key) : NULL, path + length, place);
}

static bool served_has(const char *members, const char *key)
{
	size_t length = strlen(key);

	for (const char *at = members; *at; at += strcspn(at, " "), at += *at == ' ') {
		if (strcspn(at, " ") == length && strncmp(at, key, length) == 0)
			return true;
	}
	return false;
}

static void served_check_members(const struct served_walk *walk, const struct tree_node *node, const char *at)
{
	const struct served_map *map = walk->what;

	for (const struct tree_node *item = node->type == TREE_MAP ? node->first : NULL; item; item = item->next) {
		char *path = tree_printf(walk->tree, "%s%s%s", at, *at ? "." : "", item->key);

		if (path && !served_has(map->members, item->key))
			served_refuse(walk, path, "Forbidden: plugin trainer does not serve this field");
	}
}

static void served_check_value(const struct served_walk *walk, const struct tree_node *node, const char *at)
{
	const struct served_value *value = walk->what;

	if (node->type != TREE_SCALAR || strcmp(node->raw, value->only) != 0)
		served_refuse(walk, at, tree_printf(walk->tree, "Unsupported value: supported values: %s", value->only));
}

/** Pods of one job have one number, and jobs with retries one limit. */
static void served_check_job(const struct served_walk *walk, const struct tree_node *node, const char *at)
{
	const struct tree_node *spec = tree_at(node, "template.spec");
	int64_t parallelism = 1, completions = 1, own = 6;

	(void)tree_integer(tree_get(spec, "parallelism"), &parallelism);
	completions = parallelism;
	(void)tree_integer(tree_get(spec, "completions"), &completions);
	(void)tree_integer(tree_get(spec, "backoffLimit"), &own);
	if (completions != parallelism)
		served_refuse(walk, tree_printf(walk->tree, "%s.template.spec.completions", at),
		              "Invalid value: must be the same as parallelism");
	if (own > 0 && *walk->limit > 0 && own != *walk->limit)
		served_refuse(walk, tree_printf(walk->tree, "%s.template.spec.backoffLimit", at),
		              "Invalid value: must be 0, or the same for all replicated jobs (default 6)");
	if (own > 0)
		*walk->limit = own;
	if (tree_get(tree_at(node, "template.metadata.annotations"), SERVED_EXCLUSIVE))
		served_refuse(walk, tree_printf(walk->tree, "%s.template.metadata.annotations", at),
		              "Forbidden: plugin trainer does not serve " SERVED_EXCLUSIVE);
}

/** One at most of several members. */
static void served_check_one(const struct served_walk *walk, const struct tree_node *node, const char *at)
{
	size_t count = 0;

	for (const struct tree_node *item = node->first; item; item = item->next)
		count += strcmp(item->key, "numNodes") != 0;
	if (count > 1)
		served_refuse(walk, at, "Invalid value: Only one of the policy can be configured");
}

void trainer_check_served(struct trainer_call *call, struct tree *tree, const struct tree_node *spec)
{
	int64_t limit = 0;
	struct served_walk walk = {.call = call, .tree = tree, .limit = &limit};

	walk.visit = served_check_members;
	for (size_t i = 0; i < sizeof(served_maps) / sizeof(served_maps[0]); i++) {
		walk.what = &served_maps[i];
		served_each(&walk, spec, served_maps[i].path, "");
	}
	walk.visit = served_check_value;
	for (size_t i = 0; i < sizeof(served_values) / sizeof(served_values[0]); i++) {
		walk.what = &served_values[i];
		served_each(&walk, spec, served_values[i].path, "");
	}
	walk.visit = served_check_one;
	served_each(&walk, spec, "mlPolicy", "");
	served_each(&walk, spec, "podGroupPolicy", "");
	walk.visit = served_check_job;
	served_each(&walk, spec, SERVED_JOB, "");
	if (limit > 0 && tree_at(spec, "template.spec.failurePolicy"))
		served_refuse(&walk, "template.spec.failurePolicy",
		              "Forbidden: each replicated job must have backoffLimit 0, so that its first failure counts");
}
