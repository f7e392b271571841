/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file engine/carry/child/desire.h
 * @brief Which further objects a job needs, and which of them exist; for core/engine/carry.
 */
#ifndef RH_ENGINE_CARRY_CHILD_DESIRE_H
#define RH_ENGINE_CARRY_CHILD_DESIRE_H

#include "base/error.h"
#include "engine/plan.h"

struct rh_entry;

/**
 * Find out which further objects the job needs, and which exist. @return 0; 1 while the check is not
 * complete; or a negative status
 */
int rh_desire(struct rh_entry *entry, struct rh_error *err);
/** Find out which further objects a finished job needs. @return 0 or a negative status */
int rh_desire_last(struct rh_entry *entry, struct rh_error *err);
/**
 * @return whether @p plan must not be carried out because it creates pods, or grants rights, based on an old check of
 * further objects. Then they are due to be checked again
 */
bool rh_desire_must_check(struct rh_entry *entry, const struct rh_plan *plan);

#endif
