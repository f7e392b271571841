/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file engine/decide/admit.h
 * @brief Whether a job is valid, and what becomes of one that is not; for core/engine/decide.
 */
#ifndef RH_ENGINE_DECIDE_ADMIT_H
#define RH_ENGINE_DECIDE_ADMIT_H

#include "engine/decide/decision.h"

/** Set the condition Created, once. @return 1 when it changed, 0 or RH_ENOMEM */
int rh_decide_created(struct rh_decision *decision);
/** Check a job that has not ended. @return 1 when it is refused and the pass ends; 0 or a negative status */
int rh_decide_admit(struct rh_decision *decision);
/**
 * Refuse a job that is too large, or has too many replicas: a new job fails, a started one waits for a valid edit.
 * @return 0, RH_EINVAL when it has started, or RH_ENOMEM
 */
int rh_decide_refuse_size(struct rh_decision *decision);
/** @return the condition of a job that has failed because it was not valid, and so has never started; else NULL */
const struct rh_condition *rh_decide_refused(const struct rh_job *job);
/** @return whether the job is not too large, in memory and replicas */
bool rh_decide_is_small(const struct rh_job *job);
/**
 * A job that was refused begins when it is corrected: V1 does not store such a job, or, of an MPIJob, tries again for
 * ever (v1-behaviour A.6). Its status becomes that of a new job, and the next pass decides about it.
 * @param failed rh_decide_refused()
 * @return 1 when the status changes and the pass ends; 0 when the job stays failed; or a negative status
 */
int rh_decide_reconsider(struct rh_decision *decision, const struct rh_condition *failed);

#endif
