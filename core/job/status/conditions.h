/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file job/status/conditions.h
 * @brief What a kind calls its conditions, and in which words it reports them (rh_kind.conditions).
 *
 * The core works with V1's types (job/status/status.h). Where a kind has names of its own, they are put in when a
 * status is read and written (job/status/shown.h), and when something is reported. What is reported has a word, the end
 * of V1's reason: "Failed" of "PyTorchJobFailed".
 */
#ifndef RH_JOB_STATUS_CONDITIONS_H
#define RH_JOB_STATUS_CONDITIONS_H

#include <stdbool.h>

#include "base/error.h"
#include "base/json.h"
#include "base/str.h"
#include "job/job.h"

/** @name Words that are not the type of their condition @{ */
#define RH_WORD_RESUMED "Resumed"          /**< Suspended becomes False */
#define RH_WORD_DEADLINE "Deadline"        /**< Failed by activeDeadlineSeconds */
#define RH_WORD_BACKOFF "Backoff"          /**< Failed by backoffLimit */
#define RH_WORD_INVALID "FailedValidation" /**< Failed because the job is not valid */
/** @} */

/** Which Event is written when something is reported. */
enum rh_report_event { RH_REPORT_USUAL, RH_REPORT_NONE, RH_REPORT_NORMAL, RH_REPORT_WARNING };

/** @return rh_kind.conditions as JSON text, borrowed; NULL: V1's */
const char *rh_conditions_text(const struct rh_kind *kind);
/**
 * Check a parsed rh_kind.conditions, whose members have the right types, for what they mean.
 * @return 0, RH_EPLUGIN (the message names the member) or RH_ENOMEM
 */
int rh_conditions_check(const struct rh_json *conditions, struct rh_error *err);
/**
 * @param conditions rh_kind.conditions, parsed; NULL: V1's
 * @return what the kind calls the condition @p type of the core, borrowed; NULL: it has no such condition
 */
const char *rh_conditions_shown(const struct rh_json *conditions, const char *type);
/** @return the condition of the core that the kind calls @p shown, borrowed; NULL: the kind has none of that name */
const char *rh_conditions_type(const struct rh_json *conditions, const char *shown);
/** @return the parsed text, owned by the caller; NULL: it has none, or memory is out */
struct rh_json *rh_conditions_parse(const struct rh_kind *kind);

/** @return the reason for @p word, owned by the caller; NULL: out of memory */
char *rh_conditions_reason(const struct rh_kind *kind, const char *word) __attribute__((warn_unused_result));
/**
 * Append the kind's message for @p word; check @p out's "failed".
 * @param findings what is wrong with a job that is not valid; NULL: nothing is
 * @return whether the kind has one; V1's is for the caller to write
 */
bool rh_conditions_message(const struct rh_job *job, const char *word, const char *findings, struct rh_str *out);
/** @return which Event is written for @p word */
enum rh_report_event rh_conditions_event(const struct rh_kind *kind, const char *word);
/** @return whether a new job that is not valid fails; else it gets an Event and waits for a change */
bool rh_conditions_invalid_fails(const struct rh_kind *kind);

#endif
