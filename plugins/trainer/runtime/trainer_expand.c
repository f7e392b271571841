/* SPDX-License-Identifier: Apache-2.0 */
/* The replica types of a job: those of its runtime, patched, with what the job says itself. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime.h"

/** What a batch/v1 Job has without a number. */
#define EXPAND_BACKOFF 6

static void expand_patch(struct trainer_call *call, struct tree *tree, struct tree_node *spec)
{
	const struct tree_node *patches = tree_parse(tree, call->host->json(call->view, "spec.runtimePatches"));

	for (const struct tree_node *patch = patches ? patches->first : NULL; patch; patch = patch->next)
		trainer_merge(tree, spec, tree_get(patch, "trainingRuntimeSpec"));
}

struct tree_node *trainer_read(struct trainer_call *call, struct tree *tree)
{
	char path[TRAINER_TEXT];

	snprintf(path, sizeof(path), "%s.spec", call->runtime);
	return tree_parse(tree, call->host->json(call->view, path));
}

void trainer_complete(struct trainer_call *call, struct tree *tree, struct tree_node *spec)
{
	expand_patch(call, tree, spec);
	trainer_apply(call, tree, spec);
}

/**
 * A job without retries fails with its first pod. Others have pods made anew, by whatever policy the containers are
 * restarted in their place; pod() sets that one.
 */
static const char *expand_restart(const struct tree_node *job)
{
	int64_t limit = EXPAND_BACKOFF;

	(void)tree_integer(tree_at(job, "template.spec.backoffLimit"), &limit);
	return limit == 0 ? "Never" : "OnFailure";
}

/** A variable that is ours is not there twice. */
static void expand_drop_reserved(struct trainer_call *call, struct tree *tree, const struct tree_node *container)
{
	struct tree_node *env = tree_get(container, "env");
	struct tree_node *kept = tree_new_list(tree);
	const enum trainer_policy policy = trainer_policy(call);

	for (const struct tree_node *item = env ? env->first : NULL; item; item = item->next) {
		const char *name = tree_text(tree, tree_get(item, "name"));

		if (!name || !trainer_is_reserved(policy, name))
			tree_append(kept, tree_copy(tree, item));
	}
	if (env && kept)
		tree_replace(env, kept);
}

static struct tree_node *expand_template(struct trainer_call *call, struct tree *tree, const struct tree_node *job)
{
	const struct tree_node *from = tree_at(job, "template.spec.template");
	struct tree_node *template_ = tree_new_map(tree);
	struct tree_node *spec = tree_copy(tree, tree_get(from, "spec"));
	const struct tree_node *containers = tree_get(spec, "containers");

	tree_remove(spec, "restartPolicy");
	for (const struct tree_node *item = containers ? containers->first : NULL; item; item = item->next) {
		if (tree_is(tree_get(item, "name"), TRAINER_NODE))
			expand_drop_reserved(call, tree, item);
	}
	tree_set(tree, template_, "metadata", tree_copy(tree, tree_get(from, "metadata")));
	tree_set(tree, template_, "spec", spec ? spec : tree_new_map(tree));
	return template_;
}

static bool expand_is_ranked(struct trainer_call *call, const char *name)
{
	if (trainer_policy(call) == TRAINER_MPI)
		return strcmp(name, TRAINER_NODE) == 0;
	return trainer_is_ancestor(call, name);
}

static struct tree_node *expand_type(struct trainer_call *call, struct tree *tree, const struct tree_node *job,
                                     int32_t place)
{
	struct tree_node *type = tree_new_map(tree);
	const char *name = tree_text(tree, tree_get(job, "name"));

	tree_set(tree, type, "name", tree_new_text(tree, name));
	tree_set(tree, type, "replicas", tree_new_number(tree, trainer_pods(call, place)));
	tree_set(tree, type, "restartPolicy", tree_new_text(tree, expand_restart(job)));
	if (name && expand_is_ranked(call, name))
		tree_append(tree_ensure(tree, type, "flags", TREE_LIST), tree_new_text(tree, "ranked"));
	tree_set(tree, type, "template", expand_template(call, tree, job));
	return type;
}

/** The limit of retries is one for all: trainer_check_served() has seen that jobs with retries agree. */
static int64_t expand_backoff(const struct tree_node *jobs)
{
	int64_t limit = EXPAND_BACKOFF;

	for (const struct tree_node *job = jobs ? jobs->first : NULL; job; job = job->next) {
		int64_t own = EXPAND_BACKOFF;

		(void)tree_integer(tree_at(job, "template.spec.backoffLimit"), &own);
		if (own > 0)
			limit = own;
	}
	return limit;
}

static void expand_answer(struct trainer_call *call, struct tree *tree, const struct tree_node *spec)
{
	const struct tree_node *jobs = tree_at(spec, TRAINER_JOBS);
	struct tree_node *answer = tree_new_map(tree);
	struct tree_node *types = tree_ensure(tree, answer, "types", TREE_LIST);
	struct tree_node *policy = tree_ensure(tree, answer, "runPolicy", TREE_MAP);
	int32_t place = 0;
	char *json;

	for (const struct tree_node *job = jobs ? jobs->first : NULL; job; job = job->next)
		tree_append(types, expand_type(call, tree, job, place++));
	tree_set(tree, policy, "backoffLimit", tree_new_number(tree, expand_backoff(jobs)));
	json = tree->failed ? NULL : tree_print(answer);
	if (!json)
		trainer_fail_memory(call);
	else if (call->status == 0)
		call->status = call->host->expansion(call->reply, json);
	free(json);
}

int32_t trainer_expand(void *self, const struct rh_view *view, struct rh_reply *reply)
{
	struct trainer_call call = trainer_begin(self, view, reply);
	struct tree tree = {0};
	struct tree_node *spec = trainer_read(&call, &tree);
	char path[TRAINER_TEXT];

	snprintf(path, sizeof(path), "%s.spec", call.runtime);
	if (strcmp(call.runtime, "@runtime") == 0 && call.host->lookup(view, "runtime") == RH_LOOKUP_UNNAMED)
		trainer_refuse(&call, "spec.runtimeRef", "Required value");
	else if (!spec || trainer_size(&call, TRAINER_JOBS) < 1)
		trainer_refuse(&call, path, "Required value: must have replicated jobs in template.spec.replicatedJobs");
	else
		trainer_check(&call, &tree, spec);
	if (call.status == 0 && spec && !call.refused) {
		trainer_complete(&call, &tree, spec);
		expand_answer(&call, &tree, spec);
	}
	tree_deinit(&tree);
	return call.status;
}
