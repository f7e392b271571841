/* SPDX-License-Identifier: Apache-2.0 */
/* Operations in flight: posted, driven by whoever waits or by the service thread, ended. */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "comm/core/context.h"
#include "comm/core/error.h"
#include "comm/core/reduce.h"

/* A wait spins so often, then gives the processor away so often, then sleeps, longer each time. */
#define WAIT_SPINS 2000
#define WAIT_SPINS_CROWDED 50
#define WAIT_YIELDS 2000
#define WAIT_SLEEP_MAX 500000
/* What the world and the clock say is looked at once in so many rounds. */
#define WAIT_LOOK 256
/* After an abort a backend has so long to let go of the buffers. */
#define ABORT_PATIENCE (2 * RH_COMM_SECOND)

static inline void request_relax(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

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

/* Check what the caller gave, and make it complete. */
static int32_t request_check(const struct rh_comm *comm, const struct rh_comm_op *given, struct rh_comm_op *op,
                             struct rh_comm_error *err)
{
	bool reduces;

	*op = (struct rh_comm_op){0};
	memcpy(op, given, given->size < sizeof(*op) ? given->size : sizeof(*op));
	if (op->what < RH_COMM_ALL_REDUCE || op->what > RH_COMM_RECV)
		return request_refuse(err, "what is no operation");
	reduces = op->what == RH_COMM_ALL_REDUCE || op->what == RH_COMM_REDUCE_SCATTER;
	if (op->what != RH_COMM_BARRIER && !rh_comm_type_is_known(op->type))
		return request_refuse(err, "type is no element type");
	if (reduces && !rh_comm_reduce_is_known(op->reduce))
		return request_refuse(err, "reduce is no reduction");
	if (op->memory != RH_COMM_HOST && op->memory != RH_COMM_CUDA)
		return request_refuse(err, "memory is neither RH_COMM_HOST nor RH_COMM_CUDA");
	if (request_has_data(op) && !op->out && (op->what != RH_COMM_SEND || !op->in))
		return request_refuse(err, "out is NULL");
	if (!op->in && op->out)
		op->in = op->what == RH_COMM_ALL_GATHER
		             ? (const char *)op->out + (size_t)comm->rank * op->count * rh_comm_type_size(op->type)
		             : op->out;
	return request_check_peer(comm, op, err);
}

static int64_t request_deadline(const struct rh_comm *comm, const struct rh_comm_op *op, int64_t now)
{
	int64_t timeout = op->timeout != 0 ? op->timeout : comm->world->env.op_timeout;

	return timeout < 0 || timeout > RH_COMM_NEVER - now ? RH_COMM_NEVER : now + timeout;
}

static struct rh_comm_request *request_new(struct rh_comm *comm)
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
	request->work = NULL;
	request->lanes = NULL;
	request->sequence = 0;
	request->err.code = 0;
	atomic_init(&request->status, RH_COMM_BUSY);
	return request;
}

