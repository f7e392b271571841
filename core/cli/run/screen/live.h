/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file cli/run/screen/live.h
 * @brief The last rows of the terminal, which are written again and again: lines of replicas that have no end yet, and
 * the status line.
 */
#ifndef RH_CLI_RUN_SCREEN_LIVE_H
#define RH_CLI_RUN_SCREEN_LIVE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"
#include "cli/run/screen/line.h"

/** The start of a line. */
struct rh_live_part {
	char *name;         /**< of its replica and container: one part for each; owned */
	const char *colour; /**< of the name; static storage */
	struct rh_str text; /**< what the terminal shows of it */
};

/** The rows. All zero is none. */
struct rh_live {
	bool on;              /**< both streams are terminals; else nothing is ever shown */
	size_t rows;          /**< on the screen now */
	struct rh_str status; /**< "": no status line */
	struct rh_live_part *parts;
	size_t count;
};

/** Free what @p live has. */
void rh_live_deinit(struct rh_live *live);
/** @return the columns that a row may take; one that wraps could not be wiped */
size_t rh_live_width(void);
/** Remove the rows from the screen: before anything else is printed. */
void rh_live_wipe(struct rh_live *live);
/** Put the rows on the screen, behind all that was printed. */
void rh_live_show(struct rh_live *live);
/** Print a line above the rows; a start of it is no longer shown. */
void rh_live_print(struct rh_live *live, const struct rh_line_style *style, const struct rh_output_line *line);
/** Show the start of a line, in place of an earlier one of its container. Does nothing when memory is out. */
void rh_live_start(struct rh_live *live, const struct rh_line_style *style, const struct rh_output_line *line);

#endif
