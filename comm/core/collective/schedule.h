/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/core/collective/schedule.h
 * @brief Collectives made of point-to-point messages: a schedule of rounds (rounds.h), pipelined over blocks.
 *
 * The context's lock is held in all functions.
 */
#ifndef RH_COMM_CORE_COLLECTIVE_SCHEDULE_H
#define RH_COMM_CORE_COLLECTIVE_SCHEDULE_H

#include "comm/core/context.h"
#include "comm/core/request/request.h"

/** Opaque collective. */
struct rh_comm_schedule;

/** Executes requests whose work is a struct rh_comm_schedule. */
extern const struct rh_comm_executor rh_comm_schedule_executor;

/** Prepare one. @param id as rh_comm_request_record() returned it. @return 0 or RH_COMM_ENOMEM */
int32_t rh_comm_schedule_new(struct rh_comm *comm, const struct rh_comm_op *op, uint64_t id,
                             struct rh_comm_schedule **ret_schedule);
/** Make progress. @return 0: complete; RH_COMM_BUSY; RH_COMM_E* */
int32_t rh_comm_schedule_test(struct rh_comm_schedule *schedule);
/** Free it. After an error and an abort() of the backend it waits two seconds at most for its messages. NULL is
 * ignored. */
void rh_comm_schedule_free(struct rh_comm_schedule *schedule);

#endif
