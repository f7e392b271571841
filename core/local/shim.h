/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file local/shim.h
 * @brief The supervisor process of one pod: the program roundhouse-shim, started once for each pod.
 *
 * It is a session leader and a child subreaper, so it finds and ends every descendant, also one that called setsid().
 * It writes the log files. When a shim is killed, the first processes of its containers are killed with it; their
 * descendants become children of the next subreaper, normally the runner, which kills them.
 *
 * Descriptors of a shim at its start:
 *   5  the master of a pseudo-terminal, if a container of the plan has "terminal"
 *   3  the plan (runtime spec): a JSON document, read to its end
 *   4  the channel: a stream socket to the runner. When the other end closes, everything is killed at once, unless the
 * plan has "detached". On the socket the runner writes commands (struct rh_shim_stop). The shim writes lines: JSON
 * objects, one for each change (struct rh_shim_report below);
 * {"note": TEXT} for the user, such as that a log cannot be written; and empty lines after log files have grown. No
 * empty line follows another one that is still unread. The output of a container is in its log before its end is
 * reported. SIGTERM, SIGINT and SIGHUP to the shim do what a command with the plan's grace does. At the end it writes
 * {"containers": [the last report of each]} into exit.json in the pod's directory, atomically, and exits. Until then
 * commands can be run in the pod through a socket in that directory (local/exec.h).
 *
 * Plan: {"pod", "dir", "detached"?, "restartPolicy": "Always"|"OnFailure"|"Never", "backoff": us, "backoffMax": us,
 * "grace": us, "tmpfs"?: [{"path", "size"?: bytes}], "init": [CONTAINER…], "containers": [CONTAINER…]} CONTAINER:
 * {"name", "argv": […], "env": ["A=b", …], "cwd", "log": path, "mounts"?: [{"from", "to", "readOnly"?}], "memory"?:
 * bytes, "cpu"?: thousandths of a processor, "uid"?, "gid"?, "sidecar"?: true of one of "init", "terminal"?: true of
 * one} A plan with tmpfs or mounts needs a mount namespace (rh_runtime_spec_can_mount()). The host's mounts and folders
 * are never changed: if a mount's target does not exist, it is created in a private copy of its folder.
 */
#ifndef RH_LOCAL_SHIM_H
#define RH_LOCAL_SHIM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/json.h"

/** Exit status of a shim that has no plan to carry out. */
#define RH_SHIM_NO_PLAN 2
/** Descriptor of the plan in a shim. */
#define RH_SHIM_PLAN_FD 3
/** Descriptor of the channel in a shim. */
#define RH_SHIM_CHANNEL_FD 4
/** Descriptor of the terminal's master in a shim that has a container with one. */
#define RH_SHIM_TERMINAL_FD 5
/** Environment variable with the container of a process: "POD-UID/CONTAINER". */
#define RH_SHIM_MARK "ROUNDHOUSE_CONTAINER"

/** Command of the runner to a shim: end the pod. Both are of one build: it is sent as it lies in memory. */
struct rh_shim_stop {
	int64_t grace; /**< microseconds between SIGTERM to all and SIGKILL; 0: SIGKILL now; a negative one is ignored */
};

/** Report of a shim about one container. As JSON:
 * {"container","init","state","pid","exitCode","signal","reason","message","restarts","startedAt","finishedAt",
 *  "logBegin","logEnd","again","asked"}.
 */
struct rh_shim_report {
	char container[64];
	bool init;
	bool running; /**< state "running"; else "terminated", or "waiting" between restarts (again is set) */
	bool again; /**< it will be restarted: state "waiting", CrashLoopBackOff; the other fields describe its last end */
	int32_t pid;
	int32_t exit_code; /**< 128 + signal for a signal; 127 and 126 as a shell does when the program cannot be started;
	                      128 when the machine could not (no process, no memory) */
	int32_t signal;
	char reason[32];    /**< "Completed", "Error", "OOMKilled", "StartError" */
	char message[512];  /**< why it could not be started, or details of its end; "" otherwise */
	int32_t restarts;   /**< number of restarts */
	int64_t started_at; /**< wall-clock microseconds */
	int64_t finished_at;
	int64_t
		log_begin;   /**< bytes of the log before the output of this run, which has ended; else 0, likewise the next */
	int64_t log_end; /**< likewise, and those of its output */
	bool asked;      /**< its first process ended after the pod was stopped */
};

/**
 * Run a shim to its end; main() of roundhouse-shim. Blocks. @return the exit status of the process: 0 when the plan
 * was executed, RH_SHIM_NO_PLAN when it could not be read
 */
int rh_shim_main(void);
/** Parse one report. @return 0 or RH_EINVAL */
int rh_shim_report_parse(const struct rh_json *json, struct rh_shim_report *ret_report);
/** @return the report as JSON, owned by the caller; NULL: out of memory */
struct rh_json *rh_shim_report_json(const struct rh_shim_report *report) __attribute__((warn_unused_result));

#endif
