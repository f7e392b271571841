/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/core/memory/stage.h
 * @brief Operations on CUDA memory that go through pinned host memory, in chunks.
 */
#ifndef RH_COMM_CORE_MEMORY_STAGE_H
#define RH_COMM_CORE_MEMORY_STAGE_H

#include "comm/core/request/request.h"

/** Starts a request of host memory that is part of another one. The lock is held. @return 0 or RH_COMM_E* */
typedef int32_t rh_comm_start_fn(struct rh_comm_request *part);

/** Open the CUDA runtime for copies. The lock is held. @return 0; RH_COMM_ENOTSUP; RH_COMM_ENOMEM */
int32_t rh_comm_stage_open(struct rh_comm *comm, struct rh_comm_error *err);
/** Close it. */
void rh_comm_stage_close(struct rh_comm *comm);
/** Allocate what a request needs; nothing moves yet. The lock is held. @param start for its chunks. @return 0 or
 * RH_COMM_E* */
int32_t rh_comm_stage_begin(struct rh_comm_request *request, rh_comm_start_fn *start);
/** @return whether it waits for other ranks, not only for the device or an earlier request; true unless staged */
bool rh_comm_stage_waits(const struct rh_comm_request *request);

#endif
