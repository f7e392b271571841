/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file local/keep/output_file.h
 * @brief One log, read line by line. For core/local/keep alone.
 */
#ifndef RH_LOCAL_KEEP_OUTPUT_FILE_H
#define RH_LOCAL_KEEP_OUTPUT_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/str.h"
#include "local/keep/times.h"

/** One log and the line that is next. Strings are owned. */
struct rh_output_file {
	char *path;
	char *job;
	char *replica;
	char *container;
	FILE *stream;
	struct rh_times_marks marks;
	size_t near;        /**< of rh_times_at() */
	int64_t offset;     /**< of the line's first byte */
	struct rh_str line; /**< the line, or its start */
	size_t shown;       /**< bytes of the start that were passed on */
	bool ready;         /**< the line is complete */
	bool live;          /**< its end was reached: what comes now is new */
	int64_t at;         /**< when the line was written; 0: unknown */
};

/** Open the log of file->path and its times. @param tail most lines; < 0: all. @return 0 or RH_ENOMEM */
int rh_output_file_open(struct rh_output_file *file, const char *times, int64_t tail);
/** Read until a line is complete. @param last a line without a newline counts. @return whether one is */
bool rh_output_file_fill(struct rh_output_file *file, bool last);
/** Go on to the next line. */
void rh_output_file_next(struct rh_output_file *file);
/** Close the log and free what @p file has. */
void rh_output_file_close(struct rh_output_file *file);

#endif
