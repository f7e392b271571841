/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file host/call/judge.h
 * @brief What counts mean where a plugin does not say, and the core's words for it.
 */
#ifndef RH_HOST_CALL_JUDGE_H
#define RH_HOST_CALL_JUDGE_H

#include "base/error.h"
#include "host/call/reply.h"
#include "host/operations.h"

/** Judge as struct rh_plugin says of a plugin without judge(). @return 0 or a negative status of rh_reply_verdict() */
int rh_judge_default(const struct rh_snapshot *snapshot, struct rh_reply *reply);
/** Give each verdict that has no message the core's (v1-behaviour E.3). @return 0 or RH_ENOMEM */
int rh_judge_messages(const struct rh_snapshot *snapshot, struct rh_judgement *judgement);

#endif
