/* SPDX-License-Identifier: Apache-2.0 */
/* TrainJob of Kubeflow Trainer 2.3, with its runtime, to PyTorchJob, XGBoostJob, JAXJob and MPIJob of V1. The runtime
 * is a member of the object under conversion, and its replicated jobs are a map by name there: what no rule has taken
 * out of it in the end is lost, and named. */
#include <inttypes.h>
#include <string.h>

#include "convert/runtime.h"

#define BACK_SPEC RH_CONVERT_RUNTIME ".spec"
/* A resource with this in its name is a GPU for Trainer. */
#define BACK_GPU "gpu"

/* What differs between the kinds whose replicas are all nodes. */
struct back_kind {
	const char *policy; /* member of mlPolicy */
	const char *main;   /* V1's main container */
	const char *to;     /* the map of replicas */
	const char *first;  /* the type of the node with rank 0; NULL: all are Workers */
};

static const struct back_kind back_kinds[] = {{"torch", "pytorch", "pytorchReplicaSpecs", "Master"},
                                              {"xgboost", "xgboost", "xgbReplicaSpecs", "Master"},
                                              {"jax", "jax", "jaxReplicaSpecs", NULL}};

/* @return a replicated job, borrowed, or NULL */
static struct rh_json *back_job(const struct rh_convert_field *field, const char *name)
{
	return rh_json_get(rh_json_at(field->conversion->object, RH_RUNTIME_JOBS), name);
}

/* Take a whole number out of the TrainJob or the runtime. @return whether it was there */
static bool back_take(struct rh_json *object, const char *key, int64_t *ret_value)
{
	bool found = rh_json_integer(rh_json_get(object, key), ret_value);

	if (found)
		rh_json_remove(object, key);
	return found;
}

/* Variables of the TrainJob take the place of the runtime's. */
static int back_merge_env(struct rh_json *container, const struct rh_json *given)
{
	struct rh_json *env = rh_json_ensure_array(container, "env");
	int r = env ? 0 : RH_ENOMEM;

	for (const struct rh_json *at = rh_json_first(given); r == 0 && at; at = rh_json_next(at)) {
		size_t i = 0, count = rh_json_size(env);

		while (i < count &&
		       !rh_text_equal(rh_json_string_at(rh_json_item(env, i), "name"), rh_json_string_at(at, "name")))
			i++;
		r = rh_json_set_item(env, i, rh_json_copy(at));
	}
	return r;
}

/* Limits and requests key by key. */
static int back_merge_resources(struct rh_json *container, const struct rh_json *given)
{
	struct rh_json *resources = rh_json_ensure_object(container, "resources");

	return resources ? rh_json_merge(resources, given) : RH_ENOMEM;
}

/* @param env, resources NULL: none */
static int back_set(struct rh_json *container, const struct rh_json *env, const struct rh_json *resources)
{
	if (env && rh_json_type(env) == RH_JSON_ARRAY && back_merge_env(container, env) < 0)
		return RH_ENOMEM;
	return resources ? back_merge_resources(container, resources) : 0;
}

/* What the TrainJob says of its container. */
static int back_override(struct rh_json *container, struct rh_json *trainer)
{
	static const char *const fields[] = {"image", "command", "args"};

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		struct rh_json *value = rh_json_detach(trainer, fields[i]);

		if (value && rh_json_set(container, fields[i], value) < 0)
			return RH_ENOMEM;
	}
	return 0;
}

/* @return whether the Job fails for the exit codes for which V1's ExitCode does */
static bool back_is_exit_code(const struct rh_json *job_spec)
{
	const struct rh_json *rules = rh_json_at(job_spec, "podFailurePolicy.rules");
	const struct rh_json *values = rh_json_at(rh_json_first(rules), "onExitCodes.values");
	int64_t code, expected = 1;

	if (rh_json_size(rules) != 1 || !rh_text_equal(rh_json_string_at(rh_json_first(rules), "action"), "FailJob") ||
	    !rh_text_equal(rh_json_string_at(rh_json_first(rules), "onExitCodes.operator"), "In"))
		return false;
	for (const struct rh_json *at = rh_json_first(values); at; at = rh_json_next(at))
		if (!rh_json_integer(at, &code) || code != expected++)
			return false;
	return expected == RH_RUNTIME_RETRIED;
}

