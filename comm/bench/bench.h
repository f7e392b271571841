/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/bench/bench.h
 * @brief `roundhouse comm bench|check`: what the ranks of a job reach among themselves, and who is slower than the
 * others.
 *
 * Every rank runs the same program. Results are added up over all ranks, so that each of them knows all, comes to the
 * same verdict and ends with the same exit status; rank 0 alone prints. It uses roundhouse/comm.h and ps.h, nothing
 * else.
 */
#ifndef RH_COMM_BENCH_BENCH_H
#define RH_COMM_BENCH_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "roundhouse/comm.h"

/** @name Exit statuses @{ */
#define RH_BENCH_FINE 0
#define RH_BENCH_SLOW 1        /**< a pair or a rank is slower than its like */
#define RH_BENCH_UNREACHABLE 2 /**< a rank did not come, died, or cannot be talked to */
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
/** Bytes of one message of the bandwidth between two ranks. */
#define RH_BENCH_MESSAGE ((size_t)1 << 20)
/** Messages of such a burst. */
#define RH_BENCH_WINDOW 8

/** What the command line says. Texts are borrowed from it. */
struct rh_bench_options {
	bool check;                   /**< a short run that prints the verdict alone */
	bool help;                    /**< nothing but the usage is wanted */
	bool json;                    /**< print JSON instead of tables */
	int32_t local;                /**< ranks to start on this machine; 0: this process is one rank of a job */
	uint32_t parts;               /**< RH_BENCH_PAIRS … */
	const char *backend;          /**< NULL: what the environment says */
	const char *svg;              /**< file for the picture of the pairs; NULL: none */
	size_t sizes[RH_BENCH_SIZES]; /**< bytes of all-reduces, ascending */
	size_t size_count;
	int64_t time;    /**< microseconds that all measurements together should take */
	int64_t timeout; /**< microseconds for all ranks to come, and for one operation; 0: as the library has it */
	double ratio;    /**< what is below this part of the median is slow */
	double least;    /**< GB/s that every pair must reach; 0: any will do */
};

/** An all-reduce of one size. */
struct rh_bench_size {
	size_t bytes;
	size_t rounds;
	double best;   /**< microseconds of one operation: the quickest round, of the slowest rank in it */
	double median; /**< likewise, of the median round */
};

/** What the parameter server reached. All zero: it was not measured. */
struct rh_bench_push_pull {
	double bandwidth; /**< GB/s one way, pushed and pulled at once, all workers together */
	double keys;      /**< keys of 64 B per second, likewise */
};

/** What was measured. Arrays are owned. */
struct rh_bench_result {
	int32_t world;
	bool crowded; /**< on some host, ranks outnumber processors */
	char backend[32];
	double *latency;   /**< [from * world + to]: microseconds one way, median; 0: not measured */
	double *bandwidth; /**< [from * world + to]: GB/s, median; 0: not measured */
	double *ready;     /**< of each rank: milliseconds from its start until it was one of the world */
	double *copy;      /**< of each rank: GB/s of memcpy() while all ranks copy */
	int32_t *hosts;    /**< of each rank: the number of its host; equal ones share memory */
	struct rh_bench_size sizes[RH_BENCH_SIZES];
	size_t size_count;
	struct rh_bench_push_pull push_pull;
};

/** What a finding is about. */
enum rh_bench_kind {
	RH_BENCH_SLOW_LATENCY,
	RH_BENCH_SLOW_BANDWIDTH,
	RH_BENCH_BELOW_LEAST, /**< --least */
	RH_BENCH_SLOW_RANK,   /**< most of its pairs are slow: it is the rank, not the pairs */
	RH_BENCH_SLOW_COPY    /**< its memory or processor is */
};

/** Something that is slower than its like. */
struct rh_bench_finding {
	enum rh_bench_kind kind;
	int32_t from;
	int32_t to;    /**< -1 for a rank */
	double value;  /**< microseconds or GB/s, by kind; a rank's own ratio */
	double median; /**< of its like: pairs on one host, or pairs of different hosts */
	double ratio;  /**< to the median; below 1 is worse, for latency as well */
};

/** All that is slow. */
struct rh_bench_verdict {
	struct rh_bench_finding *items; /**< owned */
	size_t count;
};

/** @name options.c: pure @{ */
/**
 * Read the words after the program's name: "bench" or "check", then options.
 * @param[out] why one sentence when it fails. @return 0 or RH_COMM_EINVAL
 */
int32_t rh_bench_options_read(char *const *words, struct rh_bench_options *ret_options, char *why, size_t room);
/** Print the usage. */
void rh_bench_options_help(FILE *out);
/** @} */

