/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Latency and bandwidth of pairs. The lower rank leads: before each burst it announces its size, so the two need not
 * agree on anything else, and pairs of different speed do not wait for each other within a round.
 */
#include <stdlib.h>
#include <string.h>

#include "comm/bench/collect.h"
#include "comm/bench/measure.h"
#include "comm/bench/options.h"
#include "comm/bench/result/numbers.h"
#include "comm/bench/result/result.h"
#include "comm/bench/result/verdict.h"

/* Bytes of one message of a bandwidth measurement. */
#define MESSAGE ((size_t)1 << 20)
/* Messages of one burst. */
#define WINDOW 8

#define TAG_ORDER 1
#define TAG_DATA 2
#define TAG_ACK 3

#define SAMPLES_LEAST 3
#define SAMPLES_MOST 64
#define TRIPS_LEAST 4
#define TRIPS_MOST 100
#define PING 8
/* Part of the time of the run that all pairs together may take, and measurements of one pair. */
#define PAIRS_PART 0.4
#define MEASUREMENTS 3
/* Most pairs that are measured again. */
#define AGAIN_MOST 16
/* Number of repetitions: one slow measurement does not prove a slow link. */
#define AGAIN_TIMES 3

/* What the leader announces. */
enum pair_what { PAIR_END, PAIR_LATENCY, PAIR_THERE, PAIR_BACK };

struct pair_order {
	int32_t what;
	int32_t count; /* round trips, or messages */
};

/* Two ranks that measure. */
struct pair {
	struct rh_comm *comm;
	int32_t peer;
	double share; /* microseconds for one measurement */
	char *buffer; /* WINDOW messages */
	struct rh_comm_error *err;
};

static struct rh_comm_op pair_op(const struct pair *pair, int32_t what, uint32_t tag, void *data, size_t bytes)
{
	return (struct rh_comm_op){
		.size = sizeof(struct rh_comm_op),
		.what = what,
		.in = what == RH_COMM_SEND ? data : NULL,
		.out = what == RH_COMM_SEND ? NULL : data,
		.count = bytes,
		.type = RH_COMM_U8,
		.peer = pair->peer,
		.tag = tag,
	};
}

static int32_t pair_send(const struct pair *pair, uint32_t tag, void *data, size_t bytes)
{
	struct rh_comm_op op = pair_op(pair, RH_COMM_SEND, tag, data, bytes);

	return rh_comm_run(pair->comm, &op, pair->err);
}

static int32_t pair_recv(const struct pair *pair, uint32_t tag, void *data, size_t bytes)
{
	struct rh_comm_op op = pair_op(pair, RH_COMM_RECV, tag, data, bytes);

	return rh_comm_run(pair->comm, &op, pair->err);
}

/* Post one burst. @return how many were posted: fewer than count after an error */
static int32_t pair_post(const struct pair *pair, int32_t what, int32_t count, struct rh_comm_request **requests)
{
	for (int32_t i = 0; i < count; i++) {
		struct rh_comm_op op = pair_op(pair, what, TAG_DATA, pair->buffer + (size_t)i * MESSAGE, MESSAGE);

		if (rh_comm_post(pair->comm, &op, &requests[i], pair->err) < 0)
			return i;
	}
	return count;
}

/* Wait for all of them, also after an error. */
static int32_t pair_wait(const struct pair *pair, struct rh_comm_request **requests, int32_t count)
{
	int32_t first = 0;

	for (int32_t i = 0; i < count; i++) {
		int32_t r = rh_comm_wait(requests[i], first == 0 ? pair->err : NULL);

		if (first == 0)
			first = r;
	}
	return first;
}

static int32_t pair_burst(const struct pair *pair, int32_t what, int32_t count)
{
	struct rh_comm_request *requests[WINDOW];
	int32_t posted = pair_post(pair, what, count, requests);
	int32_t r = pair_wait(pair, requests, posted);

	return r == 0 && posted < count ? pair->err->code : r;
}

static int32_t pair_order(const struct pair *pair, enum pair_what what, int32_t count)
{
	struct pair_order order = {(int32_t)what, count};

	return pair_send(pair, TAG_ORDER, &order, sizeof(order));
}

static int32_t lead_latency(const struct pair *pair, int32_t count)
{
	int32_t r = pair_order(pair, PAIR_LATENCY, count);

	for (int32_t i = 0; i < count && r == 0; i++) {
		r = pair_send(pair, TAG_DATA, pair->buffer, PING);
		if (r == 0)
			r = pair_recv(pair, TAG_DATA, pair->buffer, PING);
	}
	return r;
}

