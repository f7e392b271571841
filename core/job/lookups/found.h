/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file job/lookups/found.h
 * @brief An object that jobs name, as operations see it. Jobs that name the same one share it; nobody changes it.
 */
#ifndef RH_JOB_LOOKUPS_FOUND_H
#define RH_JOB_LOOKUPS_FOUND_H

#include <stdbool.h>
#include <stddef.h>

#include "base/json.h"

/** Most memory that an object may take, as rh_json_weight() counts it: plugins in other processes get it with the job.
 */
#define RH_LOOKUP_WEIGHT_MAX ((size_t)4 << 20)

/** One object. */
struct rh_found {
	struct rh_json *object; /**< owned */
	char *flaw_path;        /**< where in it something is not valid; "" is the object itself; owned; NULL: nowhere */
	char *flaw;             /**< what is wrong there; owned */
	size_t users;           /**< the last one frees it */
	size_t weight;          /**< of the object */
	size_t *total;          /**< counts weight while the object exists; borrowed; NULL: nobody counts */
};

/**
 * Make one of an object as it is stored. @param object copied @param metadata whether only apiVersion, kind and
 * metadata are kept @param parse paths of texts that are YAML, and become what they stand for; NULL: none
 * @param total see there @param[out] ret_found has one user, the caller
 * @return 0 or RH_ENOMEM; what does not fit is the flaw
 */
int rh_found_new(const struct rh_json *object, bool metadata, const struct rh_json *parse, size_t *total,
                 struct rh_found **ret_found);
/** Make one of @p object (taken, also on error) as it is. @param[out] ret_found likewise. @return 0 or RH_ENOMEM */
int rh_found_take(struct rh_json *object, struct rh_found **ret_found);
/** @return @p found, which has one user more */
struct rh_found *rh_found_share(struct rh_found *found);
/** One user less. NULL is nothing. */
void rh_found_drop(struct rh_found *found);

#endif
