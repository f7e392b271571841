/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file local/runner/pod.h
 * @brief One pod as the runner keeps it, and the status that a kubelet would write for it. For the runner's files
 * alone.
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

/** One container. Texts are owned. */
struct rh_runner_container {
	char *name;
	char *image;
	bool init;
	bool sidecar;                 /**< an init container whose restartPolicy is Always */
	bool ran;                     /**< it was reported to run, now or once */
	bool reported;                /**< report says something */
	struct rh_shim_report report; /**< the latest */
	struct rh_shim_report ended;  /**< how it last ended; finished_at 0: it has not */
	char *last_lines;             /**< of that end, when it was a bad one; NULL: none */
	struct rh_log log;
	int64_t log_start; /**< size of the log when the present instance began */
	bool grown;        /**< the log may hold more than was read */
};

/** How far a pod came. */
enum rh_runner_stage {
	RH_RUNNER_QUEUED,  /**< no process yet */
	RH_RUNNER_STARTED, /**< its shim lives, or its end has not been seen to the last */
	RH_RUNNER_ENDED,   /**< nothing of it lives any more */
	RH_RUNNER_REFUSED  /**< it cannot be started on this machine; reason and message say why */
};

struct rh_runner;

/** One pod. Texts are owned, never NULL unless said. */
struct rh_runner_pod {
	struct rh_runner *runner;
	char *namespace_;
	char *name;
	char *uid;
	char *job;     /**< name of its job's folder of logs, and in lines of output */
	char *replica; /**< "worker-1" */
	char *restart_policy;
	char *ip;                               /**< NULL before it has one */
	char *dir;                              /**< its folder; NULL before it is made */
	char *message;                          /**< why it was refused or failed as a whole; NULL: nothing to say */
	const char *reason;                     /**< of that; static storage; NULL */
	struct rh_runner_container *containers; /**< init containers first */
	size_t container_count;
	enum rh_runner_stage stage;
	const char **gpus; /**< ids of its devices, borrowed from the runner; the array is owned */
	size_t gpu_count;
	pid_t pid; /**< of the shim; 0: none, or it has been reaped */
	int line;  /**< lifeline; -1: closed */
	struct rh_loop_watch *watch;
	struct rh_str input;    /**< start of a line from the shim whose end has not come */
	int64_t grace;          /**< microseconds from deletion to SIGKILL; < 0: not being deleted */
	int64_t limit;          /**< monotonic time of the next, harder step of ending it; RH_NEVER */
	int32_t pressed;        /**< how many such steps were made */
	int64_t created_at;     /**< wall-clock microseconds, likewise below */
	int64_t started_at;     /**< when its shim was started; 0: not yet */
	int64_t initialized_at; /**< when its init containers were done; 0: not yet */
	int64_t ready_at;       /**< when ready changed last */
	bool ready;
	bool broken;   /**< the shim ended without telling the end of everything */
	bool stopping; /**< the shim was told to stop */
	bool changed;  /**< the status is to be written */
	bool deleting; /**< deletionTimestamp is set */
	bool gone;     /**< the object is no longer in the store */
	bool delete_sent;
	bool asking;      /**< its object has been asked for, to start it */
	int64_t retry_at; /**< monotonic time before which its start is not tried again */
};

/** @return the container of that name and sort, or NULL */
struct rh_runner_container *rh_runner_pod_container(struct rh_runner_pod *pod, const char *name, bool init);
/** Take note of when conditions change; to be called before rh_runner_pod_status(). */
void rh_runner_pod_settle(struct rh_runner_pod *pod, int64_t now);
/** @return "Pending", "Running", "Succeeded" or "Failed", by the rules of a kubelet; static storage */
const char *rh_runner_pod_phase(const struct rh_runner_pod *pod);
/** @return {"status": …} for a merge patch, owned by the caller; NULL: out of memory */
struct rh_json *rh_runner_pod_status(const struct rh_runner_pod *pod) __attribute__((warn_unused_result));
/** Free the pod, closing what it has open. NULL is nothing. */
void rh_runner_pod_free(struct rh_runner_pod *pod);
RH_DEFINE_CLEANUP(runner_pod);

#endif
