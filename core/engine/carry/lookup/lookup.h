/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file engine/carry/lookup/lookup.h
 * @brief Other objects that a job names (job/lookups/lookups.h), read from the store; for core/engine/carry.
 *
 * They are read by name, one after another, before decisions about the job, unless they are known already (shared.h).
 * Objects of resources that are not watched are read again.
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
	bool reading;               /**< requests of the job are in flight */
	int64_t begun_at;           /**< since when; microseconds */
	int64_t read_at;            /**< when that last ended */
	int64_t again_at;           /**< while something is missing: when to look again */
	bool stale;                 /**< something has changed since */
	char *waiting;              /**< what the job waits for; owned; NULL: for nothing */
};

/**
 * Look up the objects that the job needs. @return 0: they are known, or the job has to wait for one (member waiting);
 * 1: requests are in flight, and the job is due when they are answered; or RH_ENOMEM
 */
int rh_lookup_gather(struct rh_entry *entry);
/** Forget what was read, and what the job names. */
void rh_lookup_forget(struct rh_entry *entry);
/** The job is at rest: forget its objects if all of them together exceed RH_SHARED_BYTES. */
void rh_lookup_spare(struct rh_entry *entry);

#endif
