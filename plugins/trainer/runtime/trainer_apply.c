/* SPDX-License-Identifier: Apache-2.0 */
/* What a job says of its trainer and its initializers, put into the replicated jobs of its runtime. */
#include <string.h>

#include "runtime.h"

/** One job of a runtime under work. */
struct apply {
	struct trainer_call *call;
	struct tree *tree;
	struct tree_node *pod; /**< spec of its pods; NULL: the runtime has no such job */
};

static struct apply apply_begin(struct trainer_call *call, struct tree *tree, const struct tree_node *spec,
                                const char *job)
{
	const struct tree_node *found = tree_find(tree_at(spec, TRAINER_JOBS), "name", job);

	return (struct apply){call, tree, tree_at(found, "template.spec.template.spec")};
}

static struct tree_node *apply_container(const struct apply *apply, const char *name)
{
	return tree_find(tree_get(apply->pod, "containers"), "name", name);
}

/** @return the job's value at @p path; NULL: there is none */
static struct tree_node *apply_read(const struct apply *apply, const char *path)
{
	return tree_parse(apply->tree, apply->call->host->json(apply->call->view, path));
}

/** Set variables by name: entries of @p list in the place of those of @p container. */
static void apply_env(struct tree *tree, struct tree_node *container, const struct tree_node *list)
{
	struct tree_node *env = list && list->first ? tree_ensure(tree, container, "env", TREE_LIST) : NULL;

	for (const struct tree_node *item = list ? list->first : NULL; item && env; item = item->next) {
		struct tree_node *old = tree_find(env, "name", tree_text(tree, tree_get(item, "name")));
		struct tree_node *copy = tree_copy(tree, item);

		if (old && copy)
			tree_replace(old, copy);
		else
			tree_append(env, copy);
	}
}

/** resourcesPerNode goes into the container's key by key. */
static void apply_resources(const struct apply *apply, struct tree_node *container)
{
	struct tree_node *mine = apply_read(apply, "spec.trainer.resourcesPerNode");

	if (mine)
		trainer_merge(apply->tree, tree_ensure(apply->tree, container, "resources", TREE_MAP), mine);
}

static void apply_trainer(const struct apply *apply, bool all)
{
	static const char *const fields[] = {"image", "command", "args"};
	struct tree_node *container = apply_container(apply, TRAINER_NODE);
	char *path;

	if (!container)
		return;
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]) && all; i++) {
		path = tree_printf(apply->tree, "spec.trainer.%s", fields[i]);
		tree_set(apply->tree, container, fields[i], path ? apply_read(apply, path) : NULL);
	}
	apply_env(apply->tree, container, apply_read(apply, "spec.trainer.env"));
	apply_resources(apply, container);
}

/** @param what dataset or model */
static void apply_initializer(struct trainer_call *call, struct tree *tree, const struct tree_node *spec,
                              const char *what)
{
	char *step = tree_printf(tree, "%s-initializer", what);
	char *path = tree_printf(tree, "spec.initializer.%s", what);
	const char *job = step ? trainer_ancestor(call, step) : NULL;
	struct apply apply = apply_begin(call, tree, spec, job);
	struct tree_node *container = step ? apply_container(&apply, step) : NULL;
	struct tree_node *mine = path ? apply_read(&apply, path) : NULL;
	struct tree_node *uri = tree_new_list(tree), *entry = tree_new_map(tree), *secret;

	if (!container || !mine)
		return;
	if (tree_get(mine, "storageUri")) {
		tree_set(tree, entry, "name", tree_new_text(tree, "STORAGE_URI"));
		tree_set(tree, entry, "value", tree_copy(tree, tree_get(mine, "storageUri")));
		tree_append(uri, entry);
		apply_env(tree, container, uri);
	}
	apply_env(tree, container, tree_get(mine, "env"));
	secret = tree_get(mine, "secretRef");
	if (secret) {
		entry = tree_new_map(tree);
		tree_set(tree, entry, "secretRef", tree_copy(tree, secret));
		tree_append(tree_ensure(tree, container, "envFrom", TREE_LIST), entry);
	}
}

/** @return whether a container of the pod mounts a volume of that name */
static bool apply_mounts(const struct tree_node *pod, const char *volume)
{
	static const char *const lists[] = {"containers", "initContainers"};

	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		const struct tree_node *list = tree_get(pod, lists[i]);

		for (const struct tree_node *item = list ? list->first : NULL; item; item = item->next) {
			if (tree_find(tree_get(item, "volumeMounts"), "name", volume))
				return true;
		}
	}
	return false;
}

/** A claim of volumeClaimPolicies is a volume of the pods that mount it. */
static void apply_claim(struct trainer_call *call, struct tree *tree, const struct tree_node *spec, const char *claim)
{
	const struct tree_node *jobs = tree_at(spec, TRAINER_JOBS);

	for (const struct tree_node *job = jobs ? jobs->first : NULL; job && claim; job = job->next) {
		struct tree_node *pod = tree_at(job, "template.spec.template.spec");
		char *volume = tree_printf(tree, "{\"name\":\"%s\",\"persistentVolumeClaim\":{\"claimName\":\"%s-%s\"}}", claim,
		                           claim, trainer_name(call));

		if (volume && apply_mounts(pod, claim) && !tree_find(tree_get(pod, "volumes"), "name", claim))
			tree_append(tree_ensure(tree, pod, "volumes", TREE_LIST), tree_parse(tree, volume));
	}
}

static void apply_claims(struct trainer_call *call, struct tree *tree, const struct tree_node *spec)
{
	const struct tree_node *policies = tree_at(spec, "template.spec.volumeClaimPolicies");

	for (const struct tree_node *policy = policies ? policies->first : NULL; policy; policy = policy->next) {
		const struct tree_node *templates = tree_get(policy, "templates");

		for (const struct tree_node *item = templates ? templates->first : NULL; item; item = item->next)
			apply_claim(call, tree, spec, tree_text(tree, tree_at(item, "metadata.name")));
	}
}

void trainer_apply(struct trainer_call *call, struct tree *tree, struct tree_node *spec)
{
	const char *job = trainer_ancestor(call, "trainer");
	struct apply ancestor = apply_begin(call, tree, spec, job);
	struct apply node = apply_begin(call, tree, spec, TRAINER_NODE);

	apply_trainer(&ancestor, true);
	if (trainer_policy(call) == TRAINER_MPI && trainer_launcher_works(call) && node.pod != ancestor.pod)
		apply_trainer(&node, false);
	apply_initializer(call, tree, spec, "dataset");
	apply_initializer(call, tree, spec, "model");
	apply_claims(call, tree, spec);
}
