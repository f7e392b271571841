/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file mpirun/mpirun.h
 * @brief How mpirun in a launcher starts processes in other pods on one machine, for the plugins that have such pods:
 * by an agent in the place of ssh, which runs this program as kubectl. On a cluster the plugins differ.
 *
 * The functions take no time, and do nothing after an error.
 */
#ifndef RH_PLUGINS_MPIRUN_H
#define RH_PLUGINS_MPIRUN_H

#include <stdbool.h>
#include <stdint.h>

#include "roundhouse/plugin.h"

/** Variable with the path of kubectl, which the agent runs: where there are no mounts it is not in /opt/kube. */
#define MPIRUN_KUBECTL "MPI_KUBECTL"
/** Command of an init container that puts this program into TARGET_DIR as kubectl, as a JSON value. */
#define MPIRUN_LINK_KUBECTL "[\"/bin/sh\",\"-c\",\"ln -sf \\\"$ROUNDHOUSE_PROGRAM\\\" \\\"$TARGET_DIR/kubectl\\\"\"]"
/** Where kubectl is in a container, as an entry of volumeMounts. */
#define MPIRUN_MOUNT_KUBECTL "{\"name\":\"mpi-job-kubectl\",\"mountPath\":\"/opt/kube\"}"
/** Name of the agent's script, which is in MPIRUN_FOLDER with the hostfile. */
#define MPIRUN_AGENT "rsh_agent.sh"
/** Folder of the files that are for mpirun. */
#define MPIRUN_FOLDER "/etc/mpi"
/** The agent. mpirun calls it as ssh, with the host first: the hostfile has names of pods. */
#define MPIRUN_AGENT_SCRIPT \
	"#!/bin/sh\nPOD_NAME=$1\nshift\nexec \"${" MPIRUN_KUBECTL "}\" exec \"${POD_NAME}\" -- /bin/sh -c \"$*\"\n"
/** One key of a ConfigMap as a file of that name, as an entry of items. @param mode decimal: 365 is 0555 */
#define MPIRUN_FILE(key, mode) "{\"key\":\"" key "\",\"path\":\"" key "\",\"mode\":" mode "}"
/** @name Files of MPIRUN_FOLDER, as entries of items @{ */
#define MPIRUN_FILE_HOSTS MPIRUN_FILE("hostfile", "292")
#define MPIRUN_FILE_AGENT MPIRUN_FILE(MPIRUN_AGENT, "365")
/** @} */

/** A pod that is edited, or a template of one. What is borrowed is so for the call. */
struct mpirun_pod {
	const struct rh_services *host; /**< borrowed */
	const struct rh_view *view;     /**< borrowed */
	struct rh_reply *reply;         /**< borrowed */
	int32_t *status;                /**< of the operation: 0 or the first error; borrowed */
	const char *prefix;             /**< of the paths of edits: "" in a pod; borrowed */
	int32_t container;              /**< place of the container that starts processes, or in which they start */
	/** Whether the job sets a variable of that container itself: then that value stays. */
	bool (*says)(const struct mpirun_pod *pod, const char *name);
	const void *arg; /**< for says; borrowed */
};

/** mpirun_pod.says() where arg is the path of the container in the view: "spec.template.spec.containers[0]". */
bool mpirun_says(const struct mpirun_pod *pod, const char *name);

/** Set what is at @p path, as of rh_services.edit, to the value @p json; NULL: memory is out, which the host knows. */
void mpirun_edit(const struct mpirun_pod *pod, const char *path, const char *json);
/** Set what is at @p path of the container, likewise. */
void mpirun_edit_container(const struct mpirun_pod *pod, const char *path, const char *json);
/** mpirun_edit() with the value that printf(@p format) gives. */
void mpirun_print(const struct mpirun_pod *pod, const char *path, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/** Set a variable of the container. @param value without characters that JSON would escape */
void mpirun_set(const struct mpirun_pod *pod, const char *name, const char *value);
/** Likewise, unless the job sets it. */
void mpirun_default(const struct mpirun_pod *pod, const char *name, const char *value);

/**
 * Set variables of Open MPI: where the hosts are, and how many processes each has. @param ssh options of ssh; NULL:
 * there is none
 */
void mpirun_use_open_mpi(const struct mpirun_pod *pod, int64_t slots, const char *ssh);
/** Let mpirun of Open MPI use the agent. */
void mpirun_use_agent(const struct mpirun_pod *pod);
/**
 * @param program first word of a worker's command; NULL: it has none @param args whether it has arguments
 * @return whether it would start sshd, which nobody asks for anything on one machine
 */
bool mpirun_is_sshd(const char *program, bool args);
/** Let the container wait for processes that are started in it. */
void mpirun_sleep(const struct mpirun_pod *pod);
/**
 * Keep what a launcher writes on this machine in its pod, and its traffic on loopback, where nobody else can reach it:
 * one machine has no network of its own for pods. Its agent finds kubectl.
 */
void mpirun_stay_in_launcher(const struct mpirun_pod *pod);
/** Likewise, of a worker and the daemons of Open MPI in it. */
void mpirun_stay_in_worker(const struct mpirun_pod *pod);
/**
 * Mount files of a ConfigMap in MPIRUN_FOLDER. @param name of it, a JSON string; NULL as of mpirun_edit()
 * @param items with commas between them
 */
void mpirun_mount_config(const struct mpirun_pod *pod, const char *name, const char *items);
/** Give the pod a volume for kubectl, and the container its mount. */
void mpirun_mount_kubectl(const struct mpirun_pod *pod);
/** Add the init container that makes kubectl, for plugins that have none on a cluster. */
void mpirun_make_kubectl(const struct mpirun_pod *pod);

#endif
