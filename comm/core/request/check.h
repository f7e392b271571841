/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/core/request/check.h
 * @brief Completes and checks the operations that callers pass.
 */
#ifndef RH_COMM_CORE_REQUEST_CHECK_H
#define RH_COMM_CORE_REQUEST_CHECK_H

#include "comm/core/context.h"

/** Fill in members that the caller left out. @return @p given when it is complete, or @p room */
const struct rh_comm_op *rh_comm_request_complete(const struct rh_comm *comm, const struct rh_comm_op *given,
                                                  struct rh_comm_op *room);
/** Check a complete operation. Takes the lock when it opens the CUDA runtime. @return 0 or RH_COMM_E* */
int32_t rh_comm_request_check(struct rh_comm *comm, const struct rh_comm_op *op, struct rh_comm_error *err);

#endif
