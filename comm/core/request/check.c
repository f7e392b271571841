/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/core/request/check.h"

#include <string.h>

#include "comm/core/collective/parts.h"
#include "comm/core/collective/reduce.h"
#include "comm/core/error.h"
#include "comm/core/memory/stage.h"

static int32_t check_refuse(struct rh_comm_error *err, const char *what)
{
	return rh_comm_fail(err, RH_COMM_EINVAL, RH_COMM_NO_RANK, "rh_comm_op: %s", what);
}

static bool check_has_data(const struct rh_comm_op *op)
{
	return op->what != RH_COMM_BARRIER && op->count > 0;
}

static int32_t check_any(const struct rh_comm *comm, const struct rh_comm_op *op, struct rh_comm_error *err)
{
	if (op->memory == RH_COMM_CUDA)
		return rh_comm_fail(err, RH_COMM_ENOTSUP, RH_COMM_NO_RANK,
		                    "rh_comm_op: a receive of CUDA memory needs its source; receive into the host's");
	if (op->count == 0)
		return check_refuse(err, "count is 0: a receive from any rank is of at least one element");
	if (comm->size == 1)
		return check_refuse(err, "a receive from any rank needs a world of two ranks or more");
	if (!comm->module.backend->find)
		return rh_comm_fail(err, RH_COMM_ENOTSUP, RH_COMM_NO_RANK, "%s: a receive needs its source",
		                    comm->module.backend->name);
	return 0;
}

static int32_t check_peer(const struct rh_comm *comm, const struct rh_comm_op *op, struct rh_comm_error *err)
{
	bool message = op->what == RH_COMM_SEND || op->what == RH_COMM_RECV;

	if (!message && !rh_comm_what_has_root(op->what))
		return 0;
	if (op->what == RH_COMM_RECV && op->peer == RH_COMM_ANY_RANK)
		return check_any(comm, op, err);
	if (op->peer < 0 || op->peer >= comm->size)
		return rh_comm_fail(err, RH_COMM_EINVAL, RH_COMM_NO_RANK, "rh_comm_op.peer is %d, which is not below %d",
		                    (int)op->peer, (int)comm->size);
	if (message && op->peer == comm->rank)
		return check_refuse(err, "a message to oneself (peer is this rank)");
	return 0;
}

/* Add up a list. @return whether the bytes have a length at all */
static bool check_sum(const size_t *counts, int32_t world, size_t size, size_t *ret_total)
{
	size_t total = 0;
	size_t bytes;

	for (int32_t rank = 0; rank < world; rank++) {
		if (__builtin_add_overflow(total, counts[rank], &total))
			return false;
	}
	*ret_total = total;
	return !__builtin_mul_overflow(total, size, &bytes) && bytes <= PTRDIFF_MAX;
}

/* Elements of both buffers, by lists where the operation has them; 0 where this rank has no such buffer. */
struct totals {
	size_t in;
	size_t out;
};

/* Lists are there, and have sums. */
static int32_t check_lists(const struct rh_comm *comm, const struct rh_comm_op *op, struct totals *totals,
                           struct rh_comm_error *err)
{
	size_t size = rh_comm_type_size(op->type);
	bool in = rh_comm_lists_in(op, comm->rank);
	bool out = rh_comm_lists_out(op, comm->rank);

	if (in && !op->in_counts)
		return check_refuse(err, "in_counts is NULL");
	if (out && !op->out_counts)
		return check_refuse(err, "out_counts is NULL");
	if (in && !check_sum(op->in_counts, comm->size, size, &totals->in))
		return check_refuse(err, "in_counts are more than there can be in memory");
	if (out && !check_sum(op->out_counts, comm->size, size, &totals->out))
		return check_refuse(err, "out_counts are more than there can be in memory");
	return 0;
}

/* Elements of buffers that have no list. */
static void check_total(const struct rh_comm *comm, const struct rh_comm_op *op, struct totals *totals)
{
	size_t own = rh_comm_own_count(op, comm->rank);
	size_t all = own * (size_t)comm->size;
	bool root = op->peer == comm->rank;

	switch (op->what) {
	case RH_COMM_ALL_TO_ALL:
		*totals = (struct totals){all, all};
		return;
	case RH_COMM_GATHER:
		*totals = (struct totals){own, root ? all : 0};
		return;
	case RH_COMM_SCATTER:
		*totals = (struct totals){root ? all : 0, own};
		return;
	case RH_COMM_REDUCE:
		*totals = (struct totals){own, root ? own : 0};
		return;
	case RH_COMM_GATHER_V:
	case RH_COMM_ALL_GATHER_V:
		totals->in = own;
		return;
	case RH_COMM_SCATTER_V:
	case RH_COMM_REDUCE_SCATTER_V:
		totals->out = own;
		return;
	default:
		return;
	}
}

/* Operations after RH_COMM_RECV: who has which buffer depends on the root and on lists. */
static int32_t check_parts(const struct rh_comm *comm, const struct rh_comm_op *op, struct rh_comm_error *err)
{
	struct totals totals = {0, 0};
	bool apart = op->what == RH_COMM_ALL_TO_ALL || op->what == RH_COMM_ALL_TO_ALL_V;
	int32_t r;

	if (op->memory == RH_COMM_CUDA)
		return rh_comm_fail(err, RH_COMM_ENOTSUP, RH_COMM_NO_RANK,
		                    "rh_comm_op: %s of CUDA memory is not supported; copy it to the host",
		                    rh_comm_what_name(op->what));
	if (op->memory != RH_COMM_HOST)
		return check_refuse(err, "memory is neither RH_COMM_HOST nor RH_COMM_CUDA");
	r = check_lists(comm, op, &totals, err);
	if (r < 0)
		return r;
	check_total(comm, op, &totals);
	if (totals.in > 0 && !op->in)
		return check_refuse(err, "in is NULL");
	if (totals.out > 0 && !op->out)
		return check_refuse(err, "out is NULL");
	if (totals.in > 0 && apart && op->in == op->out)
		return check_refuse(err, "in is out: this operation is not done in place");
	return 0;
}

