/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a pod needs so that mpirun in the launcher can start processes in the workers: by ssh on a cluster, and on one
 * machine by an agent in its place, as there is no sshd.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi2.h"

#define POD_MAIN "spec.containers[0]"
/** That container in the spec of a replica type. */
#define POD_TEMPLATE ".template." POD_MAIN
/** Room for a path, a variable, or a small object. */
#define POD_TEXT_SIZE 512
/** One file of a volume. */
#define POD_FILE(key, path) "{\"key\":\"" key "\",\"path\":\"" path "\"}"
#define POD_KEYS                         \
	POD_FILE("ssh-privatekey", "id_rsa") \
	"," POD_FILE("ssh-publickey", "id_rsa.pub") "," POD_FILE("ssh-publickey", "authorized_keys")
/** ssh refuses keys that others may read; at another path the user may be another one, who could not read them. */
#define POD_ROOT_FOLDER "/root/.ssh"
#define POD_ROOT_MODE ",\"defaultMode\":384"
#define POD_SSH_ARGS "-o ConnectionAttempts=10"
#define POD_DISCOVERY MPIRUN_FILE("discover_hosts.sh", "365")
#define POD_AGENT MPIRUN_FOLDER "/" MPIRUN_AGENT

struct mpi2_pod mpi2_begin_pod(struct mpi2_call *call, const char *type, const char *prefix)
{
	const bool launches = strcmp(type, MPI2_LAUNCHER) == 0;

	return (struct mpi2_pod){call,
	                         {.host = call->host,
	                          .view = call->view,
	                          .reply = call->reply,
	                          .status = &call->status,
	                          .prefix = prefix,
	                          .says = mpirun_says,
	                          .arg = launches ? MPI2_LAUNCHER_SPEC POD_TEMPLATE : MPI2_WORKER_SPEC POD_TEMPLATE}};
}

static void pod_label(const struct mpi2_pod *pod, const char *name, const char *value)
{
	char path[POD_TEXT_SIZE];

	snprintf(path, sizeof(path), "metadata.labels[\"" MPI2_LABEL "%s\"]", name);
	mpirun_edit(&pod->mpirun, path, mpi2_quote(pod->call, "%s", value));
}

/** Labels and names of a pod. @param index -1: it has none */
static void pod_identify(const struct mpi2_pod *pod, const char *role, int32_t index)
{
	const char *type = strcmp(role, "launcher") == 0 ? MPI2_LAUNCHER : MPI2_WORKER;
	const char *name = pod->call->host->pod_name(pod->call->view, type, index > 0 ? index : 0);
	bool works = mpi2_launcher_works(pod->call);
	char number[16];

	pod_label(pod, "operator-name", MPI2_OPERATOR);
	pod_label(pod, "job-name", mpi2_name(pod->call));
	pod_label(pod, "job-role", role);
	snprintf(number, sizeof(number), "%" PRId32, works ? index + 1 : index);
	if (index >= 0 || works)
		pod_label(pod, "replica-index", number);
	mpirun_edit(&pod->mpirun, "spec.hostname", mpi2_quote(pod->call, "%s", name ? name : ""));
	mpirun_edit(&pod->mpirun, "spec.subdomain", mpi2_quote(pod->call, "%s", mpi2_name(pod->call)));
}

/** A pod with the node's network still asks the cluster for names. @param type path of the replica type */
static void pod_use_cluster_names(const struct mpi2_pod *pod, const char *type)
{
	char path[POD_TEXT_SIZE];

	snprintf(path, sizeof(path), "%s.template.spec.hostNetwork", type);
	if (pod->call->host->boolean(pod->call->view, path))
		mpirun_edit(&pod->mpirun, "spec.dnsPolicy", "\"ClusterFirstWithHostNet\"");
}

/** A volume with the keys, in the first container. */
static void pod_add_keys(const struct mpi2_pod *pod)
{
	const char *folder = mpi2_key_folder(pod->call);
	const char *name = mpi2_quote(pod->call, "%s-ssh", mpi2_name(pod->call));
	const char *mount = mpi2_quote(pod->call, "%s", folder);

	if (!name || !mount)
		return;
	mpirun_print(&pod->mpirun, "spec.volumes[+]",
	             "{\"name\":\"ssh-auth\",\"secret\":{\"secretName\":%s,\"items\":[" POD_KEYS "]%s}}", name,
	             strcmp(folder, POD_ROOT_FOLDER) == 0 ? POD_ROOT_MODE : "");
	mpirun_print(&pod->mpirun, POD_MAIN ".volumeMounts[+]", "{\"name\":\"ssh-auth\",\"mountPath\":%s}", mount);
}

/** The files of the ConfigMap, in the first container. @param items those it needs */
static void pod_add_config(const struct mpi2_pod *pod, const char *items)
{
	mpirun_mount_config(&pod->mpirun, mpi2_quote(pod->call, "%s-config", mpi2_name(pod->call)), items);
}

/** Where mpirun finds the hosts, how it reaches them, and how many processes each has. */
static void pod_set_mpi(const struct mpi2_pod *pod, bool by_ssh)
{
	char slots[32];

	snprintf(slots, sizeof(slots), "%" PRId64, mpi2_slots(pod->call));
	switch (mpi2_implementation(pod->call)) {
	case MPI2_INTEL:
		mpirun_set(&pod->mpirun, "I_MPI_HYDRA_HOST_FILE", "/etc/mpi/hostfile");
		if (by_ssh)
			mpirun_set(&pod->mpirun, "I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS", POD_SSH_ARGS);
		mpirun_set(&pod->mpirun, "I_MPI_PERHOST", slots);
		return;
	case MPI2_MPICH:
		mpirun_set(&pod->mpirun, "HYDRA_HOST_FILE", "/etc/mpi/hostfile");
		if (by_ssh)
			mpirun_set(&pod->mpirun, "HYDRA_LAUNCH_EXTRA_ARGS", POD_SSH_ARGS);
		return;
	case MPI2_OPEN_MPI:
		break;
	}
	mpirun_use_open_mpi(&pod->mpirun, mpi2_slots(pod->call), by_ssh ? POD_SSH_ARGS : NULL);
}

