/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a pod needs so that mpirun in the launcher can start processes in the workers: by ssh on a cluster, and on one
 * machine by an agent in its place, as there is no sshd.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi2.h"

#define POD_MAIN "spec.containers[0]"
/** Room for a path, a variable, or a small object. */
#define POD_TEXT_SIZE 512
/** One file of a volume; modes are decimal: 365 is 0555, 292 is 0444. */
#define POD_FILE(key, path) "{\"key\":\"" key "\",\"path\":\"" path "\"}"
#define POD_FILE_MODE(key, mode) "{\"key\":\"" key "\",\"path\":\"" key "\",\"mode\":" mode "}"
#define POD_KEYS                         \
	POD_FILE("ssh-privatekey", "id_rsa") \
	"," POD_FILE("ssh-publickey", "id_rsa.pub") "," POD_FILE("ssh-publickey", "authorized_keys")
/** ssh refuses keys that others may read; at another path the user may be another one, who could not read them. */
#define POD_ROOT_FOLDER "/root/.ssh"
#define POD_ROOT_MODE ",\"defaultMode\":384"
#define POD_SSH_ARGS "-o ConnectionAttempts=10"
#define POD_AGENT "/etc/mpi/rsh_agent.sh"
/** On one machine this program stands for kubectl. */
#define POD_LINK_KUBECTL "[\"/bin/sh\",\"-c\",\"ln -sf \\\"$ROUNDHOUSE_PROGRAM\\\" \\\"$TARGET_DIR/kubectl\\\"\"]"
#define POD_MOUNT_KUBECTL "{\"name\":\"mpi-job-kubectl\",\"mountPath\":\"/opt/kube\"}"

void mpi2_edit(const struct mpi2_pod *pod, const char *path, const char *json)
{
	char below[POD_TEXT_SIZE];

	if (pod->call->status < 0 || !json)
		return;
	snprintf(below, sizeof(below), "%s%s", pod->prefix, path);
	pod->call->status = pod->call->host->edit(pod->call->reply, below, json);
}

/** mpi2_edit() with printf(@p format). */
static void __attribute__((format(printf, 3, 4)))
pod_print(const struct mpi2_pod *pod, const char *path, const char *format, ...)
{
	struct mpi2_call *call = pod->call;
	char *json = NULL;
	va_list list;
	int length;

	va_start(list, format);
	length = vasprintf(&json, format, list);
	va_end(list);
	if (length < 0) {
		call->status = call->status < 0 ? call->status : call->host->fail(call->reply, RH_ENOMEM, "out of memory");
		return;
	}
	mpi2_edit(pod, path, json);
	free(json);
}

/** Variables are in the first container alone, after those of the template. */
static void pod_env(const struct mpi2_pod *pod, const char *name, const char *value)
{
	char json[POD_TEXT_SIZE];

	snprintf(json, sizeof(json), "{\"name\":\"%s\",\"value\":\"%s\"}", name, value);
	mpi2_edit(pod, POD_MAIN ".env[+]", json);
}

static void pod_label(const struct mpi2_pod *pod, const char *name, const char *value)
{
	char path[POD_TEXT_SIZE];

	snprintf(path, sizeof(path), "metadata.labels[\"" MPI2_LABEL "%s\"]", name);
	mpi2_edit(pod, path, mpi2_quote(pod->call, "%s", value));
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
	mpi2_edit(pod, "spec.hostname", mpi2_quote(pod->call, "%s", name ? name : ""));
	mpi2_edit(pod, "spec.subdomain", mpi2_quote(pod->call, "%s", mpi2_name(pod->call)));
}

/** A pod with the node's network still asks the cluster for names. @param type path of the replica type */
static void pod_use_cluster_names(const struct mpi2_pod *pod, const char *type)
{
	char path[POD_TEXT_SIZE];

	snprintf(path, sizeof(path), "%s.template.spec.hostNetwork", type);
	if (pod->call->host->boolean(pod->call->view, path))
		mpi2_edit(pod, "spec.dnsPolicy", "\"ClusterFirstWithHostNet\"");
}

