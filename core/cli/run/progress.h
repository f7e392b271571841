/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file cli/run/progress.h
 * @brief How far a training is, read from what it writes: progress bars of tqdm and Keras, and lines such as "step
 * 12/100" or "Epoch [3/10], Step [100/600]".
 */
#ifndef RH_CLI_RUN_PROGRESS_H
#define RH_CLI_RUN_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "base/str.h"

/** Room for a count: "28.6M/95.4M". */
#define RH_PROGRESS_COUNT_SIZE 32

/** One count. */
struct rh_progress_part {
	char count[RH_PROGRESS_COUNT_SIZE]; /**< "37/100": digits, points, a slash and unit prefixes alone; "": none */
	double share;                       /**< of the whole, 0 to 1 */
	int64_t left;                       /**< seconds until the whole is done, as the program writes; -1: unknown */
};

/** What is known of one replica. All zero is nothing. */
struct rh_progress {
	struct rh_progress_part epoch; /**< its `left` is that of a bar that counts epochs */
	struct rh_progress_part step;  /**< of the present epoch; also batches and bytes */
};

/** A quick look. @return false: the line has no progress. Most lines have none, and there may be a million a second. */
bool rh_progress_is_likely(const char *text, size_t length);
/**
 * Read one line, or one state of a line that is written over. What it has replaces what was known; a new epoch without
 * a step removes the step. @param text any bytes, @p length of them; the start of long lines is read alone
 * @return whether it has any progress
 */
bool rh_progress_read(struct rh_progress *progress, const char *text, size_t length);
/** @return whether @p a is less far than @p b: by its epoch, then by its step */
bool rh_progress_is_behind(const struct rh_progress *a, const struct rh_progress *b);
/** Append "epoch 3/10  step 37/100  17s left", as much as there is; nothing but ASCII that a terminal prints. */
void rh_progress_append(const struct rh_progress *progress, struct rh_str *out);
/**
 * Append what a replica reported, "45%  1:20 left  loss 0.31", as much as there is; a loss that is not a short number
 * is left out. Nothing but ASCII that a terminal prints. @param status as rh_report_read() returns it; NULL: nothing
 */
void rh_progress_append_report(const struct rh_json *status, struct rh_str *out);

#endif
