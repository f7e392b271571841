/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file engine/carry/lookup/lookup.h
 * @brief Other objects that a job names (job/lookups/lookups.h), read from the store; for core/engine/carry.
 *
 * They are read by name before the job is decided about, one after another, and again when they change (signals.h), or
 * where nothing says so after some time.
 */
#ifndef RH_ENGINE_CARRY_LOOKUP_LOOKUP_H
#define RH_ENGINE_CARRY_LOOKUP_LOOKUP_H

#include <stdbool.h>
#include <stdint.h>

#include "job/lookups/lookups.h"

struct rh_entry;

/** The objects that one job names. */
struct rh_entry_lookups {
	struct rh_lookups *names;  /**< which these are; owned; NULL: the job was not looked at */
	struct rh_lookups *now;    /**< what operations see; owned; NULL: not known, or something is missing */
	struct rh_lookups *next;   /**< being read; owned; NULL: nothing is */
	struct rh_lookup *reading; /**< of next: the request is about it */
	uint64_t request;          /**< in flight; 0: none */
	int64_t read_at;           /**< when the last reading ended; microseconds */
	int64_t again_at;          /**< while something is missing: when to read again */
	bool stale;                /**< something may have changed since it was read */
	uint32_t failures;         /**< readings in a row that did not end */
	char *waiting;             /**< what the job waits for; owned; NULL: for nothing */
};

/**
 * See that it is known which objects there are, as far as the job needs them. @return 0: it is, or the job has to wait
 * (waiting); 1: the job is due when it is; or RH_ENOMEM
 */
int rh_lookup_gather(struct rh_entry *entry);
/** Forget what was read; a request is cancelled. */
void rh_lookup_forget(struct rh_entry *entry);

#endif
