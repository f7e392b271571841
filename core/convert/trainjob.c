/* SPDX-License-Identifier: Apache-2.0 */
/* PyTorchJob, XGBoostJob and JAXJob of V1 to TrainJob of Kubeflow Trainer 2.3, with a TrainingRuntime of its own for
 * all that a TrainJob has no field for. */
#include <stdlib.h>
#include <string.h>

#include "convert/rules.h"

/* Trainer knows the container, and the job, of the nodes by this name. */
#define TRAINJOB_NODE "node"
#define TRAINJOB_STEP "trainer.kubeflow.org/trainjob-ancestor-step"
#define TRAINJOB_FRAMEWORK "trainer.kubeflow.org/framework"

/* What differs between the kinds. */
struct trainjob_kind {
	const char *framework; /* of Trainer: the member of mlPolicy */
	const char *main;      /* V1's main container */
	const char *restart;   /* V1's default restartPolicy */
};

static const struct trainjob_kind trainjob_kinds[] = {
	{"torch", "pytorch", "OnFailure"}, {"xgboost", "xgboost", "Never"}, {"jax", "jax", "Never"}};

/* The rule's value is the framework. */
static const struct trainjob_kind *trainjob_kind(const struct rh_convert_field *field)
{
	size_t i = 0;

	while (strcmp(trainjob_kinds[i].framework, field->rule->value) != 0)
		i++;
	return &trainjob_kinds[i];
}

static const struct rh_json *trainjob_first(const struct rh_json *types, const char *const names[2])
{
	for (size_t i = 0; i < 2; i++) {
		if (rh_json_type(rh_json_get(types, names[i])) == RH_JSON_OBJECT)
			return rh_json_get(types, names[i]);
	}
	return NULL;
}

static int64_t trainjob_nodes(const struct rh_json *types)
{
	int64_t sum = 0;

	for (const struct rh_json *type = rh_json_first(types); type; type = rh_json_next(type)) {
		int64_t replicas = 1;

		(void)rh_json_integer(rh_json_get(type, "replicas"), &replicas);
		sum += replicas;
	}
	return sum;
}

/* @return the main container of a template, or NULL */
static struct rh_json *trainjob_main(const struct trainjob_kind *kind, const struct rh_json *template)
{
	struct rh_json *containers = rh_json_at(template, "spec.containers");
	struct rh_json *found = rh_json_first(containers);

	for (struct rh_json *at = found; at; at = rh_json_next(at)) {
		if (rh_text_equal(rh_json_string_at(at, "name"), kind->main))
			found = at;
	}
	return rh_json_type(found) == RH_JSON_OBJECT ? found : NULL;
}

/* What a TrainJob itself has a field for leaves the template. */
static int trainjob_move_container(struct rh_json *container, struct rh_json *trainer)
{
	static const char *const fields[][2] = {{"image", "image"},
	                                        {"command", "command"},
	                                        {"args", "args"},
	                                        {"env", "env"},
	                                        {"resources", "resourcesPerNode"}};

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		struct rh_json *value = rh_json_detach(container, fields[i][0]);

		if (value && rh_json_set(trainer, fields[i][1], value) < 0)
			return RH_ENOMEM;
	}
	return rh_json_set_string(container, "name", TRAINJOB_NODE);
}

/* Policies of V1, and those of the pods of a batch/v1 Job. */
static const char *trainjob_restart(const struct rh_convert_field *field, const struct rh_json *type)
{
	const char *policy = rh_json_string_at(type, "restartPolicy");

	if (!policy)
		return trainjob_kind(field)->restart;
	if (strcmp(policy, "OnFailure") == 0)
		return "OnFailure";
	if (strcmp(policy, "Never") == 0)
		return "Never";
	if (rh_convert_note(
			field, RH_CONVERT_LOST, NULL,
			strcmp(policy, "Always") == 0
				? "restartPolicy Always becomes OnFailure: a node that succeeds is not started again"
				: "restartPolicy ExitCode becomes Never: give the Job of the runtime a podFailurePolicy for "
				  "exit codes that are to be retried") < 0)
		return NULL;
	return strcmp(policy, "Always") == 0 ? "OnFailure" : "Never";
}

