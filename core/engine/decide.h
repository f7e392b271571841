/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file engine/decide.h
 * @brief The rules of the engine as one pure function: no clock, no I/O, no globals.
 */
#ifndef RH_ENGINE_DECIDE_H
#define RH_ENGINE_DECIDE_H

#include "engine/plan.h"
#include "engine/world.h"

/**
 * Decide about one job. The same world always gives the same plan. Carrying out the plan and deciding again converges:
 * after finitely many rounds the plan is empty.
 * @param[out] ret_plan written on success only; rh_plan_deinit() it
 * @return 0, RH_ENOMEM, or RH_EPLUGIN / RH_EINVAL with the plugin's message (the caller emits it as an Event
 * of the job and retries with back-off)
 */
int rh_decide(const struct rh_world *world, struct rh_plan *ret_plan, struct rh_error *err);

#endif
