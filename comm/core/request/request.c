/* SPDX-License-Identifier: Apache-2.0 */
/* Operations in flight: checked, started, driven, ended. */
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "comm/core/collective/reduce.h"
#include "comm/core/context.h"
#include "comm/core/error.h"

/* After an abort a backend has so long to let go of the buffers. */
#define ABORT_PATIENCE (2 * RH_COMM_SECOND)

static int32_t request_refuse(struct rh_comm_error *err, const char *what)
{
	return rh_comm_fail(err, RH_COMM_EINVAL, RH_COMM_NO_RANK, "rh_comm_op: %s", what);
}

static bool request_has_data(const struct rh_comm_op *op)
{
	return op->what != RH_COMM_BARRIER && op->count > 0;
}

static int32_t request_check_peer(const struct rh_comm *comm, const struct rh_comm_op *op, struct rh_comm_error *err)
{
	bool has_peer = op->what == RH_COMM_BROADCAST || op->what == RH_COMM_SEND || op->what == RH_COMM_RECV;

	if (!has_peer)
		return 0;
	if (op->peer < 0 || op->peer >= comm->size)
		return rh_comm_fail(err, RH_COMM_EINVAL, RH_COMM_NO_RANK, "rh_comm_op.peer is %d, which is not below %d",
		                    (int)op->peer, (int)comm->size);
	if (op->what != RH_COMM_BROADCAST && op->peer == comm->rank)
		return request_refuse(err, "a message to oneself (peer is this rank)");
	return 0;
}

/* @return whether the vector, of all ranks together, has a length at all */
static bool request_is_countable(const struct rh_comm *comm, const struct rh_comm_op *op)
{
	size_t bytes;

	return op->what == RH_COMM_BARRIER ||
	       (!__builtin_mul_overflow(op->count, rh_comm_type_size(op->type) * (size_t)comm->size, &bytes) &&
	        bytes <= PTRDIFF_MAX);
}

/* The first operation on CUDA memory looks for the CUDA runtime. */
static int32_t request_find_stage(struct rh_comm *comm, struct rh_comm_error *err)
{
	int32_t r;

	(void)pthread_mutex_lock(&comm->lock);
	r = rh_comm_stage_open(comm, err);
	(void)pthread_mutex_unlock(&comm->lock);
	return r;
}

static int32_t request_check_memory(struct rh_comm *comm, const struct rh_comm_op *op, struct rh_comm_error *err)
{
	if (op->memory != RH_COMM_HOST && op->memory != RH_COMM_CUDA)
		return request_refuse(err, "memory is neither RH_COMM_HOST nor RH_COMM_CUDA");
	if (op->memory == RH_COMM_CUDA && op->what != RH_COMM_BARRIER && !comm->cuda.self)
		return request_find_stage(comm, err);
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
		return request_refuse(err, "what is no operation");
	if (op->what != RH_COMM_BARRIER && !rh_comm_type_is_known(op->type))
		return request_refuse(err, "type is no element type");
	if (reduces && !rh_comm_reduce_is_known(op->reduce))
		return request_refuse(err, "reduce is no reduction");
	if (!request_is_countable(comm, op))
		return request_refuse(err, "count is more than there can be in memory");
	r = request_check_memory(comm, op, err);
	if (r < 0)
		return r;
	if (request_has_data(op) && !op->out && (op->what != RH_COMM_SEND || !op->in))
		return request_refuse(err, "out is NULL");
	return request_check_peer(comm, op, err);
}

static int64_t request_deadline(const struct rh_comm *comm, const struct rh_comm_op *op, int64_t now)
{
	int64_t timeout = op->timeout != 0 ? op->timeout : comm->world->env.op_timeout;

	return timeout < 0 || timeout > RH_COMM_NEVER - now ? RH_COMM_NEVER : now + timeout;
}

struct rh_comm_request *rh_comm_request_new(struct rh_comm *comm, const struct rh_comm_op *op)
{
	struct rh_comm_request *request = comm->spare;