static void request_free(struct rh_comm_request *request)
{
	struct rh_comm *comm = request->comm;

	rh_comm_lanes_free(request->lanes);
	(void)pthread_mutex_lock(&comm->lock);
	request->next = comm->spare;
	comm->spare = request;
	(void)pthread_mutex_unlock(&comm->lock);
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

/* Hand a collective to the backend, or make it of messages. */
static int32_t request_start_collective(struct rh_comm *comm, struct rh_comm_request *request)
{
	const struct rh_comm_backend *backend = comm->module.backend;
	int32_t r = RH_COMM_ENOTSUP;

	request->sequence = ++comm->posted;
	if (backend->collective && comm->size > 1)
		r = backend->collective(comm->self, &request->op, request->sequence, &request->work);
	if (r == RH_COMM_ENOTSUP)
		r = rh_comm_lanes_new(comm, &request->op, request->sequence, &request->lanes);
	return r;
}

static int32_t request_start(struct rh_comm *comm, struct rh_comm_request *request)
{
	comm->said.code = 0;
	if (request->op.what == RH_COMM_SEND || request->op.what == RH_COMM_RECV)
		return request_start_message(comm, request);
	return request_start_collective(comm, request);
}

static void request_end(struct rh_comm_request *request, int32_t status)
{
	if (request->sequence > 0)
		request->comm->done++;
	atomic_fetch_sub_explicit(&request->comm->pending, 1, memory_order_relaxed);
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

/* @return RH_COMM_BUSY, or how it ended */
static int32_t request_move(struct rh_comm *comm, struct rh_comm_request *request)
{
	if (request->lanes)
		return rh_comm_lanes_test(request->lanes);
	return request->work ? comm->module.backend->test(comm->self, request->work) : 0;
}

void rh_comm_progress(struct rh_comm *comm)
{
	struct rh_comm_request **at = &comm->first;

	while (*at) {
		struct rh_comm_request *request = *at;
		int32_t r = request_move(comm, request);

		if (r == RH_COMM_BUSY) {
			at = &request->next;
			continue;
		}
		*at = request->next;
		if (!*at)
			comm->last = at;
		if (r < 0)
			request_explain(comm, r, &request->err);
		request_end(request, r);
	}
}

/* Let the backend go of all buffers: its tests end with an error soon after an abort. */
static void request_drain(struct rh_comm *comm, struct rh_comm_request *request)
{
	int64_t until = rh_comm_now() + ABORT_PATIENCE;

	while (request_move(comm, request) == RH_COMM_BUSY && rh_comm_now() < until)
		(void)sched_yield();
}

void rh_comm_fail_all(struct rh_comm *comm)
{
	if (!comm->aborted)
		comm->module.backend->abort(comm->self);
	comm->aborted = true;
	while (comm->first) {
		struct rh_comm_request *request = comm->first;

		request_drain(comm, request);
		comm->first = request->next;
		request_end(request, rh_comm_world_check(comm->world, &request->err));
	}
	comm->last = &comm->first;
}

int32_t rh_comm_post(struct rh_comm *comm, const struct rh_comm_op *op, struct rh_comm_request **ret_request,
                     struct rh_comm_error *err)
{
	struct rh_comm_request *request;
	struct rh_comm_op whole;
	int32_t r = rh_comm_world_check(comm->world, err);

	if (r == 0)
		r = request_check(comm, op, &whole, err);
	if (r < 0)
		return r;
	(void)pthread_mutex_lock(&comm->lock);
	request = request_new(comm);
	if (request) {
		request->op = whole;
		request->since = rh_comm_now();
		request->deadline = request_deadline(comm, &whole, request->since);
		atomic_fetch_add_explicit(&comm->pending, 1, memory_order_relaxed);
		r = request_start(comm, request);
		if (r < 0 || (!request->work && !request->lanes)) {
			request_explain(comm, r, &request->err);
			request_end(request, r);
		} else {
			*comm->last = request;
			comm->last = &request->next;
		}
	}
	(void)pthread_mutex_unlock(&comm->lock);
	if (!request)
		return rh_comm_fail(err, RH_COMM_ENOMEM, RH_COMM_NO_RANK, "out of memory");
	*ret_request = request;
	return 0;
}

/* What the request came to, once it is done. */
static int32_t request_collect(struct rh_comm_request *request, struct rh_comm_error *err)
{
	struct rh_comm *comm = request->comm;
	int32_t status = atomic_load_explicit(&request->status, memory_order_acquire);

	/* an operation that failed by itself leaves the ranks at odds: the world ends, and the hub knows the cause */
	if (status < 0)
		status = rh_comm_world_fail(comm->world, &request->err, err);
	request_free(request);
	return status;
}

/* One look at everything that can move; ends all operations when the world is over. */
static void request_drive(struct rh_comm *comm)
{
	if (pthread_mutex_trylock(&comm->lock) != 0)
		return;
	rh_comm_progress(comm);
	(void)pthread_mutex_unlock(&comm->lock);
}

/* What is looked at now and then: the world, the time limit. */
static void request_look(struct rh_comm_request *request)
{
	struct rh_comm *comm = request->comm;
	struct rh_comm_error late;

	if (rh_comm_world_check(comm->world, NULL) < 0) {
		(void)pthread_mutex_lock(&comm->lock);
		rh_comm_fail_all(comm);
		(void)pthread_mutex_unlock(&comm->lock);
	} else if (rh_comm_now() > request->deadline) {
		(void)rh_comm_fail(
			&late, RH_COMM_ETIME, RH_COMM_NO_RANK, "operation %llu was not done within its time limit of %lld ms",
			(unsigned long long)request->sequence, (long long)((request->deadline - request->since) / 1000));
		(void)rh_comm_world_fail(comm->world, &late, NULL);
	}
}

static void request_sleep(long *time)
{
	struct timespec pause = {0, *time};

	(void)nanosleep(&pause, NULL);
	*time = *time * 2 < WAIT_SLEEP_MAX ? *time * 2 : WAIT_SLEEP_MAX;
}

static void request_await(struct rh_comm_request *request)
{
	struct rh_comm *comm = request->comm;
	int spins = comm->world->crowded ? WAIT_SPINS_CROWDED : WAIT_SPINS;
	long sleep = 20000;

	for (int round = 1; atomic_load_explicit(&request->status, memory_order_acquire) == RH_COMM_BUSY; round++) {
		request_drive(comm);
		if (round < spins) {
			request_relax();
		} else if (round < spins + WAIT_YIELDS) {
			(void)sched_yield();
		} else {
			request_sleep(&sleep);
			request_look(request);
		}
		if (round % WAIT_LOOK == 0)
			request_look(request);
	}
}

int32_t rh_comm_wait(struct rh_comm_request *request, struct rh_comm_error *err)
{
	struct rh_comm *comm = request->comm;

	if (atomic_load_explicit(&request->status, memory_order_acquire) == RH_COMM_BUSY) {
		atomic_fetch_add_explicit(&comm->attended, 1, memory_order_relaxed);
		request_await(request);
		atomic_fetch_sub_explicit(&comm->attended, 1, memory_order_relaxed);
	}
	return request_collect(request, err);
}

int32_t rh_comm_test(struct rh_comm_request *request, struct rh_comm_error *err)
{
	struct rh_comm *comm = request->comm;

	if (atomic_load_explicit(&request->status, memory_order_acquire) == RH_COMM_BUSY) {
		request_drive(comm);
		request_look(request);
		/* who only looks now and then counts on the background */
		rh_comm_world_wake(comm->world);
	}
	if (atomic_load_explicit(&request->status, memory_order_acquire) == RH_COMM_BUSY)
		return RH_COMM_BUSY;
	return request_collect(request, err);
}

int32_t rh_comm_run(struct rh_comm *comm, const struct rh_comm_op *op, struct rh_comm_error *err)
{
	struct rh_comm_request *request = NULL;
	int32_t r = rh_comm_post(comm, op, &request, err);

	return r < 0 ? r : rh_comm_wait(request, err);
}