/* A Job's own defaults and what Trainer overwrites are no loss. */
static void back_drop_implied(struct rh_json *job, bool counted)
{
	static const char *const counts[] = {"completionMode", "completions", "parallelism"};
	struct rh_json *labels = rh_json_at(job, "template.metadata.labels");
	struct rh_json *spec = rh_json_at(job, "template.spec");
	int64_t replicas;

	if (labels)
		rh_json_remove(labels, RH_RUNTIME_STEP);
	if (rh_json_integer(rh_json_get(job, "replicas"), &replicas) && replicas == 1)
		rh_json_remove(job, "replicas");
	rh_json_remove(job, "name");
	rh_json_remove(job, "groupName");
	for (size_t i = 0; counted && i < sizeof(counts) / sizeof(counts[0]); i++)
		rh_json_remove(spec, counts[i]);
}

/* Variables and resources of the TrainJob are merged with those of the container. */
static int back_check(const struct rh_json *holder, const char *where, const char *resources, struct rh_error *err)
{
	const struct rh_json *env = rh_json_get(holder, "env"), *map = rh_json_get(holder, resources);

	if (env && rh_json_type(env) != RH_JSON_ARRAY && rh_json_type(env) != RH_JSON_NULL)
		return rh_fail(err, RH_EINVAL, "%s.env: must be a list of variables", where);
	if (map && rh_json_type(map) != RH_JSON_OBJECT && rh_json_type(map) != RH_JSON_NULL)
		return rh_fail(err, RH_EINVAL, "%s.%s: must be an object", where, resources);
	return 0;
}

/**
 * Take the pod template out of a replicated job, as a replica spec without a number.
 * @param[out] ret_replica owned by the caller
 * @return 0; RH_EINVAL: there is no such job, or it has no container "node"; or RH_ENOMEM
 */
static int back_replica(const struct rh_convert_field *field, const char *name, struct rh_json **ret_replica,
                        struct rh_error *err)
{
	struct rh_json *job = back_job(field, name), *spec = rh_json_at(job, "template.spec");
	rh_auto(json) template = spec ? rh_json_detach(spec, "template") : NULL;
	rh_auto(json) replica = rh_json_new_object();
	struct rh_json *container = rh_runtime_main(template, RH_RUNTIME_NODE);
	struct rh_json *pod = rh_json_get(template, "spec");
	const char *restart = rh_json_string_at(pod, "restartPolicy");
	int r;

	if (!rh_text_equal(rh_json_string_at(container, "name"), RH_RUNTIME_NODE))
		return rh_fail(err, RH_EINVAL, "the runtime has no replicated job \"%s\" with a container \"node\"", name);
	r = back_check(container, "the runtime's container node", "resources", err);
	if (r == 0)
		r = back_check(rh_json_get(field->parent, "trainer"), "spec.trainer", "resourcesPerNode", err);
	if (r < 0)
		return r;
	if (back_is_exit_code(spec)) {
		rh_json_remove(spec, "podFailurePolicy");
		restart = "ExitCode";
	}
	if (!replica || rh_json_set_string(replica, "restartPolicy", restart ? restart : "OnFailure") < 0)
		return rh_fail_oom(err);
	rh_json_remove(pod, "restartPolicy");
	back_drop_implied(job, true);
	if (rh_json_set(replica, "template", rh_take(template)) < 0)
		return rh_fail_oom(err);
	*ret_replica = rh_take(replica);
	return 0;
}

/* A Job replaces failed pods also with Never, up to its limit; V1 restarts such a container in place. The limit stands
 * beside the template. */
static int back_never(const struct rh_convert_field *field, struct rh_error *err)
{
	struct rh_json *jobs = rh_json_at(field->conversion->object, RH_RUNTIME_JOBS);
	struct rh_json *spec = NULL;
	int64_t limit = -1;

	for (struct rh_json *job = rh_json_first(jobs); job; job = rh_json_next(job))
		if (rh_json_at(job, "template.spec.template.spec") == field->parent)
			spec = rh_json_at(job, "template.spec");
	(void)rh_json_integer(rh_json_get(spec, "backoffLimit"), &limit);
	if (back_is_exit_code(spec))
		return 0;
	if (limit == 0)
		return rh_json_set_integer(spec, "backoffLimit", INT32_MAX) < 0 ? rh_fail_oom(err) : 0;
	if (rh_json_set_string(field->parent, field->key, "OnFailure") < 0 ||
	    rh_convert_note(field, RH_CONVERT_CHANGED, "\"OnFailure\"", field->rule->why) < 0)
		return rh_fail_oom(err);
	return 0;
}

