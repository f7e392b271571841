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

#include "comm/core/collective/hierarchical.h"
#include "comm/core/collective/reduce.h"
#include "comm/core/collective/schedule.h"
#include "comm/core/error.h"

/* Of a vector: long enough that a step's start costs little, short enough that three fit the cache. */
#define PIECE_BYTES (2 * 1024 * 1024)
/* A piece is brought together, reduced, handed out. */
enum { STAGE_REDUCE_INTRA, STAGE_REDUCE_INTER, STAGE_DISTRIBUTE, STAGES };

struct rh_comm_hier {
	struct rh_comm *comm;
	struct rh_comm_op op;
	size_t size;
	size_t slices; /* of a piece */
	size_t length; /* elements of a piece, but for the last one */
	size_t shared; /* elements that go through the hierarchy; the rest cannot be shared out evenly */
	size_t pieces;
	size_t step;
	struct rh_comm_schedule *tail; /* that rest */
	size_t count; /* of requests: one of each stage, but one of each slice where slices are broadcast */
	struct rh_comm_request *requests[];
};

/* @return the most ranks that a host has; *ret_least the fewest */
static int32_t hierarchy_count(const struct rh_comm *comm, int32_t *ret_least)
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
static int32_t hierarchy_place(const struct rh_comm *comm, int32_t rank)
{
	int32_t place = 0;

	for (int32_t other = 0; other < rank; other++)
		place += comm->hosts[other] == comm->hosts[rank];
	return place;
}

static int32_t hierarchy_group(struct rh_comm *comm, bool intra, struct rh_comm **ret_group, struct rh_comm_error *err)
{
	int32_t *ranks = malloc((size_t)comm->size * sizeof(*ranks));
	int32_t count = 0;
	int32_t r;

	if (!ranks)
		return rh_comm_fail(err, RH_COMM_ENOMEM, RH_COMM_NO_RANK, "out of memory");
	for (int32_t rank = 0; rank < comm->size; rank++) {
		if (intra ? comm->hosts[rank] == comm->hosts[comm->rank] : hierarchy_place(comm, rank) == comm->local_rank)
			ranks[count++] = rank;
	}
	r = rh_comm_context_group(comm, ranks, count, ret_group, err);
	if (r == 0)
		(*ret_group)->is_subgroup = true;
	free(ranks);
	return r;
}

int32_t rh_comm_hierarchy_open(struct rh_comm *comm, struct rh_comm_error *err)
{
	struct rh_comm_hierarchy hierarchy = {0};
	int32_t most;
	int32_t r;

	if (comm->module.backend != &rh_comm_native || comm->local_world == comm->size)
		return 0;
	most = hierarchy_count(comm, &hierarchy.slices);
	if (most < 2)
		return 0;
	hierarchy.even = most == hierarchy.slices;
	r = hierarchy_group(comm, true, &hierarchy.intra, err);
	if (r == 0 && comm->local_rank < hierarchy.slices)
		r = hierarchy_group(comm, false, &hierarchy.inter, err);
	if (r == 0) {
		comm->hierarchy = malloc(sizeof(hierarchy));
		if (comm->hierarchy) {
			*comm->hierarchy = hierarchy;
			return 0;
		}
		r = rh_comm_fail(err, RH_COMM_ENOMEM, RH_COMM_NO_RANK, "out of memory");
	}
	rh_comm_context_close_group(hierarchy.inter);
	rh_comm_context_close_group(hierarchy.intra);
	return r;
}

void rh_comm_hierarchy_close(struct rh_comm *comm)
{
	if (!comm->hierarchy)
		return;
	rh_comm_context_close_group(comm->hierarchy->inter);
	rh_comm_context_close_group(comm->hierarchy->intra);
	free(comm->hierarchy);
	comm->hierarchy = NULL;
}

static int32_t hier_start_tail(struct rh_comm_hier *hier)
{
	struct rh_comm_op tail = hier->op;
	size_t done = hier->shared;

	if (done == hier->op.count)
		return 0;
	tail.in = (const char *)hier->op.in + done * hier->size;
	tail.out = (char *)hier->op.out + done * hier->size;
	tail.count = hier->op.count - done;
	return rh_comm_schedule_new(hier->comm, &tail, rh_comm_id(hier->comm->history, hier->comm->posted), &hier->tail);
}

