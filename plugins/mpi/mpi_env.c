/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a pod needs so that mpirun in the launcher can start processes in the workers through `kubectl exec`
 * (v1-behaviour C.11).
 */
#include <stdio.h>
#include <string.h>

#include "../mpirun/mpirun.h"
#include "mpi.h"

#define ENV_MOUNT_CONFIG "{\"name\":\"mpi-job-config\",\"mountPath\":\"" MPIRUN_FOLDER "\"}"
/** The agent, as an entry of items. */
#define ENV_AGENT MPIRUN_FILE("kubexec.sh", "365")

static void env_set_launcher(const struct mpirun_pod *pod)
{
	mpirun_set(pod, "OMPI_MCA_plm_rsh_agent", "/etc/mpi/kubexec.sh");
	mpirun_set(pod, "OMPI_MCA_orte_default_hostfile", "/etc/mpi/hostfile");
	if (!mpi_launcher_works(pod->host, pod->view)) {
		mpirun_set(pod, "NVIDIA_VISIBLE_DEVICES", "");
		mpirun_set(pod, "NVIDIA_DRIVER_CAPABILITIES", "");
	}
	mpirun_default(pod, "I_MPI_HYDRA_BOOTSTRAP", "rsh");
	mpirun_default(pod, "I_MPI_HYDRA_BOOTSTRAP_EXEC", "/etc/mpi/kubexec.sh");
}

/** The ConfigMap as a volume, with @p files of it. */
static void env_add_config(const struct mpirun_pod *pod, const char *files)
{
	mpirun_mount_config(pod, mpi_quote_name(pod->host, pod->view, "-config"), files);
}

/** The init container that brings kubectl along. */
static void env_add_delivery(const struct mpirun_pod *pod)
{
	const char *setting = pod->host->setting(pod->view, "kubectl-delivery-image");
	const char *image = pod->host->quote(pod->view, setting ? setting : "kubeflow/kubectl-delivery:latest");
	const char *namespace_ = mpi_quote_namespace(pod->host, pod->view);
	const char *amount = "{\"cpu\":\"100m\",\"ephemeral-storage\":\"5Gi\",\"memory\":\"512Mi\"}";
	const char *command = mpi_is_local(pod->host, pod->view) ? "\"command\":" MPIRUN_LINK_KUBECTL "," : "";

	if (!image || !namespace_) /* memory is out, which the host knows */
		return;
	mpirun_print(pod, "spec.initContainers[+]",
	             "{\"name\":\"kubectl-delivery\",\"image\":%s,\"imagePullPolicy\":\"IfNotPresent\",%s"
	             "\"env\":[{\"name\":\"TARGET_DIR\",\"value\":\"/opt/kube\"},"
	             "{\"name\":\"NAMESPACE\",\"value\":%s}],"
	             "\"resources\":{\"limits\":%s,\"requests\":%s},"
	             "\"volumeMounts\":[" MPIRUN_MOUNT_KUBECTL "," ENV_MOUNT_CONFIG "]}",
	             image, command, namespace_, amount, amount);
}

static void env_edit_launcher(const struct mpirun_pod *pod)
{
	const char *account = mpi_quote_account(pod->host, pod->view);

	if (!mpi_has_account(pod->host, pod->view))
		mpirun_edit(pod, "spec.serviceAccountName", account);
	env_set_launcher(pod);
	if (mpi_is_local(pod->host, pod->view))
		mpirun_stay_in_launcher(pod);
	env_add_delivery(pod);
	mpirun_mount_kubectl(pod);
	env_add_config(pod, ENV_AGENT "," MPIRUN_FILE_HOSTS "," MPIRUN_FILE("discover_hosts.sh", "365"));
}

/** A worker without a command waits for what the launcher starts in it. */
static void env_edit_worker(const struct mpirun_pod *pod)
{
	if (pod->host->size(pod->view, MPI_WORKER_SPEC ".containers[0].command") <= 0)
		mpirun_sleep(pod);
	if (mpi_is_local(pod->host, pod->view))
		mpirun_stay_in_worker(pod);
	env_add_config(pod, ENV_AGENT);
}

int32_t mpi_pod(void *self, const struct rh_view *view, const struct rh_replica *me, struct rh_reply *reply)
{
	const bool launches = strcmp(me->type, "Launcher") == 0;
	int32_t status = 0;
	const struct mpirun_pod pod = {
		.host = self,
		.view = view,
		.reply = reply,
		.status = &status,
		.prefix = "",
		.says = mpirun_says,
		.arg = launches ? MPI_LAUNCHER_SPEC ".containers[0]" : MPI_WORKER_SPEC ".containers[0]",
	};

	if (launches)
		env_edit_launcher(&pod);
	else
		env_edit_worker(&pod);
	return status;
}
