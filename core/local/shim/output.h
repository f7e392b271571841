/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file local/shim/output.h
 * @brief Copies the output of a container from a pipe to its log. For the shim alone.
 *
 * A log that cannot be written is reported once and does not stop the container: its pipe is always drained.
 */
#ifndef RH_LOCAL_SHIM_OUTPUT_H
#define RH_LOCAL_SHIM_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/** Output of one container. Strings are borrowed, descriptors owned; -1: closed. */
struct rh_shim_output {
	const char *container;
	const char *path;
	int pipe; /**< read end */
	int log;
	int64_t begin; /**< bytes of the log before this opening */
	int64_t end;   /**< likewise, and those written since */
	bool terminal; /**< in place of a pipe it is the pseudo-terminal of RH_SHIM_TERMINAL_FD */
	bool failed;   /**< a failure was reported */
};

/**
 * Initialize: create a pipe and open the log. A log that cannot be opened is reported in @p note.
 * @param[out] ret_end write end for the container, or the terminal, which it also reads from; close-on-exec, owned by
 * the caller
 * @param[out] note one sentence, or ""
 * @return 0 or RH_EIO
 */
int rh_shim_output_open(struct rh_shim_output *output, int *ret_end, struct rh_error *note, struct rh_error *err);
/**
 * Copy at most @p budget bytes from the pipe to the log; never waits for the container.
 * @return number of bytes read; 0: none now; -1: all writers closed the pipe, which is closed now
 */
int rh_shim_output_move(struct rh_shim_output *output, int budget, struct rh_error *note);
/** Copy all remaining bytes and close. @return whether there were any */
bool rh_shim_output_close(struct rh_shim_output *output, struct rh_error *note);

#endif
