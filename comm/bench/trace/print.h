/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/bench/trace/print.h
 * @brief Prints the traces of ranks and what was found in them. The caller checks ferror().
 */
#ifndef RH_COMM_BENCH_TRACE_PRINT_H
#define RH_COMM_BENCH_TRACE_PRINT_H

#include <stdio.h>

#include "comm/bench/trace/find.h"

/** One sentence about a finding. @return @p text */
const char *rh_trace_finding_text(const struct rh_trace_finding *finding, char *text, size_t room);
/** A line for each rank, then the findings. */
void rh_trace_print_text(const struct rh_trace_rank *ranks, size_t count, const struct rh_trace_findings *findings,
                         FILE *out);
/** One JSON object, with all operations. */
void rh_trace_print_json(const struct rh_trace_rank *ranks, size_t count, const struct rh_trace_findings *findings,
                         FILE *out);

#endif
