/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file engine/carry/work.h
 * @brief One pass over a due job: gather its world, decide, and hand the plan on; for core/engine/carry.
 */
#ifndef RH_ENGINE_CARRY_WORK_H
#define RH_ENGINE_CARRY_WORK_H

struct rh_entry;

/** Decide about one due job, and start to carry the plan out. */
void rh_work_run(struct rh_entry *entry);

#endif
