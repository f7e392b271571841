/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file engine/carry/lookup/lookup.h
 * @brief Other objects that a job names (job/lookups/lookups.h), read from the store; for core/engine/carry.
 *
 * They are read by name before the job is decided about, one after another, unless they are known already (shared.h),
 * and again where nothing says whether they have changed.
 */
#ifndef RH_ENGINE_CARRY_LOOKUP_LOOKUP_H
#define RH_ENGINE_CARRY_LOOKUP_LOOKUP_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/carry/lookup/shared.h"
#include "job/lookups/lookups.h"

struct rh_entry;

/** The objects that one job names. */
struct rh_entry_lookups {
	struct rh_lookups *names;   /**< which these are; owned; NULL: the job was not looked at */
	struct rh_lookup_use *uses; /**< one for each of names; owned */
	struct rh_lookups *now;     /**< what operations see; owned; NULL: not known, or something is missing */
	bool reading;               /**< what is named is being found out */
	int64_t begun_at;           /**< since when; microseconds */
	int64_t read_at;            /**< when that last ended */
	int64_t again_at;           /**< while something is missing: when to look again */
	bool stale;                 /**< something has changed since */
	char *waiting;              /**< what the job waits for; owned; NULL: for nothing */
};

/**
 * See that it is known which objects there are, as far as the job needs them. @return 0: it is, or the job has to wait
 * (waiting); 1: the job is due when it is; or RH_ENOMEM
 */
int rh_lookup_gather(struct rh_entry *entry);
/** Forget what was read, and what the job names. */
void rh_lookup_forget(struct rh_entry *entry);
/** The job is at rest: forget what was read where all such objects take too much memory. */
void rh_lookup_spare(struct rh_entry *entry);

#endif
