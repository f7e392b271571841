/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/core/collective/dispatch.h
 * @brief Starts requests: chooses who executes them.
 */
#ifndef RH_COMM_CORE_COLLECTIVE_DISPATCH_H
#define RH_COMM_CORE_COLLECTIVE_DISPATCH_H

#include "comm/core/request/request.h"

/** Start a request of any memory; see comm->start. @return 0 or RH_COMM_E* */
int32_t rh_comm_dispatch(struct rh_comm_request *request);

#endif
