/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file local/exec.h
 * @brief Run a command in a pod of a run that goes on: what `kubectl exec` does on a cluster.
 *
 * The pod's shim starts the command: so it has the container's environment, folder, mounts and limits, and ends with
 * the pod. A shim listens on the stream socket RH_EXEC_SOCKET in its pod's folder; only its own user gets there. Who
 * asks sends one line, a JSON object {"container"?, "argv": [...]}, and with its first byte three descriptors: what
 * becomes standard input, output and error. A command for a container that does not run yet waits for it. The shim
 * answers in lines: {"pid"} when the command runs, {"exitCode"} when its first process has ended, or {"error",
 * "exitCode"} when it cannot be started. Hanging up sends SIGHUP to the command's process group, as a terminal does.
 */
#ifndef RH_LOCAL_EXEC_H
#define RH_LOCAL_EXEC_H

#include <stdint.h>

#include "base/error.h"

/** Name of the socket in a pod's folder. */
#define RH_EXEC_SOCKET "exec"
/** @name What a process of a pod is told in its environment @{ */
#define RH_EXEC_PODS "ROUNDHOUSE_PODS"           /**< folder with the run's pods; NAMESPACE.POD leads to a pod's own */
#define RH_EXEC_NAMESPACE "ROUNDHOUSE_NAMESPACE" /**< of its pod */
#define RH_EXEC_PROGRAM "ROUNDHOUSE_PROGRAM"     /**< this program, which can stand for kubectl there */
/** @} */

/** What to run, and where. Texts are borrowed for the call. */
struct rh_exec {
	const char *pods; /**< the run's folder, or that of its pods; NULL: the one run of this user that has such a pod */
	const char *namespace_;
	const char *pod;
	const char *container;   /**< NULL: the first one */
	const char *const *argv; /**< NULL-terminated, at least one */
	int64_t patience;        /**< microseconds that the container may take until it runs */
};

/**
 * Run the command with this process's standard streams. Blocks until its first process has ended.
 * @return its exit status (128 + signal for a signal), or one that a shell would have where the pod did not start it:
 * then @p err has the reason, else no message; RH_ENOENT (no such pod, or not in time), RH_EINVAL (several runs have
 * such a pod), RH_EIO (the pod ended meanwhile) or RH_ENOMEM
 */
int rh_exec(const struct rh_exec *exec, struct rh_error *err);

#endif
