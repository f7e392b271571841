/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file local/run/progress.h
 * @brief The progress that the replicas of a run report. For core/local/run alone.
 */
#ifndef RH_LOCAL_RUN_PROGRESS_H
#define RH_LOCAL_RUN_PROGRESS_H

#include "base/json.h"

struct rh_run;

/** Open the endpoint for all jobs of the run, if it is to have one. Where that fails, a note says why, and replicas
 * report nothing. */
void rh_run_progress_open(struct rh_run *run);
/** The variables by which the replicas of @p pod find the endpoint; @p arg is the run. @return "NAME=value",
 * NULL-terminated, borrowed; NULL: there is none */
const char *const *rh_run_progress_variables(void *arg, const struct rh_json *pod);

#endif
