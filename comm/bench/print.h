/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/bench/print.h
 * @brief Prints results. The caller checks ferror().
 */
#ifndef RH_COMM_BENCH_PRINT_H
#define RH_COMM_BENCH_PRINT_H

#include <stdio.h>

#include "comm/bench/result/verdict.h"
#include "roundhouse/comm.h"

/** text.c: tables. */
void rh_bench_print_text(const struct rh_bench_result *result, const struct rh_bench_options *options,
                         const struct rh_bench_verdict *verdict, FILE *out);
/** json.c: one JSON object. */
void rh_bench_print_json(const struct rh_bench_result *result, const struct rh_bench_options *options,
                         const struct rh_bench_verdict *verdict, FILE *out);
/** json.c: a text of any bytes in quotes. */
void rh_bench_print_json_string(const char *text, FILE *out);
/** json.c: the JSON of a run that failed. */
void rh_bench_print_json_error(const struct rh_comm_error *err, int status, FILE *out);
/** svg.c: the bandwidth from each rank (row) to each other one (column) as a picture. */
void rh_bench_print_svg(const struct rh_bench_result *result, const struct rh_bench_verdict *verdict, FILE *out);

#endif
