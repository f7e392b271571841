/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file local/progress/stall.h
 * @brief Notices that the ranks of a job stand still because one of them does not come, by the traces of rh_comm: who
 * that is, and to which operation it did not come.
 */
#ifndef RH_LOCAL_PROGRESS_STALL_H
#define RH_LOCAL_PROGRESS_STALL_H

#include <stdbool.h>
#include <stdint.h>

#include <sys/types.h>

#include "base/str.h"

/** How long no rank posts an operation, and one waits, before that is a stall, microseconds. Where ranks have waited
 * longer for each other and went on, a stall is three times as long. */
#define RH_STALL_LEAST (INT64_C(10) * 1000000)

/** What a look has found. */
enum rh_stall_change {
	RH_STALL_SAME,
	RH_STALL_BEGUN, /**< `text` says who did not come; once for each stall */
	RH_STALL_ENDED  /**< a rank has posted an operation since */
};

/** A job's ranks. All zero: nothing is known of them. */
struct rh_stall {
	uint64_t posted;    /**< operations of all ranks together */
	int64_t since;      /**< monotonic microseconds: since when it is that */
	int64_t due;        /**< likewise: traces are not read before */
	bool on;            /**< they stand still */
	int32_t rank;       /**< who did not come */
	pid_t process;      /**< its process; 0: not known */
	struct rh_str text; /**< owned */
};

/**
 * Read the traces in a folder. Blocks for files. Reads their heads alone while operations are posted.
 * @param now monotonic microseconds. @param wall wall-clock ones
 */
enum rh_stall_change rh_stall_look(struct rh_stall *stall, const char *folder, int64_t now, int64_t wall);
/** Free what it holds. */
void rh_stall_deinit(struct rh_stall *stall);

#endif
