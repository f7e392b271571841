/* SPDX-License-Identifier: Apache-2.0 */
/* The collectives of a rank by group and number. */
#include <stdlib.h>

#include "comm/bench/trace/file.h"
#include "roundhouse/comm.h"

static int index_compare(const void *a, const void *b)
{
	const struct rh_trace_op *left = *(const struct rh_trace_op *const *)a;
	const struct rh_trace_op *right = *(const struct rh_trace_op *const *)b;

	if (left->group != right->group)
		return left->group < right->group ? -1 : 1;
	return (left->number > right->number) - (left->number < right->number);
}

int32_t rh_trace_index(struct rh_trace_rank *rank)
{
	rank->byno = calloc(rank->count + 1, sizeof(*rank->byno));
	if (!rank->byno)
		return RH_COMM_ENOMEM;
	for (size_t i = 0; i < rank->count; i++) {
		if (rank->ops[i].number > 0)
			rank->byno[rank->collectives++] = &rank->ops[i];
	}
	qsort(rank->byno, rank->collectives, sizeof(*rank->byno), index_compare);
	return 0;
}

const struct rh_trace_op *rh_trace_collective(const struct rh_trace_rank *rank, uint64_t group, uint64_t number,
                                              bool after)
{
	const struct rh_trace_op key = {.group = group, .number = number};
	const struct rh_trace_op *sample = &key;
	size_t low = 0;
	size_t high = rank->collectives;

	/* the first that is beyond it */
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (index_compare(&rank->byno[middle], &sample) > 0)
			high = middle;
		else
			low = middle + 1;
	}
	if (!after)
		low--;
	return low < rank->collectives && rank->byno[low]->group == group ? rank->byno[low] : NULL;
}
