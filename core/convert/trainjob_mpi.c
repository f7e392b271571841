/* SPDX-License-Identifier: Apache-2.0 */
/* MPIJob of V1 and of the MPI Operator to a TrainJob whose runtime has mlPolicy.mpi: a launcher, and nodes that run
 * sshd. Trainer 2.3 has Open MPI alone. */
#include "convert/runtime.h"

/* What V1 and the MPI Operator do otherwise; all in the runtime. */
struct trainmpi {
	const struct rh_convert_field *field;
	const char *main;    /* name of the worker's main container; NULL: the first */
	const char *restart; /* default restartPolicy of the launcher */
	const char *ssh;     /* where keys are mounted */
	bool as_node;        /* the launcher runs ranks, too */
	bool job_restarts;   /* the launcher was a Job before */
	bool waits;          /* the launcher starts when all workers are ready */
	int64_t slots;
};

static int trainmpi_policy(const struct trainmpi *mpi, struct rh_json *runtime)
{
	struct rh_json *policy = rh_json_ensure_object(runtime, "mlPolicy");
	struct rh_json *options = policy ? rh_json_ensure_object(policy, "mpi") : NULL;

	/* pods of the launcher, of which there is one */
	if (!options || rh_json_set_integer(policy, "numNodes", 1) < 0 ||
	    rh_json_set_string(options, "mpiImplementation", "OpenMPI") < 0 ||
	    rh_json_set_integer(options, "numProcPerNode", mpi->slots) < 0 ||
	    rh_json_set_string(options, "sshAuthMountPath", mpi->ssh) < 0)
		return RH_ENOMEM;
	return mpi->as_node ? rh_json_set_bool(options, "runLauncherAsNode", true) : 0;
}

/* Any name does in an MPIJob, and one alone in a TrainJob. */
static int trainmpi_note_name(const struct trainmpi *mpi, const struct rh_runtime_part *part)
{
	static const struct rh_convert_remark renamed = {RH_CONVERT_CHANGED, "\"node\"", "Trainer's name of it"};
	const struct rh_json *container = rh_runtime_main(rh_json_get(part->replica, "template"), part->main);
	const struct rh_json *at = rh_json_first(rh_json_at(part->replica, "template.spec.containers"));
	size_t index = 0;

	if (!container || rh_text_equal(rh_json_string_at(container, "name"), RH_RUNTIME_NODE))
		return 0;
	for (; at && at != container; at = rh_json_next(at))
		index++;
	return rh_convert_note_at(mpi->field->conversion, &renamed, "%s[%s].template.spec.containers[%zu].name",
	                          mpi->field->path, part->type, index);
}

static int trainmpi_add(const struct trainmpi *mpi, const struct rh_runtime_part *part, struct rh_json **ret_job,
                        struct rh_error *err)
{
	int r = rh_runtime_add(mpi->field, part, ret_job, err);

	return r == 0 && trainmpi_note_name(mpi, part) < 0 ? rh_fail_oom(err) : r;
}

/* Workers of V1 sleep, those of the MPI Operator start sshd unless they have a command. */
static int trainmpi_sshd(const struct trainmpi *mpi, const char *type, const struct rh_json *job)
{
	static const struct rh_convert_remark made = {RH_CONVERT_CHANGED, "[\"/usr/sbin/sshd\",\"-De\"]",
	                                              "ranks are started through ssh: the image needs sshd"};
	static const struct rh_convert_remark given = {RH_CONVERT_CHANGED, NULL,
	                                               "ranks are started through ssh: the command has to start sshd"};
	struct rh_json *container = rh_runtime_main(rh_json_at(job, "spec.template"), RH_RUNTIME_NODE);
	bool own = rh_json_size(rh_json_get(container, "command")) > 0 || rh_json_size(rh_json_get(container, "args")) > 0;
	struct rh_json *command;

	if (rh_convert_starts_sshd(container))
		return 0;
	if (own)
		return rh_convert_note_at(mpi->field->conversion, &given, "%s[%s].template.spec.containers[0].command",
		                          mpi->field->path, type);
	rh_json_remove(container, "command");
	rh_json_remove(container, "args");
	command = rh_json_ensure_array(container, "command");
	if (!command || rh_json_append(command, rh_json_new_string("/usr/sbin/sshd")) < 0 ||
	    rh_json_append(command, rh_json_new_string("-De")) < 0)
		return RH_ENOMEM;
	return rh_convert_note_at(mpi->field->conversion, &made, "%s[%s].template.spec.containers[0].command",
	                          mpi->field->path, type);
}

/* A node that was made of the launcher does not run mpirun. */
static void trainmpi_idle(const struct rh_json *job)
{
	struct rh_json *container = rh_runtime_main(rh_json_at(job, "spec.template"), RH_RUNTIME_NODE);

	rh_json_remove(container, "command");
	rh_json_remove(container, "args");
}

