/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of CUDA devices where no backend moves it: it is copied through pinned host memory in chunks. While one chunk
 * is sent, the next ones are copied to the host and received ones are copied to the device. Each chunk is an
 * operation of its own, and chunks are cut by the operation alone, so that all ranks post the same.
 */
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "comm/core/error.h"
#include "comm/core/memory/cudart.h"
#include "comm/core/memory/stage.h"

/* Chunks of an operation in flight at once: one is copied in, two are sent, one is copied out. */
#define DEPTH 4
/* Host memory of a chunk: long enough that a copy's start costs little, short enough that the first one is soon there.
 */
#define SLOT_BYTES ((size_t)2 * 1024 * 1024)
/* Results lie on lines of their own. */
#define ALIGNMENT 128
/* After an error copies and messages have so long to let go of the buffers. */
#define STOP_PATIENCE (2 * RH_COMM_SECOND)

/* A chunk under way. */
struct stage_chunk {
	struct rh_comm_slot *slot;
	struct rh_comm_request *part; /* its operation on host memory; NULL: none yet, or none any more */
	bool copies;                  /* its event is awaited */
};

struct staged {
	struct rh_comm_op op; /* the caller's */
	rh_comm_start_fn *start;
	int device;
	struct rh_comm_copier *copier;
	size_t size;     /* of an element */
	size_t share;    /* elements of a chunk, of one rank */
	size_t chunks;   /* of which so many … */
	size_t fetched;  /* … are on their way to the host, or further */
	size_t posted;   /* … were posted */
	size_t returned; /* … are on their way to the device, or there */
	size_t done;
	size_t depth; /* of the ring */
	struct stage_chunk ring[DEPTH];
};

static struct staged *stage_of(const struct rh_comm_request *request)
{
	return request->work;
}

int32_t rh_comm_stage_open(struct rh_comm *comm, struct rh_comm_error *err)
{
	const char *missing = "";
	int32_t r = comm->cuda.stager ? 0 : rh_comm_stager_new(&comm->cuda.stager, &missing);

	if (r == RH_COMM_ENOMEM)
		return rh_comm_fail(err, r, RH_COMM_NO_RANK, "out of memory");
	if (r == RH_COMM_ENOTSUP)
		return rh_comm_fail(err, r, RH_COMM_NO_RANK,
		                    "CUDA memory cannot be moved here: %s, and to copy it to the host: %s", comm->cuda.why,
		                    missing);
	return r;
}

void rh_comm_stage_close(struct rh_comm *comm)
{
	rh_comm_stager_free(comm->cuda.stager);
	comm->cuda.stager = NULL;
}

static int32_t stage_fail(struct rh_comm *comm, const char *what, int status)
{
	return rh_comm_fail(&comm->error, RH_COMM_EBACKEND, RH_COMM_NO_RANK, "%s: %s", what,
	                    rh_comm_stager_message(comm->cuda.stager, status));
}

/* Pieces that each chunk has in the caller's buffers: one, one of each rank, or none. */
static size_t stage_pieces_in(const struct rh_comm *comm, const struct rh_comm_op *op)
{
	bool reads = op->what != RH_COMM_RECV && (op->what != RH_COMM_BROADCAST || op->peer == comm->rank);

	if (op->count == 0)
		return 0;
	return op->what == RH_COMM_REDUCE_SCATTER ? (size_t)comm->size : reads;
}

static size_t stage_pieces_out(const struct rh_comm *comm, const struct rh_comm_op *op)
{
	if (op->count == 0)
		return 0;
	return op->what == RH_COMM_ALL_GATHER ? (size_t)comm->size : op->what != RH_COMM_SEND;
}

static struct stage_chunk *stage_at(struct staged *staged, size_t chunk)
{
	return &staged->ring[chunk % staged->depth];
}

/* Elements of a chunk, of one rank. */
static size_t stage_count(const struct staged *staged, size_t chunk)
{
	size_t left = staged->op.count - chunk * staged->share;

	return left < staged->share ? left : staged->share;
}

