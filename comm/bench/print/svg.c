/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bandwidths of all pairs as a picture: one hue from pale (little) to dark (much), so that it reads without colour
 * vision and in print; what is slow has a frame.
 */
#include <math.h>
#include <string.h>

#include "comm/bench/print.h"
#include "comm/bench/result/numbers.h"
#include "comm/bench/result/result.h"
#include "comm/bench/result/verdict.h"

#define LEFT 64
#define TOP 84
#define RIGHT 24
#define LEGEND 74
/* Side of the squares, all together, and the range of one. */
#define SIDE 640
#define CELL_LEAST 6
#define CELL_MOST 72
/* Smallest cell that has room for a number. */
#define CELL_TEXT 34
#define STEPS 24
#define WIDTH_LEAST 460
#define LINE_ROOM 240

struct svg {
	const struct rh_bench_result *result;
	const struct rh_bench_verdict *verdict;
	FILE *out;
	int cell;
	double most;
};

struct svg_colour {
	double red;
	double green;
	double blue;
};

/* @param part 0 … 1 */
static struct svg_colour svg_shade(double part)
{
	static const struct svg_colour stops[] = {{239, 246, 252}, {158, 202, 225}, {49, 130, 189}, {8, 48, 107}};
	double at = rh_bench_clamp(part, 0, 1) * 3;
	int lower = at >= 3 ? 2 : (int)at;
	double t = at - lower;

	return (struct svg_colour){
		stops[lower].red + t * (stops[lower + 1].red - stops[lower].red),
		stops[lower].green + t * (stops[lower + 1].green - stops[lower].green),
		stops[lower].blue + t * (stops[lower + 1].blue - stops[lower].blue),
	};
}

/* Roots, so that a slow network beside shared memory still shows its differences. */
static double svg_part(const struct svg *svg, double value)
{
	return svg->most > 0 ? sqrt(value / svg->most) : 0;
}

static void svg_fill(const struct svg *svg, double part)
{
	struct svg_colour colour = svg_shade(part);

	(void)fprintf(svg->out, " fill=\"rgb(%.0f,%.0f,%.0f)\"", colour.red, colour.green, colour.blue);
}

static bool svg_is_slow(const struct svg *svg, int32_t from, int32_t to)
{
	for (size_t i = 0; i < svg->verdict->count; i++) {
		const struct rh_bench_finding *item = &svg->verdict->items[i];

		if (item->kind == RH_BENCH_SLOW_RANK && (item->from == from || item->from == to))
			return true;
		if (item->kind == RH_BENCH_SLOW_COPY || item->to < 0)
			continue;
		if (item->from == from && item->to == to)
			return true;
		if (item->kind == RH_BENCH_SLOW_LATENCY && item->from == to && item->to == from)
			return true;
	}
	return false;
}

static double svg_value(const struct svg *svg, int32_t from, int32_t to)
{
	return svg->result->bandwidth[(size_t)from * (size_t)svg->result->world + (size_t)to];
}

/* The three digits that matter, in as little room as they need. */
static void svg_digits(double value, char *text, size_t room)
{
	int digits = value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;

	(void)snprintf(text, room, "%.*f", digits, value);
}

static void svg_cell(const struct svg *svg, int32_t from, int32_t to)
{
	double value = svg_value(svg, from, to);
	double part = svg_part(svg, value);
	double latency = svg->result->latency[(size_t)from * (size_t)svg->result->world + (size_t)to];
	int x = LEFT + (int)to * svg->cell;
	int y = TOP + (int)from * svg->cell;
	char digits[32];

	if (from == to || value <= 0)
		return;
	(void)fprintf(svg->out, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"", x, y, svg->cell - 1, svg->cell - 1);
	svg_fill(svg, part);
	(void)fprintf(svg->out, "><title>rank %d to %d: %.4g GB/s, %.4g us%s</title></rect>\n", (int)from, (int)to, value,
	              latency, svg_is_slow(svg, from, to) ? ", slow" : "");
	if (svg->cell < CELL_TEXT)
		return;
	svg_digits(value, digits, sizeof(digits));
	(void)fprintf(svg->out,
	              "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\" font-size=\"%d\" fill=\"%s\" "
	              "pointer-events=\"none\">%s</text>\n",
	              x + svg->cell / 2, y + svg->cell / 2 + 4, svg->cell >= 48 ? 13 : 11,
	              part > 0.55 ? "#ffffff" : "#1a1a1a", digits);
}

/* Frames come last, so that no neighbour covers them. */
static void svg_frames(const struct svg *svg)
{
	int stroke = svg->cell >= CELL_TEXT ? 3 : 2;

	for (int32_t from = 0; from < svg->result->world; from++) {
		for (int32_t to = 0; to < svg->result->world; to++) {
			if (from == to || svg_value(svg, from, to) <= 0 || !svg_is_slow(svg, from, to))
				continue;
			(void)fprintf(svg->out,
			              "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"none\" stroke=\"#d7301f\" "
			              "stroke-width=\"%d\" pointer-events=\"none\"/>\n",
			              LEFT + (int)to * svg->cell + 1, TOP + (int)from * svg->cell + 1, svg->cell - 3, svg->cell - 3,
			              stroke);
		}
	}
}

