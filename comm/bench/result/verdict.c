/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds slow pairs and ranks. There is no absolute limit that fits all machines: a pair is compared with the median of
 * comparable ones (pairs that share a host, or pairs that do not), a rank with the median of all ranks. Times of ranks
 * that wait for a processor measure the scheduler: in an oversubscribed world only pairs of different hosts are
 * compared.
 */
#include <stdlib.h>
#include <string.h>

#include "comm/bench/options.h"
#include "comm/bench/result/numbers.h"
#include "comm/bench/result/result.h"
#include "comm/bench/result/verdict.h"

/* A rank with fewer pairs cannot be distinguished from its pairs. */
#define RANK_PAIRS_LEAST 2
/* Medians of fewer are meaningless. */
#define LIKE_LEAST 3

struct analysis {
	const struct rh_bench_result *result;
	const struct rh_bench_options *options;
	struct rh_bench_verdict verdict;
	size_t room;
	bool failed;
};

static double verdict_cell(const struct analysis *analysis, const double *matrix, int32_t from, int32_t to)
{
	return matrix[(size_t)from * (size_t)analysis->result->world + (size_t)to];
}

static void verdict_add(struct analysis *analysis, const struct rh_bench_finding *finding)
{
	struct rh_bench_verdict *verdict = &analysis->verdict;

	if (verdict->count == analysis->room) {
		size_t room = analysis->room ? analysis->room * 2 : 16;
		struct rh_bench_finding *items = realloc(verdict->items, room * sizeof(*items));

		if (!items) {
			analysis->failed = true;
			return;
		}
		verdict->items = items;
		analysis->room = room;
	}
	verdict->items[verdict->count++] = *finding;
}

/* Medians of the two kinds of pairs, [near]; 0 where there are too few to compare. */
struct verdict_medians {
	double latency[2];
	double bandwidth[2];
};

static struct verdict_medians verdict_find_medians(const struct analysis *analysis)
{
	struct verdict_medians medians;

	for (int near = 0; near < 2; near++) {
		/* every pair is in the list twice */
		bool is_ignored = near && analysis->result->crowded;

		if (rh_bench_matrix_median(analysis->result, analysis->result->latency, near, &medians.latency[near]) <
		        2 * LIKE_LEAST ||
		    is_ignored)
			medians.latency[near] = 0;
		if (rh_bench_matrix_median(analysis->result, analysis->result->bandwidth, near, &medians.bandwidth[near]) <
		        2 * LIKE_LEAST ||
		    is_ignored)
			medians.bandwidth[near] = 0;
	}
	return medians;
}

/* @return its ratio to the median of comparable pairs; 1 where there is none */
static double verdict_latency_ratio(const struct analysis *analysis, const struct verdict_medians *medians, int32_t a,
                                    int32_t b)
{
	double value = verdict_cell(analysis, analysis->result->latency, a, b);
	double median = medians->latency[rh_bench_near(analysis->result, a, b)];

	return value > 0 && median > 0 ? median / value : 1;
}

static double verdict_bandwidth_ratio(const struct analysis *analysis, const struct verdict_medians *medians,
                                      int32_t from, int32_t to)
{
	double value = verdict_cell(analysis, analysis->result->bandwidth, from, to);
	double median = medians->bandwidth[rh_bench_near(analysis->result, from, to)];

	return value > 0 && median > 0 ? value / median : 1;
}

/* What a rank's pairs are compared by. */
typedef double verdict_ratio_fn(const struct analysis *analysis, const struct verdict_medians *medians, int32_t rank,
                                int32_t peer);

static double verdict_back_ratio(const struct analysis *analysis, const struct verdict_medians *medians, int32_t rank,
                                 int32_t peer)
{
	return verdict_bandwidth_ratio(analysis, medians, peer, rank);
}

/*
 * The worst of three medians over a rank's pairs: of latency, of what it sends, of what it receives. (The median of the
 * worst of each pair would be low for everybody.) 1 when it has too few pairs.
 */
static double verdict_rank_ratio(const struct analysis *analysis, const struct verdict_medians *medians, int32_t rank,
                                 double *ratios)
{
	static verdict_ratio_fn *const kinds[] = {verdict_latency_ratio, verdict_bandwidth_ratio, verdict_back_ratio};
	double worst = 1;

	if (analysis->result->world <= RANK_PAIRS_LEAST)
		return 1;
	for (size_t kind = 0; kind < sizeof(kinds) / sizeof(*kinds); kind++) {
		size_t count = 0;
		double median;

		for (int32_t peer = 0; peer < analysis->result->world; peer++) {
			if (peer != rank)
				ratios[count++] = kinds[kind](analysis, medians, rank, peer);
		}
		median = rh_bench_median(ratios, count);
		worst = median < worst ? median : worst;
	}
	return worst;
}

