/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/run/screen/table.h"

#include <string.h>

#include "base/mem.h"
#include "base/os/clock.h"
#include "base/str.h"

/* What stands for the middle of a name. */
#define TABLE_CUT "..."
/* A column of names is not made narrower than this. */
#define TABLE_NAME_MIN 8
/* Room for the longest number, time or exit code. */
#define TABLE_CELL_SIZE 64

enum table_column { TABLE_REPLICA, TABLE_OUTCOME, TABLE_EXIT, TABLE_RESTARTS, TABLE_DURATION, TABLE_COLUMNS };

static const char *const table_heads[TABLE_COLUMNS] = {"REPLICA", "OUTCOME", "EXIT", "RESTARTS", "DURATION"};

/* The width of each column. */
struct table_layout {
	size_t widths[TABLE_COLUMNS];
};

void rh_table_deinit(struct rh_table *table)
{
	for (size_t i = 0; i < table->count; i++) {
		rh_free(table->rows[i].replica);
		rh_free(table->rows[i].outcome);
	}
	rh_free(table->rows);
	*table = (struct rh_table){0};
}

void rh_table_add(struct rh_table *table, const struct rh_run_replica *replica, bool multiple)
{
	struct rh_table_row *rows = rh_realloc_array(table->rows, table->count + 1, sizeof(*rows));
	const char *container = replica->container;

	if (!rows)
		return;
	table->rows = rows;
	rows[table->count++] = (struct rh_table_row){
		.replica = rh_asprintf("%s%s%s-%d", multiple ? replica->job : "", multiple ? "/" : "", replica->type,
	                           (int)replica->index),
		.outcome = rh_asprintf("%s%s%s%s", replica->outcome, container ? " (" : "", container ? container : "",
	                           container ? ")" : ""),
		.exit_code = replica->exit_code,
		.restarts = replica->restarts,
		.duration = replica->duration,
	};
}

/* @return the text of a cell, borrowed from the row or from `buffer` of TABLE_CELL_SIZE */
static const char *table_cell(const struct rh_table_row *row, enum table_column column, char *buffer)
{
	rh_copy(buffer, TABLE_CELL_SIZE, "-");
	if (column == TABLE_REPLICA)
		return row->replica ? row->replica : "?";
	if (column == TABLE_OUTCOME)
		return row->outcome ? row->outcome : "?";
	if (column == TABLE_EXIT && row->exit_code >= 0)
		(void)snprintf(buffer, TABLE_CELL_SIZE, "%d", (int)row->exit_code);
	if (column == TABLE_RESTARTS)
		(void)snprintf(buffer, TABLE_CELL_SIZE, "%d", (int)row->restarts);
	return column == TABLE_DURATION ? rh_duration_format(row->duration, buffer) : buffer;
}

static size_t table_total(const struct table_layout *layout)
{
	size_t total = TABLE_COLUMNS - 1;

	for (int i = 0; i < TABLE_COLUMNS; i++)
		total += layout->widths[i];
	return total;
}

static void table_shrink(struct table_layout *layout, enum table_column column, size_t width)
{
	size_t total = table_total(layout);
	size_t *own = &layout->widths[column];
	size_t excess = width > 0 && total > width ? total - width : 0;

	if (excess == 0 || *own <= TABLE_NAME_MIN)
		return;
	*own = *own > excess + TABLE_NAME_MIN ? *own - excess : TABLE_NAME_MIN;
}

static struct table_layout table_measure(const struct rh_table *table, size_t width)
{
	struct table_layout layout;
	char buffer[TABLE_CELL_SIZE];

	for (int column = 0; column < TABLE_COLUMNS; column++) {
		layout.widths[column] = strlen(table_heads[column]);
		for (size_t i = 0; i < table->count; i++) {
			size_t length = strlen(table_cell(&table->rows[i], (enum table_column)column, buffer));

			layout.widths[column] = length > layout.widths[column] ? length : layout.widths[column];
		}
	}
	table_shrink(&layout, TABLE_REPLICA, width);
	table_shrink(&layout, TABLE_OUTCOME, width);
	return layout;
}

/* How much of the end of a name that is to be cut to `rest` bytes stays: the replica, which follows a slash, if it can.
 */
static size_t table_tail(const char *text, size_t rest)
{
	const char *slash = strrchr(text, '/');
	size_t half = (rest + 1) / 2;

	return slash && strlen(slash) > half && strlen(slash) < rest ? strlen(slash) : half;
}

/* The end of a name says more than its middle: it has the index. */
static void table_append_name(struct rh_str *line, const char *text, size_t width)
{
	size_t length = strlen(text);
	size_t rest = width - strlen(TABLE_CUT);
	size_t tail = table_tail(text, rest);

	if (length > width)
		rh_str_appendf(line, "%.*s" TABLE_CUT "%s", (int)(rest - tail), text, text + length - tail);
	else
		rh_str_appendf(line, "%-*s", (int)width, text);
}

static void table_append(struct rh_str *line, const struct table_layout *layout, enum table_column column,
                         const char *text)
{
	int width = (int)layout->widths[column];

	if (column == TABLE_REPLICA || column == TABLE_OUTCOME)
		table_append_name(line, text, layout->widths[column]);
	else
		rh_str_appendf(line, "%*s", width, text);
	rh_str_append(line, column + 1 < TABLE_COLUMNS ? " " : "\n");
}

void rh_table_print(const struct rh_table *table, size_t width, FILE *out)
{
	struct table_layout layout = table_measure(table, width);
	rh_auto_str text = {0};
	char buffer[TABLE_CELL_SIZE];

	if (table->count == 0)
		return;
	for (int column = 0; column < TABLE_COLUMNS; column++)
		table_append(&text, &layout, (enum table_column)column, table_heads[column]);
	for (size_t i = 0; i < table->count; i++) {
		for (int column = 0; column < TABLE_COLUMNS; column++)
			table_append(&text, &layout, (enum table_column)column,
			             table_cell(&table->rows[i], (enum table_column)column, buffer));
	}
	fprintf(out, "\n%s", rh_str_text(&text));
}