/* @return the Job template of the nodes, owned by the caller; NULL: out of memory. @param template taken */
static struct rh_json *trainjob_job(struct rh_json *template, const char *restart)
{
	rh_auto(json) owned = template;
	rh_auto(json) job = rh_json_new_object();
	struct rh_json *metadata = job ? rh_json_ensure_object(job, "metadata") : NULL;
	struct rh_json *labels = metadata ? rh_json_ensure_object(metadata, "labels") : NULL;
	struct rh_json *spec = job ? rh_json_ensure_object(job, "spec") : NULL;
	struct rh_json *pod = owned ? rh_json_ensure_object(owned, "spec") : NULL;

	if (!labels || !spec || !pod || !restart || rh_json_set_string(labels, TRAINJOB_STEP, "trainer") < 0 ||
	    rh_json_set_string(pod, "restartPolicy", restart) < 0 || rh_json_set(spec, "template", rh_take(owned)) < 0)
		return NULL;
	return rh_take(job);
}

/* @param job taken */
static int trainjob_make_runtime(const struct rh_convert_field *field, int64_t nodes, struct rh_json *job)
{
	rh_auto(json) owned = job;
	struct rh_json *object = field->conversion->object;
	const struct trainjob_kind *kind = trainjob_kind(field);
	const struct rh_json *name = rh_json_at(object, "metadata.name");
	const struct rh_json *namespace_ = rh_json_at(object, "metadata.namespace");
	struct rh_json *runtime = rh_json_ensure_object(object, RH_CONVERT_RUNTIME);
	struct rh_json *metadata, *labels, *spec, *policy, *list, *item;

	if (!owned || !runtime || rh_json_set_string(runtime, "apiVersion", RH_CONVERT_TRAINER) < 0 ||
	    rh_json_set_string(runtime, "kind", RH_CONVERT_RUNTIME) < 0)
		return RH_ENOMEM;
	metadata = rh_json_ensure_object(runtime, "metadata");
	labels = metadata ? rh_json_ensure_object(metadata, "labels") : NULL;
	spec = rh_json_ensure_object(runtime, "spec");
	policy = spec ? rh_json_ensure_object(spec, "mlPolicy") : NULL;
	if (!labels || !policy || (name && rh_json_set(metadata, "name", rh_json_copy(name)) < 0) ||
	    (namespace_ && rh_json_set(metadata, "namespace", rh_json_copy(namespace_)) < 0) ||
	    rh_json_set_string(labels, TRAINJOB_FRAMEWORK, kind->framework) < 0 ||
	    rh_json_set_integer(policy, "numNodes", nodes) < 0 || !rh_json_ensure_object(policy, kind->framework) ||
	    !(spec = rh_json_ensure_object(spec, "template")) || !(spec = rh_json_ensure_object(spec, "spec")))
		return RH_ENOMEM;
	list = rh_json_ensure_array(spec, "replicatedJobs");
	item = rh_json_new_object();
	if (rh_json_append(list, item) < 0 || rh_json_set_string(item, "name", TRAINJOB_NODE) < 0)
		return RH_ENOMEM;
	return rh_json_set(item, "template", rh_take(owned));
}

static int trainjob_make_spec(const struct rh_convert_field *field, int64_t nodes, struct rh_json *template)
{
	const char *name = rh_json_string_at(field->conversion->object, "metadata.name");
	struct rh_json *reference = rh_json_ensure_object(field->parent, "runtimeRef");
	struct rh_json *trainer = rh_json_ensure_object(field->parent, "trainer");

	if (!reference || !trainer || rh_json_set_string(reference, "kind", RH_CONVERT_RUNTIME) < 0 ||
	    rh_json_set_string(reference, "name", name ? name : "") < 0 ||
	    rh_json_set_integer(trainer, "numNodes", nodes) < 0)
		return RH_ENOMEM;
	return trainjob_move_container(trainjob_main(trainjob_kind(field), template), trainer);
}

