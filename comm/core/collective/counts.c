/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/core/collective/counts.h"

#include <stdlib.h>

#include "comm/core/collective/parts.h"
#include "comm/core/collective/schedule.h"
#include "comm/core/error.h"
#include "comm/core/group.h"

struct rh_comm_counted {
	struct rh_comm *comm;
	struct rh_comm_op op;
	struct rh_comm_schedule *counts; /* NULL: all agree */
	struct rh_comm_schedule *data;
	int64_t *given; /* what this rank has: for each rank, or, where it is one part, that */
	int64_t *found; /* what the others have for it, likewise */
};

static void counted_free(struct rh_comm_counted *counted)
{
	if (!counted)
		return;
	rh_comm_schedule_free(counted->counts);
	rh_comm_schedule_free(counted->data);
	free(counted->given);
	free(counted->found);
	free(counted);
}

/* The operation that carries the counts: the same with one element for each rank. @return 0: there is none */
static int32_t counted_what(int32_t what)
{
	switch (what) {
	case RH_COMM_ALL_TO_ALL_V:
		return RH_COMM_ALL_TO_ALL;
	case RH_COMM_GATHER_V:
		return RH_COMM_GATHER;
	case RH_COMM_SCATTER_V:
		return RH_COMM_SCATTER;
	default:
		return 0;
	}
}

static void counted_fill(struct rh_comm_counted *counted)
{
	const struct rh_comm *comm = counted->comm;

	if (!rh_comm_lists_in(&counted->op, comm->rank)) {
		counted->given[0] = (int64_t)rh_comm_own_count(&counted->op, comm->rank);
		return;
	}
	for (int32_t rank = 0; rank < comm->size; rank++)
		counted->given[rank] = (int64_t)counted->op.in_counts[rank];
}

int32_t rh_comm_counted_new(struct rh_comm *comm, const struct rh_comm_op *op, uint64_t id,
                            struct rh_comm_counted **ret_counted)
{
	struct rh_comm_op counts = {
		.size = sizeof(counts), .what = counted_what(op->what), .count = 1, .type = RH_COMM_I64, .peer = op->peer};
	struct rh_comm_counted *counted;
	int32_t r = RH_COMM_ENOMEM;

	if (counts.what == 0)
		return RH_COMM_ENOTSUP;
	counted = calloc(1, sizeof(*counted));
	if (!counted)
		return RH_COMM_ENOMEM;
	counted->comm = comm;
	counted->op = *op;
	counted->given = calloc((size_t)comm->size, sizeof(*counted->given));
	counted->found = calloc((size_t)comm->size, sizeof(*counted->found));
	if (counted->given && counted->found) {
		counted_fill(counted);
		counts.in = counted->given;
		counts.out = counted->found;
		r = rh_comm_schedule_new(comm, &counts, id, &counted->counts);
	}
	if (r == 0)
		r = rh_comm_schedule_new(comm, op, id, &counted->data);
	if (r < 0) {
		counted_free(counted);
		return r;
	}
	*ret_counted = counted;
	return 0;
}

/* What `rank` has for this one must be what this one expects of it. */
static int32_t counted_compare(const struct rh_comm_counted *counted, int32_t rank, int64_t found, size_t expected)
{
	struct rh_comm *comm = counted->comm;
	int32_t odd = rh_comm_world_rank(comm, rank);
	char group[120];

	if (found == (int64_t)expected)
		return 0;
	return rh_comm_fail(&comm->error, RH_COMM_EINVAL, odd,
	                    "%s%s: rank %d has %lld elements for rank %d, which expects %zu of it; the counts of both "
	                    "must agree",
	                    rh_comm_what_name(counted->op.what), rh_comm_group_text(comm, group, sizeof(group)), (int)odd,
	                    (long long)found, (int)rh_comm_world_rank(comm, comm->rank), expected);
}

static int32_t counted_check(const struct rh_comm_counted *counted)
{
	const struct rh_comm *comm = counted->comm;
	const struct rh_comm_op *op = &counted->op;
	int32_t r = 0;

	if (op->what == RH_COMM_SCATTER_V)
		return counted_compare(counted, op->peer, counted->found[0], rh_comm_own_count(op, comm->rank));
	if (!rh_comm_lists_out(op, comm->rank))
		return 0;
	for (int32_t rank = 0; rank < comm->size && r == 0; rank++)
		r = counted_compare(counted, rank, counted->found[rank], op->out_counts[rank]);
	return r;
}

static int32_t counted_test(struct rh_comm_request *request)
{
	struct rh_comm_counted *counted = request->work;

	if (counted->counts) {
		int32_t r = rh_comm_schedule_test(counted->counts);

		if (r == 0)
			r = counted_check(counted);
		if (r != 0)
			return r;
		rh_comm_schedule_free(counted->counts);
		counted->counts = NULL;
	}
	return rh_comm_schedule_test(counted->data);
}

static void counted_free_request(struct rh_comm_request *request)
{
	counted_free(request->work);
	request->work = NULL;
}

const struct rh_comm_executor rh_comm_counts_executor = {.test = counted_test, .free = counted_free_request};
