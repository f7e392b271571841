/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/reference.h"

#include <stdio.h>

#include "comm/values.h"

int reference_value(int32_t rank, size_t i, int32_t reduce)
{
	int value = (int)((i * 7 + (size_t)rank * 3) % 5);

	return reduce == RH_COMM_PROD ? 1 + (value == 0 && rank < 4) : value;
}

double reference_reduced(const struct reference_trial *trial, int32_t world, size_t i)
{
	double total = reference_value(0, i, trial->reduce);

	for (int32_t rank = 1; rank < world; rank++)
		total = values_combine(total, reference_value(rank, i, trial->reduce), trial->reduce);
	if (trial->reduce != RH_COMM_AVG)
		return total;
	if (!values_is_float(trial->type))
		return (double)(int)(total / world);
	return total / world;
}

double reference_expected(const struct reference_trial *trial, int32_t world, int32_t rank, size_t i)
{
	switch (trial->what) {
	case RH_COMM_ALL_REDUCE:
		return reference_reduced(trial, world, i);
	case RH_COMM_REDUCE_SCATTER:
		return reference_reduced(trial, world, (size_t)rank * trial->count + i);
	case RH_COMM_ALL_GATHER:
		return reference_value((int32_t)(i / trial->count), i % trial->count, trial->reduce);
	default:
		return reference_value(trial->root, i, trial->reduce);
	}
}

size_t reference_in_count(const struct reference_trial *trial, int32_t world)
{
	return trial->what == RH_COMM_REDUCE_SCATTER ? trial->count * (size_t)world : trial->count;
}

size_t reference_out_count(const struct reference_trial *trial, int32_t world)
{
	return trial->what == RH_COMM_ALL_GATHER ? trial->count * (size_t)world : trial->count;
}

int reference_compare(const struct rh_comm *comm, const struct reference_trial *trial, const void *out)
{
	int32_t world = rh_comm_world(comm);
	size_t count = reference_out_count(trial, world);

	for (size_t i = 0; i < count; i++) {
		double got = values_take(out, i, trial->type);
		double wanted = reference_expected(trial, world, rh_comm_rank(comm), i);

		if (values_are_close(got, wanted, trial->type))
			continue;
		(void)fprintf(stderr, "rank %d of %d: what %d type %d reduce %d count %zu: [%zu] is %g, not %g\n",
		              (int)rh_comm_rank(comm), (int)world, (int)trial->what, (int)trial->type, (int)trial->reduce,
		              trial->count, i, got, wanted);
		return 1;
	}
	return 0;
}