/* @return the nodes of a TrainJob as Trainer counts them */
static int64_t back_nodes_of(const struct rh_convert_field *field)
{
	struct rh_json *policy = rh_json_at(field->conversion->object, BACK_SPEC ".mlPolicy");
	int64_t nodes = 1;

	(void)back_take(policy, "numNodes", &nodes);
	(void)back_take(rh_json_at(field->conversion->object, "spec.trainer"), "numNodes", &nodes);
	return nodes;
}

/* @param replica copied */
static int back_put(struct rh_json *map, const char *type, int64_t replicas, const struct rh_json *replica)
{
	rh_auto(json) copy = rh_json_new_object();

	if (!copy || rh_json_set_integer(copy, "replicas", replicas) < 0 || rh_json_merge(copy, replica) < 0)
		return RH_ENOMEM;
	return rh_json_set(map, type, rh_take(copy));
}

static int back_put_nodes(const struct rh_convert_field *field, const struct back_kind *kind, int64_t nodes,
                          const struct rh_json *replica)
{
	struct rh_json *map = rh_json_ensure_object(field->parent, kind->to);
	int64_t workers = kind->first ? nodes - 1 : nodes;
	int r = map ? 0 : RH_ENOMEM;

	if (r == 0 && kind->first)
		r = back_put(map, kind->first, 1, replica);
	return r == 0 && workers > 0 ? back_put(map, "Worker", workers, replica) : r;
}

/* Container "node" with the fields of spec.trainer is V1's main container. */
static int back_container(const struct rh_convert_field *field, const struct rh_json *replica, const char *name)
{
	struct rh_json *trainer = rh_json_get(field->parent, "trainer");
	rh_auto(json) env = trainer ? rh_json_detach(trainer, "env") : NULL;
	rh_auto(json) resources = trainer ? rh_json_detach(trainer, "resourcesPerNode") : NULL;
	struct rh_json *container = rh_runtime_main(rh_json_get(replica, "template"), RH_RUNTIME_NODE);

	if ((trainer && back_override(container, trainer) < 0) || back_set(container, env, resources) < 0)
		return RH_ENOMEM;
	return rh_json_set_string(container, "name", name);
}

/* Trainer completes this command; V1 runs it as it stands. */
static int back_note_tune(const struct rh_convert_field *field, const struct back_kind *kind,
                          const struct rh_json *replica)
{
	static const struct rh_convert_remark tune = {
		RH_CONVERT_LOST, NULL,
		"Trainer adds recipe, configuration and rendezvous to `tune run`: write them into the command"};
	const struct rh_json *command =
		rh_json_get(rh_runtime_main(rh_json_get(replica, "template"), kind->main), "command");

	if (rh_json_size(command) != 2 || !rh_text_equal(rh_json_string(rh_json_item(command, 0)), "tune") ||
	    !rh_text_equal(rh_json_string(rh_json_item(command, 1)), "run"))
		return 0;
	return rh_convert_note_at(field->conversion, &tune, "spec.trainer.command");
}

static int back_nodes(const struct rh_convert_field *field, struct rh_error *err)
{
	const struct back_kind *kind = back_kinds;
	rh_auto(json) replica = NULL;
	int64_t nodes = back_nodes_of(field);
	int r = 0;

	while (strcmp(kind->policy, field->rule->value) != 0)
		kind++;
	if (nodes < 1)
		return rh_fail(err, RH_EINVAL, "spec.trainer.numNodes: must be at least 1");
	rh_json_remove(field->parent, field->key);
	r = back_replica(field, RH_RUNTIME_NODE, &replica, err);
	if (r == 0 && (back_container(field, replica, kind->main) < 0 || back_note_tune(field, kind, replica) < 0 ||
	               back_put_nodes(field, kind, nodes, replica) < 0 ||
	               rh_convert_note(field, RH_CONVERT_CHANGED, field->rule->to, field->rule->why) < 0))
		r = rh_fail_oom(err);
	return r;
}

