/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file cli/commands/runs/grid.h
 * @brief A table of text: columns as wide as their longest cell, the last one cut at the edge of a terminal.
 */
#ifndef RH_CLI_COMMANDS_RUNS_GRID_H
#define RH_CLI_COMMANDS_RUNS_GRID_H

#include <stdbool.h>
#include <stddef.h>

/** Most columns. */
#define RH_GRID_COLUMNS 12

/** A table. Set `columns` and `cut`; all else zero is empty. */
struct rh_grid {
	size_t columns;
	bool cut;     /**< on a terminal that is too narrow, rows end at its edge; else they go on in the next line */
	char **cells; /**< row by row; owned */
	size_t count; /**< of cells */
};

/** Add a cell; @p text is copied. @return 0 or RH_ENOMEM */
int rh_grid_add(struct rh_grid *grid, const char *text);
/** Add a cell of formatted text. @return 0 or RH_ENOMEM */
int rh_grid_addf(struct rh_grid *grid, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/** Print it on standard output. Rows that are not complete are left out. */
void rh_grid_print(const struct rh_grid *grid);
/** Free what @p grid has. */
void rh_grid_deinit(struct rh_grid *grid);

/** A table that is freed when it goes out of scope. */
#define rh_auto_grid __attribute__((cleanup(rh_grid_deinit))) struct rh_grid

#endif
