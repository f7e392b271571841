/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/bench/result/numbers.h
 * @brief Arithmetic of the measurements. Pure, except for the clock.
 */
#ifndef RH_COMM_BENCH_RESULT_NUMBERS_H
#define RH_COMM_BENCH_RESULT_NUMBERS_H

#include <stddef.h>
#include <stdint.h>

/** @return CLOCK_MONOTONIC in microseconds */
double rh_bench_now(void);
/** @return the median of @p count numbers, which are put in order; 0 when there is none */
double rh_bench_median(double *numbers, size_t count);
/** @return the partner of @p rank in @p round (0 … rh_bench_rounds() - 1) of a tournament; -1: it pauses */
int32_t rh_bench_partner(int32_t world, int32_t round, int32_t rank);
/** @return rounds in which each rank meets every other once */
int32_t rh_bench_rounds(int32_t world);
/** @return GB/s (10^9) of @p bytes in @p time microseconds; 0 when @p time is 0 */
double rh_bench_rate(double bytes, double time);
/** @return what algbw of an all-reduce is multiplied with to become busbw: 2 (n - 1) / n, as nccl-tests define it */
double rh_bench_bus_factor(int32_t world);
/** @return @p value, or the limit that it is beyond */
double rh_bench_clamp(double value, double least, double most);

#endif
