/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/sweep/report.h"

#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/commands/runs/grid.h"
#include "cli/sweep/params.h"

static const char *report_text(const struct rh_json *row, const char *member)
{
	const char *text = rh_json_string(rh_json_get(row, member));

	return text ? text : "";
}

static int report_add_params(struct rh_json *row, const struct rh_json *params, size_t combination)
{
	rh_auto(json) values = rh_sweep_params_values(params, combination);
	struct rh_json *named = rh_json_ensure_object(row, "params");
	const struct rh_json *value = rh_json_first(values);

	for (const struct rh_json *param = rh_json_first(params); param; param = rh_json_next(param)) {
		if (!named || !value || rh_json_set(named, rh_json_string(rh_json_get(param, "name")), rh_json_copy(value)) < 0)
			return RH_ENOMEM;
		value = rh_json_next(value);
	}
	return 0;
}

static struct rh_json *report_row(const struct rh_sweep_state *state, size_t number, int64_t combination)
{
	static const char *const members[] = {"metric", "seconds", "run"};
	rh_auto(json) row = rh_json_new_object();
	const struct rh_json *trial = rh_json_item(state->trials, number - 1);
	const char *outcome = rh_sweep_state_text(state, number, "state");
	rh_auto_free char *job = rh_asprintf("%s-%04zu", rh_json_string(rh_json_get(state->plan, "job")), number);

	if (!row || !job || rh_json_set_integer(row, "trial", (int64_t)number) < 0 ||
	    rh_json_set_string(row, "job", job) < 0 ||
	    report_add_params(row, rh_json_get(state->plan, "params"), (size_t)combination) < 0 ||
	    rh_json_set_string(row, "state", outcome ? outcome : "Pending") < 0)
		return NULL;
	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
		const struct rh_json *value = rh_json_get(trial, members[i]);

		if (rh_json_set(row, members[i], value ? rh_json_copy(value) : rh_json_new_null()) < 0)
			return NULL;
	}
	return rh_take(row);
}

/* For qsort(), which takes no argument: the sign says which order is asked for. */
struct report_key {
	struct rh_json *row;
	double metric; /* the least is the best */
	bool known;
	size_t place;
};

static int report_compare(const void *a, const void *b)
{
	const struct report_key *x = a;
	const struct report_key *y = b;

	if (x->known != y->known)
		return x->known ? -1 : 1;
	if (x->known && x->metric != y->metric)
		return x->metric < y->metric ? -1 : 1;
	return x->place < y->place ? -1 : 1;
}

static struct rh_json *report_sort(struct rh_json *rows, bool least)
{
	size_t count = rh_json_size(rows);
	struct report_key *keys = rh_alloc_array(count + 1, sizeof(*keys));
	rh_auto(json) sorted = rh_json_new_array();
	size_t i = 0;
	int r = keys && sorted ? 0 : RH_ENOMEM;

	for (struct rh_json *row = rh_json_first(rows); row && keys; row = rh_json_next(row)) {
		const struct rh_json *metric = rh_json_get(row, "metric");

		keys[i] = (struct report_key){row, rh_json_number(metric, 0), rh_json_type(metric) == RH_JSON_NUMBER, i};
		keys[i].metric = least ? keys[i].metric : -keys[i].metric;
		i++;
	}
	if (keys)
		qsort(keys, i, sizeof(*keys), report_compare);
	for (size_t k = 0; k < i && r == 0; k++)
		r = rh_json_append(sorted, rh_json_copy(keys[k].row));
	rh_free(keys);
	return r == 0 ? rh_take(sorted) : NULL;
}

struct rh_json *rh_sweep_report_rows(const struct rh_sweep_state *state, bool least)
{
	rh_auto(json) rows = rh_json_new_array();
	const struct rh_json *combination = rh_json_first(rh_json_get(state->plan, "combinations"));

	for (size_t number = 1; combination && rows; number++) {
		int64_t at = 0;

		(void)rh_json_integer(combination, &at);
		if (rh_json_append(rows, report_row(state, number, at)) < 0)
			return NULL;
		combination = rh_json_next(combination);
	}
	return rows ? report_sort(rows, least) : NULL;
}