/* V1's field is a text. */
static int back_processes(const struct rh_convert_field *field, struct rh_error *err)
{
	int64_t count = 0;
	rh_auto_free char *text = NULL;

	if (!rh_json_integer(rh_json_get(field->parent, field->key), &count))
		return rh_fail(err, RH_EINVAL, "%s: must be an integer", field->path);
	text = rh_asprintf("%" PRId64, count);
	rh_json_remove(field->parent, field->key);
	if (!text || rh_json_set_string(rh_json_get(field->conversion->object, "spec"), "nprocPerNode", text) < 0 ||
	    rh_convert_note(field, RH_CONVERT_MOVED, field->rule->to, field->rule->why) < 0)
		return rh_fail_oom(err);
	return 0;
}

/* --- MPIJob */

static int64_t back_gpus(const struct rh_json *container, const char *where)
{
	const struct rh_json *map = rh_json_get(rh_json_get(container, "resources"), where);
	int64_t gpus = 0;

	for (const struct rh_json *at = rh_json_first(map); at && gpus == 0; at = rh_json_next(at))
		if (rh_json_key(at) && strstr(rh_json_key(at), BACK_GPU))
			(void)rh_json_integer(at, &gpus);
	return gpus;
}

/* Slots of a node as Trainer finds them: the TrainJob's, the runtime's, and where that is 1, the GPUs. */
static int back_slots(const struct rh_convert_field *field, const struct rh_json *container)
{
	struct rh_json *trainer = rh_json_get(field->parent, "trainer");
	struct rh_json *policy = rh_json_at(field->conversion->object, BACK_SPEC ".mlPolicy.mpi");
	int64_t slots = 1, own = 0, gpus = back_gpus(container, "limits");

	gpus = gpus > 0 ? gpus : back_gpus(container, "requests");
	(void)back_take(policy, "numProcPerNode", &slots);
	if (back_take(trainer, "numProcPerNode", &own))
		slots = own;
	else if (slots == 1 && gpus > 1)
		slots = gpus;
	return rh_json_set_integer(field->parent, "slotsPerWorker", slots);
}

/* @return workers that have as many ranks as the nodes, with the launcher where that is one */
static int64_t back_workers(const struct rh_convert_field *field, bool as_node)
{
	struct rh_json *trainer = rh_json_get(field->parent, "trainer");
	int64_t nodes = 1, launchers;

	(void)rh_json_integer(rh_json_at(back_job(field, RH_RUNTIME_NODE), "template.spec.parallelism"), &nodes);
	nodes += as_node;
	if (back_take(trainer, "numNodes", &launchers))
		nodes = as_node && launchers < 2 ? 2 : launchers;
	(void)back_take(rh_json_at(field->conversion->object, BACK_SPEC ".mlPolicy"), "numNodes", &launchers);
	return nodes;
}

/* V1's workers sleep. */
static int back_no_sshd(const struct rh_convert_field *field, struct rh_json *container)
{
	static const struct rh_convert_remark sleeps = {
		RH_CONVERT_CHANGED, NULL, "sshd is left out: V1's workers sleep, and kubectl exec starts their processes"};

	if (!rh_convert_starts_sshd(container))
		return 0;
	rh_json_remove(container, "command");
	rh_json_remove(container, "args");
	return rh_convert_note_at(field->conversion, &sleeps,
	                          RH_RUNTIME_JOBS "[node].template.spec.template.spec.containers[node].command");
}

static int back_mpi_fill(const struct rh_convert_field *field, const struct rh_json *launcher,
                         const struct rh_json *worker, bool as_node)
{
	struct rh_json *first = rh_runtime_main(rh_json_get(launcher, "template"), RH_RUNTIME_NODE);
	struct rh_json *node = rh_runtime_main(rh_json_get(worker, "template"), RH_RUNTIME_NODE);
	const struct rh_json *trainer = rh_json_get(field->parent, "trainer");
	struct rh_json *map = rh_json_ensure_object(field->parent, "mpiReplicaSpecs");

	if (!map ||
	    (as_node && back_set(node, rh_json_get(trainer, "env"), rh_json_get(trainer, "resourcesPerNode")) < 0) ||
	    back_container(field, launcher, rh_json_string_at(first, "name")) < 0 || back_no_sshd(field, node) < 0 ||
	    back_slots(field, node) < 0)
		return RH_ENOMEM;
	return back_put(map, "Launcher", 1, launcher);
}