	if (request)
		comm->spare = request->next;
	else
		request = malloc(sizeof(*request));
	if (!request)
		return NULL;
	request->next = NULL;
	request->comm = comm;
	request->op = *op;
	request->work = NULL;
	request->lanes = NULL;
	request->hier = NULL;
	request->whole = NULL;
	request->bucket = NULL;
	request->parts = 0;
	request->on_device = false;
	request->held = false;
	request->staged = NULL;
	request->sequence = 0;
	request->err.code = 0;
	request->since = 0;
	request->deadline = RH_COMM_NEVER;
	atomic_init(&request->status, RH_COMM_BUSY);
	return request;
}

void rh_comm_request_recycle(struct rh_comm_request *request)
{
	struct rh_comm *comm = request->comm;

	rh_comm_stage_free(request);
	rh_comm_lanes_free(request->lanes);
	rh_comm_hier_free(request->hier);
	rh_comm_bucket_free(request->bucket);
	request->next = comm->spare;
	comm->spare = request;
}

/* Hand a message to the backend. */
static int32_t request_start_message(struct rh_comm *comm, struct rh_comm_request *request)
{
	const struct rh_comm_op *op = &request->op;
	size_t length = op->count * rh_comm_type_size(op->type);

	if (length == 0)
		return 0;
	if (op->what == RH_COMM_SEND)
		return comm->module.backend->send(comm->self, op->peer, op->tag, op->in, length, &request->work);
	return comm->module.backend->recv(comm->self, op->peer, op->tag, op->out, length, &request->work);
}

/* What the table wants that is not the backend's to do. */
static const char *request_algorithm(const struct rh_comm *comm, const struct rh_comm_op *op)
{
	const struct rh_comm_tune *tune = &comm->world->tune;
	const char *word;

	if (tune->count == 0)
		return NULL;
	word = rh_comm_tune_find(tune, op->what, op->count * rh_comm_type_size(op->type), comm->size).algorithm;
	return word && strcmp(word, "flat") != 0 && strcmp(word, "staged") != 0 ? word : NULL;
}

/* Hand a collective to the backend, or make it of groups or messages. */
static int32_t request_start_collective(struct rh_comm *comm, struct rh_comm_request *request)
{
	const struct rh_comm_backend *backend = comm->module.backend;
	const char *algorithm = request_algorithm(comm, &request->op);
	uint64_t id = rh_comm_request_note(comm, &request->op);
	int32_t r = RH_COMM_ENOTSUP;

	request->sequence = comm->posted;
	if (backend->collective && comm->size > 1 && !algorithm)
		r = backend->collective(comm->self, &request->op, id, &request->work);
	if (r == RH_COMM_ENOTSUP && comm->levels && (!algorithm || strcmp(algorithm, "levels") == 0))
		r = rh_comm_hier_new(comm, &request->op, &request->hier);
	if (r == RH_COMM_ENOTSUP)
		r = rh_comm_lanes_new(comm, &request->op, id, &request->lanes);
	return r;
}

static bool request_is_message(const struct rh_comm_op *op)
{
	return op->what == RH_COMM_SEND || op->what == RH_COMM_RECV;
}

int32_t rh_comm_request_start_part(struct rh_comm_request *part)
{
	if (request_is_message(&part->op))
		return request_start_message(part->comm, part);
	return request_start_collective(part->comm, part);
}

static int32_t request_start(struct rh_comm *comm, struct rh_comm_request *request)
{
	comm->said.code = 0;
	if (request->op.memory == RH_COMM_CUDA && request->op.what != RH_COMM_BARRIER)
		return comm->cuda.self ? rh_comm_cuda_start(comm, request) : rh_comm_stage_begin(request);
	return rh_comm_request_start_part(request);
}

static bool request_is_under_way(const struct rh_comm_request *request)
{
	return request->work || request->lanes || request->hier || request->staged;
}

