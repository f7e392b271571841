/* SPDX-License-Identifier: Apache-2.0 */
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "comm/bench/collect.h"
#include "comm/bench/measure.h"
#include "comm/bench/result/numbers.h"
#include "comm/bench/result/result.h"

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
		r = rh_bench_barrier(comm, err);
	}
	if (r == 0)
		*ret_copy = ranks_copy(to, from);
	free(to);
	free(from);
	return r;
}

/* All ranks' sets of processors: a launcher may have bound each rank to its own. */
static int32_t ranks_gather_processors(struct rh_comm *comm, cpu_set_t *sets, struct rh_comm_error *err)
{
	cpu_set_t own;
	const struct rh_comm_op op = {
		.size = sizeof(op),
		.what = RH_COMM_ALL_GATHER,
		.in = &own,
		.out = sets,
		.count = sizeof(own),
		.type = RH_COMM_U8,
	};

	CPU_ZERO(&own);
	(void)sched_getaffinity(0, sizeof(own), &own);
	return rh_comm_run(comm, &op, err);
}

/* @param[out] ret_crowded 1: the ranks of this host have fewer processors than they are, else 0 */
static int32_t ranks_count_processors(struct rh_comm *comm, double *ret_crowded, struct rh_comm_error *err)
{
	int32_t world = rh_comm_world(comm);
	int32_t host = rh_comm_host(comm, rh_comm_rank(comm));
	cpu_set_t *sets = calloc((size_t)world, sizeof(*sets));
	cpu_set_t near;
	int32_t r = sets ? ranks_gather_processors(comm, sets, err) : RH_COMM_ENOMEM;

	CPU_ZERO(&near);
	for (int32_t i = 0; i < world && r == 0; i++) {
		if (rh_comm_host(comm, i) == host)
			CPU_OR(&near, &near, &sets[i]);
	}
	*ret_crowded = CPU_COUNT(&near) < rh_comm_local_world(comm) ? 1 : 0;
	free(sets);
	return r;
}

int32_t rh_bench_ranks(struct rh_comm *comm, double ready, struct rh_bench_result *result, struct rh_comm_error *err)
{
	size_t world = (size_t)result->world;
	int32_t rank = rh_comm_rank(comm);
	double crowded = 0;
	int32_t r = ranks_measure(comm, &result->copy[rank], err);

	result->ready[rank] = ready;
	for (int32_t i = 0; i < result->world; i++)
		result->hosts[i] = rh_comm_host(comm, i);
	if (r == 0)
		r = rh_bench_combine(comm, result->copy, world, RH_COMM_SUM, err);
	if (r == 0)
		r = rh_bench_combine(comm, result->ready, world, RH_COMM_SUM, err);
	if (r == 0)
		r = ranks_count_processors(comm, &crowded, err);
	if (r == 0)
		r = rh_bench_combine(comm, &crowded, 1, RH_COMM_MAX, err);
	result->crowded = crowded > 0;
	return r;
}
