/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file engine/carry/request/stalls.h
 * @brief Reading what rank 0 of a job that runs writes of ranks that do not come; for core/engine/carry.
 */
#ifndef RH_ENGINE_CARRY_REQUEST_STALLS_H
#define RH_ENGINE_CARRY_REQUEST_STALLS_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/plan.h"

struct rh_entry;

/** What is known of one job. All zero: nothing. */
struct rh_entry_stalls {
	char *report;     /**< who waits for whom; owned; NULL: nobody waits */
	bool slow;        /**< one of its ranks comes last again and again */
	uint64_t request; /**< in flight; 0: none */
	int64_t due;      /**< when the log is read again */
};

/** @return whether the job asks for it, and logs may be read by the configuration */
bool rh_stalls_are_read(const struct rh_entry *entry);
/** @return whether a rank comes last by the latest report of rank 0, and its log was read in the last minute */
bool rh_stalls_show_slow(const struct rh_entry *entry);
/** Read the log that the plan wants, if it wants one. */
void rh_stalls_ask(struct rh_entry *entry, const struct rh_plan *plan);
/** The job is gone, or has finished for good: forget it. */
void rh_stalls_forget(struct rh_entry *entry);

#endif