/* All nodes have one template: that of the Master, which has rank 0. */
static int trainjob_apply(const struct rh_convert_field *field, struct rh_error *err)
{
	static const char *const names[] = {"Master", "Worker"};
	rh_auto(json) types = rh_json_detach(field->parent, field->key);
	const struct rh_json *first = trainjob_first(types, names);
	const struct rh_json *worker = rh_json_get(types, "Worker");
	int64_t nodes = trainjob_nodes(types);
	rh_auto(json) template = first ? rh_json_copy(rh_json_get(first, "template")) : NULL;
	const char *restart;

	if (!trainjob_main(trainjob_kind(field), template))
		return rh_fail(err, RH_EINVAL, "%s: neither Master nor Worker has a template with a container", field->path);
	if (!rh_json_string_at(field->conversion->object, "metadata.name"))
		return rh_fail(err, RH_EINVAL, "metadata.name: Required value: the TrainingRuntime is named after the job");
	if (worker && worker != first && !rh_json_equal(rh_json_get(worker, "template"), rh_json_get(first, "template")) &&
	    rh_convert_note(field, RH_CONVERT_LOST, NULL,
	                    "the Worker's template differs from the Master's: all nodes get the Master's") < 0)
		return rh_fail_oom(err);
	restart = trainjob_restart(field, first);
	if (trainjob_make_spec(field, nodes, template) < 0 ||
	    trainjob_make_runtime(field, nodes, trainjob_job(rh_take(template), restart)) < 0 ||
	    rh_convert_note(field, RH_CONVERT_CHANGED, field->rule->to, field->rule->why) < 0)
		return rh_fail_oom(err);
	return 0;
}

/* @return the spec of the nodes' Job, borrowed */
static struct rh_json *trainjob_job_spec(const struct rh_convert_field *field)
{
	return rh_json_at(field->conversion->object,
	                  RH_CONVERT_RUNTIME ".spec.template.spec.replicatedJobs[0].template.spec");
}

static int trainjob_backoff(const struct rh_convert_field *field, struct rh_error *err)
{
	rh_auto(json) given = rh_json_detach(field->parent, field->key);
	struct rh_json *spec = trainjob_job_spec(field);
	int r = given ? rh_json_set(spec, "backoffLimit", rh_take(given))
	              : rh_json_set_integer(spec, "backoffLimit", INT32_MAX);

	if (r == 0)
		r = rh_convert_note(field, field->rule->effect, field->rule->to, field->rule->why);
	return r < 0 ? rh_fail_oom(err) : 0;
}

/* A number is the same; auto and gpu are what Trainer does by itself. */
static int trainjob_processes(const struct rh_convert_field *field, struct rh_error *err)
{
	rh_auto(json) given = rh_json_detach(field->parent, field->key);
	const char *text = rh_json_string(given);
	char *end = NULL;
	long count = text ? strtol(text, &end, 10) : 0;
	int r;

	if (text && end != text && !*end && count > 0 && count <= INT32_MAX)
		r = rh_convert_put(field->conversion->object, "spec.trainer.numProcPerNode", NULL, rh_json_new_integer(count),
		                   err);
	else if (text && strcmp(text, "cpu") == 0)
		return rh_convert_note(field, RH_CONVERT_LOST, NULL,
		                       "Trainer starts one process for each GPU; set "
		                       "spec.trainer.numProcPerNode to the number of processors") < 0
		           ? rh_fail_oom(err)
		           : 0;
	else
		return rh_convert_note(field, RH_CONVERT_IMPLIED, NULL, field->rule->why) < 0 ? rh_fail_oom(err) : 0;
	if (r == 0 && rh_convert_note(field, RH_CONVERT_MOVED, field->rule->to, NULL) < 0)
		r = rh_fail_oom(err);
	return r;
}

/* Its members have moved; what is left has no counterpart. */
static int trainjob_rest(const struct rh_convert_field *field, struct rh_error *err)
{
	rh_auto(json) rest = rh_json_detach(field->parent, field->key);

	if (rh_json_size(rest) == 0)
		return 0;
	return rh_convert_note(field, RH_CONVERT_LOST, NULL, field->rule->why) < 0 ? rh_fail_oom(err) : 0;
}

const struct rh_convert_rule rh_convert_xgboost_to_trainjob[] = {
	{.path = "spec.xgbReplicaSpecs",
     .to = "spec.trainer, and a TrainingRuntime",
     .effect = RH_CONVERT_CHANGED,
     .value = "xgboost",
     .apply = trainjob_apply,
     .why = "as of a PyTorchJob. Programs get DMLC_TRACKER_URI, DMLC_TRACKER_PORT, DMLC_TASK_ID and DMLC_NUM_WORKER in "
            "place of MASTER_ADDR, RANK, WORLD_SIZE and WORKER_ADDRS: change how they find each other"},
	{.path = NULL},
};

