/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file engine/carry/job/invalid.h
 * @brief Jobs that the store has and that cannot be read; for core/engine/carry.
 *
 * Such a job was stored before its CRD forbade what it contains, or by a CRD that forbids less. A new job fails like
 * one that is not valid; a job that has begun only gets an Event. The condition Failed of such a job stands without
 * Created. That is how it is recognised and taken back when the job is corrected. A job that can be read and is not
 * valid is decide()'s.
 */
#ifndef RH_ENGINE_CARRY_JOB_INVALID_H
#define RH_ENGINE_CARRY_JOB_INVALID_H

#include <stdbool.h>
#include <stdint.h>

#include "base/json.h"
#include "job/job.h"

struct rh_entry;

/** A job that cannot be read. All are owned; without a message nothing is left to be done. */
struct rh_invalid_job {
	char *message;          /**< for its condition and its Event; NULL: see above */
	char *version;          /**< its resourceVersion */
	struct rh_json *object; /**< of it metadata.uid, the annotation of its status, and status: {} for none */
	uint64_t reported;      /**< hash of the message of the last Event; 0: there was none */
};

/**
 * @param why the job @p object cannot be read: the parser's message
 * @return for rh_invalid_set(); NULL when memory is out
 */
struct rh_invalid_job *rh_invalid_new(const struct rh_entry *entry, const struct rh_json *object, const char *why);

/** Remember that the job cannot be read (@p invalid, taken), or that it can (NULL). */
void rh_invalid_set(struct rh_entry *entry, struct rh_invalid_job *invalid);

/** @return whether the job cannot be read, and everything is done about it */
bool rh_invalid_is_reported(const struct rh_entry *entry);

/**
 * Send the Event of a job that cannot be read, and, if it is new, make the patch with its condition Failed.
 * @param[out] ret_patch to write; owned by the caller; NULL: nothing is left to be done
 * @return 0 or RH_ENOMEM
 */
int rh_invalid_settle(struct rh_entry *entry, struct rh_json **ret_patch);

/** The job has been read: take the condition that rh_invalid_settle() made out of its status. */
void rh_invalid_forgive(const struct rh_kind *kind, struct rh_job_status *status);

#endif
