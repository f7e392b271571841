/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "convert/rules.h"

/* The numbers of an MPIJob of v1alpha1. */
struct mpi_units {
	const char *resource;
	int64_t workers;
	int64_t each; /* of the resource in each worker; 0: the template says it */
};

static int64_t mpi_number(const struct rh_json *spec, const char *name, const char *former, int64_t fallback)
{
	int64_t value = fallback;

	if (!rh_json_integer(rh_json_get(spec, name), &value))
		(void)rh_json_integer(rh_json_get(spec, former), &value);
	return value;
}

/* The rule of mpi-operator's v1alpha1 controller; its flags for the units of a node had the default 1. */
static int mpi_read_units(const struct rh_convert_field *field, struct mpi_units *units, struct rh_error *err)
{
	const struct rh_json *spec = field->parent;
	const char *resource = rh_json_string_at(spec, "processingResourceType");
	int64_t total = mpi_number(spec, "processingUnits", "gpus", 0);
	int64_t node = mpi_number(spec, "processingUnitsPerNode", "gpusPerNode", 1);

	units->resource = !resource || strcmp(resource, "gpu") == 0 ? "nvidia.com/gpu" : resource;
	if (total <= 0) {
		*units = (struct mpi_units){.resource = units->resource, .workers = mpi_number(spec, "replicas", "", 1)};
		return 0;
	}
	if (node <= 0 || (total > node && total % node != 0))
		return rh_fail(err, RH_EINVAL,
		               "spec: %lld processing units are not a multiple of the %lld of a node, so there is no number of "
		               "workers; set spec.replicas and the limits of the template",
		               (long long)total, (long long)node);
	units->workers = total < node ? 1 : total / node;
	units->each = total < node ? total : node;
	return 0;
}

/* @return the first of a list of containers, or NULL where that is not an object */
static struct rh_json *mpi_first(const struct rh_json *containers)
{
	struct rh_json *container = rh_json_first(containers);

	return rh_json_type(container) == RH_JSON_OBJECT ? container : NULL;
}

static int mpi_set_limit(struct rh_json *replica, const struct mpi_units *units)
{
	struct rh_json *container = mpi_first(rh_json_at(replica, "template.spec.containers"));
	struct rh_json *resources = container ? rh_json_ensure_object(container, "resources") : NULL;
	struct rh_json *limits = resources ? rh_json_ensure_object(resources, "limits") : NULL;

	if (units->each == 0 || !container)
		return 0;
	return limits ? rh_json_set_integer(limits, units->resource, units->each) : RH_ENOMEM;
}

/* The launcher computes nothing: it needs no accelerator. */
static void mpi_drop_limit(struct rh_json *replica, const struct mpi_units *units)
{
	struct rh_json *container = mpi_first(rh_json_at(replica, "template.spec.containers"));
	struct rh_json *limits = rh_json_at(container, "resources.limits");
	struct rh_json *requests = rh_json_at(container, "resources.requests");

	if (limits)
		rh_json_remove(limits, units->resource);
	if (requests)
		rh_json_remove(requests, units->resource);
}

/* @return a replica spec, owned by the caller, or NULL when memory is out */
static struct rh_json *mpi_replica(const struct rh_json *template, int64_t replicas, const char *restart)
{
	rh_auto(json) replica = rh_json_new_object();

	if (!replica || rh_json_set_integer(replica, "replicas", replicas) < 0 ||
	    rh_json_set_string(replica, "restartPolicy", restart) < 0 ||
	    rh_json_set(replica, "template", rh_json_copy(template)) < 0)
		return NULL;
	return rh_take(replica);
}

