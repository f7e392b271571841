/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file engine/carry/job/parsed.h
 * @brief The parsed job of an entry, and its ledger; for core/engine/carry.
 */
#ifndef RH_ENGINE_CARRY_JOB_PARSED_H
#define RH_ENGINE_CARRY_JOB_PARSED_H

#include "base/error.h"
#include "base/json.h"

struct rh_entry;
struct rh_job;
struct rh_kind;
struct rh_ledger;

/**
 * Parse @p object (taken) and read its ledger. @return 0, RH_EINVAL (then @p err has the reason) or RH_ENOMEM
 */
int rh_parsed_read(const struct rh_kind *kind, struct rh_json *object, struct rh_job **ret_job,
                   struct rh_ledger *ret_ledger, struct rh_error *err);
/** Set the ledger (taken; may be NULL) and free the previous one. */
void rh_parsed_set_ledger(struct rh_entry *entry, struct rh_ledger *ledger);

#endif
