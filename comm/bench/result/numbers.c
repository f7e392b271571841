/* SPDX-License-Identifier: Apache-2.0 */
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

#include "comm/bench/result/numbers.h"

double rh_bench_now(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static int numbers_compare(const void *a, const void *b)
{
	double x = *(const double *)a;
	double y = *(const double *)b;

	return (x > y) - (x < y);
}

double rh_bench_median(double *numbers, size_t count)
{
	if (count == 0)
		return 0;
	qsort(numbers, count, sizeof(*numbers), numbers_compare);
	return count % 2 ? numbers[count / 2] : (numbers[count / 2 - 1] + numbers[count / 2]) / 2;
}

int32_t rh_bench_rounds(int32_t world)
{
	if (world < 2)
		return 0;
	return world % 2 ? world : world - 1;
}

/* The circle method: one seat stays, the others go round. With an odd world that seat is empty. */
int32_t rh_bench_partner(int32_t world, int32_t round, int32_t rank)
{
	int32_t circle = rh_bench_rounds(world);
	bool seated = world % 2 == 0;
	int32_t other;

	if (circle == 0)
		return -1;
	if (seated && rank == circle)
		/* i + i = round: the place that would meet itself */
		return (int32_t)((int64_t)round * (circle + 1) / 2 % circle);
	other = (int32_t)(((int64_t)round - rank + circle) % circle);
	if (other == rank)
		return seated ? circle : -1;
	return other;
}

double rh_bench_rate(double bytes, double time)
{
	return time > 0 ? bytes / time / 1e3 : 0;
}

double rh_bench_bus_factor(int32_t world)
{
	return world > 0 ? 2.0 * (world - 1) / world : 0;
}

double rh_bench_clamp(double value, double least, double most)
{
	if (value < least)
		return least;
	return value > most ? most : value;
}
