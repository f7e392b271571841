/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/core/select.h
 * @brief Selects the backends of a context, the same on all ranks. Collective; blocks until the context's deadline.
 */
#ifndef RH_COMM_CORE_SELECT_H
#define RH_COMM_CORE_SELECT_H

#include "comm/core/context.h"

/**
 * Select the backend for host memory.
 * @param requested a name, or "auto": the highest score that all ranks can use. @return 0 or RH_COMM_E*
 */
int32_t rh_comm_select(struct rh_comm *comm, const char *requested, struct rh_comm_module *ret_module,
                       struct rh_comm_error *err);
/**
 * Select the backend for CUDA memory.
 * @param requested as for rh_comm_select(); "nccl": it is required
 * @param[out] ret_module empty when there is none; comm->cuda.why then has the reason. @return 0 or RH_COMM_E*
 */
int32_t rh_comm_select_cuda(struct rh_comm *comm, const char *requested, struct rh_comm_module *ret_module,
                            struct rh_comm_error *err);

#endif
