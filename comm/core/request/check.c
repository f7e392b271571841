/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/core/request/check.h"

#include <string.h>

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

static int32_t check_peer(const struct rh_comm *comm, const struct rh_comm_op *op, struct rh_comm_error *err)
{
	bool has_peer = op->what == RH_COMM_BROADCAST || op->what == RH_COMM_SEND || op->what == RH_COMM_RECV;

	if (!has_peer)
		return 0;
	if (op->peer < 0 || op->peer >= comm->size)
		return rh_comm_fail(err, RH_COMM_EINVAL, RH_COMM_NO_RANK, "rh_comm_op.peer is %d, which is not below %d",
		                    (int)op->peer, (int)comm->size);
	if (op->what != RH_COMM_BROADCAST && op->peer == comm->rank)
		return check_refuse(err, "a message to oneself (peer is this rank)");
	return 0;
}

/* @return whether the vector, of all ranks together, has a length at all */
static bool check_is_countable(const struct rh_comm *comm, const struct rh_comm_op *op)
{
	size_t bytes;

	return op->what == RH_COMM_BARRIER ||
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
	if (op->memory == RH_COMM_CUDA && op->what != RH_COMM_BARRIER && !comm->cuda.self)
		return check_open_stage(comm, err);
	return 0;
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
		room->in = room->what == RH_COMM_ALL_GATHER
		               ? (const char *)room->out + (size_t)comm->rank * room->count * rh_comm_type_size(room->type)
		               : room->out;
	return room;
}

int32_t rh_comm_request_check(struct rh_comm *comm, const struct rh_comm_op *op, struct rh_comm_error *err)
{
	bool reduces = op->what == RH_COMM_ALL_REDUCE || op->what == RH_COMM_REDUCE_SCATTER;
	int32_t r;

	if (op->what < RH_COMM_ALL_REDUCE || op->what > RH_COMM_RECV)
		return check_refuse(err, "what is not a valid operation");
	if (op->what != RH_COMM_BARRIER && !rh_comm_type_is_known(op->type))
		return check_refuse(err, "type is not a valid element type");
	if (reduces && !rh_comm_reduce_is_known(op->reduce))
		return check_refuse(err, "reduce is not a valid reduction");
	if (!check_is_countable(comm, op))
		return check_refuse(err, "count is more than there can be in memory");
	r = check_memory(comm, op, err);
	if (r < 0)
		return r;
	if (check_has_data(op) && !op->out && (op->what != RH_COMM_SEND || !op->in))
		return check_refuse(err, "out is NULL");
	return check_peer(comm, op, err);
}
