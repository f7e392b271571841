/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file engine/carry/job/cache.h
 * @brief The latest known version of each job; for core/engine/carry.
 *
 * The result of an own write and a watch event are the same kind of input: the newer version wins.
 */
#ifndef RH_ENGINE_CARRY_JOB_CACHE_H
#define RH_ENGINE_CARRY_JOB_CACHE_H

#include "base/json.h"

struct rh_entry;

/**
 * Store a version of the job, unless a newer one is known. @param object of the job; borrowed
 * @return 1 when it was stored, 0 when it is not newer, or RH_ENOMEM
 */
int rh_job_cache_store(struct rh_entry *entry, const struct rh_json *object);
/** The job was deleted or replaced: drop all that belongs to its UID and abandon its requests. */
void rh_job_cache_forget(struct rh_entry *entry);
/** The job has finished for good: keep only what a later change of it needs. */
void rh_job_cache_forget_finished(struct rh_entry *entry);

#endif