static int mpi_set_replicas(struct rh_json *spec, const struct rh_json *template, const struct mpi_units *units)
{
	struct rh_json *map = rh_json_ensure_object(spec, "mpiReplicaSpecs");
	rh_auto(json) launcher = mpi_replica(template, 1, "OnFailure");
	rh_auto(json) worker = mpi_replica(template, units->workers, "Never");

	if (!map || !launcher || !worker || mpi_set_limit(worker, units) < 0)
		return RH_ENOMEM;
	mpi_drop_limit(launcher, units);
	if (rh_json_set(map, "Launcher", rh_take(launcher)) < 0)
		return RH_ENOMEM;
	return rh_json_set(map, "Worker", rh_take(worker));
}

/* A limit is added to what stands there. */
static int mpi_check_resources(const struct rh_convert_field *field, struct rh_error *err)
{
	static const char *const paths[] = {"spec.containers[0].resources", "spec.containers[0].resources.limits"};
	const struct rh_json *template = rh_json_get(field->parent, field->key);

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		const struct rh_json *value = rh_json_at(template, paths[i]);

		if (value && rh_json_type(value) != RH_JSON_OBJECT && rh_json_type(value) != RH_JSON_NULL)
			return rh_fail(err, RH_EINVAL, "%s.%s: must be an object", field->path, paths[i]);
	}
	return 0;
}

static int mpi_units_apply(const struct rh_convert_field *field, struct rh_error *err)
{
	static const char *const read[] = {"gpus",     "gpusPerNode",           "processingUnits", "processingUnitsPerNode",
	                                   "replicas", "processingResourceType"};
	struct rh_json *spec = field->parent;
	rh_auto(json) template = NULL;
	struct mpi_units units;
	int r = mpi_read_units(field, &units, err);

	if (r == 0)
		r = mpi_check_resources(field, err);
	if (r < 0)
		return r;
	template = rh_json_detach(spec, field->key);
	if (mpi_set_replicas(spec, template, &units) < 0)
		return rh_fail_oom(err);
	if (units.each > 0 && !rh_json_get(spec, "slotsPerWorker") &&
	    rh_json_set_integer(spec, "slotsPerWorker", units.each) < 0)
		return rh_fail_oom(err);
	for (size_t i = 0; i < sizeof(read) / sizeof(read[0]); i++)
		rh_json_remove(spec, read[i]);
	return rh_convert_note(field, RH_CONVERT_CHANGED, field->rule->to, field->rule->why) < 0 ? rh_fail_oom(err) : 0;
}

/* In both of the MPI Operator's later APIs the first container is the main one. */
static int mpi_main_first(const struct rh_convert_field *field, struct rh_error *err)
{
	rh_auto(json) name = rh_json_detach(field->parent, field->key);
	struct rh_json *types = rh_json_get(field->parent, "mpiReplicaSpecs");
	bool moved = false;
	int r = 0;

	for (struct rh_json *type = rh_json_first(types); r == 0 && type; type = rh_json_next(type)) {
		struct rh_json *containers = rh_json_at(type, "template.spec.containers");
		size_t index = 0;

		while (index < rh_json_size(containers) &&
		       !rh_text_equal(rh_json_string(name), rh_json_string_at(rh_json_item(containers, index), "name")))
			index++;
		if (index == rh_json_size(containers))
			continue;
		moved |= index > 0;
		for (size_t i = 0; r == 0 && i < index; i++)
			r = rh_json_append(containers, rh_json_detach_item(containers, 0));
	}
	if (r == 0 && moved)
		r = rh_convert_note(field, RH_CONVERT_CHANGED, field->rule->to, field->rule->why);
	return r < 0 ? rh_fail_oom(err) : 0;
}

/* Words of a command that has sshd anywhere. */
static bool mpi_starts_sshd(const struct rh_json *words)
{
	bool found = false;

	for (const struct rh_json *word = rh_json_first(words); word && !found; word = rh_json_next(word))
		found = rh_json_string(word) && strstr(rh_json_string(word), "sshd");
	return found;
}

bool rh_convert_starts_sshd(const struct rh_json *container)
{
	return mpi_starts_sshd(rh_json_get(container, "command")) || mpi_starts_sshd(rh_json_get(container, "args"));
}