static int back_mpi(const struct rh_convert_field *field, struct rh_error *err)
{
	struct rh_json *policy = rh_json_at(field->conversion->object, BACK_SPEC ".mlPolicy.mpi");
	bool as_node = rh_json_bool(rh_json_get(policy, "runLauncherAsNode"), false);
	int64_t workers = back_workers(field, as_node);
	rh_auto(json) launcher = NULL;
	rh_auto(json) worker = NULL;
	int r;

	if (workers < 1)
		return rh_fail(err, RH_EINVAL, "spec.trainer.numNodes: must be at least 1");
	rh_json_remove(field->parent, field->key);
	r = back_replica(field, RH_RUNTIME_LAUNCHER, &launcher, err);
	if (r == 0)
		r = back_replica(field, RH_RUNTIME_NODE, &worker, err);
	if (r == 0 && (back_mpi_fill(field, launcher, worker, as_node) < 0 ||
	               back_put(rh_json_get(field->parent, "mpiReplicaSpecs"), "Worker", workers, worker) < 0 ||
	               rh_convert_note(field, RH_CONVERT_CHANGED, field->rule->to, field->rule->why) < 0))
		r = rh_fail_oom(err);
	return r;
}

/* --- The rest */

/* The value was read before: only the note is left to make. */
static int back_drop(const struct rh_convert_field *field, struct rh_error *err)
{
	rh_json_remove(field->parent, field->key);
	return rh_convert_note(field, field->rule->effect, NULL, field->rule->why) < 0 ? rh_fail_oom(err) : 0;
}

/* What is left of the runtime, or of spec.trainer, is in no rule: each of its fields is lost. */
static int back_rest(const struct rh_convert_field *field, struct rh_error *err)
{
	const struct rh_convert_remark lost = {RH_CONVERT_LOST, NULL, field->rule->why};
	rh_auto(json) rest = rh_json_detach(field->parent, field->key);
	rh_auto_str path = {0};

	rh_str_append(&path, field->path);
	if (rh_json_size(rest) > 0 && rh_convert_note_tree(field->conversion, &lost, &path, rest, NULL) < 0)
		return rh_fail_oom(err);
	return 0;
}

/* Take away objects and lists with nothing in them, at any depth. */
static void back_prune(struct rh_json *json)
{
	struct rh_json *next;

	for (struct rh_json *at = rh_json_first(json); at && rh_json_key(at); at = next) {
		next = rh_json_next(at);
		back_prune(at);
		if (rh_json_size(at) == 0 && (rh_json_type(at) == RH_JSON_OBJECT || rh_json_type(at) == RH_JSON_ARRAY))
			rh_json_remove(json, rh_json_key(at));
	}
}

/* Names and labels of the runtime, and maps that rules have emptied, say nothing about the job. */
static int back_runtime(const struct rh_convert_field *field, struct rh_error *err)
{
	struct rh_json *runtime = rh_json_get(field->parent, field->key);

	rh_json_remove(runtime, "apiVersion");
	rh_json_remove(runtime, "kind");
	rh_json_remove(runtime, "metadata");
	for (struct rh_json *job = rh_json_first(rh_json_at(runtime, "spec.template.spec.replicatedJobs")); job;
	     job = rh_json_next(job))
		back_drop_implied(job, false);
	back_prune(runtime);
	return back_rest(field, err);
}

