/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file local/logs.h
 * @brief Reading of growing log files, line by line, and of their last lines.
 *
 * A file is open only during a read, so descriptors do not limit the number of replicas.
 */
#ifndef RH_LOCAL_LOGS_H
#define RH_LOCAL_LOGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

/** Longest line that is passed on in one piece, in bytes. */
#define RH_LOG_LINE_MAX (64 * 1024)
/** Suffix of each piece but the last of a longer line. */
#define RH_LOG_SPLIT " [the line goes on]"

/** Receives each line without its newline. @p text is borrowed and not NUL-terminated. */
typedef void rh_log_line_fn(void *arg, const char *text, size_t length);

/** A followed log. Initialize path and offset; all other members are zero. */
struct rh_log {
	char *path;            /**< owned */
	int64_t offset;        /**< bytes read so far */
	struct rh_str partial; /**< start of an incomplete line */
};

/** Free what @p log owns and make it empty. */
void rh_log_deinit(struct rh_log *log);
/** @return size of the file @p path in bytes; 0 when it does not exist */
int64_t rh_log_size(const char *path);
/**
 * Read the next part, about @p budget bytes at most. Blocks for the reads.
 * @return whether more may be readable now
 */
bool rh_log_read(struct rh_log *log, size_t budget, rh_log_line_fn *fn, void *arg);
/** Pass on a last line without a newline. */
void rh_log_flush(struct rh_log *log, rh_log_line_fn *fn, void *arg);
/**
 * Append the last lines of the file @p path after byte @p from and before byte @p to (RH_NEVER: its end): at most @p
 * limit bytes; complete lines unless the last one alone is longer; always UTF-8 (other bytes become U+FFFD); without
 * the last newline.
 */
void rh_log_tail(const char *path, int64_t from, int64_t to, size_t limit, struct rh_str *out);

#endif
