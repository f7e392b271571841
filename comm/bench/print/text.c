/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "comm/bench/measure.h"
#include "comm/bench/options.h"
#include "comm/bench/print.h"
#include "comm/bench/result/numbers.h"
#include "comm/bench/result/result.h"
#include "comm/bench/result/verdict.h"

/* Widest world whose pairs are printed one by one. */
#define MATRIX_MOST 16
#define LINE_ROOM 240

static const double *text_row(const struct rh_bench_result *result, const double *matrix, int32_t from)
{
	return matrix + (size_t)from * (size_t)result->world;
}

static void text_matrix(const struct rh_bench_result *result, const double *matrix, const char *title, FILE *out)
{
	(void)fprintf(out, "\n%s\n%6s", title, "");
	for (int32_t to = 0; to < result->world; to++)
		(void)fprintf(out, " %7d", (int)to);
	for (int32_t from = 0; from < result->world; from++) {
		const double *row = text_row(result, matrix, from);

		(void)fprintf(out, "\n%6d", (int)from);
		for (int32_t to = 0; to < result->world; to++) {
			if (row[to] > 0)
				(void)fprintf(out, " %7.4g", row[to]);
			else
				(void)fprintf(out, " %7s", "-");
		}
	}
	(void)fputc('\n', out);
}

/* Lowest and highest of the pairs that are near each other, or are not. */
static void text_extremes(const struct rh_bench_result *result, const double *matrix, bool near, double *ret_range)
{
	ret_range[0] = 0;
	ret_range[1] = 0;
	for (int32_t from = 0; from < result->world; from++) {
		const double *row = text_row(result, matrix, from);

		for (int32_t to = 0; to < result->world; to++) {
			if (row[to] <= 0 || rh_bench_near(result, from, to) != near)
				continue;
			if (ret_range[0] <= 0 || row[to] < ret_range[0])
				ret_range[0] = row[to];
			if (row[to] > ret_range[1])
				ret_range[1] = row[to];
		}
	}
}

static void text_like(const struct rh_bench_result *result, bool near, FILE *out)
{
	double latency[2];
	double bandwidth[2];
	double latency_median;
	double bandwidth_median;
	size_t cells = rh_bench_matrix_median(result, result->latency, near, &latency_median);

	if (cells == 0)
		return;
	(void)rh_bench_matrix_median(result, result->bandwidth, near, &bandwidth_median);
	text_extremes(result, result->latency, near, latency);
	text_extremes(result, result->bandwidth, near, bandwidth);
	(void)fprintf(out, "%-16s %6zu %10.4g %9.4g %9.4g %10.4g %9.4g %9.4g\n", near ? "on one host" : "between hosts",
	              cells / 2, latency[0], latency_median, latency[1], bandwidth_median, bandwidth[0], bandwidth[1]);
}

static void text_pairs(const struct rh_bench_result *result, FILE *out)
{
	double median;

	if (rh_bench_matrix_median(result, result->latency, true, &median) == 0 &&
	    rh_bench_matrix_median(result, result->latency, false, &median) == 0)
		return;
	(void)fprintf(out, "\n%-16s %6s %30s %30s\n", "", "", "latency us, one way  ", "bandwidth GB/s    ");
	(void)fprintf(out, "%-16s %6s %10s %9s %9s %10s %9s %9s\n", "pairs", "count", "best", "median", "worst", "median",
	              "worst", "best");
	text_like(result, true, out);
	text_like(result, false, out);
	if (result->world > MATRIX_MOST || result->world < 3)
		return;
	text_matrix(result, result->bandwidth, "bandwidth GB/s, from rank (row) to rank (column)", out);
	text_matrix(result, result->latency, "latency us", out);
}

static void text_sizes(const struct rh_bench_result *result, FILE *out)
{
	double factor = rh_bench_bus_factor(result->world);

	if (result->size_count == 0)
		return;
	(void)fprintf(out, "\nall-reduce, f32 sum in place\n%12s %7s %12s %12s %10s %10s\n", "bytes", "rounds", "best us",
	              "median us", "algbw GB/s", "busbw GB/s");
	for (size_t i = 0; i < result->size_count; i++) {
		const struct rh_bench_size *size = &result->sizes[i];
		double rate = rh_bench_rate((double)size->bytes, size->median);

		(void)fprintf(out, "%12zu %7zu %12.2f %12.2f %10.3f %10.3f\n", size->bytes, size->rounds, size->best,
		              size->median, rate, rate * factor);
	}
}

static void text_push_pull(const struct rh_bench_result *result, FILE *out)
{
	const struct rh_bench_push_pull *reached = &result->push_pull;

	if (reached->bandwidth > 0)
		(void)fprintf(out,
		              "\nparameter server in rank 0, %d worker%s: push and pull at once %.3g GB/s each way at 4 MB, "
		              "%.4g keys of 64 B a second\n",
		              (int)result->world, result->world == 1 ? "" : "s", reached->bandwidth, reached->keys);
}

/* The number of the rank that is worst off. */
static double text_worst(const double *numbers, int32_t world, bool highest)
{
	double worst = numbers[0];

	for (int32_t i = 1; i < world; i++) {
		if (highest ? numbers[i] > worst : numbers[i] < worst)
			worst = numbers[i];
	}
	return worst;
}

static int32_t text_count_hosts(const struct rh_bench_result *result)
{
	int32_t hosts = 0;

	for (int32_t i = 0; i < result->world; i++) {
		int32_t first = 0;

		while (result->hosts[first] != result->hosts[i])
			first++;
		hosts += first == i;
	}
	return hosts;
}

static void text_head(const struct rh_bench_result *result, FILE *out)
{
	int32_t hosts = text_count_hosts(result);

	(void)fprintf(
		out, "%d rank%s on %d host%s, backend %s; the last was ready after %.1f ms, the slowest copies %.3g GB/s\n",
		(int)result->world, result->world == 1 ? "" : "s", (int)hosts, hosts == 1 ? "" : "s", result->backend,
		text_worst(result->ready, result->world, true), text_worst(result->copy, result->world, false));
}

static void text_verdict(const struct rh_bench_result *result, const struct rh_bench_verdict *verdict, FILE *out)
{
	char line[LINE_ROOM];

	for (size_t i = 0; i < verdict->count; i++)
		(void)fprintf(out, "slow: %s\n", rh_bench_finding_text(&verdict->items[i], line, sizeof(line)));
	if (result->crowded)
		(void)fputs("note: ranks outnumber the processors of a host; its pairs are not judged\n", out);
	if (verdict->count == 0)
		(void)fputs("fine: no pair or rank is slow beside its like\n", out);
}

void rh_bench_print_text(const struct rh_bench_result *result, const struct rh_bench_options *options,
                         const struct rh_bench_verdict *verdict, FILE *out)
{
	text_head(result, out);
	if (!options->check) {
		text_pairs(result, out);
		text_sizes(result, out);
		text_push_pull(result, out);
		(void)fputc('\n', out);
	}
	text_verdict(result, verdict, out);
}
