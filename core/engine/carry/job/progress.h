/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file engine/carry/job/progress.h
 * @brief How far the plan of one job has been carried out; for core/engine/carry.
 */
#ifndef RH_ENGINE_CARRY_JOB_PROGRESS_H
#define RH_ENGINE_CARRY_JOB_PROGRESS_H

#include "engine/plan.h"

struct rh_entry;

/** The request about the job itself that is in flight: at most one at a time. */
enum rh_progress_stage { RH_STAGE_IDLE, RH_STAGE_LEDGER, RH_STAGE_STATUS, RH_STAGE_REFRESH };

/** The plan of one job and how far it has been carried out. */
struct rh_entry_progress {
	enum rh_progress_stage stage;
	uint64_t write_id;             /**< of the request of the stage */
	struct rh_plan *plan;          /**< that is being carried out; owned; NULL: none */
	bool statusless;               /**< a status write returned not found: a read finds out whether the job exists */
	uint64_t stalled_hash;         /**< of the last plan that was carried out, see there */
	int64_t held_since;            /**< likewise */
	int32_t waiting[RH_TYPES_MAX]; /**< replicas of each type that the plugin held back in the last decision */
	struct rh_job_status *held;    /**< likewise; owned; NULL when no status is held back, or memory is out */
};

/** @return whether no plan and no request about the job itself is in progress */
static inline bool rh_entry_progress_is_idle(const struct rh_entry_progress *progress)
{
	return progress->stage == RH_STAGE_IDLE && !progress->plan;
}

/** Free @p plan and what it holds. NULL is allowed. */
void rh_progress_free_plan(struct rh_plan *plan);
/** Free the plan that is being carried out, if there is one. */
void rh_progress_drop(struct rh_entry *entry);
/** The request about the job itself has completed, or is cancelled. */
void rh_progress_leave_stage(struct rh_entry *entry);
/** Forget the status that is held back. */
void rh_progress_forget_held(struct rh_entry *entry);
/**
 * Drop the plan, cancel the request about the job itself, and forget a status that is held back: the job is gone, or
 * has finished for good.
 */
void rh_progress_forget(struct rh_entry *entry);
/** The job was deleted or replaced: forget the message of the condition Stalled. */
void rh_progress_forget_message(struct rh_entry *entry);

#endif
