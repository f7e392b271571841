/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/bench/run.h
 * @brief Runs the program.
 *
 * Every rank runs the same program. Results are combined over all ranks, so that each of them has all, comes to the
 * same verdict and ends with the same exit status; rank 0 alone prints. It uses roundhouse/comm.h and ps.h, nothing
 * else.
 */
#ifndef RH_COMM_BENCH_RUN_H
#define RH_COMM_BENCH_RUN_H

#include "comm/bench/options.h"

/** local.c: start options->local ranks on this machine and wait for them. @return an exit status */
int rh_bench_local(const struct rh_bench_options *options);
/** rank.c: be one rank: join, measure, print. @param quiet another rank reports errors. @return an exit status */
int rh_bench_rank(const struct rh_bench_options *options, bool quiet);

#endif
