/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file kueue/patches.h
 * @brief Merge patches of jobs, and of the status of Workloads. Each is owned by the caller; NULL when memory is out.
 */
#ifndef RH_KUEUE_PATCHES_H
#define RH_KUEUE_PATCHES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/json.h"
#include "kueue/pods/part.h"
#include "roundhouse/plugin.h"

/**
 * @return the patch of a job of @p kind that suspends it, and removes its note
 * @param part gets the replicas again that its user wants
 */
struct rh_json *rh_kueue_patch_suspend(const struct rh_kind *kind, const struct rh_kueue_part *part);
/** @return the patch that has it run as @p note says, with @p replicas of @p part */
struct rh_json *rh_kueue_patch_resume(const struct rh_kind *kind, const struct rh_kueue_part *part, const char *note,
                                      int32_t replicas);
/** @return that of an evicted Workload that gives its quota back */
struct rh_json *rh_kueue_patch_release(const struct rh_json *workload, int64_t now);
/** @return that of a Workload whose job has ended; @p message may be NULL */
struct rh_json *rh_kueue_patch_finish(const struct rh_json *workload, bool success, const char *message, int64_t now);
/** @return that of a Workload whose pods are ready */
struct rh_json *rh_kueue_patch_report(const struct rh_json *workload, int64_t now);
/** @return that of a Workload whose replicas in @p succeeded (rh_kueue_reclaim_read()) need no quota any more */
struct rh_json *rh_kueue_patch_reclaim(const struct rh_json *succeeded);
/** @return that of a Workload without our finalizer */
struct rh_json *rh_kueue_patch_unlock(const struct rh_json *workload);

#endif