static void verdict_ranks(struct analysis *analysis, const struct verdict_medians *medians, double *ratios,
                          bool *ret_slow)
{
	for (int32_t rank = 0; rank < analysis->result->world; rank++) {
		double ratio = verdict_rank_ratio(analysis, medians, rank, ratios);
		struct rh_bench_finding finding = {RH_BENCH_SLOW_RANK, rank, -1, ratio, 1, ratio};

		ret_slow[rank] = ratio < analysis->options->ratio;
		if (ret_slow[rank])
			verdict_add(analysis, &finding);
	}
}

static void verdict_copies(struct analysis *analysis, double *numbers)
{
	size_t world = (size_t)analysis->result->world;
	double median;

	if (world < LIKE_LEAST || analysis->result->crowded)
		return;
	memcpy(numbers, analysis->result->copy, world * sizeof(*numbers));
	median = rh_bench_median(numbers, world);
	for (int32_t rank = 0; rank < analysis->result->world; rank++) {
		double value = analysis->result->copy[rank];
		struct rh_bench_finding finding = {RH_BENCH_SLOW_COPY, rank, -1, value, median, value / median};

		if (median > 0 && value < median * analysis->options->ratio)
			verdict_add(analysis, &finding);
	}
}

static void verdict_bandwidth(struct analysis *analysis, const struct verdict_medians *medians, int32_t from,
                              int32_t to)
{
	double value = verdict_cell(analysis, analysis->result->bandwidth, from, to);
	double ratio = verdict_bandwidth_ratio(analysis, medians, from, to);
	double median = medians->bandwidth[rh_bench_near(analysis->result, from, to)];
	struct rh_bench_finding finding = {RH_BENCH_SLOW_BANDWIDTH, from, to, value, median, ratio};

	if (ratio < analysis->options->ratio)
		verdict_add(analysis, &finding);
	if (value > 0 && value < analysis->options->least) {
		finding.kind = RH_BENCH_BELOW_LEAST;
		finding.median = analysis->options->least;
		finding.ratio = value / analysis->options->least;
		verdict_add(analysis, &finding);
	}
}

static void verdict_latency(struct analysis *analysis, const struct verdict_medians *medians, int32_t a, int32_t b)
{
	double ratio = verdict_latency_ratio(analysis, medians, a, b);
	struct rh_bench_finding finding = {RH_BENCH_SLOW_LATENCY,
	                                   a,
	                                   b,
	                                   verdict_cell(analysis, analysis->result->latency, a, b),
	                                   medians->latency[rh_bench_near(analysis->result, a, b)],
	                                   ratio};

	if (ratio < analysis->options->ratio)
		verdict_add(analysis, &finding);
}

/* Pairs of a rank that is slow itself are not reported one by one. */
static void verdict_pairs(struct analysis *analysis, const struct verdict_medians *medians, const bool *slow)
{
	for (int32_t a = 0; a < analysis->result->world; a++) {
		for (int32_t b = a + 1; b < analysis->result->world; b++) {
			if (slow[a] || slow[b])
				continue;
			verdict_latency(analysis, medians, a, b);
			verdict_bandwidth(analysis, medians, a, b);
			verdict_bandwidth(analysis, medians, b, a);
		}
	}
}

int32_t rh_bench_find_slow(const struct rh_bench_result *result, const struct rh_bench_options *options,
                           struct rh_bench_verdict *ret_verdict)
{
	struct analysis analysis = {.result = result, .options = options};
	struct verdict_medians medians = verdict_find_medians(&analysis);
	double *numbers = calloc((size_t)result->world, sizeof(*numbers));
	bool *slow = calloc((size_t)result->world, sizeof(*slow));

	analysis.failed = !numbers || !slow;
	if (!analysis.failed) {
		verdict_ranks(&analysis, &medians, numbers, slow);
		verdict_copies(&analysis, numbers);
		verdict_pairs(&analysis, &medians, slow);
	}
	free(numbers);
	free(slow);
	if (analysis.failed) {
		rh_bench_verdict_deinit(&analysis.verdict);
		return RH_COMM_ENOMEM;
	}
	*ret_verdict = analysis.verdict;
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
