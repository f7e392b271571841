/* SPDX-License-Identifier: Apache-2.0 */
/* PyTorchJob, XGBoostJob and JAXJob of V1 to TrainJob of Kubeflow Trainer 2.3, with a TrainingRuntime of its own for
 * all that a TrainJob has no field for. */
#include <stdlib.h>
#include <string.h>

#include "convert/runtime.h"
#include "job/values/names.h"

/* What differs between the kinds. */
struct trainjob_kind {
	const char *framework; /* of Trainer: the member of mlPolicy */
	const char *main;      /* V1's main container */
	const char *restart;   /* V1's default restartPolicy */
	const char *first;     /* the replica type with rank 0; NULL: Worker 0 has it */
};

static const struct trainjob_kind trainjob_kinds[] = {{"torch", "pytorch", "OnFailure", "Master"},
                                                      {"xgboost", "xgboost", "Never", "Master"},
                                                      {"jax", "jax", "Never", NULL}};

/* The rule's value is the framework. */
static const struct trainjob_kind *trainjob_kind(const struct rh_convert_field *field)
{
	size_t i = 0;

	while (strcmp(trainjob_kinds[i].framework, field->rule->value) != 0)
		i++;
	return &trainjob_kinds[i];
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
	return 0;
}

/* All nodes have one template: that of the type with rank 0. What Workers have of their own is lost. */
static int trainjob_note_worker(const struct rh_convert_field *field, const struct rh_json *worker,
                                const struct rh_json *first)
{
	static const char *const parts[] = {"template", "restartPolicy"};
	static const struct rh_convert_remark differs = {RH_CONVERT_LOST, NULL,
	                                                 "all nodes have one template: that of the replica with rank 0"};
	int r = rh_runtime_note_restart(field, rh_json_key(worker), worker);

	for (size_t i = 0; r == 0 && i < sizeof(parts) / sizeof(parts[0]); i++) {
		rh_auto_str path = {0};

		rh_str_appendf(&path, "%s[%s].%s", field->path, rh_json_key(worker), parts[i]);
		r = rh_convert_note_tree(field->conversion, &differs, &path, rh_json_get(worker, parts[i]),
		                         rh_json_get(first, parts[i]));
	}
	return r;
}

static int trainjob_note_others(const struct rh_convert_field *field, const struct rh_json *types,
                                const struct rh_json *worker, const struct rh_json *first)
{
	static const struct rh_convert_remark unknown = {RH_CONVERT_LOST, NULL, "Trainer has one type of nodes"};
	int r = 0;

	for (const struct rh_json *type = rh_json_first(types); r == 0 && type; type = rh_json_next(type))
		if (type != first && type != worker)
			r = rh_convert_note_at(field->conversion, &unknown, "%s[%s]", field->path, rh_json_key(type));
		else if (type != first)
			r = trainjob_note_worker(field, worker, first);
	return r;
}

static int trainjob_fill(const struct rh_convert_field *field, int64_t nodes, struct rh_json *runtime,
                         const struct rh_json *job)
{
	struct rh_json *policy = rh_json_ensure_object(runtime, "mlPolicy");
	struct rh_json *trainer = rh_json_ensure_object(field->parent, "trainer");

	if (!policy || !trainer || rh_json_set_integer(policy, "numNodes", nodes) < 0 ||
	    !rh_json_ensure_object(policy, trainjob_kind(field)->framework) ||
	    rh_json_set_integer(trainer, "numNodes", nodes) < 0)
		return RH_ENOMEM;
	return trainjob_move_container(rh_runtime_main(rh_json_at(job, "spec.template"), RH_RUNTIME_NODE), trainer);
}

static int trainjob_apply(const struct rh_convert_field *field, struct rh_error *err)
{
	const struct trainjob_kind *kind = trainjob_kind(field);
	rh_auto(json) types = rh_json_detach(field->parent, field->key);
	const struct rh_json *worker = rh_runtime_type(types, "Worker");
	const struct rh_json *master = kind->first ? rh_runtime_type(types, kind->first) : NULL;
	const struct rh_json *first = master ? master : worker;
	int64_t nodes = rh_runtime_replicas(master, 1) + rh_runtime_replicas(worker, 1);
	const struct rh_runtime_part part = {
		RH_RUNTIME_NODE, rh_json_key(first), first, kind->main, kind->restart, 0, true, false};
	struct rh_json *runtime, *job;
	int r;

	if (!rh_runtime_main(rh_json_get(first, "template"), kind->main))
		return rh_fail(err, RH_EINVAL, "%s: neither Master nor Worker has a template with a container", field->path);
	if (nodes < 1)
		return rh_fail(err, RH_EINVAL, "%s: replicas are 0, and a TrainJob without nodes is complete at once",
		               field->path);
	r = rh_runtime_begin(field, kind->framework, &runtime, err);
	if (r == 0)
		r = rh_runtime_add(field, &part, &job, err);
	if (r == 0 &&
	    (trainjob_note_others(field, types, worker, first) < 0 || trainjob_fill(field, nodes, runtime, job) < 0 ||
	     rh_convert_note(field, RH_CONVERT_CHANGED, field->rule->to, field->rule->why) < 0))
		r = rh_fail_oom(err);
	return r;
}

