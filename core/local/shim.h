/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file local/shim.h
 * @brief The process that stands for one pod: this program itself, started as `roundhouse shim`, one for each pod.
 *
 * It is a session leader and a child subreaper, so every descendant is found and ended, also one that called setsid().
 * It owns the log files. A shim that is itself killed takes its containers' first processes with it; their descendants
 * fall to the next subreaper above it, which should be the runner and should kill them.
 *
 * Descriptors it is started with:
 *   3  the pod plan: a JSON document, read to its end
 *   4  a stream socket to the runner: its lifeline. When the other end closes, everything is killed at once, unless the
 * plan says "detached". On the socket the runner writes lines: `stop MICROSECONDS` (SIGTERM to all, SIGKILL after that
 * time), `kill` (SIGKILL now). The shim writes lines: JSON objects, one for each change (struct rh_shim_report below);
 * {"note": TEXT} for what the user should know, as that a log cannot be written; and empty lines, each of which says
 * that log files have grown. No empty line follows another one that is still unread. What a container wrote is in its
 * log before its end is reported. SIGTERM, SIGINT and SIGHUP to the shim do what `stop` does with the plan's grace. At
 * the end it writes {"containers": [the last report of each]} into exit.json in the pod's directory, atomically, and
 * exits. Until then commands can be run in the pod through a socket in that directory (local/exec.h).
 *
 * Plan: {"pod", "dir", "detached"?, "restartPolicy": "Always"|"OnFailure"|"Never", "backoff": us, "backoffMax": us,
 * "grace": us, "tmpfs"?: [{"path", "size"?: bytes}], "init": [CONTAINER…], "containers": [CONTAINER…]} CONTAINER:
 * {"name", "argv": […], "env": ["A=b", …], "cwd", "log": path, "mounts"?: [{"from", "to", "readOnly"?}], "memory"?:
 * bytes, "cpu"?: thousandths of a processor, "uid"?, "gid"?, "sidecar"?: true of one of "init"} A plan with tmpfs or
 * mounts needs a mount namespace (rh_runtime_spec_can_mount()). The host's mounts and folders are never changed: where
 * a mount's target does not exist, it is made in a private copy of the folder it would stand in.
 */
#ifndef RH_LOCAL_SHIM_H
#define RH_LOCAL_SHIM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/json.h"

/** Descriptor of the pod plan in a shim. */
#define RH_SHIM_PLAN_FD 3
/** Descriptor of the lifeline in a shim. */
#define RH_SHIM_CHANNEL_FD 4
/** Name of the environment variable that says to which container a process belongs: "POD-UID/CONTAINER". */
#define RH_SHIM_MARK "ROUNDHOUSE_CONTAINER"

/** What a shim says of one container. As JSON:
 * {"container","init","state","pid","exitCode","signal","reason","message","restarts","startedAt","finishedAt","again","asked"}.
 */
struct rh_shim_report {
	char container[64];
	bool init;
	bool running; /**< state "running"; else "terminated", or "waiting" between restarts (again is set) */
	bool again;   /**< it will be restarted: state "waiting", CrashLoopBackOff; the other fields tell of its last end */
	int32_t pid;
	int32_t exit_code; /**< 128 + signal for a signal; 127 and 126 as a shell does when the program cannot be started;
	                      128 when the machine could not (no process, no memory) */
	int32_t signal;
	char reason[32];    /**< "Completed", "Error", "OOMKilled", "StartError" */
	char message[512];  /**< why it could not be started, or what is known of its end; "" else */
	int32_t restarts;   /**< how often it was started again */
	int64_t started_at; /**< wall-clock microseconds */
	int64_t finished_at;
	bool asked; /**< its first process ended after the pod was asked to end */
};

/**
 * Run a shim to its end: what main() calls for `roundhouse shim`. Blocks. @return the exit status of the process: 0
 * when the plan was carried out, 2 when it could not be read
 */
int rh_shim_main(void);
/** Read one report line. @return 0 or RH_EINVAL */
int rh_shim_report_parse(const struct rh_json *json, struct rh_shim_report *ret_report);
/** @return the report as JSON, owned by the caller; NULL: out of memory */
struct rh_json *rh_shim_report_json(const struct rh_shim_report *report) __attribute__((warn_unused_result));

#endif
