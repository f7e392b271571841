/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file engine/decide/replicas.h
 * @brief The state of each replica, the first fault, and restarts; for core/engine/decide.
 */
#ifndef RH_ENGINE_DECIDE_REPLICAS_H
#define RH_ENGINE_DECIDE_REPLICAS_H

#include "engine/decide/decision.h"

/** Fill the tables with pods and Services. @return 0, RH_EINVAL or RH_ENOMEM */
int rh_decide_tables(struct rh_decision *decision);
/** Find the state of each replica, and count. New successes go into the ledger, with their Events.
 * @return 0 or RH_ENOMEM */
int rh_decide_observe(struct rh_decision *decision);

/** Find the state of each replica of a job that does not run, and count; nothing is noted. */
void rh_decide_look(struct rh_decision *decision);

/** Find the fault that came first and keep it in the ledger. @return 0 or RH_ENOMEM */
int rh_decide_fault(struct rh_decision *decision);
/** Longest quote of a peer's or the culprit's output in a message, bytes. */
#define RH_FAULT_LINE_MAX 300
/**
 * @return whether the ledger's fault is one of the running attempt that is not over. Under restart scope replica it is
 * over when its replica runs again; the ledger keeps it as the last fault.
 */
bool rh_decide_fault_is_current(const struct rh_decision *decision);
/** @return whether @p pod, which may be NULL, shows how its replica failed; otherwise it was deleted or lost */
bool rh_decide_shows_failure(const struct rh_pod *pod);
/** @return whether the pod at @p place shows a failure that may be named as the first fault */
bool rh_decide_may_be_fault(const struct rh_decision *decision, size_t place);
/**
 * Before a fault ends the job, or all its replicas: plan to read the logs of failed containers whose output is not
 * known. The decision then wakes when no answer is awaited any more.
 * @return 1: the fault is to be judged later; 0; or RH_ENOMEM
 */
int rh_decide_logs(struct rh_decision *decision);
/**
 * Before backoffLimit ends the job, or when it does: where no replica has failed for good, the ledger's fault is the
 * last end of a container that was restarted in its place, or none. @return 0 or RH_ENOMEM
 */
int rh_decide_fault_at_backoff(struct rh_decision *decision);
/**
 * Before a fault ends the job, or all its replicas: where the fault looks like a consequence, wait for peers that are
 * about to end and may show the cause. The decision then wakes when the wait ends.
 * @param limit whether backoffLimit ends the job; rh_decide_fault_at_backoff() comes before
 * @return whether the fault is to be judged later
 */
bool rh_decide_fault_waits(struct rh_decision *decision, bool limit);
/**
 * Judge the ledger's fault: when it is the consequence of one replica that has not ended, or that succeeded too early,
 * that replica becomes the ledger's fault. @return 0 or RH_ENOMEM
 */
int rh_decide_fault_judge(struct rh_decision *decision);
/** Set the ledger's fault when a limit ends the job, or none. @return 0 or RH_ENOMEM */
int rh_decide_fault_of_limit(struct rh_decision *decision, enum rh_ledger_end end);
/**
 * Append " First fault: …" when the ledger has a fault of the running attempt.
 * @return how many bytes @p out has before it; 0: there is no fault
 */
size_t rh_decide_print_fault(const struct rh_decision *decision, struct rh_str *out);

/** Find out which restarts the plugin wants, and which of them begin in this pass. @return 0 or RH_ENOMEM */
int rh_decide_requested(struct rh_decision *decision);
/** @return whether the restarts of this pass would exceed backoffLimit */
bool rh_decide_over_budget(const struct rh_decision *decision);
/**
 * Do what the job asks for when a rank does not come: restart all of it, or note that the pod of that rank is evicted,
 * and plan that. The note goes when the rank comes. @return 0 or RH_ENOMEM
 */
int rh_decide_missing(struct rh_decision *decision);
/**
 * Start to stop the whole job, because of @p stalled alone: it counts for RH_CAUSE_STALLED.
 * @param why in one sentence, for users
 * @return 0 or RH_ENOMEM
 */
int rh_decide_restart_stalled(struct rh_decision *decision, size_t stalled, const char *why);
/** Count restarts and delete failed pods, or start to stop the whole job. @return 0 or RH_ENOMEM */
int rh_decide_restart(struct rh_decision *decision);
/** Continue to stop the whole job; start the next attempt once no pod is left. @return 0 or RH_ENOMEM */
int rh_decide_drain(struct rh_decision *decision);

#endif
