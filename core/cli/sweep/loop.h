/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file cli/sweep/loop.h
 * @brief The trials of a sweep, several at a time, to their end.
 */
#ifndef RH_CLI_SWEEP_LOOP_H
#define RH_CLI_SWEEP_LOOP_H

#include <stddef.h>

#include "base/error.h"
#include "cli/cli.h"
#include "cli/sweep/metric.h"
#include "cli/sweep/state.h"
#include "cli/sweep/trial.h"
#include "local/progress/server.h"

/** Most trials at a time. */
#define RH_SWEEP_PARALLEL_MAX 256

/** What is run. Borrowed. */
struct rh_sweep_loop {
	const struct rh_cli *cli;
	const struct rh_sweep_base *base;
	struct rh_sweep_state *state;
	struct rh_sweep_metric *metric;            /**< NULL: none is looked for */
	const struct rh_progress_serving *serving; /**< NULL: trials report no progress */
	size_t parallel;                           /**< trials at a time, at most RH_SWEEP_PARALLEL_MAX */
};

/**
 * Run every trial that has not succeeded, and report each end on standard error. SIGINT, SIGTERM and SIGHUP stop the
 * trials that run; the second one kills them. Blocks.
 * @return an exit status: 0 all have succeeded, RH_EXIT_FAILED, RH_RUN_INTERRUPTED; or RH_EIO or RH_ENOMEM
 */
int rh_sweep_loop(const struct rh_sweep_loop *loop, struct rh_error *err);

#endif
