/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/bench/options.h
 * @brief Command line of `roundhouse comm bench|check`. Pure.
 */
#ifndef RH_COMM_BENCH_OPTIONS_H
#define RH_COMM_BENCH_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "roundhouse/comm.h"

/** @name Exit statuses @{ */
#define RH_BENCH_FINE 0
#define RH_BENCH_SLOW 1        /**< a pair or a rank is slower than comparable ones */
#define RH_BENCH_UNREACHABLE 2 /**< a rank did not connect, died, or cannot be reached */
#define RH_BENCH_CONFIGURATION 3
/** @} */

/** @name What is measured, as bits (struct rh_bench_options.parts) @{ */
#define RH_BENCH_PAIRS UINT32_C(1)
#define RH_BENCH_ALL_REDUCE UINT32_C(2)
#define RH_BENCH_PUSH_PULL UINT32_C(4)
/** @} */

/** Most sizes of one run. */
#define RH_BENCH_SIZES 24
/** Most ranks of --local. */
#define RH_BENCH_LOCAL_MAX 256

/** The command line. Texts are borrowed from it. */
struct rh_bench_options {
	bool check;                   /**< a short run that prints the verdict alone */
	bool help;                    /**< print the usage only */
	bool json;                    /**< print JSON instead of tables */
	int32_t local;                /**< ranks to start on this machine; 0: this process is one rank of a job */
	uint32_t parts;               /**< RH_BENCH_PAIRS … */
	const char *backend;          /**< NULL: from the environment */
	const char *svg;              /**< file for the picture of the pairs; NULL: none */
	size_t sizes[RH_BENCH_SIZES]; /**< bytes of all-reduces, ascending */
	size_t size_count;
	int64_t time;    /**< microseconds that all measurements together should take */
	int64_t timeout; /**< microseconds for all ranks to connect, and for one operation; 0: the library's defaults */
	double ratio;    /**< a result below this fraction of the median is slow */
	double least;    /**< GB/s that every pair must reach; 0: no limit */
};

/**
 * Read the arguments after the program's name: "bench" or "check", then options.
 * @param[out] why one sentence when it fails. @return 0 or RH_COMM_EINVAL
 */
int32_t rh_bench_options_read(char *const *words, struct rh_bench_options *ret_options, char *why, size_t room);
/** Print the usage. */
void rh_bench_options_help(FILE *out);

#endif
