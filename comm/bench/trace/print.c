/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/bench/trace/print.h"

#include <stdarg.h>
#include <string.h>

#include "comm/bench/print.h"
#include "comm/core/bootstrap/protocol/label.h"
#include "comm/core/trace/format.h"

#define LINE_ROOM 700
#define OP_ROOM 200
/* Most ranks in one sentence. */
#define RANKS_MOST 16
#define SECOND 1e9

static const char *const print_states[] = {"unknown", "posted", "started", "done"};
static const char *const print_kinds[] = {
	[RH_TRACE_DIFFERS] = "differs", [RH_TRACE_MISSING] = "missing", [RH_TRACE_OPEN] = "open-message"};

/* A text that grows up to its room. */
struct line {
	char *text;
	size_t room;
	size_t length;
};

static __attribute__((format(printf, 2, 3))) void line_add(struct line *line, const char *fmt, ...)
{
	va_list args;
	int n;

	va_start(args, fmt);
	n = vsnprintf(line->text + line->length, line->room - line->length, fmt, args);
	va_end(args);
	line->length += n > 0 ? (size_t)n : 0;
	if (line->length >= line->room)
		line->length = line->room - 1;
}

static const char *print_state(const struct rh_trace_op *op)
{
	size_t count = sizeof(print_states) / sizeof(*print_states);

	return print_states[op->state > 0 && (size_t)op->state < count ? op->state : 0];
}

/* "all-reduce of 4 f32, sum". Of lists of counts the trace has nothing. */
static const char *print_op(const struct rh_trace_op *op, char *text, size_t room)
{
	struct rh_comm_op posted = {.what = op->what, .count = op->count, .type = op->type, .reduce = op->reduce};
	bool message = op->what == RH_COMM_SEND || op->what == RH_COMM_RECV;
	char whole[OP_ROOM];

	rh_comm_label_text(rh_comm_label(&posted, op->peer), whole, sizeof(whole));
	if (rh_comm_is_listed(op->what))
		(void)snprintf(text, room, "%s", rh_comm_what_name(op->what));
	else if (message && op->peer == RH_COMM_ANY_RANK)
		(void)snprintf(text, room, "%s from any rank, tag %u", whole, (unsigned)op->tag);
	else if (message)
		(void)snprintf(text, room, "%s %s rank %d, tag %u", whole, op->what == RH_COMM_SEND ? "to" : "from",
		               (int)op->peer, (unsigned)op->tag);
	else
		(void)snprintf(text, room, "%s", whole);
	return text;
}

static void line_add_ranks(struct line *line, const struct rh_trace_finding *finding)
{
	line_add(line, finding->count == 1 ? "rank" : "ranks");
	for (int32_t i = 0; i < finding->count && i < RANKS_MOST; i++)
		line_add(line, "%s %d", i > 0 ? "," : "", (int)finding->ranks[i]);
	if (finding->count > RANKS_MOST)
		line_add(line, " and %d more", (int)finding->count - RANKS_MOST);
}

static void line_add_group(struct line *line, const struct rh_trace_finding *finding)
{
	if (finding->op.group != 0)
		line_add(line, " of group %llx", (unsigned long long)finding->op.group);
	if (finding->op.group != 0 && finding->members > 0)
		line_add(line, " (%d ranks)", (int)finding->members);
}

static void line_add_differs(struct line *line, const struct rh_trace_finding *finding)
{
	char texts[2][OP_ROOM];

	line_add_ranks(line, finding);
	line_add(line, " posted %s as number %llu", print_op(&finding->other, texts[0], OP_ROOM),
	         (unsigned long long)finding->op.number);
	line_add_group(line, finding);
	line_add(line, ", rank %d %s", (int)finding->waiting, print_op(&finding->op, texts[1], OP_ROOM));
}

static void line_add_missing(struct line *line, const struct rh_trace_finding *finding)
{
	char text[OP_ROOM];

	line_add_ranks(line, finding);
	line_add(line, " did not come to number %llu", (unsigned long long)finding->op.number);
	line_add_group(line, finding);
	line_add(line, ", %s", print_op(&finding->op, text, sizeof(text)));
	if (finding->waiting != RH_COMM_NO_RANK)
		line_add(line, "; rank %d has waited %.3f s there", (int)finding->waiting, (double)finding->waited / SECOND);
}

const char *rh_trace_finding_text(const struct rh_trace_finding *finding, char *text, size_t room)
{
	struct line line = {.text = text, .room = room};
	char op[OP_ROOM];

	text[0] = '\0';
	if (finding->kind == RH_TRACE_DIFFERS) {
		line_add_differs(&line, finding);
	} else if (finding->kind == RH_TRACE_MISSING) {
		line_add_missing(&line, finding);
	} else {
		line_add_ranks(&line, finding);
		line_add(&line, " has waited %.3f s for %s", (double)finding->waited / SECOND,
		         print_op(&finding->op, op, sizeof(op)));
		line_add_group(&line, finding);
	}
	return text;
}

static void print_rank(const struct rh_trace_rank *rank, FILE *out)
{
	const struct rh_trace_op *last = rank->count > 0 ? &rank->ops[rank->count - 1] : NULL;
	char text[OP_ROOM];

	(void)fprintf(out, "rank %d on %s, process %lld%s: %llu operations", (int)rank->rank, rank->host,
	              (long long)rank->process, rank->left ? ", has left" : "", (unsigned long long)rank->posted);
	if (last) {
		(void)fprintf(out, "; the last: %s", print_op(last, text, sizeof(text)));
		if (last->number > 0)
			(void)fprintf(out, ", number %llu", (unsigned long long)last->number);
		if (last->group != 0)
			(void)fprintf(out, " of group %llx", (unsigned long long)last->group);
		(void)fprintf(out, ", %s", print_state(last));
		if (last->state == RH_COMM_TRACE_DONE && last->status < 0)
			(void)fprintf(out, " with %s", rh_comm_status_text(last->status));
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
	const struct rh_pace *pace = result->pace;

	if (pace->rounds < RH_PACE_ROUNDS_LEAST)
		return;
	if (pace->late != RH_COMM_NO_RANK)
		(void)fprintf(out, "slow: the others wait for rank %d in %.1f %% of the time, over %zu operations\n",
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
	rh_bench_print_json_string(print_op(op, text, sizeof(text)), out);
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
	rh_bench_print_json_string(print_op(&finding->op, line, sizeof(line)), out);
	if (finding->kind == RH_TRACE_DIFFERS) {
		(void)fputs(", \"other\": ", out);
		rh_bench_print_json_string(print_op(&finding->other, line, sizeof(line)), out);
	}
	if (finding->waiting != RH_COMM_NO_RANK)
		(void)fprintf(out, ", \"waiting\": %d, \"waited\": %.6f", (int)finding->waiting,
		              (double)finding->waited / SECOND);
	(void)fputs(", \"text\": ", out);
	rh_bench_print_json_string(rh_trace_finding_text(finding, line, sizeof(line)), out);
	(void)fputc('}', out);
}

static void json_pace(const struct rh_trace_result *result, FILE *out)
{
	const struct rh_pace *pace = result->pace;

	(void)fprintf(out, "  \"pace\": {\"operations\": %zu, \"transfer\": %.6f", pace->rounds, pace->transfer);
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