static int mpi_no_sshd(const struct rh_convert_field *field, struct rh_error *err)
{
	struct rh_json *container = mpi_first(rh_json_get(field->parent, field->key));

	if (!rh_convert_starts_sshd(container))
		return 0;
	rh_json_remove(container, "command");
	rh_json_remove(container, "args");
	return rh_convert_note(field, RH_CONVERT_CHANGED, NULL, field->rule->why) < 0 ? rh_fail_oom(err) : 0;
}

static int mpi_needs_sshd(const struct rh_convert_field *field, struct rh_error *err)
{
	struct rh_json *container = mpi_first(rh_json_get(field->parent, field->key));

	if (rh_convert_starts_sshd(container))
		return 0;
	return rh_convert_note(field, RH_CONVERT_CHANGED, NULL, field->rule->why) < 0 ? rh_fail_oom(err) : 0;
}

const struct rh_convert_rule rh_convert_mpi_units[] = {
	{.path = "spec.template",
     .to = "spec.mpiReplicaSpecs",
     .effect = RH_CONVERT_CHANGED,
     .apply = mpi_units_apply,
     .why = "the template of Launcher and Worker; gpus or processingUnits, those of a node (1 if it is not set) and "
            "processingResourceType are the Worker's replicas, its limit and slotsPerWorker"},
	{.path = "spec.launcherOnMaster",
     .effect = RH_CONVERT_LOST,
     .why = "give the Launcher's template a nodeSelector and tolerations for the control plane"},
	{.path = "spec.mpiDistribution", .effect = RH_CONVERT_LOST, .why = "V1 sets variables of Open MPI and Intel MPI"},
	{.path = NULL},
};

const struct rh_convert_rule rh_convert_mpi_alpha2[] = {
	{.path = "spec.mpiDistribution",
     .effect = RH_CONVERT_LOST,
     .why = "V1 sets the variables of Open MPI and of Intel MPI; for MPICH name hostfile and launcher in the command"},
	{.path = "spec.mpiReplicaSpecs[Launcher].restartPolicy",
     .effect = RH_CONVERT_CHANGED,
     .value = "\"OnFailure\"",
     .absent = true,
     .why = "the former default; V1's is Never"},
	{.path = "spec.mpiReplicaSpecs[Launcher].restartPolicy",
     .effect = RH_CONVERT_CHANGED,
     .value = "\"OnFailure\"",
     .when = "\"Always\"",
     .why = "what the former controller made of it"},
	{.path = NULL},
};

const struct rh_convert_rule rh_convert_mpi_backoff[] = {
	{.path = "spec.backoffLimit",
     .to = "spec.runPolicy.backoffLimit",
     .effect = RH_CONVERT_CHANGED,
     .value = "6",
     .absent = true,
     .why = "the former default; V1 has no limit"},
	{.path = NULL},
};

