/* SPDX-License-Identifier: Apache-2.0 */
#include "mpirun.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** Room for a path or a variable. */
#define MPIRUN_TEXT 512
/** Where kubectl is in a container. */
#define MPIRUN_BIN "/opt/kube"
/** A folder of the pod. What Open MPI writes into the machine's /tmp would stay there when it is killed. */
#define MPIRUN_SESSION "/opt/mpi-job"

bool mpirun_says(const struct mpirun_pod *pod, const char *name)
{
	const char *container = pod->arg;
	char path[MPIRUN_TEXT];
	int32_t size;

	snprintf(path, sizeof(path), "%s.env", container);
	size = pod->host->size(pod->view, path);
	for (int32_t i = 0; i < size; i++) {
		const char *other;

		snprintf(path, sizeof(path), "%s.env[%" PRId32 "].name", container, i);
		other = pod->host->text(pod->view, path);
		if (other && strcmp(other, name) == 0)
			return true;
	}
	return false;
}

void mpirun_edit(const struct mpirun_pod *pod, const char *path, const char *json)
{
	char below[MPIRUN_TEXT];

	if (*pod->status < 0 || !json)
		return;
	snprintf(below, sizeof(below), "%s%s", pod->prefix, path);
	*pod->status = pod->host->edit(pod->reply, below, json);
}

void mpirun_edit_container(const struct mpirun_pod *pod, const char *path, const char *json)
{
	char below[MPIRUN_TEXT];

	snprintf(below, sizeof(below), "spec.containers[%" PRId32 "].%s", pod->container, path);
	mpirun_edit(pod, below, json);
}

void mpirun_print(const struct mpirun_pod *pod, const char *path, const char *format, ...)
{
	char *json = NULL;
	va_list list;
	int length;

	va_start(list, format);
	length = vasprintf(&json, format, list);
	va_end(list);
	if (length >= 0) {
		mpirun_edit(pod, path, json);
		free(json);
	} else if (*pod->status == 0) {
		*pod->status = pod->host->fail(pod->reply, RH_ENOMEM, "out of memory");
	}
}

void mpirun_set(const struct mpirun_pod *pod, const char *name, const char *value)
{
	char json[MPIRUN_TEXT];

	snprintf(json, sizeof(json), "{\"name\":\"%s\",\"value\":\"%s\"}", name, value);
	mpirun_edit_container(pod, "env[+]", json);
}

void mpirun_default(const struct mpirun_pod *pod, const char *name, const char *value)
{
	if (!pod->says(pod, name))
		mpirun_set(pod, name, value);
}

void mpirun_use_open_mpi(const struct mpirun_pod *pod, int64_t slots, const char *ssh)
{
	char number[32];

	snprintf(number, sizeof(number), "%" PRId64, slots);
	mpirun_set(pod, "OMPI_MCA_orte_keep_fqdn_hostnames", "true");
	mpirun_set(pod, "OMPI_MCA_orte_default_hostfile", MPIRUN_FOLDER "/hostfile");
	if (ssh)
		mpirun_set(pod, "OMPI_MCA_plm_rsh_args", ssh);
	mpirun_set(pod, "OMPI_MCA_orte_set_default_slots", number);
	/* Open MPI 5 has PRTE in place of ORTE, which reads variables of its own */
	mpirun_set(pod, "PRTE_MCA_prte_keep_fqdn_hostnames", "true");
	mpirun_set(pod, "PRTE_MCA_prte_default_hostfile", MPIRUN_FOLDER "/hostfile");
	if (ssh)
		mpirun_set(pod, "PRTE_MCA_plm_ssh_args", ssh);
	mpirun_set(pod, "PRTE_MCA_prte_set_default_slots", number);
}

void mpirun_use_agent(const struct mpirun_pod *pod)
{
	mpirun_default(pod, "OMPI_MCA_plm_rsh_agent", MPIRUN_FOLDER "/" MPIRUN_AGENT);
	mpirun_default(pod, "PRTE_MCA_plm_ssh_agent", MPIRUN_FOLDER "/" MPIRUN_AGENT);
}

bool mpirun_is_sshd(const char *program, bool args)
{
	const char *slash = program ? strrchr(program, '/') : NULL;

	return program ? strcmp(slash ? slash + 1 : program, "sshd") == 0 : !args;
}

void mpirun_sleep(const struct mpirun_pod *pod)
{
	mpirun_edit_container(pod, "command", "[\"sleep\"]");
	mpirun_edit_container(pod, "args", "[\"365d\"]");
}

/** Root's containers are this machine's root. */
static void mpirun_stay_here(const struct mpirun_pod *pod)
{
	mpirun_default(pod, "OMPI_MCA_oob_tcp_if_include", "lo");
	mpirun_default(pod, "OMPI_MCA_btl_tcp_if_include", "lo");
	mpirun_default(pod, "OMPI_ALLOW_RUN_AS_ROOT", "1");
	mpirun_default(pod, "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
	mpirun_edit(pod, "spec.volumes[+]", "{\"name\":\"mpi-job-session\",\"emptyDir\":{}}");
	mpirun_edit_container(pod, "volumeMounts[+]",
	                      "{\"name\":\"mpi-job-session\",\"mountPath\":\"" MPIRUN_SESSION "\"}");
}

/**
 * mpirun gives each OMPI_MCA variable on to the workers, where it replaces theirs, and without mount namespaces the
 * folders of pods have different paths. TMPDIR it keeps to itself.
 */
void mpirun_stay_in_launcher(const struct mpirun_pod *pod)
{
	mpirun_stay_here(pod);
	mpirun_default(pod, "TMPDIR", MPIRUN_SESSION);
	mpirun_set(pod, MPIRUN_KUBECTL, MPIRUN_BIN "/kubectl");
}

/**
 * What Open MPI's daemons write, and its segments of shared memory, have names of the host and the job, and all workers
 * have one host here: each needs a folder of its own. TMPDIR would move what the ranks write as well.
 */
void mpirun_stay_in_worker(const struct mpirun_pod *pod)
{
	mpirun_stay_here(pod);
	mpirun_default(pod, "OMPI_MCA_orte_tmpdir_base", MPIRUN_SESSION);
	mpirun_default(pod, "OMPI_MCA_btl_vader_backing_directory", MPIRUN_SESSION);
}

void mpirun_mount_config(const struct mpirun_pod *pod, const char *name, const char *items)
{
	if (!name)
		return;
	mpirun_print(pod, "spec.volumes[+]", "{\"name\":\"mpi-job-config\",\"configMap\":{\"name\":%s,\"items\":[%s]}}",
	             name, items);
	mpirun_edit_container(pod, "volumeMounts[+]", "{\"name\":\"mpi-job-config\",\"mountPath\":\"" MPIRUN_FOLDER "\"}");
}

void mpirun_mount_kubectl(const struct mpirun_pod *pod)
{
	mpirun_edit(pod, "spec.volumes[+]", "{\"name\":\"mpi-job-kubectl\",\"emptyDir\":{}}");
	mpirun_edit_container(pod, "volumeMounts[+]", MPIRUN_MOUNT_KUBECTL);
}

void mpirun_make_kubectl(const struct mpirun_pod *pod)
{
	mpirun_edit(pod, "spec.initContainers[+]",
	            "{\"name\":\"mpi-job-agent\",\"image\":\"local\",\"command\":" MPIRUN_LINK_KUBECTL
	            ",\"env\":[{\"name\":\"TARGET_DIR\",\"value\":\"" MPIRUN_BIN "\"}],"
	            "\"volumeMounts\":[" MPIRUN_MOUNT_KUBECTL "]}");
}
