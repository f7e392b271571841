/* SPDX-License-Identifier: Apache-2.0 */
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "comm/bench/bench.h"

/* Bytes that are copied: more than a processor's share of its cache, little enough for any pod. */
#define COPY_BYTES ((size_t)16 << 20)
#define COPY_ROUNDS 9

/* GB/s of memcpy(), as what is copied is counted. */
static double ranks_copy(char *to, char *from)
{
	double samples[COPY_ROUNDS];

	for (int i = 0; i < COPY_ROUNDS; i++) {
		double start = rh_bench_now();

		memcpy(to, from, COPY_BYTES);
		samples[i] = rh_bench_now() - start;
		/* what is never read need not be copied, a compiler may think */
		from[i] = (char)(to[COPY_BYTES - 1] + i);
	}
	return rh_bench_rate((double)COPY_BYTES, rh_bench_median(samples, COPY_ROUNDS));
}

static int32_t ranks_measure(struct rh_comm *comm, double *ret_copy, struct rh_comm_error *err)
{
	char *to = malloc(COPY_BYTES);
	char *from = malloc(COPY_BYTES);
	int32_t r = to && from ? 0 : RH_COMM_ENOMEM;

	if (r == 0) {
		memset(to, 0, COPY_BYTES);
		memset(from, 1, COPY_BYTES);
		r = rh_bench_meet(comm, err);
	}
	if (r == 0)
		*ret_copy = ranks_copy(to, from);
	free(to);
	free(from);
	return r;
}

/* @return whether this host has fewer processors for us than ranks */
static bool ranks_are_crowded(const struct rh_comm *comm)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set) == 0 && CPU_COUNT(&set) < rh_comm_local_world(comm);
}

int32_t rh_bench_ranks(struct rh_comm *comm, double ready, struct rh_bench_result *result, struct rh_comm_error *err)
{
	size_t world = (size_t)result->world;
	int32_t rank = rh_comm_rank(comm);
	double crowded = ranks_are_crowded(comm) ? 1 : 0;
	int32_t r = ranks_measure(comm, &result->copy[rank], err);

	result->ready[rank] = ready;
	for (int32_t i = 0; i < result->world; i++)
		result->hosts[i] = rh_comm_host(comm, i);
	if (r == 0)
		r = rh_bench_combine(comm, result->copy, world, RH_COMM_SUM, err);
	if (r == 0)
		r = rh_bench_combine(comm, result->ready, world, RH_COMM_SUM, err);
	if (r == 0)
		r = rh_bench_combine(comm, &crowded, 1, RH_COMM_MAX, err);
	result->crowded = crowded > 0;
	return r;
}
