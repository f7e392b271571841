/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/bench/trace/foreign/ras_json.h
 * @brief The JSON form of NCCL's RAS, and what both forms need; for ras.c alone.
 */
#ifndef RH_COMM_BENCH_TRACE_FOREIGN_RAS_JSON_H
#define RH_COMM_BENCH_TRACE_FOREIGN_RAS_JSON_H

#include "comm/bench/trace/foreign/ras.h"

/** @see rh_ras_read() */
int32_t rh_ras_read_json(const char *bytes, size_t length, struct rh_ras *ras, char *why, size_t room);
/** ras_result.c: @return a new finding; NULL: out of memory */
struct rh_ras_finding *rh_ras_add(struct rh_ras *result, enum rh_ras_kind kind, const char *group);
/** ras_result.c: note a rank, if there is room. */
void rh_ras_add_rank(struct rh_ras_finding *finding, int64_t rank);
/** ras_result.c: of the findings from @p first on, one for each count or status, keep those that are behind or unusual;
 * of statuses the first is the usual one. */
void rh_ras_settle(struct rh_ras *result, size_t first);

#endif
