/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file local/run/stalls.h
 * @brief Says when the ranks of a job stand still, who does not come, and what it does. For core/local/run alone.
 */
#ifndef RH_LOCAL_RUN_STALLS_H
#define RH_LOCAL_RUN_STALLS_H

#include "local/progress/stack.h"
#include "local/progress/stall.h"

struct rh_run;

/** The ranks of one job. All zero: nothing is known of them. */
struct rh_run_stall {
	struct rh_stall stall;
	struct rh_stack stack; /**< of who did not come, until it is known */
	char *address;         /**< of the pod of who did not come; owned; NULL: not known, or not needed */
	bool noted;            /**< the user knows */
};

/** Look at the jobs of the run, once a second, and note what has begun or ended; @p arg is the run. */
void rh_run_stall_step(void *arg, int64_t clock);
/** @return when it is due; RH_NEVER: no job has traces */
int64_t rh_run_stall_deadline(void *arg);
/** @return who does not come in a job of the run, in one sentence; "": nobody; borrowed */
const char *rh_run_stall_text(const struct rh_run *run);
/** Free what is known of a job. */
void rh_run_stall_deinit(struct rh_run_stall *stall);

#endif
