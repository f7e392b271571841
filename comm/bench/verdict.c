/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds slow pairs and ranks. There is no absolute limit that fits all machines: a pair is compared with the median of
 * comparable ones (pairs that share a host, or pairs that do not), a rank with the median of all ranks. Times of ranks
 * that wait for a processor measure the scheduler: in an oversubscribed world only pairs of different hosts are
 * compared.
 */
#include <stdlib.h>
#include <string.h>

#include "comm/bench/numbers.h"
#include "comm/bench/options.h"
#include "comm/bench/result.h"
#include "comm/bench/verdict.h"

/* A rank with fewer pairs cannot be distinguished from its pairs. */
#define RANK_PAIRS_LEAST 2
/* Medians of fewer are meaningless. */
#define LIKE_LEAST 3

struct judge {
	const struct rh_bench_result *result;
	const struct rh_bench_options *options;
	struct rh_bench_verdict verdict;
	size_t room;
	bool failed;
};

static double judge_cell(const struct judge *judge, const double *matrix, int32_t from, int32_t to)
{
	return matrix[(size_t)from * (size_t)judge->result->world + (size_t)to];
}

static void judge_add(struct judge *judge, const struct rh_bench_finding *finding)
{
	struct rh_bench_verdict *verdict = &judge->verdict;

	if (verdict->count == judge->room) {
		size_t room = judge->room ? judge->room * 2 : 16;
		struct rh_bench_finding *items = realloc(verdict->items, room * sizeof(*items));

		if (!items) {
			judge->failed = true;
			return;
		}
		verdict->items = items;
		judge->room = room;
	}
	verdict->items[verdict->count++] = *finding;
}

/* Medians of the two kinds of pairs, [near]; 0 where there are too few to compare. */
struct judge_medians {
	double latency[2];
	double bandwidth[2];
};

static struct judge_medians judge_find_medians(const struct judge *judge)
{
	struct judge_medians medians;

	for (int near = 0; near < 2; near++) {
		/* every pair stands there twice */
		bool is_ignored = near && judge->result->crowded;

		if (rh_bench_matrix_median(judge->result, judge->result->latency, near, &medians.latency[near]) <
		        2 * LIKE_LEAST ||
		    is_ignored)
			medians.latency[near] = 0;
		if (rh_bench_matrix_median(judge->result, judge->result->bandwidth, near, &medians.bandwidth[near]) <
		        2 * LIKE_LEAST ||
		    is_ignored)
			medians.bandwidth[near] = 0;
	}
	return medians;
}

/* @return its ratio to the median of comparable pairs; 1 where there is none */
static double judge_latency_ratio(const struct judge *judge, const struct judge_medians *medians, int32_t a, int32_t b)
{
	double value = judge_cell(judge, judge->result->latency, a, b);
	double median = medians->latency[rh_bench_near(judge->result, a, b)];

	return value > 0 && median > 0 ? median / value : 1;
}

static double judge_bandwidth_ratio(const struct judge *judge, const struct judge_medians *medians, int32_t from,
                                    int32_t to)
{
	double value = judge_cell(judge, judge->result->bandwidth, from, to);
	double median = medians->bandwidth[rh_bench_near(judge->result, from, to)];

	return value > 0 && median > 0 ? value / median : 1;
}

/* What a rank's pairs are compared by. */
typedef double judge_ratio_fn(const struct judge *judge, const struct judge_medians *medians, int32_t rank,
                              int32_t peer);

static double judge_back_ratio(const struct judge *judge, const struct judge_medians *medians, int32_t rank,
                               int32_t peer)
{
	return judge_bandwidth_ratio(judge, medians, peer, rank);
}

/*
 * The worst of three medians over a rank's pairs: of latency, of what it sends, of what it receives. (The median of the
 * worst of each pair would be low for everybody.) 1 when it has too few pairs.
 */
static double judge_rank_ratio(const struct judge *judge, const struct judge_medians *medians, int32_t rank,
                               double *ratios)
{
	static judge_ratio_fn *const kinds[] = {judge_latency_ratio, judge_bandwidth_ratio, judge_back_ratio};
	double worst = 1;

	if (judge->result->world <= RANK_PAIRS_LEAST)
		return 1;
	for (size_t kind = 0; kind < sizeof(kinds) / sizeof(*kinds); kind++) {
		size_t count = 0;
		double median;

		for (int32_t peer = 0; peer < judge->result->world; peer++) {
			if (peer != rank)
				ratios[count++] = kinds[kind](judge, medians, rank, peer);
		}
		median = rh_bench_median(ratios, count);
		worst = median < worst ? median : worst;
	}
	return worst;
}

static void judge_ranks(struct judge *judge, const struct judge_medians *medians, double *ratios, bool *ret_slow)
{
	for (int32_t rank = 0; rank < judge->result->world; rank++) {
		double ratio = judge_rank_ratio(judge, medians, rank, ratios);
		struct rh_bench_finding finding = {RH_BENCH_SLOW_RANK, rank, -1, ratio, 1, ratio};

		ret_slow[rank] = ratio < judge->options->ratio;
		if (ret_slow[rank])
			judge_add(judge, &finding);
	}
}

