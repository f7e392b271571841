/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file local/run/load.h
 * @brief What the replicas of a run use, looked at once a second at most where somebody shows or keeps it. For
 * core/local/run alone.
 */
#ifndef RH_LOCAL_RUN_LOAD_H
#define RH_LOCAL_RUN_LOAD_H

#include <stdint.h>

#include "local/keep/usage.h"

/** The last sample. All zero: there was none. */
struct rh_run_look {
	struct rh_usage usage; /**< owned */
	uint64_t operations;   /**< of rh_comm */
	int64_t at;            /**< monotonic microseconds */
	int64_t due;           /**< of the next one, likewise */
};

/** Look if it is time, as a step of the loop; @p arg is the run. */
void rh_run_load_step(void *arg, int64_t clock);
/** @return time of the next sample, monotonic microseconds; RH_NEVER: no replica runs, or nobody wants to know */
int64_t rh_run_load_deadline(void *arg);

#endif
