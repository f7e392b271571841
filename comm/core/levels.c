/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All-reduce over hosts that have several ranks each: the ranks of a host share its vector out among them, each reduces
 * its part with the ranks of its place on the other hosts, and then they put the parts together. What is near overlaps
 * with what is far: in one step a piece is shared out, the one before it is reduced, and the one before that is put
 * together. Steps are the same on all ranks, so that all post the same things in the same order.
 */
#include <stdlib.h>
#include <string.h>

#include "comm/core/context.h"
#include "comm/core/error.h"
#include "comm/core/reduce.h"

/* Of a vector: long enough that a step's start costs little, short enough that three fit the cache. */
#define PIECE_BYTES (2 * 1024 * 1024)
#define STAGES 3

struct rh_comm_climb {
	struct rh_comm *comm;
	struct rh_comm_op op;
	size_t size;
	size_t part;  /**< elements of the longest piece that one rank has */
	size_t parts; /**< elements that one rank has in all */
	size_t pieces;
	size_t step;
	struct rh_comm_request *requests[STAGES];
	struct rh_comm_lanes *tail; /* elements that cannot be shared out evenly */
};

/* @return how many ranks each host has; 0: not all have the same number */
static int32_t levels_per_host(const struct rh_comm *comm)
{
	for (int32_t rank = 0; rank < comm->size; rank++) {
		int32_t count = 0;

		for (int32_t other = 0; other < comm->size; other++)
			count += comm->hosts[other] == comm->hosts[rank];
		if (count != comm->local_world)
			return 0;
	}
	return comm->local_world;
}

/* The place of a rank among those of its host. */
static int32_t levels_place(const struct rh_comm *comm, int32_t rank)
{
	int32_t place = 0;

	for (int32_t other = 0; other < rank; other++)
		place += comm->hosts[other] == comm->hosts[rank];
	return place;
}

static int32_t levels_group(struct rh_comm *comm, bool near, struct rh_comm **ret_group, struct rh_comm_error *err)
{
	int32_t *ranks = malloc((size_t)comm->size * sizeof(*ranks));
	int32_t count = 0;
	int32_t r;

	if (!ranks)
		return rh_comm_fail(err, RH_COMM_ENOMEM, RH_COMM_NO_RANK, "out of memory");
	for (int32_t rank = 0; rank < comm->size; rank++) {
		if (near ? comm->hosts[rank] == comm->hosts[comm->rank] : levels_place(comm, rank) == comm->local_rank)
			ranks[count++] = rank;
	}
	r = rh_comm_group(comm, ranks, count, ret_group, err);
	if (r == 0)
		(*ret_group)->is_level = true;
	free(ranks);
	return r;
}

int32_t rh_comm_levels_open(struct rh_comm *comm, struct rh_comm_error *err)
{
	struct rh_comm_levels levels = {0};
	int32_t r;

	if (comm->module.backend != &rh_comm_native || comm->local_world == comm->size || levels_per_host(comm) < 2)
		return 0;
	r = levels_group(comm, true, &levels.near, err);
	if (r == 0)
		r = levels_group(comm, false, &levels.far, err);
	if (r == 0) {
		comm->levels = malloc(sizeof(levels));
		if (!comm->levels)
			r = rh_comm_fail(err, RH_COMM_ENOMEM, RH_COMM_NO_RANK, "out of memory");
	}
	if (r == 0) {
		*comm->levels = levels;
		return 0;
	}
	rh_comm_free(levels.far);
	rh_comm_free(levels.near);
	return r;
}

void rh_comm_levels_close(struct rh_comm *comm)
{
	if (!comm->levels)
		return;
	rh_comm_free(comm->levels->far);
	rh_comm_free(comm->levels->near);
	free(comm->levels);
	comm->levels = NULL;
}

static int32_t climb_start_tail(struct rh_comm_climb *climb, size_t done)
{
	struct rh_comm_op tail = climb->op;

	if (done == climb->op.count)
		return 0;
	tail.in = (const char *)climb->op.in + done * climb->size;
	tail.out = (char *)climb->op.out + done * climb->size;
	tail.count = climb->op.count - done;
	return rh_comm_lanes_new(climb->comm, &tail, climb->comm->posted, &climb->tail);
}

int32_t rh_comm_climb_new(struct rh_comm *comm, const struct rh_comm_op *op, struct rh_comm_climb **ret_climb)
{
	size_t near = (size_t)comm->local_world;
	struct rh_comm_climb *climb;
	int32_t r;

	if (op->what != RH_COMM_ALL_REDUCE || op->count < near)
		return RH_COMM_ENOTSUP;
	climb = calloc(1, sizeof(*climb));
	if (!climb)
		return RH_COMM_ENOMEM;
	climb->comm = comm;
	climb->op = *op;
	climb->size = rh_comm_type_size(op->type);
	climb->parts = op->count / near;
	climb->part = PIECE_BYTES / climb->size / near;
	climb->part = climb->part > 0 ? climb->part : 1;
	climb->pieces = (climb->parts - 1) / climb->part + 1;
	r = climb_start_tail(climb, climb->parts * near);
	if (r < 0) {
		rh_comm_climb_free(climb);
		return r;
	}
	*ret_climb = climb;
	return 0;
}