const struct rh_convert_rule rh_convert_trainjob_first[] = {
	{.path = "spec.initializer",
     .effect = RH_CONVERT_LOST,
     .why = "V1 has no initializers: load data set and model in an init container, or in the program"},
	{.path = "spec.runtimePatches",
     .effect = RH_CONVERT_LOST,
     .why = "write them into the template of the runtime first"},
	{.path = "spec.suspend", .to = "spec.runPolicy.suspend", .effect = RH_CONVERT_MOVED},
	{.path = "spec.activeDeadlineSeconds",
     .to = "spec.runPolicy.activeDeadlineSeconds",
     .effect = RH_CONVERT_CHANGED,
     .why = "V1 counts from the start of the job, Trainer from its creation or resumption"},
	{.path = "spec.managedBy",
     .effect = RH_CONVERT_IMPLIED,
     .when = "\"trainer.kubeflow.org/trainjob-controller\"",
     .why = "a job of V1 is its own operator's where nothing else is set"},
	{.path = "spec.managedBy", .to = "spec.runPolicy.managedBy", .effect = RH_CONVERT_MOVED},
	{.path = BACK_SPEC ".template.spec.ttlSecondsAfterFinished",
     .to = "spec.runPolicy.ttlSecondsAfterFinished",
     .effect = RH_CONVERT_CHANGED,
     .why = "the job is deleted with its pods"},
	{.path = "spec.runPolicy.cleanPodPolicy",
     .effect = RH_CONVERT_CHANGED,
     .value = "\"Running\"",
     .absent = true,
     .why = "what Trainer does; V1's default is None"},
	{.path = BACK_SPEC ".mlPolicy.torch.envInjection",
     .effect = RH_CONVERT_LOST,
     .why = "V1 sets its variables in all containers"},
	{.path = BACK_SPEC ".podGroupPolicy",
     .effect = RH_CONVERT_LOST,
     .why = "set spec.runPolicy.schedulingPolicy; which scheduler makes gangs is a flag of the controller"},
	{.path = BACK_SPEC ".template.spec.failurePolicy",
     .effect = RH_CONVERT_LOST,
     .why =
         "V1 restarts single replicas; Roundhouse restarts the whole job with the annotation roundhouse.dev/restart"},
	{.path = BACK_SPEC ".template.spec.volumeClaimPolicies",
     .effect = RH_CONVERT_LOST,
     .why = "make the PersistentVolumeClaims, and name them in the templates"},
	{.path = RH_RUNTIME_JOBS "[dataset-initializer]", .effect = RH_CONVERT_LOST, .why = "V1 has no initializers"},
	{.path = RH_RUNTIME_JOBS "[model-initializer]", .effect = RH_CONVERT_LOST, .why = "V1 has no initializers"},
	{.path = BACK_SPEC ".template.spec.network.publishNotReadyAddresses",
     .effect = RH_CONVERT_IMPLIED,
     .when = "true",
     .why = "V1's Services do so"},
	{.path = BACK_SPEC ".template.spec.network",
     .effect = RH_CONVERT_LOST,
     .apply = back_rest,
     .why = "each replica of V1 has a Service of its own"},
	{.path = NULL},
};

#define BACK_NEVER(job)                                                                                               \
	{                                                                                                                 \
		.path = RH_RUNTIME_JOBS "[" job "].template.spec.template.spec.restartPolicy", .effect = RH_CONVERT_CHANGED,  \
		.when = "\"Never\"", .apply = back_never,                                                                     \
		.why = "unless backoffLimit is 0: a Job replaces failed pods, V1 restarts the container with OnFailure alone" \
	}

#define BACK_BACKOFF(job)                                                                                    \
	{.path = RH_RUNTIME_JOBS "[" job "].template.spec.backoffLimit",                                         \
	 .to = "spec.runPolicy.backoffLimit",                                                                    \
	 .effect = RH_CONVERT_CHANGED,                                                                           \
	 .value = "6",                                                                                           \
	 .absent = true,                                                                                         \
	 .why = "the default of a Job; V1 has no limit"},                                                        \
		{.path = RH_RUNTIME_JOBS "[" job "].template.spec.backoffLimit",                                     \
	     .effect = RH_CONVERT_IMPLIED,                                                                       \
	     .when = "2147483647",                                                                               \
	     .why = "V1 has no limit"},                                                                          \
	{                                                                                                        \
		.path = RH_RUNTIME_JOBS "[" job "].template.spec.backoffLimit", .to = "spec.runPolicy.backoffLimit", \
		.effect = RH_CONVERT_MOVED                                                                           \
	}

const struct rh_convert_rule rh_convert_nodes_backoff[] = {
	BACK_NEVER("node"),
	BACK_BACKOFF("node"),
	{.path = NULL},
};