/* How the vector is cut. Slices of the same lengths are all that an all-gather knows. */
static void hier_cut(struct rh_comm_hier *hier)
{
	size_t count = hier->op.count;
	size_t length = PIECE_BYTES / hier->size;

	hier->shared = count;
	if (hier->comm->hierarchy->even) {
		length = length / hier->slices * hier->slices;
		hier->shared = count / hier->slices * hier->slices;
	}
	hier->length = length > 0 ? length : hier->slices;
	hier->pieces = (hier->shared - 1) / hier->length + 1;
}

static void hier_free(struct rh_comm_hier *hier)
{
	if (!hier)
		return;
	rh_comm_schedule_free(hier->tail);
	free(hier);
}

int32_t rh_comm_hier_new(struct rh_comm *comm, const struct rh_comm_op *op, struct rh_comm_hier **ret_hier)
{
	const struct rh_comm_hierarchy *hierarchy = comm->hierarchy;
	size_t slices = (size_t)hierarchy->slices;
	size_t requests = hierarchy->even ? STAGES : STAGE_DISTRIBUTE + slices;
	struct rh_comm_hier *hier;
	int32_t r;

	if (op->what != RH_COMM_ALL_REDUCE || op->count < slices)
		return RH_COMM_ENOTSUP;
	hier = calloc(1, sizeof(*hier) + requests * sizeof(struct rh_comm_request *));
	if (!hier)
		return RH_COMM_ENOMEM;
	hier->comm = comm;
	hier->op = *op;
	hier->size = rh_comm_type_size(op->type);
	hier->slices = slices;
	hier->count = requests;
	hier_cut(hier);
	r = hier_start_tail(hier);
	if (r < 0) {
		hier_free(hier);
		return r;
	}
	*ret_hier = hier;
	return 0;
}

static int32_t hier_post(struct rh_comm *comm, const struct rh_comm_op *op, struct rh_comm_request **ret_request)
{
	*ret_request = rh_comm_request_post(comm, op);
	return *ret_request ? 0 : RH_COMM_ENOMEM;
}

/* An operation on some elements of the result, in place. */
static struct rh_comm_op hier_op(const struct rh_comm_hier *hier, int32_t what, size_t from, size_t count)
{
	struct rh_comm_op op = hier->op;

	op.what = what;
	op.out = (char *)hier->op.out + from * hier->size;
	op.in = op.out;
	op.count = count;
	op.timeout = -1;
	/* who has the total divides it */
	if (op.reduce == RH_COMM_AVG)
		op.reduce = RH_COMM_SUM;
	return op;
}

/* Elements of a piece, and where it begins. */
static size_t hier_piece(const struct rh_comm_hier *hier, size_t piece, size_t *ret_from)
{
	*ret_from = piece * hier->length;
	return hier->shared - *ret_from < hier->length ? hier->shared - *ret_from : hier->length;
}

/* Elements of a slice of a piece, and where it begins. */
static size_t hier_slice(const struct rh_comm_hier *hier, size_t piece, size_t slice, size_t *ret_from)
{
	size_t count = hier_piece(hier, piece, ret_from);
	size_t from = count / hier->slices * slice;
	size_t end = slice + 1 == hier->slices ? count : from + count / hier->slices;

	*ret_from += from;
	return end - from;
}

static int32_t hier_post_intra(struct rh_comm_hier *hier, size_t piece)
{
	const struct rh_comm *comm = hier->comm;
	bool even = comm->hierarchy->even;
	size_t from = 0;
	size_t count = hier_piece(hier, piece, &from);
	struct rh_comm_op op = hier_op(hier, even ? RH_COMM_REDUCE_SCATTER : RH_COMM_ALL_REDUCE, from, count);

	op.in = (const char *)hier->op.in + from * hier->size;
	if (even) {
		op.count = hier_slice(hier, piece, (size_t)comm->local_rank, &from);
		op.out = (char *)hier->op.out + from * hier->size;
	}
	return hier_post(comm->hierarchy->intra, &op, &hier->requests[STAGE_REDUCE_INTRA]);
}

/* Ranks without a slice have nothing to do between hosts. */
static int32_t hier_post_inter(struct rh_comm_hier *hier, size_t piece)
{
	const struct rh_comm *comm = hier->comm;
	struct rh_comm_op op;
	size_t from = 0;
	size_t count;

	if (!comm->hierarchy->inter)
		return 0;
	count = hier_slice(hier, piece, (size_t)comm->local_rank, &from);
	op = hier_op(hier, RH_COMM_ALL_REDUCE, from, count);
	return hier_post(comm->hierarchy->inter, &op, &hier->requests[STAGE_REDUCE_INTER]);
}