/** @name numbers.c: pure @{ */
/** @return CLOCK_MONOTONIC in microseconds */
double rh_bench_now(void);
/** @return the median of @p count numbers, which are put in order; 0 when there is none */
double rh_bench_median(double *numbers, size_t count);
/** @return the partner of @p rank in @p round (0 … rh_bench_rounds() - 1) of a tournament; -1: it has a rest */
int32_t rh_bench_partner(int32_t world, int32_t round, int32_t rank);
/** @return rounds in which each rank meets every other once */
int32_t rh_bench_rounds(int32_t world);
/** @return GB/s (10^9) of @p bytes in @p time microseconds; 0 when there is no time */
double rh_bench_rate(double bytes, double time);
/** @return what algbw of an all-reduce is multiplied with to become busbw: 2 (n - 1) / n, as nccl-tests define it */
double rh_bench_bus_factor(int32_t world);
/** @return @p value, or the limit that it is beyond */
double rh_bench_clamp(double value, double least, double most);
/** @} */

/** @name result.c: pure @{ */
/** Make room. @return 0 or RH_COMM_ENOMEM */
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
/** @} */

/** @name verdict.c: pure @{ */
/** Find what is slow. The same result gives the same verdict on every rank. @return 0 or RH_COMM_ENOMEM */
int32_t rh_bench_find_slow(const struct rh_bench_result *result, const struct rh_bench_options *options,
                           struct rh_bench_verdict *ret_verdict);
/** Free it and make it empty. */
void rh_bench_verdict_deinit(struct rh_bench_verdict *verdict);
/** @return one line about a finding, in @p text */
const char *rh_bench_finding_text(const struct rh_bench_finding *finding, char *text, size_t room);
/** @return "slow-bandwidth", …; static storage */
const char *rh_bench_kind_name(enum rh_bench_kind kind);
/** @} */

/** @name What measures. All of them are collective, and return 0 or RH_COMM_E* @{ */
/** pairs.c: latency and bandwidth of every pair, all pairs of a tournament round at once. */
int32_t rh_bench_pairs(struct rh_comm *comm, const struct rh_bench_options *options, struct rh_bench_result *result,
                       struct rh_comm_error *err);
/** pairs.c: measure pairs that seem slow once more, one at a time; the better number counts. */
int32_t rh_bench_pairs_again(struct rh_comm *comm, const struct rh_bench_options *options,
                             struct rh_bench_result *result, struct rh_comm_error *err);
/** ranks.c: what every rank's memory gives while all copy, and how long it took to come (@p ready milliseconds). */
int32_t rh_bench_ranks(struct rh_comm *comm, double ready, struct rh_bench_result *result, struct rh_comm_error *err);
/** reduce.c: all-reduces over sizes. A wrong sum is RH_COMM_EBACKEND. */
int32_t rh_bench_all_reduce(struct rh_comm *comm, const struct rh_bench_options *options,
                            struct rh_bench_result *result, struct rh_comm_error *err);
/** push_pull.c: a parameter server in rank 0, whose workers are all ranks. */
int32_t rh_bench_push_pull(struct rh_comm *comm, const struct rh_bench_options *options, struct rh_bench_result *result,
                           struct rh_comm_error *err);
/** @} */

/** @name collect.c: small collectives that the measurements share @{ */
/** Wait for all ranks. @return 0 or RH_COMM_E* */
int32_t rh_bench_barrier(struct rh_comm *comm, struct rh_comm_error *err);
/** Add up, or take the highest, over all ranks. @param reduce RH_COMM_SUM or RH_COMM_MAX. @return 0 or RH_COMM_E* */
int32_t rh_bench_combine(struct rh_comm *comm, double *numbers, size_t count, int32_t reduce,
                         struct rh_comm_error *err);
/** Take @p bytes of @p data from rank 0. @return 0 or RH_COMM_E* */
int32_t rh_bench_share_out(struct rh_comm *comm, void *data, size_t bytes, struct rh_comm_error *err);
/** @} */

/** @name What prints. Errors are for the caller to find with ferror() @{ */
/** text.c */
void rh_bench_print_text(const struct rh_bench_result *result, const struct rh_bench_options *options,
                         const struct rh_bench_verdict *verdict, FILE *out);
/** json.c */
void rh_bench_print_json(const struct rh_bench_result *result, const struct rh_bench_options *options,
                         const struct rh_bench_verdict *verdict, FILE *out);
/** json.c: the JSON of a run that failed. */
void rh_bench_print_json_error(const struct rh_comm_error *err, int status, FILE *out);
/** svg.c: the bandwidth from each rank (row) to each other one (column) as a picture. */
void rh_bench_print_svg(const struct rh_bench_result *result, const struct rh_bench_verdict *verdict, FILE *out);
/** @} */

/** local.c: start options->local ranks on this machine and wait for them. @return an exit status */
int rh_bench_local(const struct rh_bench_options *options);
/** rank.c: be one rank: join, measure, print. @param quiet another rank says what fails. @return an exit status */
int rh_bench_rank(const struct rh_bench_options *options, bool quiet);

#endif
