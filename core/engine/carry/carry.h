/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file engine/carry/carry.h
 * @brief Carrying out the plan of one job: ledger, children, status; for core/engine/carry.
 */
#ifndef RH_ENGINE_CARRY_CARRY_H
#define RH_ENGINE_CARRY_CARRY_H

#include "engine/plan.h"

struct rh_entry;

/** The request about the job itself that is in flight: at most one at a time. */
enum rh_carry_stage { RH_STAGE_IDLE, RH_STAGE_LEDGER, RH_STAGE_STATUS, RH_STAGE_REFRESH };

/** The plan of one job and how far it has been carried out. */
struct rh_entry_carry {
	enum rh_carry_stage stage;
	uint64_t write_id;          /**< of the request of the stage */
	struct rh_plan *plan;       /**< that is being carried out; owned; NULL: none */
	bool statusless;            /**< a status write returned not found: a read finds out whether the job exists */
	uint64_t stalled_hash;      /**< of the last plan that was carried out, see there */
	int64_t held_since;         /**< likewise */
	struct rh_job_status *held; /**< likewise; owned; NULL when no status is held back, or memory is out */
};

/** @return whether no plan and no request about the job itself is in progress */
static inline bool rh_entry_carry_is_idle(const struct rh_entry_carry *carry)
{
	return carry->stage == RH_STAGE_IDLE && !carry->plan;
}

/** Carry out @p plan (taken; made by rh_alloc()). No other plan is in progress. */
void rh_carry_start(struct rh_entry *entry, struct rh_plan *plan);
/** Free @p plan and what it holds. NULL is allowed. */
void rh_carry_free_plan(struct rh_plan *plan);
/** Read the job again. */
void rh_carry_refresh(struct rh_entry *entry);
/**
 * Drop the plan, cancel the request about the job itself, and forget a status that is held back: the job is gone, or
 * has finished for good.
 */
void rh_carry_forget(struct rh_entry *entry);
/** The job was deleted or replaced: forget the message of the condition Stalled. */
void rh_carry_forget_message(struct rh_entry *entry);
/**
 * @return a merge patch that changes @p from into @p to, {} when they are equal; owned by the caller; NULL when memory
 * is out
 */
struct rh_json *rh_carry_diff(const struct rh_json *from, const struct rh_json *to);
/**
 * @param before the status as the store has it, @param status as it is to be
 * @return the merge patch of the job, {} when they are equal; owned by the caller; NULL when memory is out
 */
struct rh_json *rh_carry_status_patch(const struct rh_json *before, const struct rh_job_status *status);
/** Write the status of a job. @param patch see rh_carry_status_patch(); taken. @return 0 or RH_ENOMEM */
int rh_carry_write_status(struct rh_entry *entry, struct rh_json *patch);

#endif
