/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file engine/carry/lookup/shared.h
 * @brief Objects that jobs name: each is read once, and all jobs that name it share it; for core/engine/carry.
 *
 * An object knows the jobs that name it, so that a change makes these due and no other. It is forgotten when no job
 * names it any more.
 */
#ifndef RH_ENGINE_CARRY_LOOKUP_SHARED_H
#define RH_ENGINE_CARRY_LOOKUP_SHARED_H

#include <stdbool.h>
#include <stdint.h>

#include "job/lookups/lookups.h"

/** Bytes of all objects, as rh_json_weight() counts them; beyond that jobs at rest have none, and read them again. */
#define RH_SHARED_BYTES ((size_t)24 << 20)

struct rh_engine;
struct rh_entry;

/** What is known of an object. RH_SHARED_READ: it is found, or absent. */
enum rh_shared_state { RH_SHARED_UNKNOWN, RH_SHARED_READ, RH_SHARED_DENIED };

/** One object. */
struct rh_shared {
	struct rh_engine *engine;
	char *key;                  /**< in engine->looked_up; owned, likewise below */
	struct rh_shared *variant;  /**< the same object, of which other parts are read, or parsed */
	struct rh_lookup lookup;    /**< how it is read; its texts and parse are owned */
	char *namespace_;           /**< NULL: it is in none */
	struct rh_lookup_use *uses; /**< by jobs */
	enum rh_shared_state state;
	struct rh_found *found; /**< of RH_SHARED_READ; NULL: it is absent */
	char *message;          /**< of RH_SHARED_DENIED: the store's */
	uint64_t request;       /**< in flight; 0: none */
	int64_t asked_at;       /**< when the last request was sent; microseconds */
	int64_t again_at;       /**< after a failure: when it may be asked again */
	uint32_t failures;      /**< of requests in a row */
	uint64_t shown;         /**< revision that a watch has shown during the request; UINT64_MAX: unknown; 0: none */
};

/** That a job names an object. */
struct rh_lookup_use {
	struct rh_shared *of; /**< NULL: the entry of the job names none */
	struct rh_entry *entry;
	struct rh_lookup_use *next;
	struct rh_lookup_use **link; /**< what points here */
	bool looked;                 /**< the job looked at it when it last read what it names */
};

/** Note that the job names the object of @p lookup. @return 0 or RH_ENOMEM */
int rh_shared_join(struct rh_entry *entry, const struct rh_lookup *lookup, struct rh_lookup_use *use);
/** Note that the job no longer names it. */
void rh_shared_leave(struct rh_lookup_use *use);
/** Ask for the object, unless a request is in flight; jobs that are reading are due when it is answered. @return 0 or
 * RH_ENOMEM */
int rh_shared_ask(struct rh_shared *shared);
/** The job no longer uses the content of the object: forget it if no other job does. */
void rh_shared_spare(struct rh_shared *shared);
/** Handle a watch event: the object as it is, or, if @p gone, as it was before its deletion. */
void rh_shared_observe(struct rh_engine *engine, const char *api_version, const char *kind,
                       const struct rh_json *object, bool gone);

#endif