/** A volume with the keys, in the first container. */
static void pod_add_keys(const struct mpi2_pod *pod)
{
	const char *folder = mpi2_key_folder(pod->call);
	const char *name = mpi2_quote(pod->call, "%s-ssh", mpi2_name(pod->call));
	const char *mount = mpi2_quote(pod->call, "%s", folder);

	if (!name || !mount)
		return;
	pod_print(pod, "spec.volumes[+]",
	          "{\"name\":\"ssh-auth\",\"secret\":{\"secretName\":%s,\"items\":[" POD_KEYS "]%s}}", name,
	          strcmp(folder, POD_ROOT_FOLDER) == 0 ? POD_ROOT_MODE : "");
	pod_print(pod, POD_MAIN ".volumeMounts[+]", "{\"name\":\"ssh-auth\",\"mountPath\":%s}", mount);
}

/** The files of the ConfigMap, in the first container. @param agent a further one, after a comma, or "" */
static void pod_add_config(const struct mpi2_pod *pod, const char *agent)
{
	const char *name = mpi2_quote(pod->call, "%s-config", mpi2_name(pod->call));

	if (!name)
		return;
	pod_print(pod, "spec.volumes[+]",
	          "{\"name\":\"mpi-job-config\",\"configMap\":{\"name\":%s,\"items\":[" POD_FILE_MODE(
				  "hostfile", "292") "," POD_FILE_MODE("discover_hosts.sh", "365") "%s]}}",
	          name, agent);
	mpi2_edit(pod, POD_MAIN ".volumeMounts[+]", "{\"name\":\"mpi-job-config\",\"mountPath\":\"/etc/mpi\"}");
}

/** Where mpirun finds the hosts, how it reaches them, and how many processes each has. */
static void pod_set_mpi(const struct mpi2_pod *pod, bool by_ssh)
{
	char slots[32];

	snprintf(slots, sizeof(slots), "%" PRId64, mpi2_slots(pod->call));
	switch (mpi2_implementation(pod->call)) {
	case MPI2_INTEL:
		pod_env(pod, "I_MPI_HYDRA_HOST_FILE", "/etc/mpi/hostfile");
		if (by_ssh)
			pod_env(pod, "I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS", POD_SSH_ARGS);
		pod_env(pod, "I_MPI_PERHOST", slots);
		return;
	case MPI2_MPICH:
		pod_env(pod, "HYDRA_HOST_FILE", "/etc/mpi/hostfile");
		if (by_ssh)
			pod_env(pod, "HYDRA_LAUNCH_EXTRA_ARGS", POD_SSH_ARGS);
		return;
	case MPI2_OPEN_MPI:
		break;
	}
	pod_env(pod, "OMPI_MCA_orte_keep_fqdn_hostnames", "true");
	pod_env(pod, "OMPI_MCA_orte_default_hostfile", "/etc/mpi/hostfile");
	if (by_ssh)
		pod_env(pod, "OMPI_MCA_plm_rsh_args", POD_SSH_ARGS);
	pod_env(pod, "OMPI_MCA_orte_set_default_slots", slots);
	/* Open MPI 5 has PRTE in place of ORTE, which reads variables of its own */
	pod_env(pod, "PRTE_MCA_prte_keep_fqdn_hostnames", "true");
	pod_env(pod, "PRTE_MCA_prte_default_hostfile", "/etc/mpi/hostfile");
	if (by_ssh)
		pod_env(pod, "PRTE_MCA_plm_ssh_args", POD_SSH_ARGS);
	pod_env(pod, "PRTE_MCA_prte_set_default_slots", slots);
}

