/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/core/memory/cuda.h
 * @brief The second backend of a context: for operations on memory of CUDA devices.
 */
#ifndef RH_COMM_CORE_MEMORY_CUDA_H
#define RH_COMM_CORE_MEMORY_CUDA_H

#include "comm/core/request/request.h"

/** Connect the backend for CUDA memory, if one is loaded. Collective. @return 0 or RH_COMM_E* */
int32_t rh_comm_cuda_open(struct rh_comm *comm, struct rh_comm_error *err);
/** Close and unload it. */
void rh_comm_cuda_close(struct rh_comm *comm);
/** Start an operation on CUDA memory. The lock is held. @return 0, with request->work NULL when complete; RH_COMM_E* */
int32_t rh_comm_cuda_start(struct rh_comm_request *request);

#endif
