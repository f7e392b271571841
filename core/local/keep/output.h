/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file local/keep/output.h
 * @brief The output of a kept run: the lines of all its logs in the order of their times, and what is added later.
 */
#ifndef RH_LOCAL_KEEP_OUTPUT_H
#define RH_LOCAL_KEEP_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/mem.h"
#include "local/keep/kept.h"

/** One line. Borrowed for the call. */
struct rh_output_line {
	const char *job;       /**< name of its folder of logs */
	const char *replica;   /**< "worker-1" */
	const char *container; /**< its name */
	int64_t at;            /**< when the run read it, wall-clock microseconds; 0: unknown */
	const char *text;      /**< without its newline; any bytes */
	size_t length;
};

/** What is asked for. Borrowed for the life of the output. */
struct rh_output_options {
	const char *job;       /**< name of a job; NULL: all */
	const char *replica;   /**< as rh_output_is_replica() reads it; NULL: all */
	const char *container; /**< NULL: all */
	int64_t since;         /**< leave out older lines, wall-clock microseconds; 0: none */
	int64_t tail;          /**< most lines of each container; < 0: all */
	void (*line)(void *arg, const struct rh_output_line *line);
	/** The start of a line that has had no end for RH_RUN_PARTIAL while it is followed; again when there is more of it;
	 * NULL: they are waited for */
	void (*partial)(void *arg, const struct rh_output_line *line);
	void *arg;
};

/** Opaque: the logs of a run. */
struct rh_output;

/** @return whether @p word means the replica @p replica ("worker-1") of a job: it is "worker-1" or "Worker-1", its type
 * ("worker"), or the name of its pod */
bool rh_output_is_replica(const char *word, const char *job, const char *replica);
/** @param kept borrowed for the life of the output. @param[out] ret_output owned by the caller. @return 0 or RH_ENOMEM
 */
int rh_output_new(const struct rh_kept *kept, const struct rh_output_options *options, struct rh_output **ret_output,
                  struct rh_error *err);
/** Free @p output. NULL is ignored. */
void rh_output_free(struct rh_output *output);
RH_DEFINE_CLEANUP(output);
/**
 * Look for logs that are new, and pass on what can be read of all. Blocks for the files.
 * @param last the run has ended: lines without a newline are passed on, too
 * @return number of logs, also those without a line; RH_ENOMEM
 */
int rh_output_read(struct rh_output *output, bool last);
/**
 * rh_output_read() until the run has ended, whenever a log grows. Blocks.
 * @return 0, RH_EIO (the folder cannot be watched) or RH_ENOMEM
 */
int rh_output_follow(struct rh_output *output, struct rh_error *err);

#endif
