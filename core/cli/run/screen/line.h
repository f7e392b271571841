/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file cli/run/screen/line.h
 * @brief How a line of a replica's output is shown as text: by `run`, `logs` and `attach` alike.
 */
#ifndef RH_CLI_RUN_SCREEN_LINE_H
#define RH_CLI_RUN_SCREEN_LINE_H

#include <stdbool.h>

#include "base/json.h"
#include "base/str.h"
#include "local/keep/output.h"

/** How lines are shown. Borrowed. */
struct rh_line_style {
	bool prefix;   /**< each line begins with its replica */
	bool multiple; /**< of several jobs: the replica has its job's name */
	bool times;    /**< each line has its time */
	bool colour;   /**< replicas have colours */
	bool terminal; /**< of a line that was written over, the last state is shown, and nothing that clears the screen */
	/** Array of {"logs": name of the job in lines, "containers": rh_rows_containers()}: a container is named that is
	 * not the only one of its pod; NULL: none is named */
	const struct rh_json *jobs;
};

/** Append "job/worker-1/tensorboard", as much of it as @p style has. */
void rh_line_append_name(const struct rh_line_style *style, const struct rh_output_line *line, struct rh_str *out);
/** @return whether @p word means a replica (rh_output_is_replica()) that has several containers by @p jobs, which are
 * as in struct rh_line_style */
bool rh_line_has_several(const struct rh_json *jobs, const char *word);
/** @return the escape sequence for the colour of a replica; static storage */
const char *rh_line_colour(const char *replica);
/**
 * Find what a terminal would show of a text with carriage returns: what is behind the last one that has something
 * behind it. @param[in,out] length of the text, then of what is returned. @return borrowed from @p text
 */
const char *rh_line_last_state(const char *text, size_t *length);
/** Print the line on standard output. */
void rh_line_print(const struct rh_line_style *style, const struct rh_output_line *line);

#endif
