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

/**
 * Start the run of trial @p number. Its process gets SIGTERM when this one ends, shows nothing, and writes to @p state
 * where it is kept; its exit status is an enum rh_run_result.
 * @param manifest its objects, checked; borrowed
 * @param[out] ret_pid of its process. @return 0 or RH_EIO
 */
int rh_sweep_start(const struct rh_cli *cli, struct rh_manifest *manifest, const struct rh_sweep_state *state,
                   size_t number, pid_t *ret_pid, struct rh_error *err);

#endif
