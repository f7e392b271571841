/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/bench/trace/pace.h
 * @brief Finds the rank that comes last over many operations. Pure.
 *
 * Who comes last waits least: a collective is done for all at about the same time. So no clocks are compared, only how
 * long each rank waited. A slow link makes all of them wait, and nobody is late.
 */
#ifndef RH_COMM_BENCH_TRACE_PACE_H
#define RH_COMM_BENCH_TRACE_PACE_H

#include <stddef.h>
#include <stdint.h>

#include "comm/bench/trace/file.h"

/** Fewest operations that are judged. */
#define RH_PACE_ROUNDS_LEAST 20
/** Who makes the others wait for this part of the time is late. */
#define RH_PACE_LATE 0.04

/** How long ranks waited. Any unit of time. */
struct rh_pace_rounds {
	int32_t world;         /**< ranks */
	size_t count;          /**< operations */
	const double *waits;   /**< by operation, then rank */
	const double *periods; /**< by operation: time since the one before it was done */
};

/** What was found. */
struct rh_pace {
	int32_t late;    /**< index of the rank that the others wait for; RH_COMM_NO_RANK: none */
	double share;    /**< part of the time for which they wait for it */
	double transfer; /**< part of the time in which all ranks wait: the data move */
	size_t rounds;   /**< operations that were compared */
};

/** Judge. @return 0 or RH_COMM_ENOMEM */
int32_t rh_pace_judge(const struct rh_pace_rounds *rounds, struct rh_pace *ret_pace);
/**
 * Judge the collectives of the world that are in all traces, if all ranks have one. Waits for other operations between
 * two of them count as well.
 * @param ranks of one world, each once, by rank. @return 0 or RH_COMM_ENOMEM
 */
int32_t rh_pace_of(const struct rh_trace_rank *ranks, size_t count, struct rh_pace *ret_pace);

#endif
