/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All-reduce over hosts that have several ranks. Each place of a host, up to as many as the smallest host has, owns a
 * slice of the vector: the ranks of a host bring their slices together, each place reduces its slice with the ranks of
 * that place on the other hosts, and then the slices are handed out. Where all hosts have the same number of ranks,
 * these are a reduce-scatter, all-reduces between hosts, and an all-gather. Else a host all-reduces all slices, and
 * each owner broadcasts its own.
 *
 * What is near overlaps with what is far: in one step a piece is brought together, the one before it is reduced, and
 * the one before that is handed out. Steps are the same on all ranks, so that all post the same things in the same
 * order.
 */
#include <stdlib.h>
#include <string.h>

#include "comm/core/collective/reduce.h"
#include "comm/core/context.h"
#include "comm/core/error.h"

/* Of a vector: long enough that a step's start costs little, short enough that three fit the cache. */
#define PIECE_BYTES (2 * 1024 * 1024)
/* A piece is brought together, reduced, handed out. */
enum { STAGE_NEAR, STAGE_FAR, STAGE_OUT, STAGES };

struct rh_comm_climb {
	struct rh_comm *comm;
	struct rh_comm_op op;
	size_t size;
	size_t slices; /* of a piece */
	size_t length; /* elements of a piece, but for the last one */
	size_t shared; /* elements that go through the levels; the rest cannot be shared out evenly */
	size_t pieces;
	size_t step;
	struct rh_comm_lanes *tail; /* that rest */
	size_t count;               /* of requests: one of each stage, but one of each slice where slices are broadcast */
	struct rh_comm_request *requests[];
};

