/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/ucx/connect.h
 * @brief Workers and endpoints.
 */
#ifndef RH_COMM_UCX_CONNECT_H
#define RH_COMM_UCX_CONNECT_H

#include "comm/ucx/context.h"

/**
 * Create the worker, and an endpoint to each rank. Blocks until the team's deadline at most.
 * @return 0 or RH_COMM_E*; ucx_disconnect() frees everything in both cases
 */
int32_t ucx_connect(struct ucx *ucx);
/** Close everything. Blocks for some seconds at most, so that no rank closes before its peers have received all. */
void ucx_disconnect(struct ucx *ucx);

#endif
