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

/* A rank, and for how long it has waited before each of its operations was posted, and at the end. */
struct waits {
	const struct rh_trace_rank *rank;
	double *before;
};

/*
 * The time in which a rank did nothing but wait for an operation: from its latest post, or the end of one before, to
 * the end. What it posted ahead is not waited for until then. All operations count, also those of its groups: who comes
 * late because it had to wait elsewhere is not slow.
 */
static double pace_wait(const struct rh_trace_rank *rank, size_t i, int64_t *latest)
{
	const struct rh_trace_op *op = &rank->ops[i];
	int64_t from = op->begun;
	double wait;

	if (op->state != RH_COMM_TRACE_DONE)
		return 0;
	for (size_t j = i + 1; j < rank->count && rank->ops[j].begun < op->ended; j++)
		from = rank->ops[j].begun;
	from = *latest > from ? *latest : from;
	wait = op->ended > from ? (double)(op->ended - from) : 0;
	*latest = op->ended > *latest ? op->ended : *latest;
	return wait;
}

/* @return false: out of memory */
static bool pace_sum(const struct rh_trace_rank *rank, struct waits *ret_waits)
{
	int64_t latest = 0;

	ret_waits->rank = rank;
	ret_waits->before = calloc(rank->count + 1, sizeof(*ret_waits->before));
	for (size_t i = 0; ret_waits->before && i < rank->count; i++)
		ret_waits->before[i + 1] = ret_waits->before[i] + pace_wait(rank, i, &latest);
	return ret_waits->before != NULL;
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

/* For how long a rank has waited until the end of that number of the world. @return false: as pace_find() */
static bool pace_until(const struct waits *waits, uint64_t number, double *ret_wait)
{
	size_t place;

	if (!pace_find(waits->rank, number, &place))
		return false;
	*ret_wait = waits->before[waits->rank->byno[place] - waits->rank->ops + 1];
	return true;
}

/* One operation of all ranks. @return false: not all have it and the one before it */
static bool pace_take(const struct waits *ranks, size_t count, size_t first, double *waits, double *ret_period)
{
	const struct rh_trace_op *op = ranks[0].rank->byno[first];

	*ret_period = (double)(op->ended - ranks[0].rank->byno[first - 1]->ended);
	if (op->group != 0)
		return false;
	for (size_t i = 0; i < count; i++) {
		double before;

		if (!pace_until(&ranks[i], op->number, &waits[i]) || !pace_until(&ranks[i], op->number - 1, &before))
			return false;
		waits[i] -= before;
	}
	return true;
}

static int32_t pace_judge_all(const struct waits *ranks, size_t count, struct rh_pace *ret_pace)
{
	size_t most = ranks[0].rank->collectives;
	struct rh_pace_rounds rounds = {.world = (int32_t)count};
	double *waits = calloc(most * count, sizeof(*waits));
	double *periods = calloc(most, sizeof(*periods));
	int32_t r = RH_COMM_ENOMEM;

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

int32_t rh_pace_of(const struct rh_trace_rank *ranks, size_t count, struct rh_pace *ret_pace)
{
	bool enough = count >= 2 && count == (size_t)ranks[0].world && ranks[0].collectives >= 2;
	struct waits *all;
	bool summed = true;
	int32_t r;

	*ret_pace = (struct rh_pace){.late = RH_COMM_NO_RANK};
	if (!enough)
		return 0;
	all = calloc(count, sizeof(*all));
	for (size_t i = 0; all && i < count; i++)
		summed = pace_sum(&ranks[i], &all[i]) && summed;
	r = all && summed ? pace_judge_all(all, count, ret_pace) : RH_COMM_ENOMEM;
	for (size_t i = 0; all && i < count; i++)
		free(all[i].before);
	free(all);
	return r;
}
