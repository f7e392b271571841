/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <string.h>

#include "comm/bench/print.h"
#include "comm/bench/trace/foreign/ras.h"
#include "comm/bench/trace/line.h"
#include "comm/bench/trace/text.h"

#define TEXT_ROOM 700

static const char *const print_kinds[] = {[RH_RAS_DEAD] = "dead",
                                          [RH_RAS_SILENT] = "silent",
                                          [RH_RAS_ERROR] = "error",
                                          [RH_RAS_STATUS] = "status",
                                          [RH_RAS_MISSING] = "missing"};

/* "ranks 1, 3 of communicator cafe"; where they are too many to be named "7 ranks of …". */
static void line_add_ranks(struct rh_trace_line *line, const struct rh_ras_finding *finding)
{
	bool named = finding->count > 0 && finding->count == finding->whole && finding->count <= RH_TRACE_RANKS_MOST;
	const char *unit = finding->whole == 1 ? "rank" : "ranks";

	if (finding->kind == RH_RAS_DEAD)
		unit = finding->whole == 1 ? "process" : "processes";
	if (named)
		rh_trace_line_add(line, "%s", unit);
	else
		rh_trace_line_add(line, "%lld %s", (long long)finding->whole, unit);
	for (int32_t i = 0; named && i < finding->count; i++)
		rh_trace_line_add(line, "%s %d", i > 0 ? "," : "", (int)finding->ranks[i]);
	if (finding->group[0] != '\0')
		rh_trace_line_add(line, " of communicator %s", finding->group);
}

const char *rh_ras_finding_text(const struct rh_ras_finding *finding, char *text, size_t room)
{
	struct rh_trace_line line = {.text = text, .room = room};

	text[0] = '\0';
	line_add_ranks(&line, finding);
	if (finding->kind == RH_RAS_DEAD)
		rh_trace_line_add(&line, " cannot be reached by NCCL");
	else if (finding->kind == RH_RAS_SILENT)
		rh_trace_line_add(&line, " sent no data");
	else if (finding->kind == RH_RAS_MISSING)
		rh_trace_line_add(&line, " did not come to %s number %llu; others have launched %llu", finding->what,
		                  (unsigned long long)finding->number + 1, (unsigned long long)finding->most);
	else if (finding->kind == RH_RAS_ERROR)
		rh_trace_line_add(&line, ": NCCL reports %s", finding->what);
	else
		rh_trace_line_add(&line, ": status %s, unlike most", finding->what);
	if (finding->places[0] != '\0')
		rh_trace_line_add(&line, " (%s)", finding->places);
	for (char *at = text; *at; at++) {
		if (iscntrl((unsigned char)*at))
			*at = '?';
	}
	return text;
}

static void print_json(const struct rh_ras_finding *finding, FILE *out)
{
	char text[TEXT_ROOM];

	(void)fprintf(out, "    {\"kind\": \"%s\", \"group\": ", print_kinds[finding->kind]);
	rh_bench_print_json_string(finding->group, out);
	if (finding->kind == RH_RAS_MISSING)
		(void)fprintf(out, ", \"number\": %llu", (unsigned long long)finding->number + 1);
	if (finding->what[0] != '\0') {
		(void)fprintf(out, ", \"%s\": ", finding->kind == RH_RAS_MISSING ? "operation" : "what");
		rh_bench_print_json_string(finding->what, out);
	}
	(void)fprintf(out, ", \"count\": %lld, \"ranks\": [", (long long)finding->whole);
	for (int32_t i = 0; i < finding->count; i++)
		(void)fprintf(out, "%s%d", i > 0 ? ", " : "", (int)finding->ranks[i]);
	(void)fputs("], \"text\": ", out);
	rh_bench_print_json_string(rh_ras_finding_text(finding, text, sizeof(text)), out);
	(void)fputc('}', out);
}

void rh_ras_print(const struct rh_ras *ras, bool json, FILE *out)
{
	char text[TEXT_ROOM];

	if (json)
		(void)fprintf(out, "{\n  \"status\": %d,\n  \"findings\": [", ras->count > 0 ? 1 : 0);
	for (size_t i = 0; i < ras->count; i++) {
		if (json) {
			(void)fputs(i > 0 ? ",\n" : "\n", out);
			print_json(&ras->items[i], out);
		} else {
			(void)fprintf(out, "%s: %s\n", print_kinds[ras->items[i].kind],
			              rh_ras_finding_text(&ras->items[i], text, sizeof(text)));
		}
	}
	if (json)
		(void)fputs("\n  ]\n}\n", out);
	else if (ras->count == 0)
		(void)fputs("fine: all ranks have launched as many operations\n", out);
}
