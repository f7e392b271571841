/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file local/keep/times.h
 * @brief When each part of a log was written, beside the log, which stays as the container wrote it.
 *
 * A file of times has lines "OFFSET TIME": what stands in the log from byte OFFSET on was read at TIME, wall-clock
 * microseconds. Parts that come within 10 ms share a line.
 */
#ifndef RH_LOCAL_KEEP_TIMES_H
#define RH_LOCAL_KEEP_TIMES_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/mem.h"

/** Opaque writer of the times of all logs of a run. */
struct rh_times;

/** @param folder copied; its content is FOLDER/JOB/REPLICA/CONTAINER. @return owned by the caller; NULL: out of memory
 */
struct rh_times *rh_times_new(const char *folder) __attribute__((warn_unused_result));
/** Free @p times. NULL is ignored. */
void rh_times_free(struct rh_times *times);
/** Note that a log has more bytes from byte @p from on, now. @return 0; RH_EIO with errno; or RH_ENOMEM */
int rh_times_add(struct rh_times *times, const char *job, const char *replica, const char *container, int64_t from);

/** One line of a file of times. */
struct rh_times_mark {
	int64_t from; /**< byte of the log */
	int64_t at;   /**< wall-clock microseconds */
};
/** All lines of a file of times, ascending. All zero is none. */
struct rh_times_marks {
	struct rh_times_mark *items; /**< owned */
	size_t count;
};

/** Read a file of times; one that is missing has no lines, and what is cut or damaged ends it. @return 0 or RH_ENOMEM
 */
int rh_times_read(const char *path, struct rh_times_marks *ret_marks);
/** @return when byte @p offset was written; 0: unknown. @param near index of the last answer, updated; starts at 0, and
 * offsets must not shrink */
int64_t rh_times_at(const struct rh_times_marks *marks, int64_t offset, size_t *near);
/** Free what @p marks has. */
void rh_times_marks_deinit(struct rh_times_marks *marks);

/** Opaque reader of a file of times, line by line: its memory does not grow with the file. */
struct rh_times_walk;

/** Open a file of times; one that is missing has no lines. @return owned by the caller; NULL: out of memory */
struct rh_times_walk *rh_times_walk_open(const char *path) __attribute__((warn_unused_result));
/** @return when byte @p offset was written, wall-clock microseconds; 0: unknown. Offsets must not shrink. Blocks for
 * the file */
int64_t rh_times_walk_at(struct rh_times_walk *walk, int64_t offset);
/** Close the file. NULL is ignored. */
void rh_times_walk_free(struct rh_times_walk *walk);
RH_DEFINE_CLEANUP(times_walk);

#endif
