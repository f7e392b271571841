/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file local/progress/counters.h
 * @brief How far the ranks of a job are by the operations that rh_comm counts in their traces
 * (comm/core/trace/format.h).
 */
#ifndef RH_LOCAL_PROGRESS_COUNTERS_H
#define RH_LOCAL_PROGRESS_COUNTERS_H

#include <stddef.h>
#include <stdint.h>

/** How long a rank may give no sign of life before it no longer counts, microseconds. rh_comm gives one each second. */
#define RH_COUNTERS_FRESH (INT64_C(10) * 1000000)
/** Most files of a folder that are read in one sample. */
#define RH_COUNTERS_MAX 4096

/** Counters of a folder of traces. All zero: there is no trace. */
struct rh_counters {
	size_t ranks;        /**< that count: those that give signs of life, or all if none does */
	uint64_t operations; /**< posted so far by the one that is behind the others */
	uint64_t total;      /**< posted so far by all together, also by those that give no sign of life */
};

/**
 * Read the traces in @p folder. Blocks for files, which may be another program's: what is no trace of this version is
 * ignored. @param now wall-clock microseconds
 */
void rh_counters_read(const char *folder, int64_t now, struct rh_counters *ret_counters);

#endif
