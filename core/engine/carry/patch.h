/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file engine/carry/patch.h
 * @brief Merge patches of a job and its status; for core/engine/carry.
 */
#ifndef RH_ENGINE_CARRY_PATCH_H
#define RH_ENGINE_CARRY_PATCH_H

#include "base/json.h"
#include "engine/ledger.h"
#include "job/status.h"

/**
 * @return a merge patch that changes @p from into @p to, {} when they are equal; owned by the caller; NULL when memory
 * is out
 */
struct rh_json *rh_patch_diff(const struct rh_json *from, const struct rh_json *to);
/**
 * @param before the status as the store has it, @param status as it is to be
 * @return the merge patch of the job, {} when they are equal; owned by the caller; NULL when memory is out
 */
struct rh_json *rh_patch_status(const struct rh_json *before, const struct rh_job_status *status);
/**
 * @param version that the job is of, to be written, too; NULL: it is not
 * @return the merge patch of the job that writes its ledger; owned by the caller; NULL when memory is out
 */
struct rh_json *rh_patch_ledger(const struct rh_ledger *ledger, const struct rh_job *job, const char *version);

#endif
