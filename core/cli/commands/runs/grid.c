/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/commands/runs/grid.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/str.h"
#include "cli/run/screen/screen.h"

/* Spaces between two columns. */
#define GRID_GAP 2

static int grid_take(struct rh_grid *grid, char *cell)
{
	char **grown = cell ? rh_realloc_array(grid->cells, grid->count + 1, sizeof(*grown)) : NULL;

	if (!grown) {
		rh_free(cell);
		return RH_ENOMEM;
	}
	grown[grid->count++] = cell;
	grid->cells = grown;
	return 0;
}

int rh_grid_add(struct rh_grid *grid, const char *text)
{
	rh_auto_str line = {0};

	rh_str_append_line(&line, text, strlen(text), strlen(text));
	return grid_take(grid, rh_str_take(&line));
}

int rh_grid_addf(struct rh_grid *grid, const char *fmt, ...)
{
	va_list args;
	char *cell;

	va_start(args, fmt);
	cell = rh_vasprintf(fmt, args);
	va_end(args);
	return grid_take(grid, cell);
}

/* Characters of UTF-8, which is as near to columns as it has to be. */
static size_t grid_width(const char *text)
{
	size_t width = 0;

	for (; *text; text++)
		width += ((unsigned char)*text & 0xc0) != 0x80 ? 1 : 0;
	return width;
}

/* The last cell of a row, and the end of its line. @param room columns that are left on the terminal; 0: no limit */
static void grid_add_last(struct rh_str *line, const char *text, size_t room)
{
	size_t length = strlen(text);

	rh_str_append_line(line, text, length, room >= 8 && grid_width(text) > room ? room - 3 : length);
}

/* So many characters of a line. */
static size_t grid_cut(const char *text, size_t width)
{
	size_t at = 0;

	for (; text[at]; at++) {
		bool begins = ((unsigned char)text[at] & 0xc0) != 0x80;

		if (begins && width-- == 0)
			break;
	}
	return at;
}

static void grid_print_row(const struct rh_grid *grid, char *const *cells, const size_t *widths, size_t screen)
{
	rh_auto_str line = {0};
	size_t taken = 0;

	for (size_t i = 0; i + 1 < grid->columns; i++) {
		rh_str_appendf(&line, "%s%*s", cells[i], (int)(widths[i] + GRID_GAP - grid_width(cells[i])), "");
		taken += widths[i] + GRID_GAP;
	}
	grid_add_last(&line, cells[grid->columns - 1], screen > taken ? screen - taken : 0);
	if (grid->cut && screen > 0)
		printf("%.*s\n", (int)grid_cut(rh_str_text(&line), screen), rh_str_text(&line));
	else
		puts(rh_str_text(&line));
}

void rh_grid_print(const struct rh_grid *grid)
{
	size_t widths[RH_GRID_COLUMNS] = {0};
	size_t screen = rh_screen_width(STDOUT_FILENO);
	size_t rows = grid->count / grid->columns;

	for (size_t i = 0; i < rows * grid->columns; i++) {
		size_t width = grid_width(grid->cells[i]);

		if (width > widths[i % grid->columns])
			widths[i % grid->columns] = width;
	}
	for (size_t i = 0; i < rows; i++)
		grid_print_row(grid, grid->cells + i * grid->columns, widths, screen);
}

void rh_grid_deinit(struct rh_grid *grid)
{
	for (size_t i = 0; i < grid->count; i++)
		rh_free(grid->cells[i]);
	rh_free(grid->cells);
	*grid = (struct rh_grid){.columns = grid->columns};
}