/* @return whether the vector, of all ranks together, has a length at all */
static bool check_is_countable(const struct rh_comm *comm, const struct rh_comm_op *op)
{
	size_t bytes;

	return op->what == RH_COMM_BARRIER || rh_comm_is_listed(op->what) ||
	       (!__builtin_mul_overflow(op->count, rh_comm_type_size(op->type) * (size_t)comm->size, &bytes) &&
	        bytes <= PTRDIFF_MAX);
}

/* The first operation on CUDA memory looks for the CUDA runtime. */
static int32_t check_open_stage(struct rh_comm *comm, struct rh_comm_error *err)
{
	int32_t r;

	(void)pthread_mutex_lock(&comm->lock);
	r = rh_comm_stage_open(comm, err);
	(void)pthread_mutex_unlock(&comm->lock);
	return r;
}

static int32_t check_memory(struct rh_comm *comm, const struct rh_comm_op *op, struct rh_comm_error *err)
{
	if (op->memory != RH_COMM_HOST && op->memory != RH_COMM_CUDA)
		return check_refuse(err, "memory is neither RH_COMM_HOST nor RH_COMM_CUDA");
	if (op->memory != RH_COMM_CUDA || op->what == RH_COMM_BARRIER)
		return 0;
	if (op->type > RH_COMM_U8 || (rh_comm_what_reduces(op->what) && op->reduce > RH_COMM_PROD))
		return rh_comm_fail(
			err, RH_COMM_ENOTSUP, RH_COMM_NO_RANK,
			"rh_comm_op: CUDA memory of i16, u16, u32, u64 and float8, and its bits, are not reduced; copy it "
			"to the host, or move it as u8");
	if (!comm->cuda.self)
		return check_open_stage(comm, err);
	return 0;
}

/* Where the input lies that the caller left out: in place. @return NULL: the operation is not done in place */
static const void *check_place(const struct rh_comm *comm, const struct rh_comm_op *op)
{
	bool listed = op->what == RH_COMM_ALL_GATHER_V || op->what == RH_COMM_GATHER_V;
	size_t before = (size_t)comm->rank * op->count;

	if (op->what <= RH_COMM_RECV && op->what != RH_COMM_ALL_GATHER)
		return op->out;
	if (op->what == RH_COMM_REDUCE)
		return op->out;
	if (op->what != RH_COMM_ALL_GATHER && (op->what != RH_COMM_GATHER || op->peer != comm->rank) && !listed)
		return NULL;
	if (listed) {
		if (!rh_comm_lists_out(op, comm->rank) || !op->out_counts)
			return NULL;
		before = 0;
		for (int32_t rank = 0; rank < comm->rank; rank++)
			before += op->out_counts[rank];
	}
	return (const char *)op->out + before * rh_comm_type_size(op->type);
}

const struct rh_comm_op *rh_comm_request_complete(const struct rh_comm *comm, const struct rh_comm_op *given,
                                                  struct rh_comm_op *room)
{
	/* mostly nothing is missing, and copying it would take longer than all that is done with it for a small vector */
	if (given->size >= sizeof(*given) && (given->in || !given->out))
		return given;
	*room = (struct rh_comm_op){0};
	memcpy(room, given, given->size < sizeof(*room) ? given->size : sizeof(*room));
	if (!room->in && room->out)
		room->in = check_place(comm, room);
	return room;
}

static int32_t check_reduction(const struct rh_comm_op *op, struct rh_comm_error *err)
{
	if (!rh_comm_reduce_is_known(op->reduce))
		return check_refuse(err, "reduce is not a valid reduction");
	if (!rh_comm_type_reduces_by(op->type, op->reduce))
		return check_refuse(err, "reduce is RH_COMM_BAND, BOR or BXOR, and type is not an integer");
	return 0;
}

int32_t rh_comm_request_check(struct rh_comm *comm, const struct rh_comm_op *op, struct rh_comm_error *err)
{
	int32_t r = 0;

	if (op->what < RH_COMM_ALL_REDUCE || op->what > RH_COMM_REDUCE_SCATTER_V)
		return check_refuse(err, "what is not a valid operation");
	if (op->what != RH_COMM_BARRIER && !rh_comm_type_is_known(op->type))
		return check_refuse(err, "type is not a valid element type");
	if (rh_comm_what_reduces(op->what))
		r = check_reduction(op, err);
	if (r < 0)
		return r;
	if (!check_is_countable(comm, op))
		return check_refuse(err, "count is more than there can be in memory");
	r = op->what > RH_COMM_RECV ? 0 : check_memory(comm, op, err);
	if (r == 0)
		r = check_peer(comm, op, err);
	if (r < 0)
		return r;
	if (op->what > RH_COMM_RECV)
		return check_parts(comm, op, err);
	if (check_has_data(op) && !op->out && (op->what != RH_COMM_SEND || !op->in))
		return check_refuse(err, "out is NULL");
	return 0;
}
