/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/bench/collect.h
 * @brief Small collectives that the measurements share. They block.
 */
#ifndef RH_COMM_BENCH_COLLECT_H
#define RH_COMM_BENCH_COLLECT_H

#include <stddef.h>
#include <stdint.h>

#include "roundhouse/comm.h"

/** Wait for all ranks. @return 0 or RH_COMM_E* */
int32_t rh_bench_barrier(struct rh_comm *comm, struct rh_comm_error *err);
/** Add up, or take the highest, over all ranks. @param reduce RH_COMM_SUM or RH_COMM_MAX. @return 0 or RH_COMM_E* */
int32_t rh_bench_combine(struct rh_comm *comm, double *numbers, size_t count, int32_t reduce,
                         struct rh_comm_error *err);
/** Take @p bytes of @p data from rank 0. @return 0 or RH_COMM_E* */
int32_t rh_bench_share_out(struct rh_comm *comm, void *data, size_t bytes, struct rh_comm_error *err);

#endif
