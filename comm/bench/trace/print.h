/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/bench/trace/print.h
 * @brief Prints the traces of ranks and what was found in them. The caller checks ferror().
 */
#ifndef RH_COMM_BENCH_TRACE_PRINT_H
#define RH_COMM_BENCH_TRACE_PRINT_H

#include <stdio.h>

#include "comm/bench/trace/find.h"
#include "comm/bench/trace/pace.h"
#include "comm/bench/trace/text.h"

/** What is printed. All borrowed. */
struct rh_trace_result {
	const struct rh_trace_rank *ranks; /**< by rank */
	size_t count;                      /**< of them */
	const struct rh_trace_findings *findings;
	const struct rh_comm_pace *pace;
};

/** A line for each rank, then the findings. */
void rh_trace_print_text(const struct rh_trace_result *result, FILE *out);
/** One JSON object, with all operations. */
void rh_trace_print_json(const struct rh_trace_result *result, FILE *out);

#endif