/** A launcher that only starts processes sees no GPU, although its image asks for them. */
static void pod_hide_gpus(const struct mpi2_pod *pod)
{
	if (mpi2_launcher_works(pod->call))
		return;
	mpirun_set(&pod->mpirun, "NVIDIA_VISIBLE_DEVICES", "");
	mpirun_set(&pod->mpirun, "NVIDIA_DRIVER_CAPABILITIES", "");
}

/** @return whether the container has words at @p key, command or args */
static bool pod_has(const struct mpi2_pod *pod, const char *key)
{
	char path[POD_TEXT_SIZE];

	snprintf(path, sizeof(path), MPI2_WORKER_SPEC ".template.spec.containers[0].%s", key);
	return pod->call->host->size(pod->call->view, path) > 0;
}

static void pod_edit_cluster_worker(const struct mpi2_pod *pod, int32_t index)
{
	const char *domain = pod->call->host->setting(pod->call->view, "cluster-domain");

	pod_identify(pod, "worker", index);
	pod_use_cluster_names(pod, MPI2_WORKER_SPEC);
	mpirun_edit(&pod->mpirun, "spec.dnsConfig.searches[+]",
	            mpi2_quote(pod->call, "%s.%s.svc.%s", mpi2_name(pod->call), mpi2_namespace(pod->call),
	                       domain ? domain : "cluster.local"));
	if (!pod_has(pod, "command") && !pod_has(pod, "args"))
		mpirun_edit(&pod->mpirun, POD_MAIN ".command", "[\"/usr/sbin/sshd\",\"-De\"]");
	mpirun_set(&pod->mpirun, "K_MPI_JOB_ROLE", "worker");
	pod_add_keys(pod);
}

static void pod_edit_cluster_launcher(const struct mpi2_pod *pod)
{
	pod_identify(pod, "launcher", -1);
	pod_use_cluster_names(pod, MPI2_LAUNCHER_SPEC);
	mpirun_set(&pod->mpirun, "K_MPI_JOB_ROLE", "launcher");
	pod_set_mpi(pod, true);
	pod_hide_gpus(pod);
	pod_add_keys(pod);
	pod_add_config(pod, MPIRUN_FILE_HOSTS "," POD_DISCOVERY);
}

static void pod_use_agent(const struct mpi2_pod *pod)
{
	switch (mpi2_implementation(pod->call)) {
	case MPI2_INTEL:
		mpirun_default(&pod->mpirun, "I_MPI_HYDRA_BOOTSTRAP", "rsh");
		mpirun_default(&pod->mpirun, "I_MPI_HYDRA_BOOTSTRAP_EXEC", POD_AGENT);
		return;
	case MPI2_MPICH:
		mpirun_default(&pod->mpirun, "HYDRA_LAUNCHER", "rsh");
		mpirun_default(&pod->mpirun, "HYDRA_LAUNCHER_EXEC", POD_AGENT);
		return;
	case MPI2_OPEN_MPI:
		break;
	}
	mpirun_use_agent(&pod->mpirun);
}

static void pod_edit_local_worker(const struct mpi2_pod *pod)
{
	const char *program = pod->call->host->text(pod->call->view, MPI2_WORKER_SPEC POD_TEMPLATE ".command[0]");

	if (mpirun_is_sshd(program, pod_has(pod, "args")))
		mpirun_sleep(&pod->mpirun);
	mpirun_set(&pod->mpirun, "K_MPI_JOB_ROLE", "worker");
	mpirun_stay_in_worker(&pod->mpirun);
	/* mpirun gives its variables on, and its daemon in the worker looks whether the agent is there */
	pod_add_config(pod, MPIRUN_FILE_HOSTS "," POD_DISCOVERY "," MPIRUN_FILE_AGENT);
}

static void pod_edit_local_launcher(const struct mpi2_pod *pod)
{
	mpirun_set(&pod->mpirun, "K_MPI_JOB_ROLE", "launcher");
	pod_set_mpi(pod, false);
	pod_hide_gpus(pod);
	pod_use_agent(pod);
	mpirun_stay_in_launcher(&pod->mpirun);
	mpirun_make_kubectl(&pod->mpirun);
	mpirun_mount_kubectl(&pod->mpirun);
	pod_add_config(pod, MPIRUN_FILE_HOSTS "," POD_DISCOVERY "," MPIRUN_FILE_AGENT);
}

void mpi2_edit_worker(const struct mpi2_pod *pod, int32_t index)
{
	if (mpi2_is_local(pod->call))
		pod_edit_local_worker(pod);
	else
		pod_edit_cluster_worker(pod, index);
}

void mpi2_edit_launcher(const struct mpi2_pod *pod)
{
	if (mpi2_is_local(pod->call))
		pod_edit_local_launcher(pod);
	else
		pod_edit_cluster_launcher(pod);
}

int32_t mpi2_make_pod(void *self, const struct rh_view *view, const struct rh_replica *me, struct rh_reply *reply)
{
	struct mpi2_call call = {self, view, reply, 0};
	const struct mpi2_pod pod = mpi2_begin_pod(&call, me->type, "");

	if (strcmp(me->type, MPI2_LAUNCHER) == 0)
		mpi2_edit_launcher(&pod);
	else
		mpi2_edit_worker(&pod, me->index);
	return call.status;
}