/* Set the limit of each Job that has none. @param ret_set, ret_kept how many were set, and how many were not */
static int trainjob_limit(const struct rh_convert_field *field, const struct rh_json *given, size_t *ret_set,
                          size_t *ret_kept)
{
	int r = 0;

	for (struct rh_json *job = rh_json_first(rh_json_at(field->conversion->object, RH_RUNTIME_JOBS)); r == 0 && job;
	     job = rh_json_next(job)) {
		struct rh_json *spec = rh_json_at(job, "template.spec");

		if (rh_json_get(spec, "backoffLimit")) {
			++*ret_kept;
			continue;
		}
		++*ret_set;
		r = rh_json_set(spec, "backoffLimit", given ? rh_json_copy(given) : rh_json_new_integer(INT32_MAX));
	}
	return r;
}

/* V1 counts the restarts of the whole job, a Job those of its own pods. */
static int trainjob_backoff(const struct rh_convert_field *field, struct rh_error *err)
{
	static const char never[] =
		"0 where restartPolicy is Never: V1 does not restart such a replica, whatever the limit is";
	rh_auto(json) given = rh_json_detach(field->parent, field->key);
	size_t set = 0, kept = 0;

	if (trainjob_limit(field, given, &set, &kept) < 0 ||
	    (set > 0 && rh_convert_note(field, field->rule->effect, field->rule->to, field->rule->why) < 0) ||
	    (given && kept > 0 && rh_convert_note(field, RH_CONVERT_CHANGED, "0", never) < 0))
		return rh_fail_oom(err);
	return 0;
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

/* Trainer reads none of ours; they stay where they are. */
static int trainjob_annotations(const struct rh_convert_field *field, struct rh_error *err)
{
	const struct rh_convert_remark unread = {RH_CONVERT_CHANGED, NULL, field->rule->why};
	int r = 0;

	for (const struct rh_json *at = rh_json_first(rh_json_get(field->parent, field->key)); r == 0 && at;
	     at = rh_json_next(at))
		if (rh_json_key(at) && rh_starts_with(rh_json_key(at), RH_ANNOTATION_PREFIX))
			r = rh_convert_note_at(field->conversion, &unread, "%s[%s]", field->path, rh_json_key(at));
	return r < 0 ? rh_fail_oom(err) : 0;
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

const struct rh_convert_rule rh_convert_backoff_to_trainjob[] = {
	{.path = "spec.runPolicy.backoffLimit",
     .to = "backoffLimit of the runtime's Jobs",
     .effect = RH_CONVERT_CHANGED,
     .absent = true,
     .value = "2147483647",
     .apply = trainjob_backoff,
     .why = "V1 has no limit; the default of a Job is 6. It is 0 where restartPolicy is Never, for a Job would replace "
            "failed pods, and V1 does not"},
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
	{.path = "spec.runPolicy.managedBy",
     .effect = RH_CONVERT_IMPLIED,
     .when = "\"kubeflow.org/mpi-operator\"",
     .why = "a TrainJob is Trainer's where nothing else is set"},
	{.path = "spec.runPolicy.managedBy", .to = "spec.managedBy", .effect = RH_CONVERT_MOVED},
	{.path = "spec.runPolicy.backoffLimit",
     .to = "backoffLimit of the runtime's Jobs",
     .effect = RH_CONVERT_MOVED,
     .apply = trainjob_backoff,
     .why = "V1 counts the restarts of the whole job, each Job those of its own pods. It is 0 where restartPolicy is "
            "Never"},
	{.path = "spec.runPolicy.ttlSecondsAfterFinished",
     .to = RH_CONVERT_RUNTIME ".spec.template.spec.ttlSecondsAfterFinished",
     .effect = RH_CONVERT_CHANGED,
     .why = "the pods are deleted, and the TrainJob stays"},
	{.path = "spec.runPolicy.cleanPodPolicy",
     .effect = RH_CONVERT_CHANGED,
     .absent = true,
     .why = "pods that run are deleted at the end; V1's default None leaves them"},
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
	{.path = "metadata.annotations",
     .effect = RH_CONVERT_CHANGED,
     .apply = trainjob_annotations,
     .why = "an annotation of roundhouse.dev stays, without effect: Trainer does not read it"},
	{.path = "spec.runPolicy",
     .effect = RH_CONVERT_LOST,
     .apply = trainjob_rest,
     .why = "a TrainJob has no counterpart"},
	{.path = NULL},
};
