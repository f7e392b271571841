/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/bench/trace/pace.h"

#include <stdlib.h>

#include "comm/core/trace/format.h"
#include "roundhouse/comm.h"

/* A mean must be so many times its standard error: with jitter alone that does not happen in a lifetime. */
#define SIGMAS 6.0

/* How much earlier than this rank the others came, by operation: sums of it and of its square. */
struct lateness {
	double sum;
	double square;
};

/* @return the shortest wait */
static double pace_add_round(const double *waits, int32_t world, struct lateness *ranks)
{
	double shortest = waits[0];
	double sum = 0;

	for (int32_t rank = 0; rank < world; rank++) {
		shortest = waits[rank] < shortest ? waits[rank] : shortest;
		sum += waits[rank];
	}
	for (int32_t rank = 0; rank < world; rank++) {
		double late = (sum - waits[rank]) / (world > 1 ? world - 1 : 1) - waits[rank];

		ranks[rank].sum += late;
		ranks[rank].square += late * late;
	}
	return shortest;
}

/* Squares are compared, so that no root is needed. */
static bool pace_is_late(const struct lateness *rank, double count, double time)
{
	double mean = rank->sum / count;
	double variance = rank->square / count - mean * mean;

	return rank->sum >= RH_PACE_LATE * time && mean * mean * count >= SIGMAS * SIGMAS * variance;
}

/* One rank is named: where several come last together, the others would wait as long without it. */
static void pace_conclude(const struct rh_pace_rounds *rounds, const struct lateness *ranks, double time,
                          struct rh_pace *pace)
{
	int32_t last = 0;
	double next = -time;

	for (int32_t rank = 1; rank < rounds->world; rank++)
		last = ranks[rank].sum > ranks[last].sum ? rank : last;
	for (int32_t rank = 0; rank < rounds->world; rank++) {
		if (rank != last && ranks[rank].sum > next)
			next = ranks[rank].sum;
	}
	if (!pace_is_late(&ranks[last], (double)rounds->count, time) || ranks[last].sum - next < RH_PACE_LATE / 2 * time)
		return;
	pace->late = last;
	pace->share = ranks[last].sum / time;
}

int32_t rh_pace_judge(const struct rh_pace_rounds *rounds, struct rh_pace *ret_pace)
{
	size_t world = (size_t)rounds->world;
	struct lateness *ranks = calloc(world, sizeof(*ranks));
	double time = 0;

	*ret_pace = (struct rh_pace){.late = RH_COMM_NO_RANK, .rounds = rounds->count};
	for (size_t i = 0; ranks && i < rounds->count; i++) {
		ret_pace->transfer += pace_add_round(rounds->waits + i * world, rounds->world, ranks);
		time += rounds->periods[i];
	}
	if (ranks && time > 0) {
		ret_pace->transfer /= time;
		if (rounds->count >= RH_PACE_ROUNDS_LEAST && world > 1)
			pace_conclude(rounds, ranks, time, ret_pace);
	}
	if (!ranks)
		return RH_COMM_ENOMEM;
	free(ranks);
	return 0;
}

/*
 * The time in which a rank did nothing but wait for the i-th of its collectives: from its latest post, or the end of
 * the one before, to the end. What it posted ahead is not waited for until then.
 */
static double pace_wait(const struct rh_trace_rank *rank, size_t i)
{
	const struct rh_trace_op *op = rank->byno[i];
	int64_t from = op->begun;

	for (size_t j = i + 1; j < rank->collectives && rank->byno[j]->group == op->group; j++) {
		if (rank->byno[j]->begun >= op->ended)
			break;
		from = rank->byno[j]->begun;
	}
	if (i > 0 && rank->byno[i - 1]->group == op->group && rank->byno[i - 1]->ended > from)
		from = rank->byno[i - 1]->ended;
	return op->ended > from ? (double)(op->ended - from) : 0;
}

/* The place of a number of the world, which comes first, in a trace. @return false: it is not there, or not done */
static bool pace_find(const struct rh_trace_rank *rank, uint64_t number, size_t *ret_place)
{
	size_t low = 0;
	size_t high = rank->collectives;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (rank->byno[middle]->group > 0 || rank->byno[middle]->number >= number)
			high = middle;
		else
			low = middle + 1;
	}
	*ret_place = low;
	return low < rank->collectives && rank->byno[low]->group == 0 && rank->byno[low]->number == number &&
	       rank->byno[low]->state == RH_COMM_TRACE_DONE && rank->byno[low]->status == 0;
}

/* One operation of all ranks. @return false: not all have it and the one before it */
static bool pace_take(const struct rh_trace_rank *ranks, size_t count, size_t first, double *waits, double *ret_period)
{
	const struct rh_trace_op *op = ranks[0].byno[first];

	*ret_period = (double)(op->ended - ranks[0].byno[first - 1]->ended);
	if (op->group != 0)
		return false;
	for (size_t i = 0; i < count; i++) {
		size_t place;

		if (!pace_find(&ranks[i], op->number, &place))
			return false;
		waits[i] = pace_wait(&ranks[i], place);
	}
	return true;
}

int32_t rh_pace_of(const struct rh_trace_rank *ranks, size_t count, struct rh_pace *ret_pace)
{
	struct rh_pace_rounds rounds = {.world = (int32_t)count};
	size_t most = count > 0 ? ranks[0].collectives : 0;
	double *waits;
	double *periods;
	int32_t r = RH_COMM_ENOMEM;

	*ret_pace = (struct rh_pace){.late = RH_COMM_NO_RANK};
	if (count < 2 || count != (size_t)ranks[0].world || most < 2)
		return 0;
	waits = calloc(most * count, sizeof(*waits));
	periods = calloc(most, sizeof(*periods));
	if (waits && periods) {
		for (size_t i = 1; i < most; i++)
			rounds.count += pace_take(ranks, count, i, waits + rounds.count * count, &periods[rounds.count]);
		rounds.waits = waits;
		rounds.periods = periods;
		r = rh_pace_judge(&rounds, ret_pace);
	}
	free(waits);
	free(periods);
	return r;
}
