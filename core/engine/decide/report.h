/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file engine/decide/report.h
 * @brief What a decision writes for users: conditions, Events and counts; for core/engine/decide.
 */
#ifndef RH_ENGINE_DECIDE_REPORT_H
#define RH_ENGINE_DECIDE_REPORT_H

#include "engine/decide/decision.h"

/** Set a condition; its reason is the kind's for @p word. @return 1 when it changed, 0 or RH_ENOMEM */
int rh_decide_condition(struct rh_decision *decision, const char *type, bool value, const char *word,
                        const char *message);
/**
 * Set a condition to True with the plugin's message; without a reason of its own that is the kind's for @p word.
 * @return 1 when it changed, 0 or RH_ENOMEM
 */
int rh_decide_conclude(struct rh_decision *decision, const char *type, const char *word,
                       const struct rh_verdict *verdict);
/** Emit an Event with the plugin's message, and the reason of rh_decide_conclude(). @return 0 or RH_ENOMEM */
int rh_decide_emit_verdict(struct rh_decision *decision, bool warning, const char *word,
                           const struct rh_verdict *verdict);
/** Emit an Event, unless the kind has none for @p word; its reason is the kind's. @return 0 or RH_ENOMEM */
int rh_decide_emit(struct rh_decision *decision, bool warning, const char *word, const char *message);
/**
 * @param usual V1's message (taken; NULL: out of memory)
 * @return the kind's message for @p word, or that; owned by the caller; NULL: out of memory
 */
char *rh_decide_words(const struct rh_decision *decision, const char *word, char *usual);
/** Write the counts into replicaStatuses. @return 0 or RH_ENOMEM */
int rh_decide_counts(struct rh_decision *decision);
/** Emit an Event with the exit code of the main container of the pod at @p place. @return 0 or RH_ENOMEM */
int rh_decide_emit_exit(struct rh_decision *decision, size_t place);

/** Start with the counts and the plugin's members of the status that is held back, as if it were written. @return 0 or
 * RH_ENOMEM */
int rh_decide_take_held(struct rh_decision *decision);
/** Take the members of status that the plugin has set. @return 0 or RH_ENOMEM */
int rh_decide_take_own(struct rh_decision *decision);
/** Plan to write what the kind does not show of a status that is written. @return 0 or RH_ENOMEM */
int rh_decide_write_hidden(struct rh_decision *decision);
/** Plan a status write if it differs, or a wake-up for a delayed one. @return 0 or RH_ENOMEM */
int rh_decide_write_status(struct rh_decision *decision);
/** Plan to read the log of rank 0, if that is due, or to do so later. @return 0 or RH_ENOMEM */
int rh_decide_watch_stalls(struct rh_decision *decision);
/** @return whether a rank is known not to come: the pod that says so is still there */
bool rh_decide_is_missing(const struct rh_decision *decision);
/** Append for users who waits for which rank, and why nothing is done about it. */
void rh_decide_print_missing(struct rh_decision *decision, struct rh_str *out);
/** Set the condition Stalled by what the store refuses, or else by a rank that others wait for. @return 0 or RH_ENOMEM
 */
int rh_decide_stalled(struct rh_decision *decision);

#endif
