/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file local/run/progress.h
 * @brief The progress that the replicas of a run report. For core/local/run alone.
 */
#ifndef RH_LOCAL_RUN_PROGRESS_H
#define RH_LOCAL_RUN_PROGRESS_H

#include "base/json.h"
#include "local/progress/counters.h"

struct rh_run;

/** Open the endpoint for all jobs of the run, if it is to have one, and make folders for the traces of rh_comm. Where
 * that fails, a note says why, and replicas report nothing. */
void rh_run_progress_open(struct rh_run *run);
/** Remove the folders of jobs that have no trace. */
void rh_run_progress_close(const struct rh_run *run);
/** The variables by which the replicas of @p pod find the endpoint and the folder for traces; @p arg is the run.
 * @return "NAME=value", NULL-terminated, borrowed; NULL: the pod is of no job of the run */
const char *const *rh_run_progress_variables(void *arg, const struct rh_json *pod);
/** @return the counters of rh_comm of all jobs that have not finished: the ranks together, and the operations of the
 * one that is behind the others */
struct rh_counters rh_run_progress_counters(const struct rh_run *run);

#endif
