/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file local/control.h
 * @brief Stop one job of a run that goes on in another process.
 *
 * A run listens on the seqpacket socket RH_CONTROL_SOCKET in its folder, which only its own user can open. A message is
 * RH_CONTROL_STOP or RH_CONTROL_KILL, a space, the job's namespace, a slash and its name. The connection is closed when
 * no process of the job is left, or when the run ends; at once if there is no such job.
 */
#ifndef RH_LOCAL_CONTROL_H
#define RH_LOCAL_CONTROL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/** Name of the socket in the folder of a run. */
#define RH_CONTROL_SOCKET "control"
/** @name Words of a message @{ */
#define RH_CONTROL_STOP "stop" /**< SIGTERM to the replicas, SIGKILL after their grace period */
#define RH_CONTROL_KILL "kill" /**< SIGKILL */
/** @} */
/** Longest message: two names of Kubernetes and a word. */
#define RH_CONTROL_MAX 600

/** Which job, and how. Borrowed for the call. */
struct rh_control_stop {
	const char *run_dir; /**< folder of the run: member runDir of its state */
	const char *namespace_;
	const char *job;
	int64_t patience; /**< microseconds until the replicas are killed; RH_NEVER: their grace period alone counts */
	bool wait;        /**< return when no process of the job is left; else when the run has the message */
};

/** Stop a job, and wait. @return 0, RH_ENOENT (the run does not listen: it ends, or is of an older version), RH_EIO or
 * RH_ENOMEM */
int rh_control_stop(const struct rh_control_stop *stop, struct rh_error *err);
/**
 * Block until something at the other end has ended. @param fd a connection to a run, or the descriptor of a process
 * (pidfd_open). @param patience microseconds; RH_NEVER: no limit. @return whether it was in time
 */
bool rh_control_wait(int fd, int64_t patience);

#endif