/* Collectives keep their order on all ranks, and so do messages that meet those of one peer and tag. */
static bool request_must_follow(const struct rh_comm_op *earlier, const struct rh_comm_op *op)
{
	if (!request_is_message(op) || !request_is_message(earlier))
		return request_is_message(op) == request_is_message(earlier);
	return op->what == earlier->what && op->peer == earlier->peer && op->tag == earlier->tag;
}

/* @return whether one before it in the row still has chunks to post, so that it would overtake those */
static bool request_is_held(const struct rh_comm *comm, const struct rh_comm_request *request)
{
	if (!comm->cuda.stager)
		return false;
	for (const struct rh_comm_request *at = comm->first; at && at != request; at = at->next) {
		if ((at->held || !rh_comm_stage_is_posted(at)) && request_must_follow(&at->op, &request->op))
			return true;
	}
	return false;
}

static int32_t request_move_held(struct rh_comm_request *request)
{
	int32_t r;

	if (request->comm->aborted)
		return RH_COMM_EABORTED;
	if (request_is_held(request->comm, request))
		return RH_COMM_BUSY;
	request->held = false;
	r = request_start(request->comm, request);
	return r == 0 && request_is_under_way(request) ? RH_COMM_BUSY : r;
}

static void request_end(struct rh_comm_request *request, int32_t status)
{
	/* chunks have been counted one by one */
	if (request->sequence > 0 && !request->staged)
		request->comm->done++;
	atomic_fetch_sub_explicit(&request->comm->pending, 1, memory_order_relaxed);
	if (request->whole)
		rh_comm_batch_end_part(request, status);
	else
		atomic_store_explicit(&request->status, status, memory_order_release);
}

/* The words of the backend, or what the status says by itself. */
static void request_explain(const struct rh_comm *comm, int32_t code, struct rh_comm_error *err)
{
	if (comm->said.code == code)
		*err = comm->said;
	else
		(void)rh_comm_fail(err, code, RH_COMM_NO_RANK, "%s: %s", comm->module.backend->name, rh_comm_status_text(code));
}

void rh_comm_request_finish(struct rh_comm_request *request, int32_t status)
{
	struct rh_comm *comm = request->comm;

	if (status < 0)
		request_explain(comm, status, &request->err);
	if (status < 0)
		rh_comm_cuda_abort(comm);
	/* what is still under way for it must not touch its buffers any more */
	if (status < 0 && !comm->aborted && comm->self) {
		comm->module.backend->abort(comm->self);
		comm->aborted = true;
	}
	request_end(request, status);
}

int32_t rh_comm_request_move(struct rh_comm_request *request)
{
	struct rh_comm *comm = request->comm;

	if (request->held)
		return request_move_held(request);
	if (request->staged)
		return rh_comm_stage_test(request);
	if (request->on_device)
		return comm->cuda.module.backend->test(comm->cuda.self, request->work);
	if (request->hier)
		return rh_comm_hier_test(request->hier);
	if (request->lanes)
		return rh_comm_lanes_test(request->lanes);
	return request->work ? comm->module.backend->test(comm->self, request->work) : 0;
}

void rh_comm_progress(struct rh_comm *comm)
{
	struct rh_comm_request **at = &comm->first;

	while (*at) {
		struct rh_comm_request *request = *at;
		int32_t r = rh_comm_request_move(request);

		if (r == RH_COMM_BUSY) {
			at = &request->next;
			continue;
		}
		*at = request->next;
		if (!*at)
			comm->last = at;
		rh_comm_request_finish(request, r);
	}
}

/* Let the backend go of all buffers: its tests end with an error soon after an abort. */
static void request_drain(struct rh_comm_request *request)
{
	int64_t until = rh_comm_now() + ABORT_PATIENCE;

	while (rh_comm_request_move(request) == RH_COMM_BUSY && rh_comm_now() < until)
		(void)sched_yield();
}

static void request_fail_level(struct rh_comm *comm)
{
	(void)pthread_mutex_lock(&comm->lock);
	rh_comm_fail_all(comm);
	(void)pthread_mutex_unlock(&comm->lock);
}