/* @return the text of a value of a row, in @p buffer or borrowed; "" for null */
static const char *report_value(const struct rh_json *value, char buffer[RH_JSON_NUMBER_SIZE])
{
	const char *text = rh_json_string(value);

	if (!text)
		text = rh_json_number_text(value, buffer);
	return text ? text : "";
}

/* The columns of a row, in this order. */
typedef int report_cell_fn(void *arg, const char *name, const char *text);

static int report_cells(const struct rh_json *row, report_cell_fn *fn, void *arg)
{
	static const char *const members[] = {"state", "metric", "seconds", "run"};
	char buffer[RH_JSON_NUMBER_SIZE];
	const struct rh_json *param = rh_json_first(rh_json_get(row, "params"));
	int r = fn(arg, "job", report_text(row, "job"));

	for (; param && r == 0; param = rh_json_next(param))
		r = fn(arg, rh_json_key(param), report_value(param, buffer));
	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]) && r == 0; i++)
		r = fn(arg, members[i], report_value(rh_json_get(row, members[i]), buffer));
	return r;
}

/* The folders of the runs are long and alike; their names are enough for people. */
static int report_grid_head(void *arg, const char *name, const char *text)
{
	static const char *const heads[][2] = {
		{"job", "TRIAL"}, {"state", "STATE"}, {"metric", "METRIC"}, {"seconds", "SECONDS"}, {"run", "RUN"}};

	(void)text;
	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
		if (strcmp(heads[i][0], name) == 0)
			return rh_grid_add(arg, heads[i][1]);
	}
	return rh_grid_add(arg, name);
}

static int report_grid_cell(void *arg, const char *name, const char *text)
{
	const char *slash = strcmp(name, "run") == 0 ? strrchr(text, '/') : NULL;

	return rh_grid_add(arg, slash ? slash + 1 : *text ? text : "-");
}

static int report_print_table(const struct rh_json *rows)
{
	rh_auto_grid grid = {.columns = 5 + rh_json_size(rh_json_get(rh_json_first(rows), "params"))};
	int r = report_cells(rh_json_first(rows), report_grid_head, &grid);

	for (const struct rh_json *row = rh_json_first(rows); row && r == 0; row = rh_json_next(row))
		r = report_cells(row, report_grid_cell, &grid);
	if (r == 0)
		rh_grid_print(&grid);
	return r;
}

/* RFC 4180. */
static void report_csv_append(struct rh_str *out, const char *text)
{
	bool quoted = strpbrk(text, ",\"\r\n") != NULL;

	if (out->length > 0 && out->data[out->length - 1] != '\n')
		rh_str_append(out, ",");
	rh_str_append(out, quoted ? "\"" : "");
	for (; *text; text++)
		rh_str_appendf(out, "%s%c", quoted && *text == '"' ? "\"" : "", *text);
	rh_str_append(out, quoted ? "\"" : "");
}

static int report_csv_head(void *arg, const char *name, const char *text)
{
	(void)text;
	report_csv_append(arg, name);
	return 0;
}

static int report_csv_cell(void *arg, const char *name, const char *text)
{
	(void)name;
	report_csv_append(arg, text);
	return 0;
}

static void report_print_csv(const struct rh_json *rows, struct rh_str *out)
{
	(void)report_cells(rh_json_first(rows), report_csv_head, out);
	rh_str_append(out, "\n");
	for (const struct rh_json *row = rh_json_first(rows); row; row = rh_json_next(row)) {
		(void)report_cells(row, report_csv_cell, out);
		rh_str_append(out, "\n");
	}
}

int rh_sweep_report_print(const struct rh_json *rows, const char *format, struct rh_error *err)
{
	rh_auto_str out = {0};

	if (strcmp(format, "table") == 0)
		return report_print_table(rows) < 0 ? rh_fail_oom(err) : 0;
	if (strcmp(format, "csv") == 0) {
		report_print_csv(rows, &out);
	} else {
		rh_json_print(rows, true, &out);
		rh_str_append(&out, "\n");
	}
	if (out.failed)
		return rh_fail_oom(err);
	rh_cli_print(&out);
	return 0;
}