static void svg_label(const struct svg *svg, int x, int y, const char *anchor, int32_t rank)
{
	(void)fprintf(svg->out, "<text x=\"%d\" y=\"%d\" text-anchor=\"%s\" font-size=\"12\">%d</text>\n", x, y, anchor,
	              (int)rank);
}

/* Numbers of ranks on both axes, as many as have room. */
static void svg_axes(const struct svg *svg)
{
	int32_t step = 1;
	int side = (int)svg->result->world * svg->cell;

	while (step * svg->cell < 24)
		step *= 2;
	for (int32_t i = 0; i < svg->result->world; i += step) {
		int middle = (int)i * svg->cell + svg->cell / 2;

		svg_label(svg, LEFT + middle, TOP - 8, "middle", i);
		svg_label(svg, LEFT - 8, TOP + middle + 4, "end", i);
	}
	(void)fprintf(svg->out,
	              "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\" font-size=\"12\" fill=\"#555\">to rank</text>\n",
	              LEFT + side / 2, TOP - 26);
	(void)fprintf(svg->out,
	              "<text transform=\"translate(%d %d) rotate(-90)\" text-anchor=\"middle\" font-size=\"12\" "
	              "fill=\"#555\">from rank</text>\n",
	              LEFT - 38, TOP + side / 2);
}

static void svg_legend(const struct svg *svg, int width)
{
	int y = TOP + (int)svg->result->world * svg->cell + 18;
	int step = (width - LEFT - RIGHT - 110) / STEPS;
	int end;

	step = step > 10 ? 10 : step;
	end = LEFT + STEPS * step;
	for (int i = 0; i < STEPS; i++) {
		(void)fprintf(svg->out, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"12\"", LEFT + i * step, y, step);
		svg_fill(svg, (i + 0.5) / STEPS);
		(void)fputs("/>\n", svg->out);
	}
	(void)fprintf(svg->out, "<text x=\"%d\" y=\"%d\" font-size=\"12\">0</text>\n", LEFT, y + 28);
	(void)fprintf(svg->out, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\" font-size=\"12\">%.3g</text>\n",
	              LEFT + STEPS * step / 2, y + 28, svg->most / 4);
	(void)fprintf(svg->out, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\" font-size=\"12\">%.3g GB/s</text>\n", end,
	              y + 28, svg->most);
	if (svg->verdict->count == 0)
		return;
	(void)fprintf(
		svg->out,
		"<rect x=\"%d\" y=\"%d\" width=\"12\" height=\"12\" fill=\"none\" stroke=\"#d7301f\" stroke-width=\"3\"/>\n",
		end + 28, y);
	(void)fprintf(svg->out, "<text x=\"%d\" y=\"%d\" font-size=\"12\">slow</text>\n", end + 48, y + 11);
}

static void svg_cells(const struct svg *svg)
{
	for (int32_t from = 0; from < svg->result->world; from++) {
		for (int32_t to = 0; to < svg->result->world; to++)
			svg_cell(svg, from, to);
	}
}

static double svg_highest(const struct rh_bench_result *result)
{
	size_t cells = (size_t)result->world * (size_t)result->world;
	double most = 0;

	for (size_t i = 0; i < cells; i++)
		most = fmax(most, result->bandwidth[i]);
	return most;
}

void rh_bench_print_svg(const struct rh_bench_result *result, const struct rh_bench_verdict *verdict, FILE *out)
{
	struct svg svg = {.result = result, .verdict = verdict, .out = out};
	int side;
	int width;
	int height;

	svg.cell = (int)rh_bench_clamp(SIDE / (double)result->world, CELL_LEAST, CELL_MOST);
	svg.most = svg_highest(result);
	side = (int)result->world * svg.cell;
	width = LEFT + side + RIGHT > WIDTH_LEAST ? LEFT + side + RIGHT : WIDTH_LEAST;
	height = TOP + side + LEGEND;
	(void)fprintf(out,
	              "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" "
	              "font-family=\"sans-serif\">\n<rect width=\"%d\" height=\"%d\" fill=\"#ffffff\"/>\n",
	              width, height, width, height, width, height);
	(void)fprintf(out, "<text x=\"%d\" y=\"28\" font-size=\"16\">Bandwidth of pairs, GB/s (%d ranks, %s)</text>\n",
	              LEFT, (int)result->world, result->backend);
	svg_cells(&svg);
	svg_frames(&svg);
	svg_axes(&svg);
	svg_legend(&svg, width);
	(void)fputs("</svg>\n", out);
}
