/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/bench/trace/pace.h
 * @brief Finds the rank that comes last over the operations of traces, as rank 0 does while they go on
 * (comm/core/trace/pace.h). Pure.
 */
#ifndef RH_COMM_BENCH_TRACE_PACE_H
#define RH_COMM_BENCH_TRACE_PACE_H

#include "comm/bench/trace/file.h"
#include "comm/core/trace/pace.h"

/**
 * Judge the collectives of the world that are in all traces, if all ranks have one.
 * @param ranks of one world, each once, by rank. @param[out] ret_pace late: an index of @p ranks. @return 0 or
 * RH_COMM_ENOMEM
 */
int32_t rh_trace_pace(const struct rh_trace_rank *ranks, size_t count, struct rh_comm_pace *ret_pace);

#endif
