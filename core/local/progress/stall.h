/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file local/progress/stall.h
 * @brief Notices that ranks of a job wait because one of them does not come, by the traces of rh_comm: who that is, and
 * to which operation it did not come. Others may go on meanwhile.
 */
#ifndef RH_LOCAL_PROGRESS_STALL_H
#define RH_LOCAL_PROGRESS_STALL_H

#include <stdbool.h>
#include <stdint.h>

#include <sys/types.h>

#include "base/str.h"
#include "local/progress/counters.h"

/** How long a rank waits and posts nothing before that is a stall, microseconds. Where ranks have waited longer for
 * each other and went on, a stall is three times as long. */
#define RH_STALL_LEAST (INT64_C(10) * 1000000)

/** What a look has found. */
enum rh_stall_change {
	RH_STALL_SAME,
	RH_STALL_BEGUN, /**< `text` says who is to blame; once for each stall */
	RH_STALL_ENDED  /**< who waited, or is to blame, has posted an operation since */
};

/** A rank, as the last look found it. Moments are monotonic microseconds. */
struct rh_stall_rank {
	struct rh_counter counter;
	int64_t since; /**< since when it has posted nothing */
};

/** A job's ranks. All zero: nothing is known of them. */
struct rh_stall {
	struct rh_stall_rank *ranks; /**< by rank; owned */
	size_t count;
	int64_t looked;     /**< the last look */
	int64_t due;        /**< traces are not read before */
	int64_t learned;    /**< how long a stall was, in microseconds, that ended well */
	bool on;            /**< some stand still */
	int64_t began;      /**< since when, */
	int64_t noticed;    /**< and when that was noticed */
	int32_t rank;       /**< who is to blame */
	bool stood;         /**< it did nothing else, either */
	int32_t waits;      /**< a rank that waits because of it */
	pid_t process;      /**< of the rank to blame; 0: it has left */
	struct rh_str text; /**< owned */
};

/**
 * Read the traces in a folder. Blocks for files. Reads their heads alone while all ranks post operations.
 * @param now monotonic microseconds. @param wall wall-clock ones
 */
enum rh_stall_change rh_stall_look(struct rh_stall *stall, const char *folder, int64_t now, int64_t wall);
/** Free what it holds. */
void rh_stall_deinit(struct rh_stall *stall);

#endif
