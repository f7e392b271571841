/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a pod needs so that mpirun in the launcher can start processes in the workers through `kubectl exec`
 * (v1-behaviour C.11).
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi.h"

#define ENV_MOUNT_KUBECTL "{\"name\":\"mpi-job-kubectl\",\"mountPath\":\"/opt/kube\"}"
#define ENV_MOUNT_CONFIG "{\"name\":\"mpi-job-config\",\"mountPath\":\"/etc/mpi\"}"
/** On one machine this program stands for kubectl, and the image that would bring it along is not run. */
#define ENV_LINK_KUBECTL "[\"/bin/sh\",\"-c\",\"ln -sf \\\"$ROUNDHOUSE_PROGRAM\\\" \\\"$TARGET_DIR/kubectl\\\"\"]"
/** One key of the ConfigMap as a file; modes are decimal: 365 is 0555, 292 is 0444. */
#define ENV_FILE(key, mode) "{\"key\":\"" key "\",\"path\":\"" key "\",\"mode\":" mode "}"
/** Room for a path or a small object. */
#define ENV_TEXT_SIZE 512

/** One call of pod(). The first error stays, and ends what follows. */
struct env_call {
	const struct rh_services *host;
	const struct rh_view *view;
	struct rh_reply *reply;
	int32_t status;
};

static void env_edit(struct env_call *call, const char *path, const char *json)
{
	if (call->status == 0)
		call->status = call->host->edit(call->reply, path, json);
}

/** edit() with what asprintf() made of @p length bytes, which is freed; -1 is out of memory. */
static void env_edit_made(struct env_call *call, const char *path, int length, char *json)
{
	if (length < 0) {
		if (call->status == 0)
			call->status = call->host->fail(call->reply, RH_ENOMEM, "out of memory");
		return;
	}
	env_edit(call, path, json);
	free(json);
}

/** Variables stand in the first container alone. */
static void env_set(struct env_call *call, const char *name, const char *value)
{
	char json[ENV_TEXT_SIZE];

	snprintf(json, sizeof(json), "{\"name\":\"%s\",\"value\":\"%s\"}", name, value);
	env_edit(call, "spec.containers[0].env[+]", json);
}

/** @param spec MPI_LAUNCHER_SPEC or MPI_WORKER_SPEC */
static int env_has(const struct env_call *call, const char *spec, const char *expected)
{
	char path[ENV_TEXT_SIZE];
	int32_t size;

	snprintf(path, sizeof(path), "%s.containers[0].env", spec);
	size = call->host->size(call->view, path);

	for (int32_t i = 0; i < size; i++) {
		const char *name;

		snprintf(path, sizeof(path), "%s.containers[0].env[%" PRId32 "].name", spec, i);
		name = call->host->text(call->view, path);
		if (name && strcmp(name, expected) == 0)
			return 1;
	}
	return 0;
}

static void env_set_absent(struct env_call *call, const char *spec, const char *name, const char *value)
{
	if (!env_has(call, spec, name))
		env_set(call, name, value);
}

static void env_set_launcher(struct env_call *call)
{
	env_set(call, "OMPI_MCA_plm_rsh_agent", "/etc/mpi/kubexec.sh");
	env_set(call, "OMPI_MCA_orte_default_hostfile", "/etc/mpi/hostfile");
	if (!mpi_launcher_works(call->host, call->view)) {
		env_set(call, "NVIDIA_VISIBLE_DEVICES", "");
		env_set(call, "NVIDIA_DRIVER_CAPABILITIES", "");
	}
	env_set_absent(call, MPI_LAUNCHER_SPEC, "I_MPI_HYDRA_BOOTSTRAP", "rsh");
	env_set_absent(call, MPI_LAUNCHER_SPEC, "I_MPI_HYDRA_BOOTSTRAP_EXEC", "/etc/mpi/kubexec.sh");
}

/**
 * One machine has no network of its own for the pods: Open MPI is to use loopback alone, where nobody else can reach
 * it. Root's containers are this machine's root. What Open MPI writes into the machine's /tmp stays there when it is
 * killed: there is a folder of the pod for it, which goes with the pod.
 */
