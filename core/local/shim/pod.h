/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file local/shim/pod.h
 * @brief The containers of a pod: start in order, restart, and end with all their descendants. For the shim alone.
 *
 * Sidecars work as in a kubelet: they start in order among the init containers without being waited for, restart until
 * all other containers have ended, get SIGTERM then, the last one first, and SIGKILL after the pod's grace period.
 *
 * The owner calls rh_shim_pod_step() after events and at the time that it returned. No function blocks.
 */
#ifndef RH_LOCAL_SHIM_POD_H
#define RH_LOCAL_SHIM_POD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "local/shim.h"
#include "local/shim/channel.h"
#include "local/shim/isolation/limits.h"
#include "local/shim/output.h"
#include "local/shim/plan.h"

/** State of a container. */
enum rh_shim_state {
	RH_SHIM_QUEUED, /**< not started yet */
	RH_SHIM_RUNNING,
	RH_SHIM_LEAVING, /**< its first process ended; its descendants are being ended */
	RH_SHIM_RESTING, /**< restarts at its due time */
	RH_SHIM_ENDED    /**< will not restart */
};

/** One container. */
struct rh_shim_container {
	const struct rh_shim_spec *spec;
	enum rh_shim_state state;
	struct rh_shim_output output;
	struct rh_shim_limits *limits; /**< NULL: none, or not created yet */
	pid_t pid;                     /**< of its first process, and its session ID; 0: never started */
	int64_t due;                   /**< monotonic time of the next step; RH_NEVER */
	int64_t began;                 /**< monotonic time of its last start */
	int64_t pause;                 /**< its last back-off; 0: none yet */
	int64_t kills;                 /**< rh_shim_limits_kills() at its start */
	int64_t machine_kills;         /**< rh_shim_limits_machine_kills() at its start, if known */
	bool machine_kills_known;
	int64_t reported_at;          /**< when its descendants got SIGTERM; RH_NEVER: not yet */
	bool asked;                   /**< a sidecar that got SIGTERM because the other containers have ended */
	struct rh_shim_report report; /**< the latest */
};

struct rh_shim_exec;

/** A pod. */
struct rh_shim_pod {
	const char *root; /**< "" for this machine; in tests a folder in place of / */
	const struct rh_shim_plan *plan;
	struct rh_shim_channel *line;
	struct rh_shim_exec *exec;            /**< commands that run beside the containers; borrowed; NULL: not available */
	struct rh_shim_container *containers; /**< one for each spec of the plan, in the same order */
	char refusal[512];                    /**< why no container can start; "": they can */
	int64_t kill_at;                      /**< monotonic time at which everything is killed; RH_NEVER */
	int64_t killed_at;                    /**< when everything was first killed; RH_NEVER: not yet */
	int waits;                            /**< of rh_shim_limits_open_waits(); owned; -1: none */
	int64_t waited;                       /**< rh_shim_limits_waited() at the last rest */
	bool stopping;                        /**< no container starts any more */
	bool winding;                         /**< all but sidecars have ended */
	bool childless;                       /**< this process had no child at the last check */
};

/** Initialize. @param plan and @p line are borrowed for the life of the pod. @return 0 or RH_ENOMEM */
int rh_shim_pod_init(struct rh_shim_pod *pod, const struct rh_shim_plan *plan, struct rh_shim_channel *line);
/** Free what @p pod owns. */
void rh_shim_pod_deinit(struct rh_shim_pod *pod);
/** Call this before waiting for events: an end that is reaped after the wait counts from the moment when the wait could
 * have ended. On a busy machine a shim gets its processor late, and the order of ends shows which one was first. */
void rh_shim_pod_rest(struct rh_shim_pod *pod);
/** Reap every ended child. @param now monotonic microseconds */
void rh_shim_pod_reap(struct rh_shim_pod *pod, int64_t now);
/** Send SIGTERM to all and schedule SIGKILL after @p grace microseconds; a second call uses the earlier time. */
void rh_shim_pod_stop(struct rh_shim_pod *pod, int64_t grace, int64_t now);
/**
 * Start, restart and kill containers as due. @param now monotonic microseconds
 * @return the monotonic time of the latest next call, or RH_NEVER
 */
int64_t rh_shim_pod_step(struct rh_shim_pod *pod, int64_t now);
/** @return whether the pod has ended */
bool rh_shim_pod_done(const struct rh_shim_pod *pod);
/** Copy output of container number @p index to its log. */
void rh_shim_pod_output(struct rh_shim_pod *pod, size_t index);

#endif
