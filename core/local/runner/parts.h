/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file local/runner/parts.h
 * @brief State of the runner, shared by its files. For core/local/runner alone.
 */
#ifndef RH_LOCAL_RUNNER_PARTS_H
#define RH_LOCAL_RUNNER_PARTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "base/os/clock.h"
#include "local/devices/devices.h"
#include "local/runner.h"
#include "local/runner/pod.h"
#include "local/runtime_spec.h"

/** @see runner.h */
struct rh_runner {
	struct rh_runner_options options;
	struct rh_map *pods;  /**< struct rh_runner_pod by UID; owned */
	struct rh_map *noted; /**< notes that were already reported */
	struct rh_runtime_spec_machine machine;
	bool asked_machine; /**< machine is filled */
	char *program;      /**< path of this program; owned; NULL: unknown */
	int shim;           /**< roundhouse-shim, opened as a path; owned; -1: none */
	struct rh_devices devices;
	bool devices_used[RH_DEVICES_MAX]; /**< given to a pod and locked */
	int64_t orphans_until;             /**< monotonic time until which to look for orphans of dead shims; 0: none */
	int64_t due;                       /**< deadline of the next step, monotonic */
	int64_t start_due;                 /**< deadline of the next rh_runner_start_queued(), monotonic */
	int waits;                         /**< of rh_shim_limits_open_waits(); owned; -1: none */
	int64_t waited;                    /**< rh_shim_limits_waited() at the last rest */
	int ends;                          /**< epoll set of first processes of containers; owned; -1: none */
	struct rh_loop_watch *ends_watch;  /**< of it */
	int64_t last_end;                  /**< time of the end that was seen last, wall-clock microseconds */
	bool child_ended;                  /**< SIGCHLD came */
	bool was_subreaper;                /**< subreaper attribute of this process before */
};

/** How long after the end of a process its shim may take to report it, microseconds: the search for the first fault
 * waits for no longer. It has to read the output and end what the process left, for which a leftover has a second. */
#define RH_RUNNER_REPORT_PATIENCE (10 * RH_SECOND)
/** Interval of the search for orphans, and of retries after a lack of memory. */
#define RH_RUNNER_PAUSE (RH_SECOND / 100)
/** Passed descriptors are first moved above this number, so that neither has the target number of another. */
#define RUNNER_FD_SAFE 10

/**
 * Keep the object of a queued pod, which it is started with. @return whether it is kept, or not needed any more; false:
 * memory is out, and the pod waits until it is seen again
 */
bool rh_runner_keep(struct rh_runner_pod *pod, const struct rh_json *object);
/** Note in the plan which container of the pod gets the terminal, if one does. @param[out] ret_fd its master, owned by
 * the caller; unchanged: none. @return 0, RH_EIO or RH_ENOMEM */
int rh_runner_give_terminal(const struct rh_runner_pod *pod, struct rh_json *plan, int *ret_fd, struct rh_error *err);
/** Open the program of shims, for rh_runner_start(). @return 0, RH_EIO or RH_ENOMEM */
int rh_runner_open_shim(struct rh_runner *runner, struct rh_error *err);
/** Create the pod's folders and runtime spec, and start its shim. A pod that can never start becomes RH_RUNNER_REFUSED,
 * with reason and message; after a temporary failure it stays RH_RUNNER_QUEUED. */
void rh_runner_start(struct rh_runner_pod *pod, const struct rh_json *object, int64_t now);
/** Remove the link that rh_runner_start() created for the pod, unless a newer pod uses it. */
void rh_runner_unlink(const struct rh_runner_pod *pod);
/** Release the GPUs of the pod. */
void rh_runner_drop_gpus(struct rh_runner_pod *pod);
/** Read the messages of the shim; close the channel at their end. */
void rh_runner_receive(struct rh_runner_pod *pod);
/** Open the set of processes whose ends are watched for. @return 0, RH_EIO or RH_ENOMEM */
int rh_runner_ends_open(struct rh_runner *runner, struct rh_error *err);
/** Close that set, which is empty: all pods are freed. */
void rh_runner_ends_close(struct rh_runner *runner);
/** Call this before waiting for events: an end that is seen after the wait counts from its start. */
void rh_runner_end_rest(struct rh_runner *runner);
/** Take a report of the container's shim, before it becomes the latest one: watch the first process of a container that
 * has started; in the report of an end, set the time at which the runner saw it. Several ends get times in the order in
 * which they happened, whatever the order of their reports. */
void rh_runner_end_report(const struct rh_runner_pod *pod, struct rh_runner_container *container,
                          struct rh_shim_report *report);
/** Let the shim stop all containers, with the pod's grace period. */
void rh_runner_stop(struct rh_runner_pod *pod);
/** Let the shim kill all containers. */
void rh_runner_kill_pod(struct rh_runner_pod *pod);
/** Escalate when a stop or kill has not ended the pod in time. */
void rh_runner_escalate(struct rh_runner_pod *pod);
/** Reap shims that ended. */
void rh_runner_reap(struct rh_runner *runner);
/** Kill the orphans of dead shims that exist now. @return whether there were any */
bool rh_runner_kill_orphans(struct rh_runner *runner);

#endif