/* @return the most ranks that a host has; *ret_least the fewest */
static int32_t levels_count(const struct rh_comm *comm, int32_t *ret_least)
{
	int32_t least = comm->size;
	int32_t most = 0;

	for (int32_t rank = 0; rank < comm->size; rank++) {
		int32_t count = 0;

		for (int32_t other = 0; other < comm->size; other++)
			count += comm->hosts[other] == comm->hosts[rank];
		least = count < least ? count : least;
		most = count > most ? count : most;
	}
	*ret_least = least;
	return most;
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
	int32_t most;
	int32_t r;

	if (comm->module.backend != &rh_comm_native || comm->local_world == comm->size)
		return 0;
	most = levels_count(comm, &levels.slices);
	if (most < 2)
		return 0;
	levels.even = most == levels.slices;
	r = levels_group(comm, true, &levels.near, err);
	if (r == 0 && comm->local_rank < levels.slices)
		r = levels_group(comm, false, &levels.far, err);
	if (r == 0) {
		comm->levels = malloc(sizeof(levels));
		if (comm->levels) {
			*comm->levels = levels;
			return 0;
		}
		r = rh_comm_fail(err, RH_COMM_ENOMEM, RH_COMM_NO_RANK, "out of memory");
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

static int32_t climb_start_tail(struct rh_comm_climb *climb)
{
	struct rh_comm_op tail = climb->op;
	size_t done = climb->shared;

	if (done == climb->op.count)
		return 0;
	tail.in = (const char *)climb->op.in + done * climb->size;
	tail.out = (char *)climb->op.out + done * climb->size;
	tail.count = climb->op.count - done;
	return rh_comm_lanes_new(climb->comm, &tail, rh_comm_id(climb->comm->trail, climb->comm->posted), &climb->tail);
}

/* How the vector is cut. Slices of the same lengths are all that an all-gather knows. */
static void climb_cut(struct rh_comm_climb *climb)
{
	size_t count = climb->op.count;
	size_t length = PIECE_BYTES / climb->size;

	climb->shared = count;
	if (climb->comm->levels->even) {
		length = length / climb->slices * climb->slices;
		climb->shared = count / climb->slices * climb->slices;
	}
	climb->length = length > 0 ? length : climb->slices;
	climb->pieces = (climb->shared - 1) / climb->length + 1;
}

int32_t rh_comm_climb_new(struct rh_comm *comm, const struct rh_comm_op *op, struct rh_comm_climb **ret_climb)
{
	const struct rh_comm_levels *levels = comm->levels;
	size_t slices = (size_t)levels->slices;
	size_t requests = levels->even ? STAGES : STAGE_OUT + slices;
	struct rh_comm_climb *climb;
	int32_t r;

	if (op->what != RH_COMM_ALL_REDUCE || op->count < slices)
		return RH_COMM_ENOTSUP;
	climb = calloc(1, sizeof(*climb) + requests * sizeof(struct rh_comm_request *));
	if (!climb)
		return RH_COMM_ENOMEM;
	climb->comm = comm;
	climb->op = *op;
	climb->size = rh_comm_type_size(op->type);
	climb->slices = slices;
	climb->count = requests;
	climb_cut(climb);
	r = climb_start_tail(climb);
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

/* An operation on some elements of the result, in place. */
static struct rh_comm_op climb_op(const struct rh_comm_climb *climb, int32_t what, size_t from, size_t count)
{
	struct rh_comm_op op = climb->op;

	op.what = what;
	op.out = (char *)climb->op.out + from * climb->size;
	op.in = op.out;
	op.count = count;
	op.timeout = -1;
	/* who has the total divides it */
	if (op.reduce == RH_COMM_AVG)
		op.reduce = RH_COMM_SUM;
	return op;
}

/* Elements of a piece, and where it begins. */
static size_t climb_piece(const struct rh_comm_climb *climb, size_t piece, size_t *ret_from)
{
	*ret_from = piece * climb->length;
	return climb->shared - *ret_from < climb->length ? climb->shared - *ret_from : climb->length;
}

/* Elements of a slice of a piece, and where it begins. */
static size_t climb_slice(const struct rh_comm_climb *climb, size_t piece, size_t slice, size_t *ret_from)
{
	size_t count = climb_piece(climb, piece, ret_from);
	size_t from = count / climb->slices * slice;
	size_t end = slice + 1 == climb->slices ? count : from + count / climb->slices;

	*ret_from += from;
	return end - from;
}

static int32_t climb_post_near(struct rh_comm_climb *climb, size_t piece)
{
	const struct rh_comm *comm = climb->comm;
	bool even = comm->levels->even;
	size_t from = 0;
	size_t count = climb_piece(climb, piece, &from);
	struct rh_comm_op op = climb_op(climb, even ? RH_COMM_REDUCE_SCATTER : RH_COMM_ALL_REDUCE, from, count);

	op.in = (const char *)climb->op.in + from * climb->size;
	if (even) {
		op.count = climb_slice(climb, piece, (size_t)comm->local_rank, &from);
		op.out = (char *)climb->op.out + from * climb->size;
	}
	return climb_post(comm->levels->near, &op, &climb->requests[STAGE_NEAR]);
}

/* Ranks without a slice have nothing to do between hosts. */
static int32_t climb_post_far(struct rh_comm_climb *climb, size_t piece)
{
	const struct rh_comm *comm = climb->comm;
	struct rh_comm_op op;
	size_t from = 0;
	size_t count;

	if (!comm->levels->far)
		return 0;
	count = climb_slice(climb, piece, (size_t)comm->local_rank, &from);
	op = climb_op(climb, RH_COMM_ALL_REDUCE, from, count);
	return climb_post(comm->levels->far, &op, &climb->requests[STAGE_FAR]);
}

static int32_t climb_post_out(struct rh_comm_climb *climb, size_t piece)
{
	const struct rh_comm *comm = climb->comm;
	const struct rh_comm_levels *levels = comm->levels;
	size_t from = 0;
	size_t count = levels->far ? climb_slice(climb, piece, (size_t)comm->local_rank, &from) : 0;
	struct rh_comm_op op = climb_op(climb, RH_COMM_ALL_GATHER, from, count);
	int32_t r = 0;

	if (levels->far && climb->op.reduce == RH_COMM_AVG)
		rh_comm_divide(op.out, count, op.type, comm->size);
	if (levels->even) {
		(void)climb_piece(climb, piece, &from);
		op.out = (char *)climb->op.out + from * climb->size;
		return climb_post(levels->near, &op, &climb->requests[STAGE_OUT]);
	}
	for (size_t slice = 0; slice < climb->slices && r == 0; slice++) {
		count = climb_slice(climb, piece, slice, &from);
		op = climb_op(climb, RH_COMM_BROADCAST, from, count);
		op.peer = (int32_t)slice;
		r = climb_post(levels->near, &op, &climb->requests[STAGE_OUT + slice]);
	}
	return r;
}

static int32_t climb_post_step(struct rh_comm_climb *climb)
{
	static int32_t (*const stages[STAGES])(struct rh_comm_climb *, size_t) = {climb_post_near, climb_post_far,
	                                                                          climb_post_out};
	int32_t r = 0;

	for (size_t stage = 0; stage < STAGES && r == 0; stage++) {
		if (climb->step >= stage && climb->step - stage < climb->pieces)
			r = stages[stage](climb, climb->step - stage);
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

	for (size_t i = 0; i < climb->count; i++) {
		int32_t r = climb_test_stage(climb, &climb->requests[i]);

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

	/* what has not begun never will: the one whose turn it is may have failed */
	if (climb->comm->aborted && climb->step == 0)
		return RH_COMM_EABORTED;
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
