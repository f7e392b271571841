/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/core/trace/pace.h"

#include <stdlib.h>
#include <string.h>
/* A mean must be so many times its standard error: with jitter alone that does not happen in a lifetime. */
#define SIGMAS 7.0

/* How much earlier than this rank the others came, by round: sums of it and of its square. */
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

	return rank->sum >= RH_COMM_PACE_LATE * time && mean * mean * count >= SIGMAS * SIGMAS * variance;
}

/* One rank is named: where several come last together, the others would wait as long without it. */
static void pace_conclude(const struct rh_comm_pace_rounds *rounds, const struct lateness *ranks, double time,
                          struct rh_comm_pace *pace)
{
	int32_t last = 0;
	double next = -time;

	for (int32_t rank = 1; rank < rounds->world; rank++)
		last = ranks[rank].sum > ranks[last].sum ? rank : last;
	for (int32_t rank = 0; rank < rounds->world; rank++) {
		if (rank != last && ranks[rank].sum > next)
			next = ranks[rank].sum;
	}
	if (!pace_is_late(&ranks[last], (double)rounds->count, time) ||
	    ranks[last].sum - next < RH_COMM_PACE_LATE / 2 * time)
		return;
	pace->late = last;
	pace->share = ranks[last].sum / time;
}

int32_t rh_comm_pace_judge(const struct rh_comm_pace_rounds *rounds, struct rh_comm_pace *ret_pace)
{
	size_t world = (size_t)rounds->world;
	struct lateness *ranks = calloc(world, sizeof(*ranks));
	double time = 0;

	*ret_pace = (struct rh_comm_pace){.late = RH_COMM_NO_RANK, .rounds = rounds->count};
	for (size_t i = 0; ranks && i < rounds->count; i++) {
		ret_pace->transfer += pace_add_round(rounds->waits + i * world, rounds->world, ranks);
		time += rounds->periods[i];
	}
	if (ranks && time > 0) {
		ret_pace->transfer /= time;
		ret_pace->time = time;
		if (rounds->count >= RH_COMM_PACE_ROUNDS_LEAST && world > 1)
			pace_conclude(rounds, ranks, time, ret_pace);
	}
	if (!ranks)
		return RH_COMM_ENOMEM;
	free(ranks);
	return 0;
}

/* Where each rank's marks are read, and what is made of them. */
struct pace_reader {
	const struct rh_comm_pace_marks *ranks;
	size_t world;
	size_t *places;  /* by rank: the first mark that may still be common */
	double *before;  /* by rank: waited until the mark taken before */
	double *waits;   /* of rounds */
	double *periods; /* of rounds */
	size_t rounds;
	bool begun; /* a mark was taken before */
	double ended;
};

/* @return whether all ranks have a mark of that number; then their places are there */
static bool pace_find(const struct pace_reader *reader, uint64_t number)
{
	bool all = true;

	for (size_t rank = 0; rank < reader->world; rank++) {
		const struct rh_comm_pace_marks *marks = &reader->ranks[rank];
		size_t *place = &reader->places[rank];

		while (*place < marks->count && marks->items[*place].number < number)
			++*place;
		all = all && *place < marks->count && marks->items[*place].number == number;
	}
	return all;
}

/* Differences of doubles: what another rank sends may be any number. */
static void pace_take(struct pace_reader *reader)
{
	double ended = (double)reader->ranks[0].items[reader->places[0]].ended;

	for (size_t rank = 0; rank < reader->world; rank++) {
		double waited = (double)reader->ranks[rank].items[reader->places[rank]].waited;

		if (reader->begun)
			reader->waits[reader->rounds * reader->world + rank] = waited - reader->before[rank];
		reader->before[rank] = waited;
	}
	if (reader->begun)
		reader->periods[reader->rounds++] = ended - reader->ended;
	reader->ended = ended;
	reader->begun = true;
}

static void pace_read(struct pace_reader *reader, size_t step)
{
	size_t common = 0;

	for (size_t i = 0; i < reader->ranks[0].count; i++) {
		if (pace_find(reader, reader->ranks[0].items[i].number) && common++ % step == 0)
			pace_take(reader);
	}
}

int32_t rh_comm_pace_judge_marks(const struct rh_comm_pace_marks *ranks, int32_t world, size_t step,
                                 struct rh_comm_pace *ret_pace)
{
	size_t count = (size_t)world;
	size_t most = ranks[0].count / step + 1;
	struct pace_reader reader = {.ranks = ranks, .world = count};
	struct rh_comm_pace_rounds rounds = {.world = world};
	int32_t r = RH_COMM_ENOMEM;

	reader.places = calloc(count, sizeof(*reader.places));
	reader.before = calloc(count * (most + 1), sizeof(*reader.before));
	reader.periods = calloc(most, sizeof(*reader.periods));
	if (reader.places && reader.before && reader.periods) {
		reader.waits = reader.before + count;
		pace_read(&reader, step);
		rounds.waits = reader.waits;
		rounds.periods = reader.periods;
		rounds.count = reader.rounds;
		r = rh_comm_pace_judge(&rounds, ret_pace);
	}
	free(reader.places);
	free(reader.before);
	free(reader.periods);
	return r;
}

static void pace_add_to(struct rh_comm_pace_history *history, size_t level, const struct rh_comm_pace_mark *mark)
{
	struct rh_comm_pace_mark *marks = history->marks[level];
	size_t *count = &history->counts[level];

	if (*count == RH_COMM_PACE_MARKS)
		memmove(marks, marks + 1, --*count * sizeof(*marks));
	marks[(*count)++] = *mark;
}

void rh_comm_pace_add(struct rh_comm_pace_history *history, const struct rh_comm_pace_mark *mark)
{
	size_t count = history->counts[0];
	uint64_t multiple = 1;

	if (count > 0 && mark->number <= history->marks[0][count - 1].number)
		return;
	for (size_t level = 0; level < RH_COMM_PACE_LEVELS && mark->number % multiple == 0; level++) {
		pace_add_to(history, level, mark);
		multiple *= RH_COMM_PACE_LEVEL_STEP;
	}
}

int32_t rh_comm_pace_judge_histories(const struct rh_comm_pace_history *const *ranks, int32_t world,
                                     struct rh_comm_pace *ret_pace)
{
	struct rh_comm_pace_marks *marks = calloc((size_t)world, sizeof(*marks));
	int32_t r = marks ? 0 : RH_COMM_ENOMEM;

	*ret_pace = (struct rh_comm_pace){.late = RH_COMM_NO_RANK};
	for (size_t level = 0; r == 0 && level < RH_COMM_PACE_LEVELS && ret_pace->late == RH_COMM_NO_RANK; level++) {
		struct rh_comm_pace pace;

		for (int32_t rank = 0; rank < world; rank++)
			marks[rank] = (struct rh_comm_pace_marks){ranks[rank]->marks[level], ranks[rank]->counts[level]};
		r = rh_comm_pace_judge_marks(marks, world, 1, &pace);
		if (r == 0 && pace.time >= RH_COMM_PACE_TIME_LEAST && pace.rounds >= RH_COMM_PACE_ROUNDS_LEAST &&
		    (ret_pace->rounds == 0 || pace.late != RH_COMM_NO_RANK))
			*ret_pace = pace;
	}
	free(marks);
	return r;
}