static int32_t lead_there(const struct pair *pair, int32_t count)
{
	int32_t r = pair_order(pair, PAIR_THERE, count);
	char ack;

	if (r == 0)
		r = pair_burst(pair, RH_COMM_SEND, count);
	return r == 0 ? pair_recv(pair, TAG_ACK, &ack, sizeof(ack)) : r;
}

static int32_t lead_back(const struct pair *pair, int32_t count)
{
	int32_t r = pair_order(pair, PAIR_BACK, count);

	return r == 0 ? pair_burst(pair, RH_COMM_RECV, count) : r;
}

static int32_t lead_once(const struct pair *pair, enum pair_what what, int32_t count, double *ret_time)
{
	double start = rh_bench_now();
	int32_t r;

	if (what == PAIR_LATENCY)
		r = lead_latency(pair, count);
	else
		r = what == PAIR_THERE ? lead_there(pair, count) : lead_back(pair, count);
	*ret_time = (rh_bench_now() - start) / count;
	return r;
}

/* @param[out] ret_time microseconds of one trip or message: the median. A first burst warms up and shows how long they
 * are. */
static int32_t lead_measure(const struct pair *pair, enum pair_what what, double *ret_time)
{
	bool trips = what == PAIR_LATENCY;
	double samples[SAMPLES_MOST];
	double end = rh_bench_now() + pair->share;
	double time = 0;
	size_t taken = 0;
	int32_t count;
	int32_t r = lead_once(pair, what, trips ? TRIPS_LEAST : 1, &time);

	count = (int32_t)rh_bench_clamp(time > 0 ? pair->share / 8 / time : 0, trips ? TRIPS_LEAST : 1,
	                                trips ? TRIPS_MOST : WINDOW);
	while (r == 0 && taken < SAMPLES_MOST && (taken < SAMPLES_LEAST || rh_bench_now() < end))
		r = lead_once(pair, what, count, &samples[taken++]);
	if (r == 0)
		*ret_time = rh_bench_median(samples, taken);
	return r;
}

/* Measure, and write what was found into the cells of both ranks. */
static int32_t pair_lead(const struct pair *pair, struct rh_bench_result *fresh)
{
	size_t own = (size_t)rh_comm_rank(pair->comm);
	size_t peer = (size_t)pair->peer;
	size_t world = (size_t)fresh->world;
	double trip = 0;
	double there = 0;
	double back = 0;
	int32_t r = lead_measure(pair, PAIR_LATENCY, &trip);

	if (r == 0)
		r = lead_measure(pair, PAIR_THERE, &there);
	if (r == 0)
		r = lead_measure(pair, PAIR_BACK, &back);
	if (r == 0)
		r = pair_order(pair, PAIR_END, 0);
	if (r < 0)
		return r;
	fresh->latency[own * world + peer] = trip / 2;
	fresh->latency[peer * world + own] = trip / 2;
	fresh->bandwidth[own * world + peer] = rh_bench_rate((double)MESSAGE, there);
	fresh->bandwidth[peer * world + own] = rh_bench_rate((double)MESSAGE, back);
	return 0;
}

static int32_t follow_latency(const struct pair *pair, int32_t count)
{
	int32_t r = 0;

	for (int32_t i = 0; i < count && r == 0; i++) {
		r = pair_recv(pair, TAG_DATA, pair->buffer, PING);
		if (r == 0)
			r = pair_send(pair, TAG_DATA, pair->buffer, PING);
	}
	return r;
}

static int32_t follow_there(const struct pair *pair, int32_t count)
{
	int32_t r = pair_burst(pair, RH_COMM_RECV, count);
	char ack = 0;

	return r == 0 ? pair_send(pair, TAG_ACK, &ack, sizeof(ack)) : r;
}

static int32_t pair_follow(const struct pair *pair)
{
	struct pair_order order = {PAIR_END, 0};
	int32_t r;

	do {
		r = pair_recv(pair, TAG_ORDER, &order, sizeof(order));
		if (r < 0 || order.what == PAIR_END)
			break;
		if (order.what == PAIR_LATENCY)
			r = follow_latency(pair, order.count);
		else if (order.what == PAIR_THERE)
			r = follow_there(pair, order.count);
		else
			r = pair_burst(pair, RH_COMM_SEND, order.count);
	} while (r == 0);
	return r;
}

/* Both ranks of a pair are here. */
static int32_t pair_run(struct pair *pair, int32_t peer, struct rh_bench_result *fresh)
{
	pair->peer = peer;
	return rh_comm_rank(pair->comm) < peer ? pair_lead(pair, fresh) : pair_follow(pair);
}

