/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file engine/decide/phases.h
 * @brief How a job ends, and the phases in which it does not run: suspended, and finished; for core/engine/decide.
 */
#ifndef RH_ENGINE_DECIDE_PHASES_H
#define RH_ENGINE_DECIDE_PHASES_H

#include "engine/decide/decision.h"

/** A job that has finished: clean up, wait for its TTL. @return 0 or RH_ENOMEM */
int rh_decide_finished(struct rh_decision *decision);
/** The job succeeds. @return 0 or RH_ENOMEM */
int rh_decide_succeed(struct rh_decision *decision, const struct rh_verdict *verdict);
/** The job fails with @p message and the first fault in the condition. @return 0 or RH_ENOMEM */
int rh_decide_fail(struct rh_decision *decision, bool warning, const char *word, const char *message);
/** The job fails as its plugin judges, see rh_decide_fail(). @return 0 or RH_ENOMEM */
int rh_decide_fail_for(struct rh_decision *decision, const struct rh_verdict *verdict);
/** The job fails because of a limit: delete all pods. @return 0 or RH_ENOMEM */
int rh_decide_end(struct rh_decision *decision, enum rh_ledger_end end);
/** @return whether activeDeadlineSeconds has passed; if not, the decision wakes when it passes */
bool rh_decide_past_deadline(struct rh_decision *decision);

/** Suspend a running job. @return 0 or RH_ENOMEM */
int rh_decide_suspend(struct rh_decision *decision);
/** Keep a job suspended, or resume it once its pods are gone. @return 0 or RH_ENOMEM */
int rh_decide_suspended(struct rh_decision *decision);

#endif
