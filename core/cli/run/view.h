/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file cli/run/view.h
 * @brief Output of `roundhouse run`: logs with a prefix and a status line on a terminal, plain lines elsewhere, or a
 * JSON stream.
 */
#ifndef RH_CLI_RUN_VIEW_H
#define RH_CLI_RUN_VIEW_H

#include <stddef.h>

#include <stdbool.h>

#include "base/mem.h"
#include "cli/run/only.h"
#include "local/run.h"

/** Opaque text view: logs go to standard output, everything else to standard error. */
struct rh_text_view;

/** How a run is shown. Borrowed for the life of the view. */
struct rh_view_options {
	bool quiet;    /**< show only logs and failures */
	bool attached; /**< a replica has the terminal: no output is shown beside its own, and no status line */
	bool times;    /**< each line of output has its time */
	bool multiple; /**< several jobs run: prefixes include the job's name */
	const struct rh_only *only; /**< whose output is shown */
	const struct rh_json *jobs; /**< as in struct rh_line_style */
};

/** @return a view, owned by the caller; NULL: out of memory */
struct rh_text_view *rh_text_view_new(const struct rh_view_options *options) __attribute__((warn_unused_result));
/** Clear the status line and free the view. NULL is ignored. */
void rh_text_view_free(struct rh_text_view *view);
RH_DEFINE_CLEANUP(text_view);
/** @return hooks that show a run; their arg is @p view */
struct rh_run_hooks rh_text_view_hooks(struct rh_text_view *view);
/** Show the closing table and the verdict of a run that ended with @p result (an enum rh_run_result). */
void rh_text_view_finish(struct rh_text_view *view, int result);

/** State of a JSON stream for its last line. All zero but `only` is the initial state. Owned. */
struct rh_json_view {
	const struct rh_only *only; /**< whose output is shown; borrowed */
	struct rh_json *first;      /**< first fault of the first job that has one */
	struct rh_json *faults;     /**< first faults by name of the job */
	char *kept;                 /**< folder in which the run is kept; NULL: it is not */
};

/** @return hooks that write one JSON object a line on standard output; their arg is @p view */
struct rh_run_hooks rh_json_view_hooks(struct rh_json_view *view);
/** Write the last line: {"type":"result","result":…,"exitStatus":…,"kept":PATH,"firstFault":…,
 * "firstFaults":{JOB:…}}. */
void rh_json_view_finish(struct rh_json_view *view, int result);
/** Free what @p view owns. */
void rh_json_view_deinit(struct rh_json_view *view);

#endif
