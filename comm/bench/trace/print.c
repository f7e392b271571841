/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/bench/trace/print.h"

#include "comm/bench/print.h"
#include "comm/core/bootstrap/protocol/label.h"
#include "comm/core/trace/format.h"

#define LINE_ROOM 700
#define OP_ROOM 200
#define RANKS_MOST RH_TRACE_RANKS_MOST
#define SECOND 1e9

static const char *const print_states[] = {"unknown", "posted", "started", "done"};
static const char *const print_kinds[] = {
	[RH_TRACE_DIFFERS] = "differs", [RH_TRACE_MISSING] = "missing", [RH_TRACE_OPEN] = "open-message"};

static const char *print_state(const struct rh_trace_op *op)
{
	size_t count = sizeof(print_states) / sizeof(*print_states);

	return print_states[op->state > 0 && (size_t)op->state < count ? op->state : 0];
}

static void print_group(const struct rh_trace_rank *rank, uint64_t group, FILE *out)
{
	const char *title = NULL;

	for (size_t i = 0; i < rank->group_count; i++)
		title = rank->groups[i].name == group ? rank->groups[i].title : title;
	if (title)
		(void)fprintf(out, " of group %s", title);
	else if (group != 0)
		(void)fprintf(out, " of group %llx", (unsigned long long)group);
}

static void print_rank(const struct rh_trace_rank *rank, FILE *out)
{
	const struct rh_trace_op *last = rank->count > 0 ? &rank->ops[rank->count - 1] : NULL;
	char text[OP_ROOM];

	(void)fprintf(out, "rank %d", (int)rank->rank);
	if (!rank->foreign)
		(void)fprintf(out, " on %s, process %lld", rank->host, (long long)rank->process);
	(void)fprintf(out, "%s: %llu operations", rank->left ? ", has left" : "", (unsigned long long)rank->posted);
	if (last) {
		(void)fprintf(out, "; the last: %s", rh_trace_op_text(last, text, sizeof(text)));
		if (last->number > 0)
			(void)fprintf(out, ", number %llu", (unsigned long long)last->number);
		print_group(rank, last->group, out);
		(void)fprintf(out, ", %s", print_state(last));
		if (last->state == RH_COMM_TRACE_DONE && last->status < 0)
			(void)fprintf(out, " with %s", rh_comm_status_text(last->status));
		if (!rank->foreign)
			(void)fprintf(out, ", %.3f s before the end of its trace",
			              (double)(rank->end - (last->ended ? last->ended : last->begun)) / SECOND);
	}
	(void)fputc('\n', out);
}

/* Ranks of the world without a file: it may be one of them. */
static void print_untraced(const struct rh_trace_rank *ranks, size_t count, FILE *out)
{
	size_t at = 0;
	int printed = 0;

	for (int32_t rank = 0; count > 0 && rank < ranks[0].world; rank++) {
		if (at < count && ranks[at].rank == rank) {
			at++;
			continue;
		}
		if (printed < RANKS_MOST)
			(void)fprintf(out, "%s %d", printed > 0 ? "," : "no trace of rank", (int)rank);
		printed++;
	}
	if (printed > RANKS_MOST)
		(void)fprintf(out, " and %d more", printed - RANKS_MOST);
	if (printed > 0)
		(void)fputc('\n', out);
}

/* Of few operations nothing is known. */
static void print_pace(const struct rh_trace_result *result, FILE *out)
{
	const struct rh_comm_pace *pace = result->pace;

	if (pace->rounds < RH_COMM_PACE_ROUNDS_LEAST)
		return;
	if (pace->late != RH_COMM_NO_RANK)
		(void)fprintf(out, "slow: the others wait for rank %d in %.1f %% of the time, over %zu rounds\n",
		              (int)result->ranks[pace->late].rank, 100 * pace->share, pace->rounds);
	(void)fprintf(out, "all ranks wait for data in %.1f %% of the time\n", 100 * pace->transfer);
}

void rh_trace_print_text(const struct rh_trace_result *result, FILE *out)
{
	const struct rh_trace_findings *findings = result->findings;
	char line[LINE_ROOM];

	for (size_t i = 0; i < result->count; i++)
		print_rank(&result->ranks[i], out);
	print_untraced(result->ranks, result->count, out);
	print_pace(result, out);
	for (size_t i = 0; i < findings->count; i++)
		(void)fprintf(out, "%s: %s\n", print_kinds[findings->items[i].kind],
		              rh_trace_finding_text(&findings->items[i], line, sizeof(line)));
	if (findings->count == 0)
		(void)fputs("fine: all ranks have come to the same operations\n", out);
}