/* The chunk's operation on the memory of its slot. */
static void stage_part(const struct rh_comm *comm, struct staged *staged, size_t chunk, struct rh_comm_op *part)
{
	size_t bytes = stage_count(staged, chunk) * staged->size;
	char *block = stage_at(staged, chunk)->slot->block;

	*part = staged->op;
	part->memory = RH_COMM_HOST;
	part->stream = NULL;
	part->count = stage_count(staged, chunk);
	part->in = block;
	part->out = block;
	if (part->what == RH_COMM_ALL_GATHER)
		part->in = block + (size_t)comm->rank * bytes;
	else if (part->what == RH_COMM_REDUCE_SCATTER)
		part->out = block + ((size_t)comm->size * bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* How the operation is cut. @return bytes of host memory that a chunk needs */
static size_t stage_cut(const struct rh_comm *comm, struct staged *staged)
{
	const struct rh_comm_op *op = &staged->op;
	size_t wide = op->what == RH_COMM_REDUCE_SCATTER ? (size_t)comm->size + 1
	              : op->what == RH_COMM_ALL_GATHER   ? (size_t)comm->size
	                                                 : 1;

	staged->size = rh_comm_type_size(op->type);
	staged->share = (SLOT_BYTES - (wide > 1 ? ALIGNMENT : 0)) / (wide * staged->size);
	staged->share = staged->share > 0 ? staged->share : 1;
	if (op->count < staged->share)
		staged->share = op->count;
	staged->chunks = op->count > 0 ? (op->count - 1) / staged->share + 1 : 1;
	return staged->share * wide * staged->size + (wide > 1 ? ALIGNMENT : 0);
}

/* Copies begin after the work that the caller's stream has now. */
static int stage_follow(const struct rh_comm_cudart *cuda, const struct staged *staged)
{
	void *event = staged->ring[0].slot->event;
	int status = cuda->event_record(event, staged->op.stream);

	if (status == 0)
		status = cuda->stream_wait(staged->copier->in, event, 0);
	if (status == 0)
		status = cuda->stream_wait(staged->copier->out, event, 0);
	return status;
}

/* As much of the ring as there is memory for. */
static int stage_take_slots(struct rh_comm_stager *stager, struct staged *staged, size_t room)
{
	int status = 0;

	while (status == 0 && staged->depth < DEPTH && staged->depth < staged->chunks) {
		status = rh_comm_slot_take(stager, staged->device, room, &staged->ring[staged->depth].slot);
		staged->depth += status == 0;
	}
	return staged->depth > 0 ? 0 : status;
}

static int32_t stage_begin_on(struct rh_comm_request *request)
{
	struct rh_comm *comm = request->comm;
	struct rh_comm_stager *stager = comm->cuda.stager;
	struct staged *staged = request->work;
	size_t room = stage_cut(comm, staged);
	int status = rh_comm_stager_copier(stager, staged->device, &staged->copier);

	if (status != 0)
		return stage_fail(comm, "no stream for copies", status);
	status = stage_take_slots(stager, staged, room);
	if (status != 0)
		return stage_fail(comm, "no pinned host memory", status);
	status = stage_follow(&stager->cuda, staged);
	return status == 0 ? 0 : stage_fail(comm, "the caller's stream cannot be followed", status);
}

/* Await what was put into the stream. */
static int stage_await(struct rh_comm *comm, struct stage_chunk *at, void *stream)
{
	int status = comm->cuda.stager->cuda.event_record(at->slot->event, stream);

	if (status == 0) {
		at->copies = true;
		atomic_fetch_add_explicit(&comm->cuda.copying, 1, memory_order_relaxed);
	}
	return status;
}

/* @return RH_COMM_BUSY while it is copied; 0; RH_COMM_E* */
static int32_t stage_look(struct rh_comm *comm, struct stage_chunk *at)
{
	int status = at->copies ? comm->cuda.stager->cuda.event_query(at->slot->event) : 0;

	if (status == RH_COMM_CUDA_NOT_READY)
		return RH_COMM_BUSY;
	if (at->copies)
		atomic_fetch_sub_explicit(&comm->cuda.copying, 1, memory_order_relaxed);
	at->copies = false;
	return status == 0 ? 0 : stage_fail(comm, "a copy between device and host failed", status);
}

/* Begin the copies of a chunk: to the host, or with `returns` its results to the device. @return 0 or CUDA's status */
static int stage_copy(struct rh_comm_request *request, size_t chunk, bool returns)
{
	struct rh_comm *comm = request->comm;
	struct staged *staged = request->work;
	const struct rh_comm_cudart *cuda = &comm->cuda.stager->cuda;
	size_t pieces = returns ? stage_pieces_out(comm, &staged->op) : stage_pieces_in(comm, &staged->op);
	void *stream = returns ? staged->copier->out : staged->copier->in;
	size_t bytes = stage_count(staged, chunk) * staged->size;
	struct rh_comm_op part;
	int status = 0;

	stage_part(comm, staged, chunk, &part);
	for (size_t i = 0; i < pieces && status == 0; i++) {
		size_t there = (i * staged->op.count + chunk * staged->share) * staged->size;
		const char *from = returns ? (const char *)part.out + i * bytes : (const char *)staged->op.in + there;
		char *to = returns ? (char *)staged->op.out + there : (char *)(uintptr_t)part.in + i * bytes;

		status = cuda->copy(to, from, bytes, RH_COMM_CUDA_COPY_ANY, stream);
	}
	if (status == 0 && pieces > 0)
		status = stage_await(comm, stage_at(staged, chunk), stream);
	return status;
}

static int32_t stage_fetch(struct rh_comm_request *request, size_t chunk)
{
	int status = stage_copy(request, chunk, false);

	return status == 0 ? 0 : stage_fail(request->comm, "device memory cannot be copied to the host", status);
}

static int32_t stage_return(struct rh_comm_request *request, size_t chunk)
{
	int status = stage_copy(request, chunk, true);

	return status == 0 ? 0 : stage_fail(request->comm, "results cannot be copied to the device", status);
}

static int32_t stage_post(struct rh_comm_request *request, size_t chunk)
{
	struct stage_chunk *at = stage_at(request->work, chunk);
	struct rh_comm_op op;

	stage_part(request->comm, request->work, chunk, &op);
	at->part = rh_comm_request_new(request->comm, &op);
	return at->part ? stage_of(request)->start(at->part) : RH_COMM_ENOMEM;
}

/* @return RH_COMM_BUSY; else its work is over: 0 or RH_COMM_E* */
static int32_t stage_move(struct rh_comm_request *part)
{
	int32_t r = atomic_load_explicit(&part->status, memory_order_relaxed);

	if (r == RH_COMM_BUSY)
		r = rh_comm_request_test(part);
	atomic_store_explicit(&part->status, r, memory_order_relaxed);
	return r;
}

static void stage_end_part(struct stage_chunk *at)
{
	if (at->part->sequence > 0)
		at->part->comm->done++;
	rh_comm_request_recycle(at->part);
	at->part = NULL;
}

/* Chunks that have come to the host travel, in order. */
static int32_t stage_move_in(struct rh_comm_request *request)
{
	struct staged *staged = request->work;
	int32_t r = 0;

	while (r == 0 && staged->fetched < staged->chunks && staged->fetched < staged->done + staged->depth) {
		r = stage_fetch(request, staged->fetched);
		staged->fetched++;
	}
	while (r == 0 && staged->posted < staged->fetched) {
		r = stage_look(request->comm, stage_at(staged, staged->posted));
		if (r == 0)
			r = stage_post(request, staged->posted++);
	}
	return r < 0 ? r : 0;
}

static int32_t stage_move_parts(struct rh_comm_request *request)
{
	struct staged *staged = request->work;

	for (size_t chunk = staged->returned; chunk < staged->posted; chunk++) {
		int32_t r = stage_move(stage_at(staged, chunk)->part);

		if (r < 0)
			return r;
	}
	return 0;
}

/* Chunks that have travelled go to the device, in order. */
static int32_t stage_move_out(struct rh_comm_request *request)
{
	struct staged *staged = request->work;
	int32_t r = 0;

	while (r == 0 && staged->returned < staged->posted) {
		struct stage_chunk *at = stage_at(staged, staged->returned);

		if (stage_move(at->part) != 0)
			break;
		stage_end_part(at);
		r = stage_return(request, staged->returned++);
	}
	while (r == 0 && staged->done < staged->returned) {
		r = stage_look(request->comm, stage_at(staged, staged->done));
		staged->done += r == 0;
	}
	return r < 0 ? r : 0;
}

/* @return whether a copy or a message may still touch the buffers of a chunk */
static bool stage_is_touched(struct rh_comm *comm, struct stage_chunk *at)
{
	if (at->part && stage_move(at->part) != RH_COMM_BUSY)
		stage_end_part(at);
	return at->part || stage_look(comm, at) == RH_COMM_BUSY;
}

/* It failed: let backend and device go of all buffers. */
static void stage_stop(struct rh_comm_request *request)
{
	struct rh_comm *comm = request->comm;
	struct rh_comm_error reason = comm->error;
	int64_t until = rh_comm_now() + STOP_PATIENCE;
	bool touched = true;

	if (!comm->aborted && comm->self) {
		comm->module.backend->abort(comm->self);
		comm->aborted = true;
	}
	while (touched && rh_comm_now() < until) {
		touched = false;
		for (size_t i = 0; i < stage_of(request)->depth; i++)
			touched |= stage_is_touched(comm, &stage_of(request)->ring[i]);
		(void)sched_yield();
	}
	comm->error = reason;
}

/* The number of the oldest posted chunk, for the heartbeat; 0: no rank is waited for. */
static uint64_t stage_sequence(struct staged *staged)
{
	if (staged->returned == staged->posted)
		return 0;
	return stage_at(staged, staged->returned)->part->sequence;
}

static int32_t stage_test(struct rh_comm_request *request)
{
	struct rh_comm *comm = request->comm;
	struct staged *staged = request->work;
	int before = rh_comm_stager_enter(comm->cuda.stager, staged->device);
	int32_t r = comm->aborted ? RH_COMM_EABORTED : stage_move_in(request);

	if (r == 0)
		r = stage_move_parts(request);
	if (r == 0)
		r = stage_move_out(request);
	if (r < 0)
		stage_stop(request);
	else
		request->sequence = stage_sequence(staged);
	rh_comm_stager_leave(comm->cuda.stager, staged->device, before);
	return r < 0 || staged->done == staged->chunks ? r : RH_COMM_BUSY;
}

static bool stage_is_posted(const struct rh_comm_request *request)
{
	const struct staged *staged = request->work;

	return staged->posted == staged->chunks;
}

static void stage_free(struct rh_comm_request *request)
{
	struct rh_comm *comm = request->comm;
	struct staged *staged = request->work;

	for (size_t i = 0; i < staged->depth; i++) {
		struct stage_chunk *at = &staged->ring[i];
		bool touched = at->part || at->copies;

		if (at->copies)
			atomic_fetch_sub_explicit(&comm->cuda.copying, 1, memory_order_relaxed);
		rh_comm_slot_give(comm->cuda.stager, at->slot, touched);
	}
	free(staged);
	request->work = NULL;
}

static const struct rh_comm_executor stage_executor = {
	.test = stage_test, .free = stage_free, .is_posted = stage_is_posted, .counts_parts = true};

int32_t rh_comm_stage_begin(struct rh_comm_request *request, rh_comm_start_fn *start)
{
	struct rh_comm *comm = request->comm;
	struct staged *staged = calloc(1, sizeof(*staged));
	int status;

	if (!staged)
		return RH_COMM_ENOMEM;
	staged->op = request->op;
	staged->start = start;
	request->executor = &stage_executor;
	request->work = staged;
	status = comm->cuda.stager->cuda.get_device(&staged->device);
	return status == 0 ? stage_begin_on(request) : stage_fail(comm, "no current device", status);
}

bool rh_comm_stage_waits(const struct rh_comm_request *request)
{
	const struct staged *staged = request->executor == &stage_executor ? request->work : NULL;

	if (rh_comm_op_is_sourceless(&request->op))
		return true;
	return !request->held && (!staged || staged->returned < staged->posted);
}
