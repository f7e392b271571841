/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file engine/carry/unfit.h
 * @brief Jobs that the store has and that cannot be read; for core/engine/carry alone.
 */
#ifndef RH_ENGINE_CARRY_UNFIT_H
#define RH_ENGINE_CARRY_UNFIT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/json.h"
#include "job/job.h"

struct rh_engine_entry;

/** A job that cannot be read. All are owned; without a message nothing is left to be done. */
struct rh_engine_unfit {
	char *message;          /**< for its condition and its Event; NULL: see above */
	char *version;          /**< its resourceVersion */
	struct rh_json *status; /**< as the store has it; {} for none */
	uint64_t reported;      /**< hash of the message of the last Event; 0: there was none */
};

/**
 * @param why the job @p object cannot be read: the parser's message
 * @return for rh_engine_set_unfit(); NULL when memory is out
 */
struct rh_engine_unfit *rh_engine_new_unfit(const struct rh_engine_entry *entry, const struct rh_json *object,
                                            const char *why);

/** Remember that the job cannot be read (@p unfit, taken), or that it can (NULL). */
void rh_engine_set_unfit(struct rh_engine_entry *entry, struct rh_engine_unfit *unfit);

/** @return whether the job cannot be read, and everything is done about it */
bool rh_engine_is_unfit_at_rest(const struct rh_engine_entry *entry);

/** Send the Event of a job that cannot be read, and, if it is new, write its condition Failed. */
void rh_engine_work_unfit(struct rh_engine_entry *entry);

/** The job has been read: take the condition that rh_engine_work_unfit() wrote out of its status. */
void rh_engine_forgive_unfit(const struct rh_kind *kind, struct rh_job_status *status);

#endif