const struct rh_convert_rule rh_convert_torch_to_v1[] = {
	{.path = "spec.trainer.numProcPerNode",
     .to = "spec.nprocPerNode",
     .effect = RH_CONVERT_MOVED,
     .apply = back_processes},
	{.path = "spec.runtimeRef",
     .to = "spec.pytorchReplicaSpecs",
     .effect = RH_CONVERT_CHANGED,
     .value = "torch",
     .apply = back_nodes,
     .why =
         "one of numNodes is the Master, the others are Workers; the template is that of the runtime's replicated job "
         "node with what spec.trainer says, and its container node is pytorch. Programs get MASTER_ADDR, "
         "MASTER_PORT, RANK and WORLD_SIZE beside PET_*"},
	{.path = NULL},
};

const struct rh_convert_rule rh_convert_xgboost_to_v1[] = {
	{.path = "spec.runtimeRef",
     .to = "spec.xgbReplicaSpecs",
     .effect = RH_CONVERT_CHANGED,
     .value = "xgboost",
     .apply = back_nodes,
     .why = "as for torch; the container is xgboost. Programs get MASTER_ADDR, MASTER_PORT, RANK, WORLD_SIZE and "
            "WORKER_ADDRS in place of DMLC_*"},
	{.path = NULL},
};

const struct rh_convert_rule rh_convert_jax_to_v1[] = {
	{.path = "spec.runtimeRef",
     .to = "spec.jaxReplicaSpecs",
     .effect = RH_CONVERT_CHANGED,
     .value = "jax",
     .apply = back_nodes,
     .why = "all nodes are Workers, their container is jax. Programs get COORDINATOR_ADDRESS, COORDINATOR_PORT, "
            "NUM_PROCESSES and PROCESS_ID in place of JAX_*"},
	{.path = NULL},
};

const struct rh_convert_rule rh_convert_mpi_to_v1[] = {
	BACK_NEVER("launcher"),
	BACK_NEVER("node"),
	BACK_BACKOFF("launcher"),
	{.path = RH_RUNTIME_JOBS "[node].template.spec.backoffLimit",
     .effect = RH_CONVERT_IMPLIED,
     .why = "V1 has one limit for the whole job: that of the launcher"},
	{.path = RH_RUNTIME_JOBS "[launcher].dependsOn",
     .effect = RH_CONVERT_IMPLIED,
     .why = "an init container of V1's launcher waits until all workers run"},
	{.path = BACK_SPEC ".template.spec.successPolicy",
     .effect = RH_CONVERT_IMPLIED,
     .when = "{\"operator\":\"All\",\"targetReplicatedJobs\":[\"launcher\"]}",
     .why = "the Launcher decides when the job has succeeded"},
	{.path = "spec.runtimeRef",
     .to = "spec.mpiReplicaSpecs",
     .effect = RH_CONVERT_CHANGED,
     .apply = back_mpi,
     .why =
         "the replicated job launcher with what spec.trainer says is the Launcher, numNodes of the replicated job node "
         "are Workers, and numProcPerNode is slotsPerWorker. Programs are started by kubectl exec, not ssh"},
	{.path = BACK_SPEC ".mlPolicy.mpi.runLauncherAsNode",
     .effect = RH_CONVERT_CHANGED,
     .when = "true",
     .apply = back_drop,
     .why = "V1's launcher runs no rank: there is one Worker more"},
	{.path = BACK_SPEC ".mlPolicy.mpi.runLauncherAsNode",
     .effect = RH_CONVERT_IMPLIED,
     .why = "V1's launcher runs no rank"},
	{.path = BACK_SPEC ".mlPolicy.mpi.mpiImplementation",
     .effect = RH_CONVERT_IMPLIED,
     .why = "V1 sets the variables of Open MPI and of Intel MPI"},
	{.path = BACK_SPEC ".mlPolicy.mpi.sshAuthMountPath",
     .effect = RH_CONVERT_IMPLIED,
     .why = "V1 starts processes by kubectl exec: there are no keys"},
	{.path = NULL},
};

const struct rh_convert_rule rh_convert_trainjob_last[] = {
	{.path = "spec.trainer", .effect = RH_CONVERT_LOST, .apply = back_rest, .why = "V1 has no counterpart"},
	{.path = RH_CONVERT_RUNTIME, .effect = RH_CONVERT_LOST, .apply = back_runtime, .why = "V1 has no counterpart"},
	{.path = NULL},
};
