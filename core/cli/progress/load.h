/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file cli/progress/load.h
 * @brief Loads what serves the reports of progress, for the runs that have a use for it.
 */
#ifndef RH_CLI_PROGRESS_LOAD_H
#define RH_CLI_PROGRESS_LOAD_H

#include <stdbool.h>

#include "cli/jobs.h"
#include "local/progress/server.h"

/**
 * @return whether a container's command or arguments name Python or a launcher of Python programs: the known clients
 * are Python libraries, and the start of any other run is to stay as short as it is
 */
bool rh_progress_is_useful(const struct rh_jobs *jobs);
/**
 * Load roundhouse-progress.so, once: it stays loaded. Blocks for some milliseconds.
 * @param[out] ret_serving static storage of it. @return 0; RH_EIO: it is not there, cannot be loaded or is of another
 * version; or RH_ENOMEM
 */
int rh_progress_load(const struct rh_progress_serving **ret_serving, struct rh_error *err);

#endif
