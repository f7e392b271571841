/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/core/collective/counts.h
 * @brief Operations in which a rank may have other counts than its peers expect: all-to-all-v, gather-v, scatter-v.
 *
 * Ranks first exchange how much they have for each other. Where that is not what the other one expects, the operation
 * fails with RH_COMM_EINVAL and names the rank that has it; else the data follow.
 */
#ifndef RH_COMM_CORE_COLLECTIVE_COUNTS_H
#define RH_COMM_CORE_COLLECTIVE_COUNTS_H

#include "comm/core/request/request.h"

/** Opaque operation. */
struct rh_comm_counted;

/** Executes requests whose work is a struct rh_comm_counted. */
extern const struct rh_comm_executor rh_comm_counts_executor;

/**
 * Prepare one. The lock is held. @param id as rh_comm_request_record() returned it.
 * @return 0; RH_COMM_ENOTSUP: another operation, which needs no exchange of counts; RH_COMM_ENOMEM
 */
int32_t rh_comm_counted_new(struct rh_comm *comm, const struct rh_comm_op *op, uint64_t id,
                            struct rh_comm_counted **ret_counted);

#endif
