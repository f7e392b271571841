/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/bench/result/verdict.h
 * @brief Finds slow pairs and ranks in a result. Pure.
 */
#ifndef RH_COMM_BENCH_RESULT_VERDICT_H
#define RH_COMM_BENCH_RESULT_VERDICT_H

#include "comm/bench/result/result.h"

/** Kind of a finding. */
enum rh_bench_kind {
	RH_BENCH_SLOW_LATENCY,
	RH_BENCH_SLOW_BANDWIDTH,
	RH_BENCH_BELOW_LEAST, /**< --least */
	RH_BENCH_SLOW_RANK,   /**< most of its pairs are slow: it is the rank, not the pairs */
	RH_BENCH_SLOW_COPY    /**< its memory or processor is slow */
};

/** A pair or rank that is slower than comparable ones. */
struct rh_bench_finding {
	enum rh_bench_kind kind;
	int32_t from;
	int32_t to;    /**< -1 for a rank */
	double value;  /**< microseconds or GB/s, by kind; a rank's own ratio */
	double median; /**< of comparable ones: pairs on one host, or pairs of different hosts */
	double ratio;  /**< to the median; below 1 is worse, for latency as well */
};

/** All findings. */
struct rh_bench_verdict {
	struct rh_bench_finding *items; /**< owned */
	size_t count;
};

/** Find all that is slow. The same result gives the same verdict on every rank. @return 0 or RH_COMM_ENOMEM */
int32_t rh_bench_find_slow(const struct rh_bench_result *result, const struct rh_bench_options *options,
                           struct rh_bench_verdict *ret_verdict);
/** Free it and make it empty. */
void rh_bench_verdict_deinit(struct rh_bench_verdict *verdict);
/** @return one line about a finding, in @p text */
const char *rh_bench_finding_text(const struct rh_bench_finding *finding, char *text, size_t room);
/** @return "slow-bandwidth", …; static storage */
const char *rh_bench_kind_name(enum rh_bench_kind kind);

#endif
