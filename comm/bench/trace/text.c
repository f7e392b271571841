/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/bench/trace/text.h"

#include <stdio.h>

#include "comm/bench/trace/line.h"
#include "comm/core/bootstrap/protocol/label.h"

#define OP_ROOM 200
#define SECOND 1e9

/* Of lists of counts the trace has nothing. */
const char *rh_trace_op_text(const struct rh_trace_op *op, char *text, size_t room)
{
	struct rh_comm_op posted = {.what = op->what, .count = op->count, .type = op->type, .reduce = op->reduce};
	bool message = op->what == RH_COMM_SEND || op->what == RH_COMM_RECV;
	char whole[OP_ROOM];

	if (op->text) {
		(void)snprintf(text, room, "%s", op->text);
		return text;
	}
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

static void line_add_ranks(struct rh_trace_line *line, const struct rh_trace_finding *finding)
{
	rh_trace_line_add(line, finding->count == 1 ? "rank" : "ranks");
	for (int32_t i = 0; i < finding->count && i < RH_TRACE_RANKS_MOST; i++)
		rh_trace_line_add(line, "%s %d", i > 0 ? "," : "", (int)finding->ranks[i]);
	if (finding->count > RH_TRACE_RANKS_MOST)
		rh_trace_line_add(line, " and %d more", (int)finding->count - RH_TRACE_RANKS_MOST);
}

static void line_add_group(struct rh_trace_line *line, const struct rh_trace_finding *finding)
{
	if (finding->title)
		rh_trace_line_add(line, " of group %s", finding->title);
	else if (finding->op.group != 0)
		rh_trace_line_add(line, " of group %llx", (unsigned long long)finding->op.group);
	if (finding->op.group != 0 && finding->members > 0)
		rh_trace_line_add(line, " (%d ranks)", (int)finding->members);
}

static void line_add_differs(struct rh_trace_line *line, const struct rh_trace_finding *finding)
{
	char texts[2][OP_ROOM];

	line_add_ranks(line, finding);
	rh_trace_line_add(line, " posted %s as number %llu", rh_trace_op_text(&finding->other, texts[0], OP_ROOM),
	                  (unsigned long long)finding->op.number);
	line_add_group(line, finding);
	rh_trace_line_add(line, ", rank %d %s", (int)finding->waiting, rh_trace_op_text(&finding->op, texts[1], OP_ROOM));
}

static void line_add_missing(struct rh_trace_line *line, const struct rh_trace_finding *finding)
{
	char text[OP_ROOM];

	line_add_ranks(line, finding);
	rh_trace_line_add(line, " did not come to number %llu", (unsigned long long)finding->op.number);
	line_add_group(line, finding);
	rh_trace_line_add(line, ", %s", rh_trace_op_text(&finding->op, text, sizeof(text)));
	if (finding->waiting == RH_COMM_NO_RANK)
		return;
	rh_trace_line_add(line, "; rank %d ", (int)finding->waiting);
	if (finding->waited >= 0)
		rh_trace_line_add(line, "has waited %.3f s ", (double)finding->waited / SECOND);
	else
		rh_trace_line_add(line, "waits ");
	if (finding->waits_at == finding->op.number)
		rh_trace_line_add(line, "there");
	else
		rh_trace_line_add(line, "at number %llu", (unsigned long long)finding->waits_at);
}

const char *rh_trace_finding_text(const struct rh_trace_finding *finding, char *text, size_t room)
{
	struct rh_trace_line line = {.text = text, .room = room};
	char op[OP_ROOM];

	text[0] = '\0';
	if (finding->kind == RH_TRACE_DIFFERS) {
		line_add_differs(&line, finding);
	} else if (finding->kind == RH_TRACE_MISSING) {
		line_add_missing(&line, finding);
	} else {
		line_add_ranks(&line, finding);
		if (finding->waited >= 0)
			rh_trace_line_add(&line, " has waited %.3f s for ", (double)finding->waited / SECOND);
		else
			rh_trace_line_add(&line, " waits for ");
		rh_trace_line_add(&line, "%s", rh_trace_op_text(&finding->op, op, sizeof(op)));
		line_add_group(&line, finding);
	}
	return text;
}
