/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file local/runner/pod.h
 * @brief One pod of the runner, and the status that a kubelet would write for it. For core/local/runner alone.
 */
#ifndef RH_LOCAL_RUNNER_POD_H
#define RH_LOCAL_RUNNER_POD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/json.h"
#include "base/os/loop.h"
#include "local/logs.h"
#include "local/shim.h"

/** One container. Strings are owned. */
struct rh_runner_container {
	char *name;
	char *image;
	bool init;
	bool sidecar;                 /**< an init container whose restartPolicy is Always */
	bool ran;                     /**< it was reported running at least once */
	bool reported;                /**< report is filled */
	struct rh_shim_report report; /**< the latest */
	struct rh_shim_report ended;  /**< its last end; finished_at 0: none */
	char *last_lines;             /**< of that end, when it failed; NULL: none */
	struct rh_log log;
	bool grown;          /**< the log may have unread data */
	int64_t partial_due; /**< monotonic time at which the start of a line is passed on; 0: none waits */
	int process;         /**< descriptor of its first process (pidfd) while that runs; -1: none */
	int ends;            /**< epoll set that has it; borrowed */
	int64_t gone_at;     /**< when that process was seen to have ended; wall-clock microseconds; 0: not */
	int64_t await_until; /**< until when the pod's status may lack that end; monotonic microseconds; 0: none is known */
};

/** Stage of a pod. */
enum rh_runner_stage {
	RH_RUNNER_QUEUED,  /**< no process yet */
	RH_RUNNER_STARTED, /**< its shim runs, or its end is not fully processed */
	RH_RUNNER_ENDED,   /**< no process of it remains */
	RH_RUNNER_REFUSED  /**< it cannot be started on this machine; reason and message say why */
};

struct rh_runner;

/** One pod. Strings are owned, and not NULL unless stated. */
struct rh_runner_pod {
	struct rh_runner *runner;
	char *namespace_;
	char *name;
	char *uid;
	char *job;      /**< name of its job in log folders and output */
	char *job_name; /**< name of its job; "": it has none */
	char *replica;  /**< "worker-1" */
	char *restart_policy;
	char *ip;                               /**< NULL before it has an address */
	char *dir;                              /**< its folder; NULL before it is created */
	char *message;                          /**< why the pod was refused or failed as a whole; NULL: none */
	const char *reason;                     /**< reason of that; static storage; NULL: none */
	struct rh_runner_container *containers; /**< init containers first */
	size_t container_count;
	enum rh_runner_stage stage;
	const char **gpus; /**< IDs of its devices, borrowed from the runner; the array is owned */
	size_t gpu_count;
	pid_t pid; /**< of the shim; 0: none, or it has been reaped */
	int line;  /**< lifeline; -1: closed */
	struct rh_loop_watch *watch;
	struct rh_str input;    /**< start of an incomplete line from the shim */
	int64_t grace;          /**< microseconds from deletion to SIGKILL; < 0: not being deleted */
	int64_t limit;          /**< monotonic time of the next escalation; RH_NEVER */
	int32_t escalations;    /**< number of escalations so far */
	int64_t created_at;     /**< wall-clock microseconds, likewise below */
	int64_t started_at;     /**< when its shim was started; 0: not yet */
	int64_t await_until;    /**< until when its shim may send its first report; monotonic microseconds */
	int64_t initialized_at; /**< when its init containers ended; 0: not yet */
	int64_t ready_at;       /**< when ready last changed */
	bool ready;
	bool broken;   /**< the shim ended before it reported the end of all containers */
	bool stopping; /**< the stop command was sent */
	bool changed;  /**< the status has to be written */
	bool deleting; /**< deletionTimestamp is set */
	bool gone;     /**< the object is no longer in the store */
	bool delete_sent;
	char *object;     /**< while it is queued: itself, as the watch delivered it last; NULL: memory was short */
	int64_t retry_at; /**< monotonic time of the next attempt to start it */
};

/** Do not watch for the end of its first process any more. Without such a watch nothing happens. */
void rh_runner_container_forget(struct rh_runner_container *container);
/** @return the container, borrowed, or NULL */
struct rh_runner_container *rh_runner_pod_container(struct rh_runner_pod *pod, const char *name, bool init);
/** Record the times of condition changes; call it before rh_runner_pod_status(). @param now wall-clock microseconds */
void rh_runner_pod_settle(struct rh_runner_pod *pod, int64_t now);
/** @return "Pending", "Running", "Succeeded" or "Failed", as a kubelet sets it; static storage */
const char *rh_runner_pod_phase(const struct rh_runner_pod *pod);
/** @return whether all containers but sidecars have ended and will not be restarted, or an init container failed for
 * good: the pod ends as soon as its shim does */
bool rh_runner_pod_over(const struct rh_runner_pod *pod);
/** @return {"status": …} for a merge patch, owned by the caller; NULL: out of memory */
struct rh_json *rh_runner_pod_status(const struct rh_runner_pod *pod) __attribute__((warn_unused_result));
/** Close descriptors and free @p pod. NULL is ignored. */
void rh_runner_pod_free(struct rh_runner_pod *pod);
RH_DEFINE_CLEANUP(runner_pod);

#endif