void rh_comm_climb_free(struct rh_comm_climb *climb)
{
	if (!climb)
		return;
	rh_comm_lanes_free(climb->tail);
	free(climb);
}

static int32_t climb_post(struct rh_comm *comm, const struct rh_comm_op *op, struct rh_comm_request **ret_request)
{
	struct rh_comm_request *request;

	(void)pthread_mutex_lock(&comm->lock);
	request = rh_comm_request_new(comm, op);
	if (request)
		rh_comm_request_begin(request);
	(void)pthread_mutex_unlock(&comm->lock);
	*ret_request = request;
	return request ? 0 : RH_COMM_ENOMEM;
}

/* What stage 0, 1 or 2 does with a piece. */
static int32_t climb_post_stage(struct rh_comm_climb *climb, int stage, size_t piece)
{
	const struct rh_comm *comm = climb->comm;
	size_t near = (size_t)comm->local_world;
	size_t before = piece * climb->part;
	size_t count = climb->parts - before < climb->part ? climb->parts - before : climb->part;
	size_t from = before * near * climb->size;
	char *out = (char *)climb->op.out + from;
	char *own = out + (size_t)comm->local_rank * count * climb->size;
	struct rh_comm_op op = climb->op;

	op.count = count;
	op.timeout = -1;
	if (op.reduce == RH_COMM_AVG)
		op.reduce = RH_COMM_SUM;
	op.in = own;
	op.out = own;
	if (stage == 0) {
		op.what = RH_COMM_REDUCE_SCATTER;
		op.in = (const char *)climb->op.in + from;
	} else if (stage == 2) {
		op.what = RH_COMM_ALL_GATHER;
		op.out = out;
		if (climb->op.reduce == RH_COMM_AVG)
			rh_comm_divide(own, count, op.type, comm->size);
	}
	return climb_post(stage == 1 ? comm->levels->far : comm->levels->near, &op, &climb->requests[stage]);
}

static int32_t climb_post_step(struct rh_comm_climb *climb)
{
	int32_t r = 0;

	for (size_t stage = 0; stage < STAGES && r == 0; stage++) {
		if (climb->step >= stage && climb->step - stage < climb->pieces)
			r = climb_post_stage(climb, (int)stage, climb->step - stage);
	}
	climb->step++;
	return r;
}

/* @return 0: done and forgotten; RH_COMM_BUSY; RH_COMM_E* */
static int32_t climb_test_stage(struct rh_comm_climb *climb, struct rh_comm_request **request)
{
	struct rh_comm *comm;
	int32_t status;

	if (!*request)
		return 0;
	comm = (*request)->comm;
	(void)pthread_mutex_lock(&comm->lock);
	rh_comm_progress(comm);
	status = atomic_load_explicit(&(*request)->status, memory_order_acquire);
	if (status < 0)
		climb->comm->said = (*request)->err;
	if (status != RH_COMM_BUSY) {
		rh_comm_request_recycle(*request);
		*request = NULL;
	}
	(void)pthread_mutex_unlock(&comm->lock);
	return status;
}

static int32_t climb_test_step(struct rh_comm_climb *climb)
{
	bool busy = false;
	int32_t failed = 0;

	for (int stage = 0; stage < STAGES; stage++) {
		int32_t r = climb_test_stage(climb, &climb->requests[stage]);

		busy |= r == RH_COMM_BUSY;
		failed = r < 0 ? r : failed;
	}
	if (busy)
		return RH_COMM_BUSY;
	return failed;
}

static int32_t climb_test_tail(struct rh_comm_climb *climb)
{
	int32_t r = climb->tail ? rh_comm_lanes_test(climb->tail) : 0;

	if (r == 0) {
		rh_comm_lanes_free(climb->tail);
		climb->tail = NULL;
	}
	return r;
}

/* One after the other, in the order of posting: all ranks must post the same to the groups. */
static bool climb_has_turn(struct rh_comm_climb *climb)
{
	struct rh_comm_levels *levels = climb->comm->levels;

	if (!levels->climbing)
		levels->climbing = climb;
	return levels->climbing == climb;
}

int32_t rh_comm_climb_test(struct rh_comm_climb *climb)
{
	int32_t tail = climb_test_tail(climb);

	while (climb_has_turn(climb)) {
		int32_t r = climb_test_step(climb);

		if (r != 0)
			return r;
		if (tail < 0 || climb->step == climb->pieces + STAGES - 1) {
			if (tail != RH_COMM_BUSY)
				climb->comm->levels->climbing = NULL;
			return tail;
		}
		r = climb_post_step(climb);
		if (r < 0)
			return r;
	}
	return RH_COMM_BUSY;
}
