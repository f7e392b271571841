/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file engine/carry/patch.h
 * @brief Merge patches of a job and its status; for core/engine/carry.
 */
#ifndef RH_ENGINE_CARRY_PATCH_H
#define RH_ENGINE_CARRY_PATCH_H

#include "base/json.h"
#include "engine/ledger.h"
#include "job/job.h"
#include "job/status/status.h"

/**
 * @return a merge patch that changes @p from into @p to, {} when they are equal; owned by the caller; NULL when memory
 * is out
 */
struct rh_json *rh_patch_diff(const struct rh_json *from, const struct rh_json *to);
/**
 * @param before the status as the store has it, @param status as it is to be; what the kind does not show of it is left
 * out
 * @return the merge patch of the job, {} when they are equal; owned by the caller; NULL when memory is out
 */
struct rh_json *rh_patch_status(const struct rh_kind *kind, const struct rh_json *before,
                                const struct rh_job_status *status);
/**
 * @param status whose parts that the kind does not show are written, too, where there are such; NULL: they are not
 * @param version that the job is of, likewise
 * @return the merge patch of the job that writes its ledger; owned by the caller; NULL when memory is out
 */
struct rh_json *rh_patch_ledger(const struct rh_ledger *ledger, const struct rh_job *job,
                                const struct rh_job_status *status, const char *version);

#endif
