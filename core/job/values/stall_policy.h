/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file job/values/stall_policy.h
 * @brief What a job asks for when its ranks wait for one that does not come (RH_ANNOTATION_STALLS and its like).
 */
#ifndef RH_JOB_VALUES_STALL_POLICY_H
#define RH_JOB_VALUES_STALL_POLICY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/json.h"
#include "base/os/clock.h"

/** How long a rank must be named without a break before something is done, microseconds, if the job does not say. */
#define RH_STALL_AFTER (60 * RH_SECOND)
/** How often something is done for one job, if it does not say. */
#define RH_STALL_LIMIT 3

/** What is done. RH_STALL_IGNORE: nothing is asked for. */
enum rh_stall_action {
	RH_STALL_IGNORE,
	RH_STALL_REPORT,  /**< the condition Stalled names the rank */
	RH_STALL_RESTART, /**< likewise, and all replicas stop and are made again */
	RH_STALL_EVICT    /**< likewise, and the pod of the named rank is evicted */
};

/** What a job asks for. */
struct rh_stall_policy {
	enum rh_stall_action action;
	int64_t after; /**< microseconds */
	int32_t limit; /**< 0: nothing is done */
};

/** @return whether @p word names an action; then *@p ret_action is it */
bool rh_stall_action_parse(const char *word, enum rh_stall_action *ret_action);
/** @return whether @p text is a number of actions, from 0 to INT32_MAX; then *@p ret_limit is it */
bool rh_stall_limit_parse(const char *text, int32_t *ret_limit);
/** Read the annotations of a job (NULL: it has none). What is missing or wrong takes the default; rh_job_validate()
 * refuses what is wrong. */
void rh_stall_policy_read(const struct rh_json *annotations, struct rh_stall_policy *ret_policy);

#endif
