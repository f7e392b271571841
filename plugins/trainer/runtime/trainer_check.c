/* SPDX-License-Identifier: Apache-2.0 */
/* What Trainer refuses beyond the schemas, in its words, and what it lets in although it never starts. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "runtime.h"

/** Longest label and host. */
#define CHECK_NAME_MAX 63
#define CHECK_PODS "spec.template.spec.replicatedJobs[%zu].template.spec.template.spec"

/** The job and its runtime under a check. */
struct check {
	struct trainer_call *call;
	struct tree *tree;
	const struct tree_node *jobs; /**< of the runtime */
};

/** Refuse what is below spec of the runtime. */
static void check_refuse(const struct check *check, const char *detail, const char *path)
{
	char *whole = tree_printf(check->tree, "%s.%s", check->call->runtime, path ? path : "spec");

	if (whole)
		trainer_refuse(check->call, whole, "%s", detail);
}

/** The container that a job needs for what a TrainJob says of it. */
static void check_ancestor(const struct check *check, const struct tree_node *job, size_t place)
{
	const struct tree_node *labels = tree_at(job, "template.metadata.labels");
	const char *step = tree_text(check->tree, tree_get(labels, TRAINER_STEP));
	const struct tree_node *containers = tree_at(job, "template.spec.template.spec.containers");
	const char *needed = step && strcmp(step, "trainer") == 0 ? TRAINER_NODE : step;
	char detail[TRAINER_TEXT];

	if (!step || tree_find(containers, "name", needed))
		return;
	snprintf(detail, sizeof(detail), "Invalid value: must contain the required container for the ancestor: %.64s",
	         step);
	check_refuse(check, detail, tree_printf(check->tree, CHECK_PODS ".containers", place));
}

/** Names of pods become hosts and labels: they are NAME-JOB-0-INDEX and six characters. */
static void check_name(const struct check *check, const char *job, int32_t place)
{
	const int64_t pods = trainer_pods(check->call, place);
	char name[2 * TRAINER_TEXT];

	snprintf(name, sizeof(name), "%s-%s-0-%" PRId64 "-abcde", trainer_name(check->call), job, pods > 0 ? pods - 1 : 0);
	if (strlen(name) > CHECK_NAME_MAX)
		trainer_refuse(check->call, "metadata.name",
		               "Invalid value: \"%.63s\": pod names generated for job %.63s will exceed 63 characters",
		               trainer_name(check->call), job);
}

static void check_jobs(const struct check *check)
{
	size_t place = 0;

	for (const struct tree_node *job = check->jobs->first; job; job = job->next, place++) {
		int64_t replicas = 1;
		char detail[64];

		if (tree_text(check->tree, tree_get(job, "name")))
			check_name(check, tree_text(check->tree, tree_get(job, "name")), (int32_t)place);
		check_ancestor(check, job, place);
		(void)tree_integer(tree_get(job, "replicas"), &replicas);
		snprintf(detail, sizeof(detail), "Invalid value: %" PRId64 ": always must be 1", replicas);
		if (replicas != 1)
			check_refuse(check, detail, tree_printf(check->tree, "spec." TRAINER_JOBS "[%zu].replicas", place));
	}
	if (!trainer_ancestor(check->call, "trainer"))
		check_refuse(check, "Required value: one job must have the label " TRAINER_STEP ": trainer",
		             "spec." TRAINER_JOBS);
}

/** An initializer that a TrainJob describes needs its job, container and folder. @param what dataset or model */
static void check_initializer(const struct check *check, const char *what)
{
	char *step = tree_printf(check->tree, "%s-initializer", what);
	char *path = tree_printf(check->tree, "spec.initializer.%s", what);
	const char *name = step ? trainer_ancestor(check->call, step) : NULL;
	const struct tree_node *pod = tree_at(tree_find(check->jobs, "name", name), "template.spec.template.spec");
	const struct tree_node *container = step ? tree_find(tree_get(pod, "containers"), "name", step) : NULL;

	if (!step || !path || check->call->host->size(check->call->view, path) < 0)
		return;
	if (!name)
		trainer_refuse(check->call, "spec.runtimeRef",
		               "Invalid value: \"%.253s\": must have %s job when trainJob is configured with input %sConfig",
		               check->call->host->text(check->call->view, "spec.runtimeRef.name"), step, what);
	else if (container && !tree_find(tree_get(container, "volumeMounts"), "name", TRAINER_VOLUME))
		trainer_refuse(check->call, "spec.runtimeRef",
		               "Invalid value: \"%.253s\": container %s must mount the volume " TRAINER_VOLUME,
		               check->call->host->text(check->call->view, "spec.runtimeRef.name"), step);
}

static void check_mpi(const struct check *check)
{
	const bool whole = trainer_job(check->call, TRAINER_LAUNCHER) >= 0 && trainer_job(check->call, TRAINER_NODE) >= 0;
	const char *implementation = trainer_text(check->call, "mlPolicy.mpi.mpiImplementation");
	const int64_t nodes = trainer_nodes(check->call);

	if (implementation && strcmp(implementation, "OpenMPI") != 0)
		check_refuse(check, "Unsupported value: supported values: \"OpenMPI\"", "spec.mlPolicy.mpi.mpiImplementation");
	if (whole)
		return;
	if (!trainer_launcher_works(check->call))
		check_refuse(check, "Required value: must have the jobs launcher and node", "spec." TRAINER_JOBS);
	else if (nodes != 1)
		trainer_refuse(check->call, "spec.trainer.numNodes",
		               "Invalid value: %" PRId64 ": must have 1 when MPI trainingRuntime with enabled "
		               "runLauncherAsNode does not have either launcher and node",
		               nodes);
}

