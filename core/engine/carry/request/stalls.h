/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file engine/carry/request/stalls.h
 * @brief What is known of ranks of a job that do not come: reading what rank 0 of a job that runs writes of them, and
 * evicting the pod of one of them; for core/engine/carry.
 */
#ifndef RH_ENGINE_CARRY_REQUEST_STALLS_H
#define RH_ENGINE_CARRY_REQUEST_STALLS_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/missing.h"
#include "engine/plan.h"

struct rh_entry;

/** What is known of one job. All zero: nothing. Times are wall-clock microseconds. */
struct rh_entry_stalls {
	char *text;     /**< who waits for whom; owned, likewise below; NULL: nobody waits */
	char *address;  /**< see struct rh_missing, likewise below */
	char *reporter; /**< NULL: it does not come from a log */
	char *refusal;  /**< NULL: nothing was refused */
	int32_t rank;
	int64_t since;
	int64_t seen;
	int64_t tried;
	bool slow;        /**< one of its ranks comes last again and again */
	uint64_t request; /**< for the log, in flight; 0: none */
	char *asked;      /**< UID of the pod whose log that is */
	int64_t due;      /**< when the log is read again */
	uint64_t evict;   /**< request in flight; 0: none */
	char *evict_pod;  /**< name of the pod that it evicts */
	char *evict_uid;
	int64_t evict_due; /**< when the next one may be tried, after an answer that the right is missing */
};

/** @return whether the job asks for it, and logs may be read by the configuration */
bool rh_stalls_are_read(const struct rh_entry *entry);
/** @return what is known, for a decision: borrowed from the entry; nothing where the job does not ask for it */
struct rh_missing rh_stalls_missing(const struct rh_entry *entry);
/** Note what is seen now. @param reporter UID of the pod whose log has it, copied; NULL: it does not come from a log */
void rh_stalls_note(struct rh_entry *entry, const struct rh_missing_report *report, const char *reporter, int64_t now);
/** @return whether a rank comes last by the latest report of rank 0, and its log was read in the last minute */
bool rh_stalls_show_slow(const struct rh_entry *entry);
/** Read the log that the plan wants, if it wants one. */
void rh_stalls_ask(struct rh_entry *entry, const struct rh_plan *plan);
/** Evict the pod that the plan wants evicted, if it wants one; its ledger is written. */
void rh_stalls_evict(struct rh_entry *entry, const struct rh_plan *plan);
/** The job is gone, or has finished for good: forget it. */
void rh_stalls_forget(struct rh_entry *entry);

#endif
