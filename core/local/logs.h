/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file local/logs.h
 * @brief Log files that grow while they are read: line by line, and their last lines.
 *
 * A file is open only while it is read, so the number of replicas is not bounded by that of descriptors.
 */
#ifndef RH_LOCAL_LOGS_H
#define RH_LOCAL_LOGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

/** Longest line that is told in one piece, in bytes. */
#define RH_LOG_LINE_MAX (64 * 1024)
/** What follows each piece but the last of a longer one. */
#define RH_LOG_SPLIT " [the line goes on]"

/** Told each line, without its newline. @p text is borrowed and not zero-terminated. */
typedef void rh_log_line_fn(void *arg, const char *text, size_t length);

/** A log that is followed. All zero but for path and offset is the start. */
struct rh_log {
	char *path;            /**< owned */
	int64_t offset;        /**< bytes read so far */
	struct rh_str partial; /**< a line whose end has not come yet */
};

/** Free what @p log holds and make it empty. */
void rh_log_deinit(struct rh_log *log);
/** @return size of the file @p path in bytes; 0 when there is none */
int64_t rh_log_size(const char *path);
/**
 * Read on, at most about @p budget bytes. Blocks for the time of the reads.
 * @return whether there may be more to read now
 */
bool rh_log_read(struct rh_log *log, size_t budget, rh_log_line_fn *fn, void *arg);
/** Tell a last line that has no newline. */
void rh_log_flush(struct rh_log *log, rh_log_line_fn *fn, void *arg);
/**
 * Append the last lines of what @p path holds from byte @p from on: at most @p limit bytes, whole lines unless the last
 * alone is longer, always UTF-8 (other bytes become U+FFFD), without the last newline.
 */
void rh_log_tail(const char *path, int64_t from, size_t limit, struct rh_str *out);

#endif