/** @return whether the job sets the variable; @p ret_place is its place */
static bool check_sets(const struct check *check, const char *name, int32_t *ret_place)
{
	const char *other;
	char path[TRAINER_TEXT];

	for (*ret_place = 0;; ++*ret_place) {
		snprintf(path, sizeof(path), "spec.trainer.env[%" PRId32 "].name", *ret_place);
		other = check->call->host->text(check->call->view, path);
		if (!other || strcmp(other, name) == 0)
			return other != NULL;
	}
}

/** torchrun's variables are refused together, the others one by one. */
static void check_env(const struct check *check)
{
	static const char *const frameworks[] = {[TRAINER_XGBOOST] = "XGBoost", [TRAINER_MPI] = "MPI"};
	const enum trainer_policy policy = trainer_policy(check->call);
	char names[TRAINER_TEXT] = "", path[TRAINER_TEXT];
	const char *name;
	int32_t place;

	for (size_t i = 0; (name = trainer_reserved(policy, i)); i++) {
		const size_t length = strlen(names);

		if (!check_sets(check, name, &place))
			continue;
		snprintf(path, sizeof(path), "spec.trainer.env[%" PRId32 "]", place);
		if (policy == TRAINER_TORCH)
			snprintf(names + length, sizeof(names) - length, "%s%s", length ? " " : "", name);
		else
			trainer_refuse(check->call, path, "Forbidden: %s is reserved for the %s runtime", name, frameworks[policy]);
	}
	if (*names)
		trainer_refuse(check->call, "spec.trainer.env",
		               "Invalid value: must not have reserved envs, invalid envs configured: [%s]", names);
}

/** @return whether it is a domain, a slash and a path */
static bool check_is_manager(const char *text)
{
	const char *slash = strchr(text, '/');

	return slash && slash > text && slash[1] &&
	       strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789.-") == (size_t)(slash - text);
}

/** Containers of a patch that the runtime does not have, or whose variables belong to the TrainJob. */
static void check_patched_containers(const struct check *check, const struct tree_node *pod,
                                     const struct tree_node *mine, const char *list)
{
	const struct tree_node *patched = tree_get(mine, list);

	for (const struct tree_node *item = patched ? patched->first : NULL; item; item = item->next) {
		const char *written = tree_text(check->tree, tree_get(item, "name"));
		const char *name = written ? written : "";

		if (!tree_find(tree_get(pod, list), "name", name))
			trainer_refuse(check->call, "spec.runtimePatches",
			               "Invalid value: the runtime has no container \"%.64s\" in %s", name, list);
		else if (tree_get(item, "env") &&
		         (strcmp(name, TRAINER_NODE) == 0 || strcmp(name, "dataset-initializer") == 0 ||
		          strcmp(name, "model-initializer") == 0))
			trainer_refuse(
				check->call, "spec.runtimePatches",
				"Invalid value: must not have envs for the dataset-initializer, model-initializer, node containers");
	}
}

static void check_patch(const struct check *check, const struct tree_node *patch)
{
	const struct tree_node *jobs = tree_at(patch, "trainingRuntimeSpec." TRAINER_JOBS);
	const char *manager = tree_text(check->tree, tree_get(patch, "manager"));

	if (!manager || !check_is_manager(manager))
		trainer_refuse(check->call, "spec.runtimePatches.manager",
		               "Invalid value: \"%.253s\": must be a domain-prefixed path (such as \"acme.io/foo\")",
		               manager ? manager : "");
	for (const struct tree_node *job = jobs ? jobs->first : NULL; job; job = job->next) {
		const char *name = tree_text(check->tree, tree_get(job, "name"));
		const struct tree_node *own = tree_find(check->jobs, "name", name ? name : "");
		const struct tree_node *mine = tree_at(job, "template.spec.template.spec");
		const struct tree_node *pod = tree_at(own, "template.spec.template.spec");

		if (!own)
			trainer_refuse(check->call, "spec.runtimePatches",
			               "Invalid value: the runtime has no replicated job \"%.64s\"", name ? name : "");
		else {
			check_patched_containers(check, pod, mine, "containers");
			check_patched_containers(check, pod, mine, "initContainers");
		}
	}
}

static void check_patches(const struct check *check)
{
	const struct tree_node *patches =
		tree_parse(check->tree, check->call->host->json(check->call->view, "spec.runtimePatches"));

	for (const struct tree_node *patch = patches ? patches->first : NULL; patch; patch = patch->next)
		check_patch(check, patch);
}

void trainer_check(struct trainer_call *call, struct tree *tree, const struct tree_node *spec)
{
	const struct check check = {call, tree, tree_at(spec, TRAINER_JOBS)};

	trainer_check_served(call, tree, spec);
	check_jobs(&check);
	check_initializer(&check, "dataset");
	check_initializer(&check, "model");
	if (trainer_policy(call) == TRAINER_MPI)
		check_mpi(&check);
	check_env(&check);
	check_patches(&check);
	trainer_check_tune(call);
}
