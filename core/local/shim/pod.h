/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file local/shim/pod.h
 * @brief The life of a pod's containers: started in order, restarted, ended with all that they left. For the shim
 * alone.
 *
 * Sidecars are a kubelet's: started in their turn among the init containers, and not waited for; restarted whenever
 * they end, until all others have ended; then asked to end, the last one first, and killed when the pod's grace period
 * is over.
 *
 * The owner calls rh_shim_pod_step() whenever something happened or the time it named has come. Nothing here waits.
 */
#ifndef RH_LOCAL_SHIM_POD_H
#define RH_LOCAL_SHIM_POD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "local/shim.h"
#include "local/shim/channel.h"
#include "local/shim/limits.h"
#include "local/shim/output.h"
#include "local/shim/plan.h"

/** How far a container came. */
enum rh_shim_state {
	RH_SHIM_QUEUED, /**< not started yet */
	RH_SHIM_RUNNING,
	RH_SHIM_LEAVING, /**< its first process ended; what that left is being ended */
	RH_SHIM_RESTING, /**< to be started again at its due time */
	RH_SHIM_ENDED    /**< for good */
};

/** One container. */
struct rh_shim_container {
	const struct rh_shim_spec *spec;
	enum rh_shim_state state;
	struct rh_shim_output output;
	struct rh_shim_limits *limits; /**< NULL: none, or not made yet */
	pid_t pid;                     /**< of its first process: also the number of its session; 0: it never ran */
	int64_t due;                   /**< monotonic time of the next thing to do; RH_NEVER */
	int64_t began;                 /**< monotonic time of its last start */
	int64_t pause;                 /**< how long it rested last; 0: not yet */
	int64_t kills;                 /**< what rh_shim_limits_kills() said at its start */
	int64_t machine_kills;         /**< likewise rh_shim_limits_machine_kills(), if that was known */
	bool machine_kills_known;
	int64_t reported_at;          /**< when what it left got SIGTERM; RH_NEVER: it did not */
	bool asked;                   /**< a sidecar that got SIGTERM because the others have ended */
	struct rh_shim_report report; /**< the latest */
};

struct rh_shim_exec;

/** A pod. */
struct rh_shim_pod {
	const char *root; /**< "" for this machine; a folder that stands for / in tests */
	const struct rh_shim_plan *plan;
	struct rh_shim_channel *line;
	struct rh_shim_exec *exec;            /**< commands that run beside the containers; borrowed; NULL: none can */
	struct rh_shim_container *containers; /**< as many as the plan's specs, in their order */
	char refusal[512];                    /**< why no container can be started; "": they can */
	int64_t kill_at;                      /**< monotonic time at which everything is killed; RH_NEVER */
	int64_t killed_at;                    /**< when that was first done; RH_NEVER: not yet */
	bool stopping;                        /**< nothing is started any more */
	bool winding;                         /**< all but sidecars have ended */
	bool childless;                       /**< this process had no child when it looked last */
};

/** @return 0 or RH_ENOMEM. @param plan and @p line are borrowed for the life of the pod */
int rh_shim_pod_init(struct rh_shim_pod *pod, const struct rh_shim_plan *plan, struct rh_shim_channel *line);
/** Free what @p pod holds. */
void rh_shim_pod_deinit(struct rh_shim_pod *pod);
/** Reap every child that ended. */
void rh_shim_pod_reap(struct rh_shim_pod *pod, int64_t now);
/** Send SIGTERM to all and plan SIGKILL after @p grace microseconds; again: at the earlier of both times. */
void rh_shim_pod_stop(struct rh_shim_pod *pod, int64_t grace, int64_t now);
/**
 * Do what is due at @p now. @return the monotonic time at which it is to be called again though nothing happens;
 * RH_NEVER
 */
int64_t rh_shim_pod_step(struct rh_shim_pod *pod, int64_t now);
/** @return whether all is over */
bool rh_shim_pod_done(const struct rh_shim_pod *pod);
/** Move output of container number @p index into its log. */
void rh_shim_pod_output(struct rh_shim_pod *pod, size_t index);

#endif