static void env_set_local(struct env_call *call, const char *spec)
{
	env_set_absent(call, spec, "OMPI_MCA_oob_tcp_if_include", "lo");
	env_set_absent(call, spec, "OMPI_MCA_btl_tcp_if_include", "lo");
	env_set_absent(call, spec, "OMPI_ALLOW_RUN_AS_ROOT", "1");
	env_set_absent(call, spec, "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
	env_edit(call, "spec.volumes[+]", "{\"name\":\"mpi-job-session\",\"emptyDir\":{}}");
	env_edit(call, "spec.containers[0].volumeMounts[+]",
	         "{\"name\":\"mpi-job-session\",\"mountPath\":\"/opt/mpi-job\"}");
}

/**
 * mpirun gives each OMPI_MCA variable on to the workers, where it replaces theirs, and without mount namespaces the
 * folders of pods have different paths. TMPDIR it keeps to itself.
 */
static void env_set_local_launcher(struct env_call *call)
{
	env_set_local(call, MPI_LAUNCHER_SPEC);
	env_set_absent(call, MPI_LAUNCHER_SPEC, "TMPDIR", "/opt/mpi-job");
	env_set(call, MPI_KUBECTL, "/opt/kube/kubectl");
}

/**
 * What Open MPI's daemons write, and its segments of shared memory, have names of the host and the job, and all workers
 * have one host here: each needs a folder of its own. TMPDIR would move what the ranks write as well.
 */
static void env_set_local_worker(struct env_call *call)
{
	env_set_local(call, MPI_WORKER_SPEC);
	env_set_absent(call, MPI_WORKER_SPEC, "OMPI_MCA_orte_tmpdir_base", "/opt/mpi-job");
	env_set_absent(call, MPI_WORKER_SPEC, "OMPI_MCA_btl_vader_backing_directory", "/opt/mpi-job");
}

/** The ConfigMap as a volume, with @p files of it. */
static void env_add_config(struct env_call *call, const char *files)
{
	const char *name = mpi_quote_name(call->host, call->view, "-config");
	char *json = NULL;
	int length = -1;

	if (name)
		length =
			asprintf(&json, "{\"name\":\"mpi-job-config\",\"configMap\":{\"name\":%s,\"items\":[%s]}}", name, files);
	env_edit_made(call, "spec.volumes[+]", length, json);
	env_edit(call, "spec.containers[0].volumeMounts[+]", ENV_MOUNT_CONFIG);
}

/** The init container that brings kubectl along. */
static void env_add_delivery(struct env_call *call)
{
	const char *setting = call->host->setting(call->view, "kubectl-delivery-image");
	const char *image = call->host->quote(call->view, setting ? setting : "kubeflow/kubectl-delivery:latest");
	const char *namespace_ = mpi_quote_namespace(call->host, call->view);
	const char *amount = "{\"cpu\":\"100m\",\"ephemeral-storage\":\"5Gi\",\"memory\":\"512Mi\"}";
	const char *command = mpi_is_local(call->host, call->view) ? "\"command\":" ENV_LINK_KUBECTL "," : "";
	char *json = NULL;
	int length = -1;

	if (image && namespace_)
		length = asprintf(&json,
		                  "{\"name\":\"kubectl-delivery\",\"image\":%s,\"imagePullPolicy\":\"IfNotPresent\",%s"
		                  "\"env\":[{\"name\":\"TARGET_DIR\",\"value\":\"/opt/kube\"},"
		                  "{\"name\":\"NAMESPACE\",\"value\":%s}],"
		                  "\"resources\":{\"limits\":%s,\"requests\":%s},"
		                  "\"volumeMounts\":[" ENV_MOUNT_KUBECTL "," ENV_MOUNT_CONFIG "]}",
		                  image, command, namespace_, amount, amount);
	env_edit_made(call, "spec.initContainers[+]", length, json);
}

static void env_edit_launcher(struct env_call *call)
{
	const char *account = mpi_quote_account(call->host, call->view);

	if (!mpi_has_account(call->host, call->view))
		env_edit(call, "spec.serviceAccountName", account);
	env_set_launcher(call);
	if (mpi_is_local(call->host, call->view))
		env_set_local_launcher(call);
	env_add_delivery(call);
	env_edit(call, "spec.volumes[+]", "{\"name\":\"mpi-job-kubectl\",\"emptyDir\":{}}");
	env_edit(call, "spec.containers[0].volumeMounts[+]", ENV_MOUNT_KUBECTL);
	env_add_config(
		call, ENV_FILE("kubexec.sh", "365") "," ENV_FILE("hostfile", "292") "," ENV_FILE("discover_hosts.sh", "365"));
}

/** A worker without a command waits for what the launcher starts in it. */
static void env_edit_worker(struct env_call *call)
{
	if (call->host->size(call->view, MPI_WORKER_SPEC ".containers[0].command") <= 0) {
		env_edit(call, "spec.containers[0].command", "[\"sleep\"]");
		env_edit(call, "spec.containers[0].args", "[\"365d\"]");
	}
	if (mpi_is_local(call->host, call->view))
		env_set_local_worker(call);
	env_add_config(call, ENV_FILE("kubexec.sh", "365"));
}

int32_t mpi_pod(void *self, const struct rh_view *view, const struct rh_replica *me, struct rh_reply *reply)
{
	struct env_call call = {self, view, reply, 0};

	if (strcmp(me->type, "Launcher") == 0)
		env_edit_launcher(&call);
	else
		env_edit_worker(&call);
	return call.status;
}
