/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What it costs to record a collective, so that ranks notice that they post different ones: nanoseconds, the median of
 * many short rounds, with and without, in turns.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "comm/core/request/request.h"

#define ROUNDS 2001
#define CALLS 1000

static double label_now(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* What there is without labels: the number of the collective is its id. */
static __attribute__((noinline)) uint64_t label_count(struct rh_comm *comm, const struct rh_comm_op *op)
{
	(void)op;
	return ++comm->posted;
}

static __attribute__((noinline)) uint64_t label_record(struct rh_comm *comm, const struct rh_comm_op *op)
{
	return rh_comm_request_record(comm, op);
}

/* @return nanoseconds a call */
static double label_time(struct rh_comm *comm, uint64_t (*post)(struct rh_comm *comm, const struct rh_comm_op *op))
{
	struct rh_comm_op op = {.what = RH_COMM_ALL_REDUCE, .type = RH_COMM_F32, .reduce = RH_COMM_SUM};
	volatile uint64_t id = 0;
	double begin = label_now();

	for (size_t i = 0; i < CALLS; i++) {
		op.count = i;
		id = post(comm, &op);
	}
	(void)id;
	return (label_now() - begin) / CALLS;
}

static int label_compare(const void *a, const void *b)
{
	double difference = *(const double *)a - *(const double *)b;

	return (difference > 0) - (difference < 0);
}

int main(void)
{
	static struct rh_comm comm;
	static double with[ROUNDS];
	static double without[ROUNDS];

	for (size_t i = 0; i < ROUNDS; i++) {
		without[i] = label_time(&comm, label_count);
		with[i] = label_time(&comm, label_record);
	}
	qsort(with, ROUNDS, sizeof(*with), label_compare);
	qsort(without, ROUNDS, sizeof(*without), label_compare);
	(void)printf("recording a collective: %.1f ns, its number alone %.1f ns (bar: 20 ns more)\n", with[ROUNDS / 2],
	             without[ROUNDS / 2]);
	return 0;
}