const struct rh_convert_rule rh_convert_jax_to_trainjob[] = {
	{.path = "spec.jaxReplicaSpecs",
     .to = "spec.trainer, and a TrainingRuntime",
     .effect = RH_CONVERT_CHANGED,
     .value = "jax",
     .apply = trainjob_apply,
     .why =
         "as of a PyTorchJob. Programs get JAX_COORDINATOR_ADDRESS, JAX_NUM_PROCESSES and JAX_PROCESS_ID in place of "
         "COORDINATOR_ADDRESS, COORDINATOR_PORT, NUM_PROCESSES and PROCESS_ID"},
	{.path = NULL},
};

const struct rh_convert_rule rh_convert_pytorch_to_trainjob[] = {
	{.path = "spec.pytorchReplicaSpecs",
     .to = "spec.trainer, and a TrainingRuntime",
     .effect = RH_CONVERT_CHANGED,
     .value = "torch",
     .apply = trainjob_apply,
     .why =
         "Master and Workers are the nodes; image, command, args, env and resources are spec.trainer, the rest of the "
         "template and restartPolicy are those of a TrainingRuntime. Programs get PET_* in place of MASTER_ADDR, RANK "
         "and WORLD_SIZE: start them by torchrun, which sets those"},
	{.path = "spec.nprocPerNode",
     .to = "spec.trainer.numProcPerNode",
     .effect = RH_CONVERT_MOVED,
     .apply = trainjob_processes,
     .why = "Trainer starts one process for each GPU, or each processor where no GPU is asked for"},
	{.path = "spec.elasticPolicy",
     .effect = RH_CONVERT_LOST,
     .why = "a TrainJob has a fixed number of nodes; give torchrun's rendezvous options in the command"},
	{.path = NULL},
};

const struct rh_convert_rule rh_convert_policy_to_trainjob[] = {
	{.path = "spec.runPolicy.suspend", .to = "spec.suspend", .effect = RH_CONVERT_MOVED},
	{.path = "spec.runPolicy.activeDeadlineSeconds",
     .effect = RH_CONVERT_LOST,
     .when = "0",
     .why = "a TrainJob takes no deadline below 1"},
	{.path = "spec.runPolicy.activeDeadlineSeconds", .to = "spec.activeDeadlineSeconds", .effect = RH_CONVERT_MOVED},
	{.path = "spec.runPolicy.managedBy",
     .effect = RH_CONVERT_IMPLIED,
     .when = "\"kubeflow.org/training-operator\"",
     .why = "a TrainJob is Trainer's where nothing else is set"},
	{.path = "spec.runPolicy.managedBy", .to = "spec.managedBy", .effect = RH_CONVERT_MOVED},
	{.path = "spec.runPolicy.backoffLimit",
     .to = "backoffLimit of the runtime's Job",
     .effect = RH_CONVERT_CHANGED,
     .absent = true,
     .value = "2147483647",
     .apply = trainjob_backoff,
     .why = "V1 has no limit; the default of a Job is 6"},
	{.path = "spec.runPolicy.backoffLimit",
     .to = "backoffLimit of the runtime's Job",
     .effect = RH_CONVERT_MOVED,
     .apply = trainjob_backoff},
	{.path = "spec.runPolicy.ttlSecondsAfterFinished",
     .to = RH_CONVERT_RUNTIME ".spec.template.spec.ttlSecondsAfterFinished",
     .effect = RH_CONVERT_CHANGED,
     .why = "the pods are deleted, and the TrainJob stays"},
	{.path = "spec.runPolicy.cleanPodPolicy",
     .effect = RH_CONVERT_IMPLIED,
     .when = "\"Running\"",
     .why = "pods that run are deleted at the end, and those that have ended stay"},
	{.path = "spec.runPolicy.cleanPodPolicy",
     .effect = RH_CONVERT_LOST,
     .why = "pods that run are deleted at the end, and those that have ended stay"},
	{.path = "spec.runPolicy.schedulingPolicy",
     .effect = RH_CONVERT_LOST,
     .why = "give the TrainingRuntime a podGroupPolicy"},
	{.path = "spec.runPolicy",
     .effect = RH_CONVERT_LOST,
     .apply = trainjob_rest,
     .why = "a TrainJob has no counterpart"},
	{.path = NULL},
};
