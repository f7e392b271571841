/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file engine/carry/failure.h
 * @brief What follows when an operation of a plugin, or a whole pass over a job, fails; for core/engine/carry.
 *
 * Every status of a failed operation, whether it was called for a decision, for further objects or for the body of a
 * pod, comes here and nowhere else: a new status gets a row in enum rh_failure.
 */
#ifndef RH_ENGINE_CARRY_FAILURE_H
#define RH_ENGINE_CARRY_FAILURE_H

#include "base/error.h"

struct rh_entry;

/** What follows from a failure. */
enum rh_failure {
	/**
	 * Plugins are pure, so that a retry is useless: the job fails in the next pass, which is due. A job that has pods
	 * on a cluster is retried instead: its pods must not end because a faulty plugin was installed. Where the plugin's
	 * process failed at the job again and again (RH_EIO), the job does not fail but is set aside.
	 */
	RH_FAILURE_FINAL,
	RH_FAILURE_WAIT, /**< nothing failed: the plugin's answer is to come, and makes the job due */
	RH_FAILURE_RETRY /**< the caller reports it and tries again with back-off */
};

/**
 * Decide what follows from a failure, and remember a final one, or that an answer is to come.
 * @param status of the operation, negative. @param err its message
 */
enum rh_failure rh_failure_judge(struct rh_entry *entry, int status, const struct rh_error *err);
/** A pass over the job failed: emit an Event unless memory is out, and retry with back-off. */
void rh_failure_retry(struct rh_entry *entry, int status, const struct rh_error *err);

#endif
