/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/bench/trace/text.h
 * @brief Sentences about operations and findings.
 */
#ifndef RH_COMM_BENCH_TRACE_TEXT_H
#define RH_COMM_BENCH_TRACE_TEXT_H

#include "comm/bench/trace/find.h"

/** Most ranks in one sentence. */
#define RH_TRACE_RANKS_MOST 16

/** "all-reduce of 4 f32, sum". @return @p text */
const char *rh_trace_op_text(const struct rh_trace_op *op, char *text, size_t room);
/** One sentence about a finding. @return @p text */
const char *rh_trace_finding_text(const struct rh_trace_finding *finding, char *text, size_t room);

#endif
