/* SPDX-License-Identifier: Apache-2.0 */
/* The plot of a sweep: a panel for each parameter, in which each trial is a dot. */
#include <math.h>
#include <string.h>

#include "cli/sweep/params.h"
#include "cli/sweep/report.h"

/* Sizes in pixels. */
#define PLOT_WIDTH 360
#define PLOT_HEIGHT 260
#define PLOT_LEFT 70
#define PLOT_TOP 40
#define PLOT_INNER_WIDTH 270
#define PLOT_INNER_HEIGHT 170
/* Most values that are named below a panel: more would cover each other. */
#define PLOT_NAMED_MAX 8

/* The range of the metric. */
struct plot_range {
	double least;
	double most;
};

/* Values of one parameter in the order in which they are met. Borrowed from the rows. */
struct plot_axis {
	const char *name;
	const char **values;
	size_t count;
};

static void plot_escape(struct rh_str *out, const char *text)
{
	for (; *text; text++) {
		if (strchr("<>&\"", *text) || (unsigned char)*text < ' ')
			rh_str_appendf(out, "&#%d;", (unsigned char)*text < ' ' ? ' ' : *text);
		else
			rh_str_append_bytes(out, text, 1);
	}
}

/* @return whether any trial has a metric */
static bool plot_find_range(const struct rh_json *rows, struct plot_range *range)
{
	bool found = false;

	for (const struct rh_json *row = rh_json_first(rows); row; row = rh_json_next(row)) {
		double metric = rh_json_number(rh_json_get(row, "metric"), NAN);

		if (isnan(metric))
			continue;
		range->least = !found || metric < range->least ? metric : range->least;
		range->most = !found || metric > range->most ? metric : range->most;
		found = true;
	}
	return found;
}

static double plot_y(const struct plot_range *range, double metric)
{
	double span = range->most - range->least;

	return PLOT_TOP + PLOT_INNER_HEIGHT * (span > 0 ? 1 - (metric - range->least) / span : 0.5);
}

static double plot_x(const struct plot_axis *axis, size_t place)
{
	return PLOT_LEFT + PLOT_INNER_WIDTH * ((double)place + 0.5) / (double)axis->count;
}

static const char *plot_value(const struct rh_json *row, const char *name)
{
	const char *text = rh_json_string(rh_json_get(rh_json_get(row, "params"), name));

	return text ? text : "";
}

static size_t plot_find_value(const struct plot_axis *axis, const char *value)
{
	size_t place = 0;

	while (place < axis->count && strcmp(axis->values[place], value) != 0)
		place++;
	return place;
}

static void plot_text(struct rh_str *out, double x, double y, const char *anchor, const char *text)
{
	rh_str_appendf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor);
	plot_escape(out, text);
	rh_str_append(out, "</text>\n");
}

static void plot_number(struct rh_str *out, double y, double number)
{
	rh_auto_str text = {0};

	rh_str_appendf(&text, "%.6g", number);
	plot_text(out, PLOT_LEFT - 8, y + 4, "end", rh_str_text(&text));
}

static void plot_frame(struct rh_str *out, const struct plot_axis *axis, const struct plot_range *range)
{
	rh_str_appendf(out, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"none\" stroke=\"#999\"/>\n",
	               PLOT_LEFT, PLOT_TOP, PLOT_INNER_WIDTH, PLOT_INNER_HEIGHT);
	plot_number(out, plot_y(range, range->least), range->least);
	if (range->most > range->least)
		plot_number(out, plot_y(range, range->most), range->most);
	for (size_t i = 0; i < axis->count; i += (axis->count - 1) / PLOT_NAMED_MAX + 1)
		plot_text(out, plot_x(axis, i), PLOT_TOP + PLOT_INNER_HEIGHT + 16, "middle", axis->values[i]);
	plot_text(out, PLOT_LEFT + PLOT_INNER_WIDTH / 2.0, PLOT_TOP + PLOT_INNER_HEIGHT + 36, "middle", axis->name);
}

static void plot_panel(struct rh_str *out, const struct rh_json *rows, const struct plot_axis *axis,
                       const struct plot_range *range)
{
	plot_frame(out, axis, range);
	for (const struct rh_json *row = rh_json_first(rows); row; row = rh_json_next(row)) {
		double metric = rh_json_number(rh_json_get(row, "metric"), NAN);

		if (isnan(metric))
			continue;
		rh_str_appendf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" fill=\"#1f77b4\" fill-opacity=\"0.6\"><title>",
		               plot_x(axis, plot_find_value(axis, plot_value(row, axis->name))), plot_y(range, metric));
		plot_escape(out, rh_json_string(rh_json_get(row, "job")));
		rh_str_appendf(out, ": %.6g</title></circle>\n", metric);
	}
}

/* The rows are sorted by the metric; the values are wanted as the user gave them, which is as the trials are numbered.
 * @return the row of trial @p number */
static const struct rh_json *plot_find_trial(const struct rh_json *rows, size_t number)
{
	const struct rh_json *row = rh_json_first(rows);
	int64_t trial;

	while (row && !(rh_json_integer(rh_json_get(row, "trial"), &trial) && (size_t)trial == number))
		row = rh_json_next(row);
	return row;
}

static void plot_param(struct rh_str *out, const struct rh_json *rows, const char *name, size_t panel,
                       const struct plot_range *range)
{
	size_t count = rh_json_size(rows);
	struct plot_axis axis = {.name = name, .values = rh_alloc_array(count + 1, sizeof(*axis.values))};

	out->failed = out->failed || !axis.values;
	for (size_t i = 1; i <= count && axis.values; i++) {
		const char *value = plot_value(plot_find_trial(rows, i), name);

		if (plot_find_value(&axis, value) == axis.count)
			axis.values[axis.count++] = value;
	}
	rh_str_appendf(out, "<g transform=\"translate(%zu,0)\">\n", panel * PLOT_WIDTH);
	if (axis.count > 0)
		plot_panel(out, rows, &axis, range);
	rh_str_append(out, "</g>\n");
	rh_free((void *)axis.values);
}

void rh_sweep_plot(const struct rh_json *rows, const char *title, struct rh_str *out)
{
	const struct rh_json *params = rh_json_get(rh_json_first(rows), "params");
	struct plot_range range = {0, 0};
	size_t panel = 0;

	rh_str_appendf(out,
	               "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%zu\" height=\"%d\" font-family=\"sans-serif\" "
	               "font-size=\"11\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
	               rh_json_size(params) * PLOT_WIDTH, PLOT_HEIGHT);
	plot_text(out, PLOT_LEFT, 20, "start", title);
	if (plot_find_range(rows, &range)) {
		for (const struct rh_json *param = rh_json_first(params); param; param = rh_json_next(param))
			plot_param(out, rows, rh_json_key(param), panel++, &range);
	}
	rh_str_append(out, "</svg>\n");
}
