/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file engine/carry/request/act.h
 * @brief Sending the actions of a plan, as far as the windows have room; for core/engine/carry.
 */
#ifndef RH_ENGINE_CARRY_REQUEST_ACT_H
#define RH_ENGINE_CARRY_REQUEST_ACT_H

#include "base/json.h"
#include "engine/plan.h"

struct rh_engine;
struct rh_entry;

/**
 * Send the request of one action of the plan. @return 0, also when the action is in flight already or backs off;
 * RH_EAGAIN when a window is full: the job is due again when there is room; RH_ENOMEM
 */
int rh_act(struct rh_entry *entry, const struct rh_action *action);
/** Check whether a further object exists. @return 0 or RH_ENOMEM */
int rh_act_check_object(struct rh_entry *entry, const struct rh_json *object);
/** @return whether queued creates may be sent now */
bool rh_act_may_admit(const struct rh_engine *engine);
/** Make the jobs due whose queued creates may be sent. */
void rh_act_admit(struct rh_engine *engine);

#endif
