/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file job/status/status.h
 * @brief The status of a job: conditions (v1-behaviour E.1), replica counts, times.
 */
#ifndef RH_JOB_STATUS_STATUS_H
#define RH_JOB_STATUS_STATUS_H

#include <stddef.h>
#include <stdint.h>

#include <stdbool.h>

#include "base/error.h"
#include "base/json.h"

/** @name Condition types @{ */
#define RH_CONDITION_CREATED "Created"
#define RH_CONDITION_RUNNING "Running"
#define RH_CONDITION_RESTARTING "Restarting"
#define RH_CONDITION_SUSPENDED "Suspended"
#define RH_CONDITION_SUCCEEDED "Succeeded"
#define RH_CONDITION_FAILED "Failed"
/** Ours: the store refuses what the job needs; there only while that is so. */
#define RH_CONDITION_STALLED "Stalled"
/** @} */

/** Most conditions that are kept; a foreign status with more loses the oldest foreign ones. */
#define RH_CONDITIONS_MAX 16
/** Most replica types that a job may have. */
#define RH_TYPES_MAX 16

/** One condition. All strings are owned. */
struct rh_condition {
	char *type;
	char *reason;
	char *message;
	bool status;             /**< True or not */
	int64_t updated_at;      /**< lastUpdateTime, microseconds */
	int64_t transitioned_at; /**< lastTransitionTime, microseconds */
};

/** Counts of one replica type, as V1 reports them. */
struct rh_replica_status {
	char *type; /**< canonical type; owned */
	int32_t active;
	int32_t succeeded;
	int32_t failed;
	char *selector; /**< owned; NULL where the kind keeps none */
};

/** A job's status. All zero is the empty one. */
struct rh_job_status {
	struct rh_condition conditions[RH_CONDITIONS_MAX]; /**< in V1's order: newest last */
	size_t condition_count;
	struct rh_replica_status replicas[RH_TYPES_MAX];
	size_t replica_count;
	int64_t started_at;    /**< startTime; 0 is unset */
	int64_t completed_at;  /**< completionTime; 0 is unset */
	int64_t reconciled_at; /**< lastReconcileTime; 0 is unset */
	/** Members of the plugin's own (rh_services.status), an object; owned; NULL where its kind declares none. */
	struct rh_json *own;
};

/** Free what @p status holds and make it empty. */
void rh_job_status_deinit(struct rh_job_status *status);
/** Copy @p from into @p to, which must be empty. @return 0 or RH_ENOMEM, then @p to is empty */
int rh_job_status_copy(struct rh_job_status *to, const struct rh_job_status *from);
/** Read .status of a job whose kind has no conditions or members of its own (else job/status/shown.h); members that are
 * missing or of a wrong type are left out, NULL is the empty status. @return 0 or RH_ENOMEM */
int rh_job_status_parse(const struct rh_json *json, struct rh_job_status *ret_status);
/** Write all but its own members as V1 does: zero counts, empty texts and unset times are left out, an entry without
 * counts is {}. @return owned by the caller; NULL: out of memory */
struct rh_json *rh_job_status_json(const struct rh_job_status *status) __attribute__((warn_unused_result));
/** @return whether both are equal, times included */
bool rh_job_status_equal(const struct rh_job_status *a, const struct rh_job_status *b);

/** @return the condition @p type, borrowed, or NULL */
const struct rh_condition *rh_job_status_condition(const struct rh_job_status *status, const char *type);
/** @return whether the condition @p type is True */
bool rh_job_status_is(const struct rh_job_status *status, const char *type);
/** @return whether Succeeded or Failed is True */
bool rh_job_status_finished(const struct rh_job_status *status);
/**
 * Set a condition with V1's mechanics (v1-behaviour E.1): nothing changes once Failed is True or when type, status and
 * reason are as before; the old entry is removed and the new one appended; Restarting removes Running and vice versa;
 * Succeeded and Failed turn Running to False in place.
 * @return 1 when something changed, 0 when not, RH_ENOMEM
 */
int rh_job_status_set(struct rh_job_status *status, const char *type, bool value, const char *reason,
                      const char *message, int64_t now);
/** Take the condition @p type out. @return whether it was there */
bool rh_job_status_remove(struct rh_job_status *status, const char *type);
/** @return the entry of @p type, made empty and appended when it was missing; NULL when memory or room is out */
struct rh_replica_status *rh_job_status_replica(struct rh_job_status *status, const char *type);

#endif