/* Times are seconds since 1970. */
static void json_op(const struct rh_trace_op *op, FILE *out)
{
	char text[OP_ROOM];

	(void)fprintf(out, "{\"operation\": ");
	rh_bench_print_json_string(rh_trace_op_text(op, text, sizeof(text)), out);
	(void)fprintf(out, ", \"group\": \"%llx\"", (unsigned long long)op->group);
	if (op->number > 0)
		(void)fprintf(out, ", \"number\": %llu", (unsigned long long)op->number);
	(void)fprintf(out, ", \"count\": %llu, \"state\": \"%s\", \"posted\": %.6f", (unsigned long long)op->count,
	              print_state(op), (double)op->begun / SECOND);
	if (op->ended)
		(void)fprintf(out, ", \"done\": %.6f, \"status\": %d", (double)op->ended / SECOND, (int)op->status);
	(void)fputc('}', out);
}

static void json_rank(const struct rh_trace_rank *rank, FILE *out)
{
	(void)fprintf(out, "    {\"rank\": %d, \"host\": ", (int)rank->rank);
	rh_bench_print_json_string(rank->host, out);
	(void)fprintf(out, ", \"process\": %lld, \"left\": %s, \"end\": %.6f, \"posted\": %llu, \"operations\": [",
	              (long long)rank->process, rank->left ? "true" : "false", (double)rank->end / SECOND,
	              (unsigned long long)rank->posted);
	for (size_t i = 0; i < rank->count; i++) {
		(void)fputs(i > 0 ? ",\n      " : "\n      ", out);
		json_op(&rank->ops[i], out);
	}
	(void)fputs("]}", out);
}

static void json_finding(const struct rh_trace_finding *finding, FILE *out)
{
	char line[LINE_ROOM];

	(void)fprintf(out, "    {\"kind\": \"%s\", \"group\": \"%llx\", \"number\": %llu, \"ranks\": [",
	              print_kinds[finding->kind], (unsigned long long)finding->op.group,
	              (unsigned long long)finding->op.number);
	for (int32_t i = 0; i < finding->count; i++)
		(void)fprintf(out, "%s%d", i > 0 ? ", " : "", (int)finding->ranks[i]);
	(void)fputs("], \"operation\": ", out);
	rh_bench_print_json_string(rh_trace_op_text(&finding->op, line, sizeof(line)), out);
	if (finding->kind == RH_TRACE_DIFFERS) {
		(void)fputs(", \"other\": ", out);
		rh_bench_print_json_string(rh_trace_op_text(&finding->other, line, sizeof(line)), out);
	}
	if (finding->waiting != RH_COMM_NO_RANK)
		(void)fprintf(out, ", \"waiting\": %d", (int)finding->waiting);
	if (finding->waiting != RH_COMM_NO_RANK && finding->waited >= 0)
		(void)fprintf(out, ", \"waited\": %.6f", (double)finding->waited / SECOND);
	(void)fputs(", \"text\": ", out);
	rh_bench_print_json_string(rh_trace_finding_text(finding, line, sizeof(line)), out);
	(void)fputc('}', out);
}

static void json_pace(const struct rh_trace_result *result, FILE *out)
{
	const struct rh_comm_pace *pace = result->pace;

	(void)fprintf(out, "  \"pace\": {\"rounds\": %zu, \"transfer\": %.6f", pace->rounds, pace->transfer);
	if (pace->late != RH_COMM_NO_RANK)
		(void)fprintf(out, ", \"slow\": %d, \"share\": %.6f", (int)result->ranks[pace->late].rank, pace->share);
	(void)fputs("},\n", out);
}

void rh_trace_print_json(const struct rh_trace_result *result, FILE *out)
{
	const struct rh_trace_findings *findings = result->findings;

	(void)fprintf(out, "{\n  \"status\": %d,\n  \"world\": %d,\n  \"ranks\": [", findings->count > 0 ? 1 : 0,
	              result->count > 0 ? (int)result->ranks[0].world : 0);
	for (size_t i = 0; i < result->count; i++) {
		(void)fputs(i > 0 ? ",\n" : "\n", out);
		json_rank(&result->ranks[i], out);
	}
	(void)fputs("\n  ],\n", out);
	json_pace(result, out);
	(void)fputs("  \"findings\": [", out);
	for (size_t i = 0; i < findings->count; i++) {
		(void)fputs(i > 0 ? ",\n" : "\n", out);
		json_finding(&findings->items[i], out);
	}
	(void)fputs("\n  ]\n}\n", out);
}
