/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file local/exec.h
 * @brief Run a command in a pod of a running job, as `kubectl exec` does on a cluster.
 *
 * The pod's shim starts the command, so it has the container's environment, folder, mounts and limits, and ends with
 * the pod. A shim listens on the stream socket RH_EXEC_SOCKET in its pod's folder, which only its own user can open.
 * The client sends one line, a JSON object {"container"?, "argv": [...]}, and with its first byte three descriptors:
 * standard input, output and error of the command. A command for a container that does not run yet waits for it. The
 * shim answers in lines: {"pid"} when the command runs, {"exitCode"} when its first process has ended, or {"error",
 * "exitCode"} when it cannot be started. Closing the connection sends SIGHUP to the command's process group, as a
 * terminal does.
 */
#ifndef RH_LOCAL_EXEC_H
#define RH_LOCAL_EXEC_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "local/pod_record.h"

/** Name of the socket in a pod's folder. */
#define RH_EXEC_SOCKET "exec"
/** @name Environment variables of the processes of a pod @{ */
#define RH_EXEC_PODS "ROUNDHOUSE_PODS" /**< folder with the run's pods; NAMESPACE.POD is a link to a pod's folder */
#define RH_EXEC_NAMESPACE "ROUNDHOUSE_NAMESPACE" /**< of its pod */
#define RH_EXEC_PROGRAM "ROUNDHOUSE_PROGRAM"     /**< path of this program, which can replace kubectl there */
/** @} */

/**
 * @return the name of the link to a pod's folder, NAMESPACE.POD, which is unique because a namespace has no dot; owned
 * by the caller; NULL: memory is out
 */
char *rh_exec_link_name(const char *namespace_, const char *pod) __attribute__((warn_unused_result));
/**
 * Find out of which pod the entry @p name of the folder @p pods is the link. Blocks for a file.
 * @param[out] ret_record owned by the caller
 * @return 0, RH_ENOENT (it is another file, or a link that is being made) or RH_ENOMEM
 */
int rh_exec_link_read(const char *pods, const char *name, struct rh_pod_record *ret_record);

/** The command and its pod. Strings are borrowed for the call. */
struct rh_exec {
	const char *pods; /**< the run's folder, or that of its pods; NULL: the only run of this user that has such a pod */
	const char *namespace_;
	const char *pod;
	const char *container;   /**< NULL: the first one */
	const char *const *argv; /**< NULL-terminated, at least one */
	int64_t patience;        /**< microseconds to wait until the container runs */
};

/**
 * Run the command with this process's standard streams. Blocks until its first process has ended.
 * @return its exit status (128 + signal for a signal); 126, 127 or 128 when it could not be started, then @p err has
 * the reason, else no message; RH_ENOENT (no such pod, or it did not run in time), RH_EINVAL (several runs have such a
 * pod), RH_EIO (the pod ended meanwhile) or RH_ENOMEM
 */
int rh_exec(const struct rh_exec *exec, struct rh_error *err);

#endif