/* Learn what all pairs have found. Of what is known already the better counts. */
static int32_t pairs_merge(const struct pair *pair, struct rh_bench_result *fresh, struct rh_bench_result *result)
{
	size_t cells = (size_t)result->world * (size_t)result->world;
	int32_t r = rh_bench_combine(pair->comm, fresh->latency, cells, RH_COMM_SUM, pair->err);

	if (r == 0)
		r = rh_bench_combine(pair->comm, fresh->bandwidth, cells, RH_COMM_SUM, pair->err);
	for (size_t i = 0; i < cells && r == 0; i++) {
		if (fresh->latency[i] > 0 && (result->latency[i] <= 0 || fresh->latency[i] < result->latency[i]))
			result->latency[i] = fresh->latency[i];
		if (fresh->bandwidth[i] > result->bandwidth[i])
			result->bandwidth[i] = fresh->bandwidth[i];
	}
	return r;
}

/* Every rank meets every other; all pairs of a round at once. */
static int32_t pairs_tournament(struct pair *pair, struct rh_bench_result *fresh)
{
	int32_t rank = rh_comm_rank(pair->comm);
	int32_t r = 0;

	for (int32_t round = 0; round < rh_bench_rounds(fresh->world) && r == 0; round++) {
		int32_t peer = rh_bench_partner(fresh->world, round, rank);

		r = rh_bench_barrier(pair->comm, pair->err);
		if (r == 0 && peer >= 0)
			r = pair_run(pair, peer, fresh);
	}
	return r;
}

static bool pair_is_slow(const struct rh_bench_verdict *verdict, int32_t a, int32_t b)
{
	for (size_t i = 0; i < verdict->count; i++) {
		const struct rh_bench_finding *item = &verdict->items[i];

		if ((item->from == a && item->to == b) || (item->from == b && item->to == a))
			return true;
		if (item->kind == RH_BENCH_SLOW_RANK && (item->from == a || item->from == b))
			return true;
	}
	return false;
}

/* One pair after the other. All ranks have the same verdict, so all know whose turn it is. */
static int32_t pairs_one_by_one(struct pair *pair, const struct rh_bench_verdict *verdict,
                                struct rh_bench_result *fresh)
{
	int32_t rank = rh_comm_rank(pair->comm);
	int32_t most = AGAIN_MOST;
	int32_t r = 0;

	for (int32_t a = 0; a < fresh->world && r == 0; a++) {
		for (int32_t b = a + 1; b < fresh->world && r == 0; b++) {
			if (!pair_is_slow(verdict, a, b) || most-- <= 0)
				continue;
			r = rh_bench_barrier(pair->comm, pair->err);
			if (r == 0 && (rank == a || rank == b))
				r = pair_run(pair, rank == a ? b : a, fresh);
		}
	}
	return r;
}

/* @param verdict NULL: all pairs */
static int32_t pairs_measure(struct pair *pair, const struct rh_bench_verdict *verdict, struct rh_bench_result *result)
{
	struct rh_bench_result fresh;
	int32_t r = rh_bench_result_init(&fresh, result->world);

	pair->buffer = calloc(WINDOW, MESSAGE);
	if (!pair->buffer || r < 0)
		r = RH_COMM_ENOMEM;
	else
		r = verdict ? pairs_one_by_one(pair, verdict, &fresh) : pairs_tournament(pair, &fresh);
	if (r == 0)
		r = pairs_merge(pair, &fresh, result);
	free(pair->buffer);
	rh_bench_result_deinit(&fresh);
	return r;
}

int32_t rh_bench_pairs(struct rh_comm *comm, const struct rh_bench_options *options, struct rh_bench_result *result,
                       struct rh_comm_error *err)
{
	int32_t rounds = rh_bench_rounds(result->world);
	struct pair pair = {.comm = comm, .err = err};

	if (rounds == 0)
		return 0;
	pair.share = (double)options->time * PAIRS_PART / rounds / MEASUREMENTS;
	return pairs_measure(&pair, NULL, result);
}

int32_t rh_bench_pairs_again(struct rh_comm *comm, const struct rh_bench_options *options,
                             struct rh_bench_result *result, struct rh_comm_error *err)
{
	struct pair pair = {.comm = comm, .err = err};
	struct rh_bench_verdict verdict = {0};
	int32_t r = 0;

	pair.share = (double)options->time * PAIRS_PART / AGAIN_MOST / AGAIN_TIMES / MEASUREMENTS;
	for (int i = 0; i < AGAIN_TIMES && r == 0; i++) {
		r = rh_bench_find_slow(result, options, &verdict);
		if (r < 0 || verdict.count == 0)
			break;
		r = pairs_measure(&pair, &verdict, result);
		rh_bench_verdict_deinit(&verdict);
	}
	return r;
}
