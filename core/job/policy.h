/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file job/policy.h
 * @brief The policies of a job: its run policy, and when a replica is restarted, with V1's defaults (v1-behaviour A.3).
 */
#ifndef RH_JOB_POLICY_H
#define RH_JOB_POLICY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/json.h"
#include "job/fields.h"
#include "roundhouse/plugin.h"

/** When a replica whose container ended is restarted. RH_RESTART_UNKNOWN is any other text, which V1 accepted; it acts
 * as Never and lint refuses it. */
enum rh_restart_policy {
	RH_RESTART_ALWAYS,
	RH_RESTART_ON_FAILURE,
	RH_RESTART_NEVER,
	RH_RESTART_EXIT_CODE,
	RH_RESTART_UNKNOWN
};

/** Which pods go when a job has finished (v1-behaviour B.1). */
enum rh_clean_policy {
	RH_CLEAN_NONE,
	RH_CLEAN_RUNNING,
	RH_CLEAN_ALL /**< also every unknown value, as in V1 */
};

/** Scheduling policy, used with a gang scheduler only. Texts are borrowed from the object. */
struct rh_scheduling_policy {
	bool present;
	int32_t min_available;   /**< -1 is unset */
	int32_t timeout_seconds; /**< scheduleTimeoutSeconds; -1 is unset */
	const char *queue;
	const char *priority_class;
	const struct rh_json *min_resources;
};

/** RunPolicy with defaults. */
struct rh_run_policy {
	enum rh_clean_policy clean;
	bool suspend;
	bool held; /**< the controller keeps the job from running, as if it were suspended; no part of the object */
	int64_t ttl_seconds;      /**< ttlSecondsAfterFinished; -1 is unset */
	int64_t deadline_seconds; /**< activeDeadlineSeconds; -1 is unset */
	int64_t backoff_limit;    /**< -1 is unset: no limit */
	const char *managed_by;   /**< borrowed; NULL is unset */
	struct rh_scheduling_policy scheduling;
};

/**
 * Read the run policy of a job's @p object, with the defaults of its kind. @param[out] ret_policy borrows from the
 * object; changed also on error
 * @return 0, RH_EINVAL (the message names the field path and value) or RH_ENOMEM
 */
int rh_run_policy_read(const struct rh_kind *kind, const struct rh_json *object, struct rh_run_policy *ret_policy,
                       struct rh_error *err);
/**
 * Take members of a run policy from @p fields in place of those that @p policy has. @param[out] policy changed also on
 * error. @return 0 or RH_EINVAL
 */
int rh_run_policy_override(struct rh_run_policy *policy, const struct rh_fields *fields);
/** @return whether the job is not to run: by its own suspend, or because the controller holds it */
static inline bool rh_run_policy_is_suspended(const struct rh_run_policy *policy)
{
	return policy->suspend || policy->held;
}
/** @return the policy of that name; RH_RESTART_UNKNOWN: there is none */
enum rh_restart_policy rh_restart_policy_parse(const char *word);
/** @return "Always", "OnFailure", "Never" or "ExitCode"; static storage */
const char *rh_restart_policy_name(enum rh_restart_policy policy);

#endif
