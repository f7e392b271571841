/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/bench/result/result.h
 * @brief Results of the measurements. Pure.
 */
#ifndef RH_COMM_BENCH_RESULT_RESULT_H
#define RH_COMM_BENCH_RESULT_RESULT_H

#include "comm/bench/options.h"

/** An all-reduce of one size. */
struct rh_bench_size {
	size_t bytes;
	size_t rounds;
	double best;   /**< microseconds of one operation: the quickest round, of the slowest rank in it */
	double median; /**< likewise, of the median round */
};

/** Throughput of the parameter server. All zero: not measured. */
struct rh_bench_push_pull {
	double bandwidth; /**< GB/s one way, pushed and pulled at once, all workers together */
	double keys;      /**< keys of 64 B per second, likewise */
};

/** The results. Arrays are owned. */
struct rh_bench_result {
	int32_t world;
	bool crowded; /**< on some host, ranks outnumber processors */
	char backend[32];
	double *latency;   /**< [from * world + to]: microseconds one way, median; 0: not measured */
	double *bandwidth; /**< [from * world + to]: GB/s, median; 0: not measured */
	double *ready;     /**< of each rank: milliseconds from its start until it had joined the world */
	double *copy;      /**< of each rank: GB/s of memcpy() while all ranks copy */
	int32_t *hosts;    /**< of each rank: the number of its host; equal ones share memory */
	struct rh_bench_size sizes[RH_BENCH_SIZES];
	size_t size_count;
	struct rh_bench_push_pull push_pull;
};

/** Allocate the arrays. @return 0 or RH_COMM_ENOMEM */
int32_t rh_bench_result_init(struct rh_bench_result *result, int32_t world);
/** Free it and make it empty. */
void rh_bench_result_deinit(struct rh_bench_result *result);
/** @return whether two ranks share memory */
bool rh_bench_near(const struct rh_bench_result *result, int32_t a, int32_t b);
/**
 * @param[out] ret_median of the positive cells of @p matrix whose ranks are near each other, or are not
 * @return how many those are; 0: the median is 0
 */
size_t rh_bench_matrix_median(const struct rh_bench_result *result, const double *matrix, bool near,
                              double *ret_median);

#endif
