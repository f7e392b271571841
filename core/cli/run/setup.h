/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file cli/run/setup.h
 * @brief `run --setup`: make the environments that stand for the images of jobs.
 */
#ifndef RH_CLI_RUN_SETUP_H
#define RH_CLI_RUN_SETUP_H

#include "cli/jobs.h"
#include "cli/session.h"

/**
 * Make an environment for every image of the jobs that is not mapped and whose framework is known
 * (local/preflight/frameworks.h), with examples/setup, and map the image to it in the configuration of @p session. One
 * that was made before is used again. Blocks for the downloads; the progress is on standard error.
 * @return 0; RH_ENOENT: examples/setup or Python is not installed; RH_EIO: it failed; or RH_ENOMEM
 */
int rh_run_setup(const struct rh_session *session, const struct rh_jobs *jobs, struct rh_error *err);

#endif
