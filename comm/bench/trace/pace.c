/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/bench/trace/pace.h"

#include <stdlib.h>

#include "comm/core/trace/format.h"
#include "roundhouse/comm.h"

/*
 * The time in which a rank did nothing but wait for an operation: from its latest post, or the end of one before, to
 * the end (comm/core/trace/waits.h).
 */
static int64_t pace_wait(const struct rh_trace_rank *rank, size_t i, int64_t *latest)
{
	const struct rh_trace_op *op = &rank->ops[i];
	int64_t from = op->begun;
	int64_t wait;

	if (op->state != RH_COMM_TRACE_DONE)
		return 0;
	for (size_t j = i + 1; j < rank->count && rank->ops[j].begun < op->ended; j++)
		from = rank->ops[j].begun;
	from = *latest > from ? *latest : from;
	wait = op->ended > from ? op->ended - from : 0;
	*latest = op->ended > *latest ? op->ended : *latest;
	return wait;
}

static bool pace_is_mark(const struct rh_trace_op *op)
{
	return op->group == 0 && op->number > 0 && op->state == RH_COMM_TRACE_DONE && op->status == 0 &&
	       rh_comm_pace_is_common(op->what);
}

/* @param marks room for all operations of the rank. @return how many there are */
static size_t pace_mark(const struct rh_trace_rank *rank, struct rh_comm_pace_mark *marks)
{
	int64_t latest = 0;
	int64_t waited = 0;
	size_t count = 0;

	for (size_t i = 0; i < rank->count; i++) {
		const struct rh_trace_op *op = &rank->ops[i];

		waited += pace_wait(rank, i, &latest);
		if (pace_is_mark(op) && (count == 0 || op->number > marks[count - 1].number))
			marks[count++] = (struct rh_comm_pace_mark){op->number, waited, op->ended};
	}
	return count;
}

/* Longer and longer rounds, until one of them names a rank. */
static int32_t pace_judge(const struct rh_comm_pace_marks *marks, size_t count, struct rh_comm_pace *ret_pace)
{
	int32_t r = rh_comm_pace_judge_marks(marks, (int32_t)count, 1, ret_pace);

	for (size_t step = RH_COMM_PACE_LEVEL_STEP;
	     r == 0 && ret_pace->late == RH_COMM_NO_RANK && marks[0].count / step > RH_COMM_PACE_ROUNDS_LEAST;
	     step *= RH_COMM_PACE_LEVEL_STEP) {
		struct rh_comm_pace pace;

		r = rh_comm_pace_judge_marks(marks, (int32_t)count, step, &pace);
		if (r == 0 && pace.late != RH_COMM_NO_RANK)
			*ret_pace = pace;
	}
	return r;
}

int32_t rh_trace_pace(const struct rh_trace_rank *ranks, size_t count, struct rh_comm_pace *ret_pace)
{
	struct rh_comm_pace_marks *marks;
	struct rh_comm_pace_mark *items;
	size_t room = 1;
	size_t used = 0;
	int32_t r = RH_COMM_ENOMEM;

	*ret_pace = (struct rh_comm_pace){.late = RH_COMM_NO_RANK};
	if (count < 2 || count != (size_t)ranks[0].world)
		return 0;
	for (size_t i = 0; i < count; i++)
		room += ranks[i].count;
	marks = calloc(count, sizeof(*marks));
	items = calloc(room, sizeof(*items));
	for (size_t i = 0; marks && items && i < count; i++) {
		marks[i] = (struct rh_comm_pace_marks){items + used, pace_mark(&ranks[i], items + used)};
		used += marks[i].count;
	}
	if (marks && items)
		r = pace_judge(marks, count, ret_pace);
	free(marks);
	free(items);
	return r;
}
