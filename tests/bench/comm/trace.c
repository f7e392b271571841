/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What it costs to keep an operation in the trace, from posted to done: nanoseconds, the median of many short rounds,
 * in a file and in memory, less an empty round.
 */
#include <stdio.h>
#include <stdlib.h>

#include "comm/core/trace/ring.h"

#define ROUNDS 2001
#define CALLS 1000
#define GOAL 100.0

static double trace_now(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static __attribute__((noinline)) uint64_t trace_keep(struct rh_comm_trace *trace, const struct rh_comm_op *op,
                                                     uint64_t number)
{
	uint64_t place = rh_comm_trace_post(trace, op, 0, number, RH_COMM_NO_RANK);

	rh_comm_waits_mark(&trace->waits, rh_comm_trace_end(trace, place, op, 0));
	return place;
}

static __attribute__((noinline)) uint64_t trace_skip(struct rh_comm_trace *trace, const struct rh_comm_op *op,
                                                     uint64_t number)
{
	(void)trace;
	(void)op;
	return number;
}

typedef uint64_t trace_fn(struct rh_comm_trace *trace, const struct rh_comm_op *op, uint64_t number);

/* @return nanoseconds a call */
static double trace_time(struct rh_comm_trace *trace, trace_fn *fn)
{
	struct rh_comm_op op = {.what = RH_COMM_ALL_REDUCE, .type = RH_COMM_F32, .reduce = RH_COMM_SUM};
	volatile uint64_t place = 0;
	double begin = trace_now();

	for (size_t i = 0; i < CALLS; i++) {
		op.count = i;
		place = fn(trace, &op, i + 1);
	}
	(void)place;
	return (trace_now() - begin) / CALLS;
}

static int trace_compare(const void *a, const void *b)
{
	double difference = *(const double *)a - *(const double *)b;

	return (difference > 0) - (difference < 0);
}

static int trace_measure(const char *folder, const char *name)
{
	static double with[ROUNDS];
	static double without[ROUNDS];
	struct rh_comm_trace_origin origin = {.folder = folder, .job = "", .rank = 0, .world = 1};
	struct rh_comm_trace trace;
	struct rh_comm_error err;
	double cost;

	if (rh_comm_trace_open(&origin, &trace, &err) < 0) {
		(void)fprintf(stderr, "%s\n", err.text);
		return 2;
	}
	for (size_t i = 0; i < ROUNDS; i++) {
		without[i] = trace_time(&trace, trace_skip);
		with[i] = trace_time(&trace, trace_keep);
	}
	qsort(with, ROUNDS, sizeof(*with), trace_compare);
	qsort(without, ROUNDS, sizeof(*without), trace_compare);
	cost = with[ROUNDS / 2] - without[ROUNDS / 2];
	(void)printf("keeping an operation in the trace, %s: %.1f ns (bar: %.0f ns) %s\n", name, cost, GOAL,
	             cost <= GOAL ? "pass" : "fail");
	rh_comm_trace_close(&trace);
	return 0;
}

int main(int argc, char **argv)
{
	int status = trace_measure("", "in memory");

	return status == 0 && argc > 1 ? trace_measure(argv[1], "in a file") : status;
}
