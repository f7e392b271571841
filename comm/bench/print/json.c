/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers are printed with the digits that mean something; texts are quoted, as an error may hold any byte. */
#include <math.h>

#include "comm/bench/options.h"
#include "comm/bench/print.h"
#include "comm/bench/result/numbers.h"
#include "comm/bench/result/result.h"
#include "comm/bench/result/verdict.h"

#define LINE_ROOM 240

void rh_bench_print_json_string(const char *text, FILE *out)
{
	(void)fputc('"', out);
	for (; *text; text++) {
		unsigned char byte = (unsigned char)*text;

		if (byte == '"' || byte == '\\')
			(void)fprintf(out, "\\%c", byte);
		else if (byte < 0x20 || byte > 0x7e)
			(void)fprintf(out, "\\u%04x", byte > 0x7e ? 0xfffd : byte);
		else
			(void)fputc(byte, out);
	}
	(void)fputc('"', out);
}

static void json_number(double value, FILE *out)
{
	if (isfinite(value))
		(void)fprintf(out, "%.6g", value);
	else
		(void)fputs("null", out);
}

static void json_numbers(const double *numbers, int32_t count, FILE *out)
{
	(void)fputc('[', out);
	for (int32_t i = 0; i < count; i++) {
		if (i > 0)
			(void)fputs(", ", out);
		json_number(numbers[i], out);
	}
	(void)fputc(']', out);
}

static void json_matrix(const char *name, const struct rh_bench_result *result, const double *matrix, FILE *out)
{
	(void)fprintf(out, "    \"%s\": [", name);
	for (int32_t row = 0; row < result->world; row++) {
		(void)fputs(row ? ",\n      " : "\n      ", out);
		json_numbers(matrix + (size_t)row * (size_t)result->world, result->world, out);
	}
	(void)fputs("\n    ]", out);
}

static void json_ranks(const struct rh_bench_result *result, FILE *out)
{
	(void)fputs("  \"ranks\": [", out);
	for (int32_t rank = 0; rank < result->world; rank++) {
		(void)fprintf(out, "%s\n    {\"rank\": %d, \"host\": %d, \"readyMs\": ", rank ? "," : "", (int)rank,
		              (int)result->hosts[rank]);
		json_number(result->ready[rank], out);
		(void)fputs(", \"copyGBps\": ", out);
		json_number(result->copy[rank], out);
		(void)fputc('}', out);
	}
	(void)fputs("\n  ],\n", out);
}

static void json_member(const char *name, double value, FILE *out)
{
	(void)fprintf(out, ", \"%s\": ", name);
	json_number(value, out);
}

static void json_sizes(const struct rh_bench_result *result, FILE *out)
{
	(void)fputs("  \"allReduce\": [", out);
	for (size_t i = 0; i < result->size_count; i++) {
		const struct rh_bench_size *size = &result->sizes[i];
		double rate = rh_bench_rate((double)size->bytes, size->median);

		(void)fprintf(out, "%s\n    {\"bytes\": %zu, \"rounds\": %zu", i ? "," : "", size->bytes, size->rounds);
		json_member("bestUs", size->best, out);
		json_member("medianUs", size->median, out);
		json_member("algbwGBps", rate, out);
		json_member("busbwGBps", rate * rh_bench_bus_factor(result->world), out);
		(void)fputc('}', out);
	}
	(void)fputs("\n  ],\n", out);
}

static void json_findings(const struct rh_bench_verdict *verdict, FILE *out)
{
	char line[LINE_ROOM];

	(void)fputs("  \"findings\": [", out);
	for (size_t i = 0; i < verdict->count; i++) {
		const struct rh_bench_finding *finding = &verdict->items[i];

		(void)fprintf(out, "%s\n    {\"kind\": \"%s\", \"from\": %d", i ? "," : "", rh_bench_kind_name(finding->kind),
		              (int)finding->from);
		if (finding->to >= 0)
			(void)fprintf(out, ", \"to\": %d", (int)finding->to);
		json_member("value", finding->value, out);
		json_member("median", finding->median, out);
		json_member("ratio", finding->ratio, out);
		(void)fputs(", \"text\": ", out);
		rh_bench_print_json_string(rh_bench_finding_text(finding, line, sizeof(line)), out);
		(void)fputc('}', out);
	}
	(void)fputs("\n  ]\n", out);
}

static void json_push_pull(const struct rh_bench_result *result, FILE *out)
{
	if (result->push_pull.bandwidth <= 0)
		return;
	(void)fprintf(out, "  \"pushPull\": {\"workers\": %d", (int)result->world);
	json_member("GBps", result->push_pull.bandwidth, out);
	json_member("keysPerSecond", result->push_pull.keys, out);
	(void)fputs("},\n", out);
}

void rh_bench_print_json(const struct rh_bench_result *result, const struct rh_bench_options *options,
                         const struct rh_bench_verdict *verdict, FILE *out)
{
	(void)fprintf(out, "{\n  \"status\": %d,\n  \"world\": %d,\n  \"backend\": ",
	              verdict->count ? RH_BENCH_SLOW : RH_BENCH_FINE, (int)result->world);
	rh_bench_print_json_string(result->backend, out);
	(void)fprintf(out, ",\n  \"crowded\": %s,\n", result->crowded ? "true" : "false");
	json_ranks(result, out);
	if (options->parts & RH_BENCH_PAIRS) {
		(void)fputs("  \"pairs\": {\n", out);
		json_matrix("latencyUs", result, result->latency, out);
		(void)fputs(",\n", out);
		json_matrix("bandwidthGBps", result, result->bandwidth, out);
		(void)fputs("\n  },\n", out);
	}
	json_sizes(result, out);
	json_push_pull(result, out);
	json_findings(verdict, out);
	(void)fputs("}\n", out);
}

void rh_bench_print_json_error(const struct rh_comm_error *err, int status, FILE *out)
{
	(void)fprintf(out, "{\n  \"status\": %d,\n  \"error\": {\"code\": %d, \"rank\": %d, \"text\": ", status,
	              (int)err->code, (int)err->rank);
	rh_bench_print_json_string(err->text, out);
	(void)fputs("}\n}\n", out);
}