/** A launcher that only starts processes sees no GPU, although its image asks for them. */
static void pod_hide_gpus(const struct mpi2_pod *pod)
{
	if (mpi2_launcher_works(pod->call))
		return;
	pod_env(pod, "NVIDIA_VISIBLE_DEVICES", "");
	pod_env(pod, "NVIDIA_DRIVER_CAPABILITIES", "");
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
	mpi2_edit(pod, "spec.dnsConfig.searches[+]",
	          mpi2_quote(pod->call, "%s.%s.svc.%s", mpi2_name(pod->call), mpi2_namespace(pod->call),
	                     domain ? domain : "cluster.local"));
	if (!pod_has(pod, "command") && !pod_has(pod, "args"))
		mpi2_edit(pod, POD_MAIN ".command", "[\"/usr/sbin/sshd\",\"-De\"]");
	pod_env(pod, "K_MPI_JOB_ROLE", "worker");
	pod_add_keys(pod);
}

static void pod_edit_cluster_launcher(const struct mpi2_pod *pod)
{
	pod_identify(pod, "launcher", -1);
	pod_use_cluster_names(pod, MPI2_LAUNCHER_SPEC);
	pod_env(pod, "K_MPI_JOB_ROLE", "launcher");
	pod_set_mpi(pod, true);
	pod_hide_gpus(pod);
	pod_add_keys(pod);
	pod_add_config(pod, "");
}

/** @return whether the worker would start sshd, which nobody asks for anything here */
static bool pod_is_sshd(const struct mpi2_pod *pod)
{
	const char *word =
		pod->call->host->text(pod->call->view, MPI2_WORKER_SPEC ".template.spec.containers[0].command[0]");
	const char *slash = word ? strrchr(word, '/') : NULL;

	return word ? strcmp(slash ? slash + 1 : word, "sshd") == 0 : !pod_has(pod, "args");
}

/** @return whether the first container of a type says it itself. @param type path of the replica type */
static bool pod_says(const struct mpi2_pod *pod, const char *type, const char *expected)
{
	const struct rh_services *host = pod->call->host;
	char path[POD_TEXT_SIZE];
	int32_t size;

	snprintf(path, sizeof(path), "%s.template.spec.containers[0].env", type);
	size = host->size(pod->call->view, path);
	for (int32_t i = 0; i < size; i++) {
		const char *name;

		snprintf(path, sizeof(path), "%s.template.spec.containers[0].env[%" PRId32 "].name", type, i);
		name = host->text(pod->call->view, path);
		if (name && strcmp(name, expected) == 0)
			return true;
	}
	return false;
}

static void pod_default(const struct mpi2_pod *pod, const char *type, const char *name, const char *value)
{
	if (!pod_says(pod, type, name))
		pod_env(pod, name, value);
}

/**
 * One machine has no network of its own for the pods: MPI is to use loopback alone, where nobody else can reach it.
 * Root's containers are this machine's root. What Open MPI writes into the machine's /tmp stays there when it is
 * killed: there is a folder of the pod for it, which goes with the pod.
 */
