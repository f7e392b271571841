/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file local/run/load.h
 * @brief Samples of the resources that the replicas of a run use: at most one a second, while they are shown or
 * kept. For core/local/run alone.
 */
#ifndef RH_LOCAL_RUN_LOAD_H
#define RH_LOCAL_RUN_LOAD_H

#include <stdint.h>

#include "local/keep/usage.h"

/** The last sample. All zero: there was none. */
struct rh_run_sample {
	struct rh_usage usage; /**< owned */
	uint64_t operations;   /**< of rh_comm */
	int64_t at;            /**< monotonic microseconds */
	int64_t due;           /**< of the next one, likewise */
};

/** Take a sample if it is due, as a step of the loop; @p arg is the run. */
void rh_run_load_step(void *arg, int64_t clock);
/** @return time of the next sample, monotonic microseconds; RH_NEVER: no replica runs, or the samples are neither shown
 * nor kept */
int64_t rh_run_load_deadline(void *arg);

#endif
