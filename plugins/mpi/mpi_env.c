/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a pod needs so that mpirun in the launcher can start processes in the workers through `kubectl exec` (COMPAT
 * C.11).
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi.h"

#define ENV_MOUNT_KUBECTL "{\"name\":\"mpi-job-kubectl\",\"mountPath\":\"/opt/kube\"}"
#define ENV_MOUNT_CONFIG "{\"name\":\"mpi-job-config\",\"mountPath\":\"/etc/mpi\"}"
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

static int env_has(const struct env_call *call, const char *wanted)
{
	int32_t size = call->host->size(call->view, MPI_LAUNCHER_SPEC ".containers[0].env");
	char path[ENV_TEXT_SIZE];

	for (int32_t i = 0; i < size; i++) {
		const char *name;

		snprintf(path, sizeof(path), MPI_LAUNCHER_SPEC ".containers[0].env[%" PRId32 "].name", i);
		name = call->host->text(call->view, path);
		if (name && strcmp(name, wanted) == 0)
			return 1;
	}
	return 0;
}

static void env_set_launcher(struct env_call *call)
{
	env_set(call, "OMPI_MCA_plm_rsh_agent", "/etc/mpi/kubexec.sh");
	env_set(call, "OMPI_MCA_orte_default_hostfile", "/etc/mpi/hostfile");
	if (!mpi_launcher_works(call->host, call->view)) {
		env_set(call, "NVIDIA_VISIBLE_DEVICES", "");
		env_set(call, "NVIDIA_DRIVER_CAPABILITIES", "");
	}
	if (!env_has(call, "I_MPI_HYDRA_BOOTSTRAP"))
		env_set(call, "I_MPI_HYDRA_BOOTSTRAP", "rsh");
	if (!env_has(call, "I_MPI_HYDRA_BOOTSTRAP_EXEC"))
		env_set(call, "I_MPI_HYDRA_BOOTSTRAP_EXEC", "/etc/mpi/kubexec.sh");
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
	char *json = NULL;
	int length = -1;

	if (image && namespace_)
		length = asprintf(&json,
		                  "{\"name\":\"kubectl-delivery\",\"image\":%s,\"imagePullPolicy\":\"IfNotPresent\","
		                  "\"env\":[{\"name\":\"TARGET_DIR\",\"value\":\"/opt/kube\"},"
		                  "{\"name\":\"NAMESPACE\",\"value\":%s}],"
		                  "\"resources\":{\"limits\":%s,\"requests\":%s},"
		                  "\"volumeMounts\":[" ENV_MOUNT_KUBECTL "," ENV_MOUNT_CONFIG "]}",
		                  image, namespace_, amount, amount);
	env_edit_made(call, "spec.initContainers[+]", length, json);
}

static void env_edit_launcher(struct env_call *call)
{
	const char *account = mpi_quote_account(call->host, call->view);

	if (!mpi_has_account(call->host, call->view))
		env_edit(call, "spec.serviceAccountName", account);
	env_set_launcher(call);
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
