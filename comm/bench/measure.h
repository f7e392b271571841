/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/bench/measure.h
 * @brief The measurements. All of them are collective, block, and return 0 or RH_COMM_E*.
 */
#ifndef RH_COMM_BENCH_MEASURE_H
#define RH_COMM_BENCH_MEASURE_H

#include "comm/bench/result/result.h"
#include "roundhouse/comm.h"

/** pairs.c: latency and bandwidth of every pair, all pairs of a tournament round at once. */
int32_t rh_bench_pairs(struct rh_comm *comm, const struct rh_bench_options *options, struct rh_bench_result *result,
                       struct rh_comm_error *err);
/** pairs.c: measure pairs that seem slow once more, one at a time; the better number counts. */
int32_t rh_bench_pairs_again(struct rh_comm *comm, const struct rh_bench_options *options,
                             struct rh_bench_result *result, struct rh_comm_error *err);
/** ranks.c: memory bandwidth of every rank while all copy, and the time to join (@p ready milliseconds). */
int32_t rh_bench_ranks(struct rh_comm *comm, double ready, struct rh_bench_result *result, struct rh_comm_error *err);
/** reduce.c: all-reduces over sizes. A wrong sum is RH_COMM_EBACKEND. */
int32_t rh_bench_all_reduce(struct rh_comm *comm, const struct rh_bench_options *options,
                            struct rh_bench_result *result, struct rh_comm_error *err);
/** push_pull.c: a parameter server in rank 0, whose workers are all ranks. */
int32_t rh_bench_push_pull(struct rh_comm *comm, const struct rh_bench_options *options, struct rh_bench_result *result,
                           struct rh_comm_error *err);

#endif
