/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file local/shim/output.h
 * @brief What a container writes: from a pipe into its log. For the shim alone.
 *
 * A log that cannot be written is told once and must not stop the container: its pipe is always emptied.
 */
#ifndef RH_LOCAL_SHIM_OUTPUT_H
#define RH_LOCAL_SHIM_OUTPUT_H

#include <stdbool.h>

#include "base/error.h"

/** One container's output. The texts are borrowed, the descriptors owned; -1 is closed. */
struct rh_shim_output {
	const char *container;
	const char *path;
	int pipe; /**< what is to be read */
	int log;
	bool failed; /**< a fault was told */
};

/**
 * Start anew: make a pipe and open the log. A log that cannot be opened is told in @p note.
 * @param[out] ret_end for the container, close-on-exec, owned by the caller
 * @param[out] note one sentence, or "" when there is nothing to tell
 * @return 0 or RH_EIO
 */
int rh_shim_output_open(struct rh_shim_output *output, int *ret_end, struct rh_error *note, struct rh_error *err);
/**
 * Move what the pipe holds into the log, as far as @p budget bytes go; never waits for the container.
 * @return how many bytes were read; 0: there is none now; -1: every writer is gone, the pipe is closed
 */
int rh_shim_output_move(struct rh_shim_output *output, int budget, struct rh_error *note);
/** Move all that is there and close. @return whether there was something */
bool rh_shim_output_close(struct rh_shim_output *output, struct rh_error *note);

#endif
