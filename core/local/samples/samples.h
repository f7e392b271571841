/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file local/samples/samples.h
 * @brief What the replicas of a run used over time: a file that is appended to while the run goes on.
 *
 * A line is a JSON object. {"replica": INDEX, "job": LOGS, "name": "worker-1"} gives a replica the next index, from 0
 * on, when it is first seen. {"t": END, "d": TIME, "u": [[INDEX, PROCESSES, CPU, MEMORY, READ, WRITTEN], ...]} is what
 * the replicas that ran used in the TIME milliseconds until END milliseconds after the start: thousandths of a
 * processor on average, KiB at most, and bytes a second from and to disks on average. A line that was cut has no
 * newline and is left out.
 *
 * The file is bounded: when it has grown by RH_SAMPLES_ROOM, the time between two lines is doubled. So it grows with
 * the logarithm of the run's time alone.
 */
#ifndef RH_LOCAL_SAMPLES_SAMPLES_H
#define RH_LOCAL_SAMPLES_SAMPLES_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/mem.h"
#include "local/run.h"

/** Bytes after which the time between two lines is doubled. */
#define RH_SAMPLES_ROOM (256 * 1024)

/** Opaque writer. */
struct rh_samples;

/** @param path of the file, which is made by the first sample. @param start of the run, monotonic microseconds
 * @return owned by the caller; NULL: out of memory */
struct rh_samples *rh_samples_new(const char *path, int64_t start) __attribute__((warn_unused_result));
/** Free @p samples. NULL is ignored. */
void rh_samples_free(struct rh_samples *samples);
/**
 * Take what the replicas used since the last sample, and write a line if it is time for one.
 * @param now monotonic microseconds
 * @return 0; RH_EIO with errno: nothing, or a part of a line, was written; or RH_ENOMEM
 */
int rh_samples_add(struct rh_samples *samples, const struct rh_run_load *load, int64_t now);
/** @return time from one line to the next, microseconds */
int64_t rh_samples_step(const struct rh_samples *samples);

/** What one replica used for a while. */
struct rh_samples_point {
	int64_t from;   /**< milliseconds after the start of the run */
	int64_t to;     /**< likewise */
	double cpu;     /**< processors, on average */
	double memory;  /**< resident, bytes; the most */
	double read;    /**< from disks, bytes a second, on average */
	double written; /**< to disks, likewise */
};

/** The points of one replica. Strings are owned. */
struct rh_samples_series {
	char *job;                       /**< name of its folder of logs */
	char *name;                      /**< "worker-1" */
	struct rh_samples_point *points; /**< ascending; owned */
	size_t count;
	double cpu_most;    /**< of all lines of the file, not of the points alone */
	double memory_most; /**< likewise */
};

/** A file of samples. All zero is empty. */
struct rh_samples_all {
	struct rh_samples_series *series; /**< by index; owned */
	size_t count;
};

/**
 * Read a file of samples. One that is missing has none; what is cut or damaged is left out. Blocks for the file.
 * @param points that all replicas may have together; of more, neighbours are joined
 * @param[out] ret_all owned by the caller, also after a failure
 * @return 0 or RH_ENOMEM
 */
int rh_samples_read(const char *path, size_t points, struct rh_samples_all *ret_all);
/** @return the series of a replica, borrowed; NULL: it has none */
const struct rh_samples_series *rh_samples_find(const struct rh_samples_all *all, const char *job, const char *name);
/** Free what @p all has. */
void rh_samples_all_deinit(struct rh_samples_all *all);

/** Samples that are freed when they go out of scope. */
#define rh_auto_samples_all __attribute__((cleanup(rh_samples_all_deinit))) struct rh_samples_all

#endif