void rh_comm_fail_all(struct rh_comm *comm)
{
	if (comm->levels) {
		request_fail_level(comm->levels->near);
		if (comm->levels->far)
			request_fail_level(comm->levels->far);
	}
	if (!comm->aborted && comm->self)
		comm->module.backend->abort(comm->self);
	comm->aborted = true;
	rh_comm_cuda_abort(comm);
	while (comm->first) {
		struct rh_comm_request *request = comm->first;

		request_drain(request);
		comm->first = request->next;
		request_end(request, rh_comm_world_check(comm->world, &request->err));
	}
	comm->last = &comm->first;
}

void rh_comm_request_date(struct rh_comm_request *request)
{
	request->since = rh_comm_now();
	request->deadline = request_deadline(request->comm, &request->op, request->since);
}

void rh_comm_request_enlist(struct rh_comm_request *request)
{
	struct rh_comm *comm = request->comm;

	rh_comm_request_date(request);
	request->next = NULL;
	*comm->last = request;
	comm->last = &request->next;
}

void rh_comm_request_begin(struct rh_comm_request *request)
{
	struct rh_comm *comm = request->comm;
	int32_t r;

	atomic_fetch_add_explicit(&comm->pending, 1, memory_order_seq_cst);
	request->held = request_is_held(comm, request);
	r = request->held ? 0 : request_start(comm, request);
	if (r == 0 && (request->held || request_is_under_way(request))) {
		rh_comm_request_enlist(request);
		return;
	}
	rh_comm_request_finish(request, r);
}

/* The collective that a batch still waits for; of others its own. */
static uint64_t request_number(const struct rh_comm_request *request)
{
	for (const struct rh_comm_request *part = request->comm->first; part; part = part->next) {
		if (part->whole == request && part->sequence > 0)
			return part->sequence;
	}
	return request->sequence;
}

/* Who is waited for: of messages only we know; of collectives the hub finds out. */
static void request_report_late(const struct rh_comm_request *request, uint64_t number, struct rh_comm_error *late)
{
	const struct rh_comm *comm = request->comm;
	const struct rh_comm_op *op = &request->op;
	long long limit = (long long)((request->deadline - request->since) / 1000);
	int32_t peer = RH_COMM_NO_RANK;

	if (request_is_message(op)) {
		peer = rh_comm_world_rank(comm, op->peer);
		(void)rh_comm_fail(late, RH_COMM_ETIME, peer, "%s rank %d was not done within its time limit of %lld ms",
		                   op->what == RH_COMM_SEND ? "send to" : "receive from", (int)peer, limit);
	} else {
		(void)rh_comm_fail(late, RH_COMM_ETIME, peer, "%s number %llu%s was not done within its time limit of %lld ms",
		                   rh_comm_what_name(op->what), (unsigned long long)number, comm->is_group ? " of a group" : "",
		                   limit);
	}
}

static void request_end_late(const struct rh_comm_request *request)
{
	struct rh_comm *comm = request->comm;
	struct rh_comm_error late;
	uint64_t number;

	(void)pthread_mutex_lock(&comm->lock);
	number = request_number(request);
	(void)pthread_mutex_unlock(&comm->lock);
	request_report_late(request, number, &late);
	if (late.rank != RH_COMM_NO_RANK)
		(void)rh_comm_world_fail(comm->world, &late, NULL);
	else
		(void)rh_comm_world_judge(comm, &late, RH_COMM_REACHED_OPEN + number, NULL);
}

void rh_comm_request_look(struct rh_comm_request *request)
{
	struct rh_comm *comm = request->comm;

	if (rh_comm_world_check(comm->world, NULL) < 0) {
		(void)pthread_mutex_lock(&comm->lock);
		rh_comm_fail_all(comm);
		(void)pthread_mutex_unlock(&comm->lock);
	} else if (rh_comm_now() > request->deadline) {
		request_end_late(request);
	}
}