static void judge_copies(struct judge *judge, double *numbers)
{
	size_t world = (size_t)judge->result->world;
	double median;

	if (world < LIKE_LEAST || judge->result->crowded)
		return;
	memcpy(numbers, judge->result->copy, world * sizeof(*numbers));
	median = rh_bench_median(numbers, world);
	for (int32_t rank = 0; rank < judge->result->world; rank++) {
		double value = judge->result->copy[rank];
		struct rh_bench_finding finding = {RH_BENCH_SLOW_COPY, rank, -1, value, median, value / median};

		if (median > 0 && value < median * judge->options->ratio)
			judge_add(judge, &finding);
	}
}

static void judge_bandwidth(struct judge *judge, const struct judge_medians *medians, int32_t from, int32_t to)
{
	double value = judge_cell(judge, judge->result->bandwidth, from, to);
	double ratio = judge_bandwidth_ratio(judge, medians, from, to);
	double median = medians->bandwidth[rh_bench_near(judge->result, from, to)];
	struct rh_bench_finding finding = {RH_BENCH_SLOW_BANDWIDTH, from, to, value, median, ratio};

	if (ratio < judge->options->ratio)
		judge_add(judge, &finding);
	if (value > 0 && value < judge->options->least) {
		finding.kind = RH_BENCH_BELOW_LEAST;
		finding.median = judge->options->least;
		finding.ratio = value / judge->options->least;
		judge_add(judge, &finding);
	}
}

static void judge_latency(struct judge *judge, const struct judge_medians *medians, int32_t a, int32_t b)
{
	double ratio = judge_latency_ratio(judge, medians, a, b);
	struct rh_bench_finding finding = {RH_BENCH_SLOW_LATENCY,
	                                   a,
	                                   b,
	                                   judge_cell(judge, judge->result->latency, a, b),
	                                   medians->latency[rh_bench_near(judge->result, a, b)],
	                                   ratio};

	if (ratio < judge->options->ratio)
		judge_add(judge, &finding);
}

/* Pairs of a rank that is slow itself are not reported one by one. */
static void judge_pairs(struct judge *judge, const struct judge_medians *medians, const bool *slow)
{
	for (int32_t a = 0; a < judge->result->world; a++) {
		for (int32_t b = a + 1; b < judge->result->world; b++) {
			if (slow[a] || slow[b])
				continue;
			judge_latency(judge, medians, a, b);
			judge_bandwidth(judge, medians, a, b);
			judge_bandwidth(judge, medians, b, a);
		}
	}
}

int32_t rh_bench_find_slow(const struct rh_bench_result *result, const struct rh_bench_options *options,
                           struct rh_bench_verdict *ret_verdict)
{
	struct judge judge = {.result = result, .options = options};
	struct judge_medians medians = judge_find_medians(&judge);
	double *numbers = calloc((size_t)result->world, sizeof(*numbers));
	bool *slow = calloc((size_t)result->world, sizeof(*slow));

	judge.failed = !numbers || !slow;
	if (!judge.failed) {
		judge_ranks(&judge, &medians, numbers, slow);
		judge_copies(&judge, numbers);
		judge_pairs(&judge, &medians, slow);
	}
	free(numbers);
	free(slow);
	if (judge.failed) {
		rh_bench_verdict_deinit(&judge.verdict);
		return RH_COMM_ENOMEM;
	}
	*ret_verdict = judge.verdict;
	return 0;
}

void rh_bench_verdict_deinit(struct rh_bench_verdict *verdict)
{
	free(verdict->items);
	memset(verdict, 0, sizeof(*verdict));
}

const char *rh_bench_kind_name(enum rh_bench_kind kind)
{
	static const char *const names[] = {"slow-latency", "slow-bandwidth", "below-least", "slow-rank", "slow-copy"};

	return names[kind];
}

const char *rh_bench_finding_text(const struct rh_bench_finding *finding, char *text, size_t room)
{
	int from = (int)finding->from;
	int to = (int)finding->to;

	switch (finding->kind) {
	case RH_BENCH_SLOW_LATENCY:
		(void)snprintf(text, room, "ranks %d and %d: a message takes %.4g us, %.2g times the median of pairs like it",
		               from, to, finding->value, 1 / finding->ratio);
		break;
	case RH_BENCH_SLOW_BANDWIDTH:
		(void)snprintf(text, room, "rank %d to %d: %.3g GB/s, %.2f of the median of pairs like it", from, to,
		               finding->value, finding->ratio);
		break;
	case RH_BENCH_BELOW_LEAST:
		(void)snprintf(text, room, "rank %d to %d: %.3g GB/s, less than the %.3g that --least demands", from, to,
		               finding->value, finding->median);
		break;
	case RH_BENCH_SLOW_RANK:
		(void)snprintf(text, room, "rank %d: its pairs reach %.2f of the median: it is the rank, not its peers", from,
		               finding->ratio);
		break;
	case RH_BENCH_SLOW_COPY:
		(void)snprintf(text, room, "rank %d: it copies %.3g GB/s in its own memory, %.2f of the median rank", from,
		               finding->value, finding->ratio);
		break;
	}
	return text;
}
