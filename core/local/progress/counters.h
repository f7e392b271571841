/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file local/progress/counters.h
 * @brief How far the ranks of a job are by the operations that rh_comm counts in their traces
 * (comm/core/trace/format.h).
 */
#ifndef RH_LOCAL_PROGRESS_COUNTERS_H
#define RH_LOCAL_PROGRESS_COUNTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** How long a rank may give no sign of life before it no longer counts, microseconds. rh_comm gives one each second. */
#define RH_COUNTERS_FRESH (INT64_C(10) * 1000000)
/** Most files of a folder that are read in one sample. */
#define RH_COUNTERS_MAX 4096

/** What the trace of one rank counts. */
struct rh_counter {
	int32_t rank;
	int64_t process; /**< its id */
	uint64_t posted; /**< operations so far */
	bool fresh;      /**< it gives signs of life */
	bool left;       /**< it has left the world, and was not killed */
	int32_t late;    /**< the rank that the others wait for, as rank 0 found; below 0: none, or this is another rank */
	double share;    /**< part of the time for which they do */
};

/** The rank of a job that the others wait for. */
struct rh_counter_late {
	int32_t rank;
	int64_t process; /**< its id */
	double share;    /**< part of the time for which they wait for it */
};

/** Counters of a folder of traces. All zero: there is no trace. */
struct rh_counters {
	size_t ranks;        /**< that count: those that give signs of life, or all if none does */
	uint64_t operations; /**< posted so far by the one that is behind the others */
};

/**
 * Read the heads of the traces in @p folder. Blocks for files, which may be another program's: what is no trace of this
 * version is ignored. @param now wall-clock microseconds
 */
void rh_counters_read(const char *folder, int64_t now, struct rh_counters *ret_counters);

/** Likewise, of each rank. @param items room for @p most. @return how many there are, in any order */
size_t rh_counters_list(const char *folder, int64_t now, struct rh_counter *items, size_t most);

/** Likewise. @return whether rank 0 lives and has found a rank that the others wait for; then *@p ret_late is set */
bool rh_counters_find_late(const char *folder, int64_t now, struct rh_counter_late *ret_late);

#endif