static void pod_stay_here(const struct mpi2_pod *pod, const char *type)
{
	pod_default(pod, type, "OMPI_MCA_oob_tcp_if_include", "lo");
	pod_default(pod, type, "OMPI_MCA_btl_tcp_if_include", "lo");
	pod_default(pod, type, "OMPI_ALLOW_RUN_AS_ROOT", "1");
	pod_default(pod, type, "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
	mpi2_edit(pod, "spec.volumes[+]", "{\"name\":\"mpi-job-session\",\"emptyDir\":{}}");
	mpi2_edit(pod, POD_MAIN ".volumeMounts[+]", "{\"name\":\"mpi-job-session\",\"mountPath\":\"/opt/mpi-job\"}");
}

/** The agent in place of ssh runs this program as kubectl. */
static void pod_bring_agent(const struct mpi2_pod *pod)
{
	mpi2_edit(pod, "spec.initContainers[+]",
	          "{\"name\":\"mpi-job-agent\",\"image\":\"local\",\"command\":" POD_LINK_KUBECTL
	          ",\"env\":[{\"name\":\"TARGET_DIR\",\"value\":\"/opt/kube\"}],"
	          "\"volumeMounts\":[" POD_MOUNT_KUBECTL "]}");
	mpi2_edit(pod, "spec.volumes[+]", "{\"name\":\"mpi-job-kubectl\",\"emptyDir\":{}}");
	mpi2_edit(pod, POD_MAIN ".volumeMounts[+]", POD_MOUNT_KUBECTL);
	pod_add_config(pod, "," POD_FILE_MODE("rsh_agent.sh", "365"));
	pod_env(pod, MPI2_KUBECTL, "/opt/kube/kubectl");
}

static void pod_use_agent(const struct mpi2_pod *pod)
{
	switch (mpi2_implementation(pod->call)) {
	case MPI2_INTEL:
		pod_default(pod, MPI2_LAUNCHER_SPEC, "I_MPI_HYDRA_BOOTSTRAP", "rsh");
		pod_default(pod, MPI2_LAUNCHER_SPEC, "I_MPI_HYDRA_BOOTSTRAP_EXEC", POD_AGENT);
		return;
	case MPI2_MPICH:
		pod_default(pod, MPI2_LAUNCHER_SPEC, "HYDRA_LAUNCHER", "rsh");
		pod_default(pod, MPI2_LAUNCHER_SPEC, "HYDRA_LAUNCHER_EXEC", POD_AGENT);
		return;
	case MPI2_OPEN_MPI:
		break;
	}
	pod_default(pod, MPI2_LAUNCHER_SPEC, "OMPI_MCA_plm_rsh_agent", POD_AGENT);
	pod_default(pod, MPI2_LAUNCHER_SPEC, "PRTE_MCA_plm_ssh_agent", POD_AGENT);
}

static void pod_edit_local_worker(const struct mpi2_pod *pod)
{
	if (pod_is_sshd(pod)) {
		mpi2_edit(pod, POD_MAIN ".command", "[\"sleep\"]");
		mpi2_edit(pod, POD_MAIN ".args", "[\"365d\"]");
	}
	pod_env(pod, "K_MPI_JOB_ROLE", "worker");
	pod_stay_here(pod, MPI2_WORKER_SPEC);
	/* What Open MPI's daemons write, and its segments of shared memory, have names of the host and the job, and all
	   workers have one host here. TMPDIR would move what the ranks write as well. */
	pod_default(pod, MPI2_WORKER_SPEC, "OMPI_MCA_orte_tmpdir_base", "/opt/mpi-job");
	pod_default(pod, MPI2_WORKER_SPEC, "OMPI_MCA_btl_vader_backing_directory", "/opt/mpi-job");
	/* mpirun gives its variables on, and its daemon in the worker looks whether the agent is there */
	pod_add_config(pod, "," POD_FILE_MODE("rsh_agent.sh", "365"));
}

static void pod_edit_local_launcher(const struct mpi2_pod *pod)
{
	pod_env(pod, "K_MPI_JOB_ROLE", "launcher");
	pod_set_mpi(pod, false);
	pod_hide_gpus(pod);
	pod_use_agent(pod);
	pod_stay_here(pod, MPI2_LAUNCHER_SPEC);
	/* mpirun gives each OMPI_MCA variable on to the workers, where it replaces theirs, and without mount namespaces the
	   folders of pods have different paths. TMPDIR it keeps to itself. */
	pod_default(pod, MPI2_LAUNCHER_SPEC, "TMPDIR", "/opt/mpi-job");
	pod_bring_agent(pod);
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
	const struct mpi2_pod pod = {&call, ""};

	if (strcmp(me->type, MPI2_LAUNCHER) == 0)
		mpi2_edit_launcher(&pod);
	else
		mpi2_edit_worker(&pod, me->index);
	return call.status;
}
