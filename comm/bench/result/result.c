/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "comm/bench/result/numbers.h"
#include "comm/bench/result/result.h"

int32_t rh_bench_result_init(struct rh_bench_result *result, int32_t world)
{
	size_t n = (size_t)world;

	memset(result, 0, sizeof(*result));
	result->world = world;
	result->latency = calloc(n * n, sizeof(double));
	result->bandwidth = calloc(n * n, sizeof(double));
	result->ready = calloc(n, sizeof(double));
	result->copy = calloc(n, sizeof(double));
	result->hosts = calloc(n, sizeof(int32_t));
	if (result->latency && result->bandwidth && result->ready && result->copy && result->hosts)
		return 0;
	rh_bench_result_deinit(result);
	return RH_COMM_ENOMEM;
}

void rh_bench_result_deinit(struct rh_bench_result *result)
{
	free(result->latency);
	free(result->bandwidth);
	free(result->ready);
	free(result->copy);
	free(result->hosts);
	memset(result, 0, sizeof(*result));
}

bool rh_bench_near(const struct rh_bench_result *result, int32_t a, int32_t b)
{
	return result->hosts[a] == result->hosts[b];
}

static size_t result_pick(const struct rh_bench_result *result, const double *matrix, bool near, double *ret_numbers)
{
	size_t count = 0;

	for (int32_t from = 0; from < result->world; from++) {
		for (int32_t to = 0; to < result->world; to++) {
			double value = matrix[(size_t)from * (size_t)result->world + (size_t)to];

			if (value > 0 && rh_bench_near(result, from, to) == near)
				ret_numbers[count++] = value;
		}
	}
	return count;
}

size_t rh_bench_matrix_median(const struct rh_bench_result *result, const double *matrix, bool near, double *ret_median)
{
	double *numbers = calloc((size_t)result->world * (size_t)result->world, sizeof(*numbers));
	size_t count;

	*ret_median = 0;
	if (!numbers)
		return 0;
	count = result_pick(result, matrix, near, numbers);
	*ret_median = rh_bench_median(numbers, count);
	free(numbers);
	return count;
}
