/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file engine/carry/carry.h
 * @brief Carrying out the plan of one job: ledger, children, status; for core/engine/carry.
 */
#ifndef RH_ENGINE_CARRY_CARRY_H
#define RH_ENGINE_CARRY_CARRY_H

#include "engine/plan.h"

struct rh_entry;

/** Carry out @p plan (taken; made by rh_alloc()). No other plan is in progress. */
void rh_carry_start(struct rh_entry *entry, struct rh_plan *plan);
/** Read the job again. */
void rh_carry_refresh(struct rh_entry *entry);
/** Write the status of a job. @param patch see rh_patch_status(); taken. @return 0 or RH_ENOMEM */
int rh_carry_write_status(struct rh_entry *entry, struct rh_json *patch);

#endif