const struct rh_convert_rule rh_convert_mpi2_to_v1[] = {
	{.path = "spec.sshAuthMountPath",
     .effect = RH_CONVERT_LOST,
     .why = "V1 starts processes by kubectl exec: there are no keys, and images need no sshd"},
	{.path = "spec.launcherCreationPolicy",
     .effect = RH_CONVERT_IMPLIED,
     .why = "an init container of V1's launcher waits until all workers run, with both policies"},
	{.path = "spec.mpiImplementation",
     .effect = RH_CONVERT_LOST,
     .when = "\"MPICH\"",
     .why = "V1 sets no variables of MPICH: give mpirun -f /etc/mpi/hostfile -launcher ssh -launcher-exec "
            "/etc/mpi/kubexec.sh"},
	{.path = "spec.mpiImplementation",
     .effect = RH_CONVERT_IMPLIED,
     .why = "V1 sets the variables of Open MPI and of Intel MPI"},
	{.path = "spec.runLauncherAsWorker",
     .effect = RH_CONVERT_LOST,
     .when = "true",
     .why = "V1's launcher runs no rank: add one to the Worker's replicas"},
	{.path = "spec.runLauncherAsWorker", .effect = RH_CONVERT_IMPLIED, .why = "V1's launcher runs no rank"},
	{.path = "spec.mpiReplicaSpecs[Launcher].restartPolicy",
     .effect = RH_CONVERT_CHANGED,
     .value = "\"OnFailure\"",
     .absent = true,
     .why = "the default of v2beta1; V1's is Never"},
	{.path = "spec.runPolicy.backoffLimit",
     .effect = RH_CONVERT_CHANGED,
     .value = "6",
     .absent = true,
     .why = "the default of the launcher's Job; V1 has no limit"},
	{.path = "spec.runPolicy.ttlSecondsAfterFinished",
     .effect = RH_CONVERT_CHANGED,
     .why = "the MPIJob is deleted; the MPI Operator deletes the launcher's Job alone"},
	{.path = "spec.runPolicy.managedBy",
     .effect = RH_CONVERT_IMPLIED,
     .when = "\"kubeflow.org/mpi-operator\"",
     .why = "a job of V1 is its own operator's where nothing else is set"},
	{.path = "spec.mpiReplicaSpecs[Worker].template.spec.containers",
     .effect = RH_CONVERT_CHANGED,
     .apply = mpi_no_sshd,
     .why = "the command that starts sshd is left out: V1's workers sleep, and kubectl exec starts their processes"},
	{.path = NULL},
};

const struct rh_convert_rule rh_convert_v1_to_mpi2[] = {
	{.path = "spec.cleanPodPolicy", .to = "spec.runPolicy.cleanPodPolicy", .effect = RH_CONVERT_MOVED},
	{.path = "spec.mainContainer",
     .effect = RH_CONVERT_CHANGED,
     .apply = mpi_main_first,
     .why = "the main container is the first one"},
	{.path = "spec.mpiReplicaSpecs[Launcher].restartPolicy",
     .effect = RH_CONVERT_CHANGED,
     .value = "\"Never\"",
     .absent = true,
     .why = "V1's default; that of v2beta1 is OnFailure"},
	{.path = "spec.mpiReplicaSpecs[*].restartPolicy",
     .effect = RH_CONVERT_CHANGED,
     .value = "\"Never\"",
     .when = "\"ExitCode\"",
     .why = "v2beta1 refuses ExitCode; V1 does not restart such a replica either"},
	{.path = "spec.mpiReplicaSpecs[*].restartPolicy",
     .effect = RH_CONVERT_CHANGED,
     .value = "\"OnFailure\"",
     .when = "\"Always\"",
     .why = "v2beta1 refuses Always: a replica that succeeds is not started again"},
	{.path = "spec.mpiReplicaSpecs[Worker].replicas",
     .effect = RH_CONVERT_CHANGED,
     .value = "1",
     .absent = true,
     .why = "v2beta1 refuses 0, V1's default"},
	{.path = "spec.runPolicy.backoffLimit",
     .effect = RH_CONVERT_CHANGED,
     .value = "2147483647",
     .absent = true,
     .why = "V1 has no limit; the default of the launcher's Job is 6"},
	{.path = "spec.runPolicy.ttlSecondsAfterFinished",
     .effect = RH_CONVERT_CHANGED,
     .why = "the launcher's Job is deleted, and the MPIJob stays"},
	{.path = "spec.runPolicy.managedBy",
     .effect = RH_CONVERT_IMPLIED,
     .when = "\"kubeflow.org/training-operator\"",
     .why = "a job of v2beta1 is the MPI Operator's where nothing else is set"},
	{.path = "spec.mpiReplicaSpecs[Worker].template.spec.containers",
     .effect = RH_CONVERT_CHANGED,
     .apply = mpi_needs_sshd,
     .why = "workers run /usr/sbin/sshd -De, which the image must have, unless the first container has a command or "
            "arguments: those must start sshd"},
	{.path = NULL},
};
