/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file cli/sweep/start.h
 * @brief One trial: a run in a process of its own, which ends with the sweep.
 */
#ifndef RH_CLI_SWEEP_START_H
#define RH_CLI_SWEEP_START_H

#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"
#include "cli/cli.h"
#include "cli/sweep/state.h"
#include "job/manifest.h"
#include "local/progress/server.h"

/** One trial. Borrowed. */
struct rh_sweep_trial {
	const struct rh_cli *cli;
	const struct rh_sweep_state *state;
	const struct rh_progress_serving *serving; /**< NULL: its replicas report no progress */
	const struct rh_manifest *manifest;        /**< its objects, checked */
	size_t number;                             /**< from 1 */
};

/**
 * Start the run of a trial. Its process gets SIGTERM when this one ends, shows nothing, and writes to the state where
 * it is kept; its exit status is an enum rh_run_result.
 * @param[out] ret_pid of its process. @return 0 or RH_EIO
 */
int rh_sweep_start(const struct rh_sweep_trial *trial, pid_t *ret_pid, struct rh_error *err);

#endif
