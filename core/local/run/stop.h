/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file local/run/stop.h
 * @brief Stops the pods of jobs that have finished, or of all, and limits the time of that. For core/local/run alone.
 */
#ifndef RH_LOCAL_RUN_STOP_H
#define RH_LOCAL_RUN_STOP_H

#include <stdint.h>

struct rh_run;

/** Stop the run: its pods by SIGTERM, as soon as the ends that are known are reported, so that the first faults can be
 * found; a second call kills them. @param result RH_RUN_*, of the first call */
void rh_run_stop(struct rh_run *run, int result);
/** Find the first faults of a run that is to stop, once no end is awaited, as a step of the loop; @p arg is the run. */
void rh_run_stop_judge(void *arg, int64_t clock);
/** @return when to look next for that, monotonic microseconds; RH_NEVER */
int64_t rh_run_stop_judge_deadline(void *arg);
/** Stop the pods that have to stop now, as a step of the loop; @p arg is the run. */
void rh_run_stop_step(void *arg, int64_t clock);
/** @return when to look next, monotonic microseconds; RH_NEVER */
int64_t rh_run_stop_deadline(void *arg);

#endif
