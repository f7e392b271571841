/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file engine/carry/job/large.h
 * @brief Large jobs: partial copies, and putting off those that do not fit into the tree cache; for core/engine/carry.
 */
#ifndef RH_ENGINE_CARRY_JOB_LARGE_H
#define RH_ENGINE_CARRY_JOB_LARGE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/json.h"

struct rh_entry;

/**
 * @param weight of @p object, bytes. @return what is kept of a job: all of it, or identity and status when it is too
 * large to be run; owned by the caller; NULL when memory is out
 */
struct rh_json *rh_large_copy(const struct rh_json *object, size_t weight);
/** @return whether the job, of which nothing is in memory, is large and its tree does not fit now */
bool rh_large_must_defer(struct rh_entry *entry, const struct rh_json *object);
/** Keep nothing of the job: it is read when its tree fits. */
void rh_large_defer(struct rh_entry *entry);

#endif
