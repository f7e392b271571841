/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file cli/progress/load.h
 * @brief Loads what serves the reports of progress, for the runs that have a use for it.
 */
#ifndef RH_CLI_PROGRESS_LOAD_H
#define RH_CLI_PROGRESS_LOAD_H

#include <stdbool.h>

#include "cli/cli.h"
#include "cli/jobs.h"
#include "local/progress/server.h"

/**
 * @return whether a container's command or arguments name Python or a launcher of Python programs: the known clients
 * are Python libraries, and the start of any other run is to stay as short as it is
 */
bool rh_progress_is_useful(const struct rh_jobs *jobs);
/**
 * Load roundhouse-progress.so, once: it stays loaded. Where it is not there, cannot be loaded or is of another version,
 * a note says so, without --quiet. Blocks for some milliseconds.
 * @param session its configuration, and the option --no-progress of @p cli, may say that there is to be none
 * @return how to serve reports, static storage; NULL: the replicas of the run report nothing
 */
const struct rh_progress_serving *rh_progress_load(const struct rh_cli *cli, const struct rh_session *session);

#endif