static int32_t hier_post_distribute(struct rh_comm_hier *hier, size_t piece)
{
	const struct rh_comm *comm = hier->comm;
	const struct rh_comm_hierarchy *hierarchy = comm->hierarchy;
	size_t from = 0;
	size_t count = hierarchy->inter ? hier_slice(hier, piece, (size_t)comm->local_rank, &from) : 0;
	struct rh_comm_op op = hier_op(hier, RH_COMM_ALL_GATHER, from, count);
	int32_t r = 0;

	if (hierarchy->inter && hier->op.reduce == RH_COMM_AVG)
		rh_comm_divide(op.out, count, op.type, comm->size);
	if (hierarchy->even) {
		(void)hier_piece(hier, piece, &from);
		op.out = (char *)hier->op.out + from * hier->size;
		return hier_post(hierarchy->intra, &op, &hier->requests[STAGE_DISTRIBUTE]);
	}
	for (size_t slice = 0; slice < hier->slices && r == 0; slice++) {
		count = hier_slice(hier, piece, slice, &from);
		op = hier_op(hier, RH_COMM_BROADCAST, from, count);
		op.peer = (int32_t)slice;
		r = hier_post(hierarchy->intra, &op, &hier->requests[STAGE_DISTRIBUTE + slice]);
	}
	return r;
}

static int32_t hier_post_step(struct rh_comm_hier *hier)
{
	static int32_t (*const stages[STAGES])(struct rh_comm_hier *, size_t) = {hier_post_intra, hier_post_inter,
	                                                                         hier_post_distribute};
	int32_t r = 0;

	for (size_t stage = 0; stage < STAGES && r == 0; stage++) {
		if (hier->step >= stage && hier->step - stage < hier->pieces)
			r = stages[stage](hier, hier->step - stage);
	}
	hier->step++;
	return r;
}

/* @return 0: done and forgotten; RH_COMM_BUSY; RH_COMM_E* */
static int32_t hier_test_stage(struct rh_comm_hier *hier, struct rh_comm_request **request)
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
		hier->comm->error = (*request)->err;
	if (status != RH_COMM_BUSY) {
		rh_comm_request_recycle(*request);
		*request = NULL;
	}
	(void)pthread_mutex_unlock(&comm->lock);
	return status;
}

static int32_t hier_test_step(struct rh_comm_hier *hier)
{
	bool busy = false;
	int32_t failed = 0;

	for (size_t i = 0; i < hier->count; i++) {
		int32_t r = hier_test_stage(hier, &hier->requests[i]);

		busy |= r == RH_COMM_BUSY;
		failed = r < 0 ? r : failed;
	}
	if (busy)
		return RH_COMM_BUSY;
	return failed;
}

static int32_t hier_test_tail(struct rh_comm_hier *hier)
{
	int32_t r = hier->tail ? rh_comm_schedule_test(hier->tail) : 0;

	if (r == 0) {
		rh_comm_schedule_free(hier->tail);
		hier->tail = NULL;
	}
	return r;
}

/* One after the other, in the order of posting: all ranks must post the same to the groups. */
static bool hier_has_turn(struct rh_comm_hier *hier)
{
	struct rh_comm_hierarchy *hierarchy = hier->comm->hierarchy;

	if (!hierarchy->current)
		hierarchy->current = hier;
	return hierarchy->current == hier;
}

static int32_t hier_test(struct rh_comm_request *request)
{
	struct rh_comm_hier *hier = request->work;
	int32_t tail = hier_test_tail(hier);

	/* what has not begun never will: the one whose turn it is may have failed */
	if (hier->comm->aborted && hier->step == 0)
		return RH_COMM_EABORTED;
	while (hier_has_turn(hier)) {
		int32_t r = hier_test_step(hier);

		if (r != 0)
			return r;
		if (tail < 0 || hier->step == hier->pieces + STAGES - 1) {
			if (tail != RH_COMM_BUSY)
				hier->comm->hierarchy->current = NULL;
			return tail;
		}
		r = hier_post_step(hier);
		if (r < 0)
			return r;
	}
	return RH_COMM_BUSY;
}

static void hier_free_request(struct rh_comm_request *request)
{
	hier_free(request->work);
	request->work = NULL;
}

const struct rh_comm_executor rh_comm_hierarchical_executor = {.test = hier_test, .free = hier_free_request};