static int trainmpi_wait(const struct rh_convert_field *field)
{
	rh_auto(json) node = rh_json_new_object();
	struct rh_json *launcher = rh_json_at(field->conversion->object, RH_RUNTIME_JOBS "[1]");
	struct rh_json *list = rh_json_ensure_array(launcher, "dependsOn");

	if (!node || !list || rh_json_set_string(node, "name", RH_RUNTIME_NODE) < 0 ||
	    rh_json_set_string(node, "status", "Ready") < 0)
		return RH_ENOMEM;
	return rh_json_append(list, rh_take(node));
}

/* Without workers Trainer runs one node all the same. */
static int trainmpi_nodes(const struct trainmpi *mpi, const struct rh_json *worker, int64_t *ret_nodes)
{
	static const struct rh_convert_remark one = {RH_CONVERT_CHANGED, "1", "Trainer runs one node at least"};
	int64_t workers = rh_runtime_replicas(worker, 0);

	*ret_nodes = (workers < 1 ? 1 : workers) + mpi->as_node;
	if (workers >= 1)
		return 0;
	return rh_convert_note_at(mpi->field->conversion, &one, "%s[Worker].replicas", mpi->field->path);
}

/* spec.trainer is for the launcher; resources stay in the runtime, where launcher and workers have their own. */
static int trainmpi_trainer(const struct trainmpi *mpi, int64_t nodes, const struct rh_json *job)
{
	static const char *const fields[] = {"image", "command", "args"};
	struct rh_json *container = rh_runtime_main(rh_json_at(job, "spec.template"), RH_RUNTIME_NODE);
	struct rh_json *trainer = rh_json_ensure_object(mpi->field->parent, "trainer");
	int r = trainer ? rh_json_set_integer(trainer, "numNodes", nodes) : RH_ENOMEM;

	if (r == 0)
		r = rh_json_set_integer(trainer, "numProcPerNode", mpi->slots);
	for (size_t i = 0; r == 0 && i < sizeof(fields) / sizeof(fields[0]); i++) {
		struct rh_json *value = rh_json_detach(container, fields[i]);

		if (value)
			r = rh_json_set(trainer, fields[i], value);
	}
	return r;
}

/* @param worker the spec of one that is not there is made of the launcher's template */
static int trainmpi_jobs(const struct trainmpi *mpi, const struct rh_json *launcher, const struct rh_json *worker,
                         struct rh_error *err)
{
	const struct rh_runtime_part nodes = {RH_RUNTIME_NODE,
	                                      worker ? rh_json_key(worker) : "Worker",
	                                      worker ? worker : launcher,
	                                      worker ? mpi->main : NULL,
	                                      "Never",
	                                      0,
	                                      false,
	                                      mpi->job_restarts};
	const struct rh_runtime_part first = {
		RH_RUNTIME_LAUNCHER, rh_json_key(launcher), launcher, NULL, mpi->restart, 0, true, mpi->job_restarts};
	struct rh_json *job;
	int64_t count;
	int r = trainmpi_add(mpi, &nodes, &job, err);

	if (r == 0 && !worker)
		trainmpi_idle(job);
	if (r == 0 && trainmpi_sshd(mpi, nodes.type, job) < 0)
		r = rh_fail_oom(err);
	if (r == 0)
		r = trainmpi_add(mpi, &first, &job, err);
	if (r == 0 &&
	    (trainmpi_nodes(mpi, worker, &count) < 0 || trainmpi_trainer(mpi, count, job) < 0 ||
	     (mpi->waits && trainmpi_wait(mpi->field) < 0) || rh_runtime_succeed_with(mpi->field, RH_RUNTIME_LAUNCHER) < 0))
		r = rh_fail_oom(err);
	return r;
}

static int trainmpi_note_others(const struct rh_convert_field *field, const struct rh_json *types,
                                const struct rh_json *launcher, const struct rh_json *worker)
{
	static const struct rh_convert_remark unknown = {RH_CONVERT_LOST, NULL, "an MPIJob has a Launcher and Workers"};
	int r = 0;

	for (const struct rh_json *type = rh_json_first(types); r == 0 && type; type = rh_json_next(type))
		if (type != launcher && type != worker)
			r = rh_convert_note_at(field->conversion, &unknown, "%s[%s]", field->path, rh_json_key(type));
	return r;
}

static int trainmpi_make(struct trainmpi *mpi, struct rh_error *err)
{
	const struct rh_convert_field *field = mpi->field;
	rh_auto(json) types = rh_json_detach(field->parent, field->key);
	rh_auto(json) slots = rh_json_detach(field->parent, "slotsPerWorker");
	const struct rh_json *launcher = rh_runtime_type(types, "Launcher");
	const struct rh_json *worker = rh_runtime_type(types, "Worker");
	struct rh_json *runtime;
	int r;

	if (!launcher)
		return rh_fail(err, RH_EINVAL, "%s[Launcher]: Required value: it starts mpirun", field->path);
	mpi->slots = 1;
	if (slots && (!rh_json_integer(slots, &mpi->slots) || mpi->slots < 1 || mpi->slots > INT32_MAX))
		return rh_fail(err, RH_EINVAL, "spec.slotsPerWorker: must be an integer of at least 1");
	r = rh_runtime_begin(field, "mpi", &runtime, err);
	if (r == 0 && trainmpi_policy(mpi, runtime) < 0)
		r = rh_fail_oom(err);
	if (r == 0)
		r = trainmpi_jobs(mpi, launcher, worker, err);
	if (r == 0 && (trainmpi_note_others(field, types, launcher, worker) < 0 ||
	               rh_convert_note(field, RH_CONVERT_CHANGED, field->rule->to, field->rule->why) < 0))
		r = rh_fail_oom(err);
	return r;
}

