/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file local/runner/parts.h
 * @brief What the files of the runner share. For them alone.
 */
#ifndef RH_LOCAL_RUNNER_PARTS_H
#define RH_LOCAL_RUNNER_PARTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/map.h"
#include "local/devices.h"
#include "local/runner.h"
#include "local/runner/pod.h"
#include "local/runtime_spec.h"

/** @see runner.h */
struct rh_runner {
	struct rh_runner_options options;
	struct rh_map *pods;  /**< struct rh_runner_pod by UID; owned */
	struct rh_map *told;  /**< notes that were told already */
	struct rh_map *begun; /**< folders of logs that this run has started to write */
	struct rh_runtime_spec_machine machine;
	bool asked_machine; /**< machine says something */
	char *program;      /**< path of this program; owned; NULL: it cannot be told */
	struct rh_devices devices;
	bool devices_used[RH_DEVICES_MAX]; /**< given to a pod, and held */
	int64_t orphans_until; /**< monotonic time until which children of dead shims are looked for; 0: there are none */
	bool child_ended;      /**< SIGCHLD came */
	bool was_subreaper;    /**< what this process was before */
};

/** Tell a note once. */
void rh_runner_note(struct rh_runner *runner, const char *text);
/** Make the pod's folders and plan, and start its shim. One that can never be started becomes RH_RUNNER_REFUSED, with
 * reason and message; where it may help to try again it stays RH_RUNNER_QUEUED. */
void rh_runner_start(struct rh_runner_pod *pod, const struct rh_json *object, int64_t now);
/** Take back the name under which rh_runner_start() made the pod known, unless a newer pod has it. */
void rh_runner_unlink(const struct rh_runner_pod *pod);
/** Give back what rh_runner_start() reserved for the pod alone: its GPUs. */
void rh_runner_drop_gpus(struct rh_runner_pod *pod);
/** Read what the shim has said; closes the lifeline at its end. */
void rh_runner_receive(struct rh_runner_pod *pod);
/** Tell the shim to stop everything, with the pod's grace period. */
void rh_runner_stop(struct rh_runner_pod *pod);
/** Tell the shim to kill everything. */
void rh_runner_kill_pod(struct rh_runner_pod *pod);
/** Harder steps where a stop or kill has not ended the pod in time. */
void rh_runner_escalate(struct rh_runner_pod *pod);
/** Reap shims that ended. */
void rh_runner_reap(struct rh_runner *runner);
/** Kill what dead shims left, as far as it can be seen now. @return whether there was something */
bool rh_runner_kill_orphans(struct rh_runner *runner);

#endif
