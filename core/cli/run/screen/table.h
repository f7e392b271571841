/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file cli/run/screen/table.h
 * @brief The closing table of `roundhouse run`: a row for each replica.
 */
#ifndef RH_CLI_RUN_SCREEN_TABLE_H
#define RH_CLI_RUN_SCREEN_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "local/run.h"

/** One row. Strings are owned; NULL after a failed allocation. */
struct rh_table_row {
	char *replica; /**< "Worker-1", or "job/Worker-1" */
	char *outcome; /**< "Failed", or "Failed (container)" */
	int32_t exit_code;
	int32_t restarts;
	int64_t duration;
};

/** A table. All zero is empty. */
struct rh_table {
	struct rh_table_row *rows;
	size_t count;
};

/** Free what @p table owns. */
void rh_table_deinit(struct rh_table *table);
/** Add a row; does nothing when memory is out. @param multiple whether rows include the job's name */
void rh_table_add(struct rh_table *table, const struct rh_run_replica *replica, bool multiple);
/**
 * Print an empty line and the table on @p out; nothing without rows. @param width columns of the terminal: names that
 * are too long are shortened in the middle; 0: no limit
 */
void rh_table_print(const struct rh_table *table, size_t width, FILE *out);

#endif