/* V1's launcher waits in an init container until all workers run. */
static int trainmpi_from_v1(const struct rh_convert_field *field, struct rh_error *err)
{
	struct trainmpi mpi = {.field = field, .restart = "Never", .ssh = "/root/.ssh", .waits = true};
	rh_auto(json) main = rh_json_detach(field->parent, "mainContainer");
	int r;

	mpi.main = rh_json_string(main);
	r = trainmpi_make(&mpi, err);
	if (r == 0 && mpi.main &&
	    rh_convert_note_at(field->conversion,
	                       &(struct rh_convert_remark){RH_CONVERT_CHANGED, NULL, "the main container is called node"},
	                       "spec.mainContainer") < 0)
		r = rh_fail_oom(err);
	return r;
}

static int trainmpi_from_mpi2(const struct rh_convert_field *field, struct rh_error *err)
{
	rh_auto(json) ssh = rh_json_detach(field->parent, "sshAuthMountPath");
	rh_auto(json) as_node = rh_json_detach(field->parent, "runLauncherAsWorker");
	rh_auto(json) creation = rh_json_detach(field->parent, "launcherCreationPolicy");
	struct trainmpi mpi = {.field = field,
	                       .restart = "OnFailure",
	                       .job_restarts = true,
	                       .ssh = rh_json_string(ssh) ? rh_json_string(ssh) : "/root/.ssh",
	                       .as_node = rh_json_bool(as_node, false),
	                       .waits = rh_text_equal(rh_json_string(creation), "WaitForWorkersReady")};

	return trainmpi_make(&mpi, err);
}

/* Fields that trainmpi_from_v1() and trainmpi_from_mpi2() read as well stand behind it for documentation alone. */
#define TRAINMPI_SLOTS                                                                                  \
	{                                                                                                   \
		.path = "spec.slotsPerWorker", .to = "spec.trainer.numProcPerNode", .effect = RH_CONVERT_MOVED, \
		.why = "and the same in the runtime's mlPolicy.mpi"                                             \
	}

const struct rh_convert_rule rh_convert_mpi_to_trainjob[] = {
	{.path = "spec.cleanPodPolicy", .to = "spec.runPolicy.cleanPodPolicy", .effect = RH_CONVERT_MOVED},
	{.path = "spec.mpiReplicaSpecs",
     .to = "spec.trainer, and a TrainingRuntime",
     .effect = RH_CONVERT_CHANGED,
     .apply = trainmpi_from_v1,
     .why =
         "the Launcher is the replicated job launcher, with image, command and args in spec.trainer; Workers are the "
         "replicated job node, numNodes of them. Programs are started through ssh, not kubectl exec: there are no "
         "kubexec.sh, discover_hosts.sh, I_MPI_* and no service account of the launcher"},
	TRAINMPI_SLOTS,
	{.path = "spec.mainContainer", .effect = RH_CONVERT_CHANGED, .why = "the main container is called node"},
	{.path = NULL},
};

const struct rh_convert_rule rh_convert_mpi2_to_trainjob[] = {
	{.path = "spec.mpiImplementation", .effect = RH_CONVERT_IMPLIED, .when = "\"OpenMPI\"", .why = "Trainer's default"},
	{.path = "spec.mpiImplementation",
     .effect = RH_CONVERT_LOST,
     .why = "Trainer 2.3 has Open MPI alone: give mpirun its hosts by /etc/mpi/hostfile"},
	{.path = "spec.mpiReplicaSpecs",
     .to = "spec.trainer, and a TrainingRuntime",
     .effect = RH_CONVERT_CHANGED,
     .apply = trainmpi_from_mpi2,
     .why =
         "the Launcher is the replicated job launcher, with image, command and args in spec.trainer; Workers are the "
         "replicated job node. There is no discover_hosts.sh"},
	TRAINMPI_SLOTS,
	{.path = "spec.sshAuthMountPath", .to = "mlPolicy.mpi.sshAuthMountPath of the runtime", .effect = RH_CONVERT_MOVED},
	{.path = "spec.runLauncherAsWorker",
     .to = "mlPolicy.mpi.runLauncherAsNode of the runtime",
     .effect = RH_CONVERT_MOVED,
     .why = "the launcher counts in numNodes"},
	{.path = "spec.launcherCreationPolicy",
     .to = "dependsOn of the launcher",
     .effect = RH_CONVERT_MOVED,
     .why = "WaitForWorkersReady waits for the nodes to be Ready; AtStartup does not wait"},
	{.path = NULL},
};
