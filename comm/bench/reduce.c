/* SPDX-License-Identifier: Apache-2.0 */
/* All-reduces in place, f32 sum, as nccl-tests measure them: rounds of a batch, every one as long as its slowest rank.
 */
#include <stdlib.h>
#include <string.h>

#include "comm/bench/collect.h"
#include "comm/bench/measure.h"
#include "comm/bench/options.h"
#include "comm/bench/result/numbers.h"
#include "comm/bench/result/result.h"

#define ROUNDS_LEAST 3
#define ROUNDS_MOST 60
#define BATCH_MOST 200
#define WARM_UP 2
/* A round should be long against the clock and the barrier before it. */
#define ROUND_TIME 300.0
/* Part of the time of the run that all sizes together may take. */
#define REDUCE_PART 0.4

/* What all ranks do for one size. */
struct reduce_pace {
	int32_t batch;
	int32_t rounds;
};

struct reduce {
	struct rh_comm *comm;
	float *buffer;
	size_t count;
	double share; /* microseconds for this size */
	struct rh_comm_error *err;
};

static int32_t reduce_once(const struct reduce *reduce)
{
	return rh_comm_all_reduce(reduce->comm, reduce->buffer, reduce->count, RH_COMM_F32, RH_COMM_SUM, reduce->err);
}

static int32_t reduce_wrong(const struct reduce *reduce, size_t at, float expected)
{
	(void)snprintf(reduce->err->text, sizeof(reduce->err->text),
	               "an all-reduce of %zu bytes gave %g at element %zu where %g is right: do not train with this",
	               reduce->count * sizeof(float), (double)reduce->buffer[at], at, (double)expected);
	reduce->err->code = RH_COMM_EBACKEND;
	reduce->err->rank = rh_comm_rank(reduce->comm);
	rh_comm_abort(reduce->comm, reduce->err->text);
	return RH_COMM_EBACKEND;
}

/* Rank r gives r + 1; the sums are small enough to be exact. Elements differ, so that a shifted result shows. */
static int32_t reduce_verify(const struct reduce *reduce)
{
	int32_t world = rh_comm_world(reduce->comm);
	float rank = (float)rh_comm_rank(reduce->comm);
	float total = (float)world * (float)(world + 1) / 2;
	int32_t r;

	for (size_t i = 0; i < reduce->count; i++)
		reduce->buffer[i] = rank + 1 + (float)(i % 7);
	r = reduce_once(reduce);
	for (size_t i = 0; i < reduce->count && r == 0; i++) {
		float expected = total + (float)world * (float)(i % 7);

		if (reduce->buffer[i] != expected)
			r = reduce_wrong(reduce, i, expected);
	}
	memset(reduce->buffer, 0, reduce->count * sizeof(float));
	return r;
}

/* Rank 0 decides how many, by its own clock. */
static int32_t reduce_set_pace(const struct reduce *reduce, struct reduce_pace *ret_pace)
{
	double start = 0;
	double time;
	int32_t r = 0;

	for (int i = 0; i < WARM_UP && r == 0; i++) {
		start = rh_bench_now();
		r = reduce_once(reduce);
	}
	time = rh_bench_clamp(rh_bench_now() - start, 0.01, 1e12);
	ret_pace->batch = (int32_t)rh_bench_clamp(ROUND_TIME / time, 1, BATCH_MOST);
	ret_pace->rounds = (int32_t)rh_bench_clamp(reduce->share / (time * ret_pace->batch), ROUNDS_LEAST, ROUNDS_MOST);
	return r == 0 ? rh_bench_share_out(reduce->comm, ret_pace, sizeof(*ret_pace), reduce->err) : r;
}

static int32_t reduce_round(const struct reduce *reduce, int32_t batch, double *ret_time)
{
	int32_t r = rh_bench_barrier(reduce->comm, reduce->err);
	double start = rh_bench_now();

	for (int32_t i = 0; i < batch && r == 0; i++)
		r = reduce_once(reduce);
	*ret_time = (rh_bench_now() - start) / batch;
	return r;
}

static int32_t reduce_measure(const struct reduce *reduce, struct rh_bench_size *ret_size)
{
	double samples[ROUNDS_MOST] = {0};
	struct reduce_pace pace = {1, ROUNDS_LEAST};
	int32_t r = reduce_verify(reduce);

	if (r == 0)
		r = reduce_set_pace(reduce, &pace);
	for (int32_t i = 0; i < pace.rounds && r == 0; i++)
		r = reduce_round(reduce, pace.batch, &samples[i]);
	if (r == 0)
		r = rh_bench_combine(reduce->comm, samples, (size_t)pace.rounds, RH_COMM_MAX, reduce->err);
	if (r < 0)
		return r;
	ret_size->bytes = reduce->count * sizeof(float);
	ret_size->rounds = (size_t)pace.rounds;
	ret_size->median = rh_bench_median(samples, (size_t)pace.rounds);
	ret_size->best = samples[0];
	return 0;
}

int32_t rh_bench_all_reduce(struct rh_comm *comm, const struct rh_bench_options *options,
                            struct rh_bench_result *result, struct rh_comm_error *err)
{
	struct reduce reduce = {.comm = comm, .err = err};
	int32_t r = 0;

	reduce.share = (double)options->time * REDUCE_PART / (double)options->size_count;
	reduce.buffer = malloc(options->sizes[options->size_count - 1]);
	if (!reduce.buffer)
		return RH_COMM_ENOMEM;
	for (size_t i = 0; i < options->size_count && r == 0; i++) {
		reduce.count = options->sizes[i] / sizeof(float);
		r = reduce_measure(&reduce, &result->sizes[i]);
		if (r == 0)
			result->size_count = i + 1;
	}
	free(reduce.buffer);
	return r;
}
