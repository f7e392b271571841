/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "comm/nccl/nccl.h"

/* How long after a post another thread takes it that the group may be incomplete; microseconds. */
#define LAUNCH_GROUP_GRACE 10000

static int64_t launch_now(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* A group that is launched before its last message is posted would let two ranks wait for each other without end. */
static bool launch_is_whole(const struct nccl *nccl)
{
	return !nccl->queued.first || pthread_equal(nccl->poster, pthread_self()) ||
	       launch_now() - nccl->posted_at >= LAUNCH_GROUP_GRACE;
}

static void queue_append(struct nccl_queue *queue, struct nccl_work *work)
{
	work->next = NULL;
	*queue->last = work;
	queue->last = &work->next;
}

static struct nccl_work *queue_pop(struct nccl_queue *queue)
{
	struct nccl_work *work = queue->first;

	queue->first = work->next;
	if (!queue->first)
		queue->last = &queue->first;
	return work;
}

static void queue_remove(struct nccl_queue *queue, const struct nccl_work *work)
{
	struct nccl_work **at = &queue->first;

	while (*at && *at != work)
		at = &(*at)->next;
	if (!*at)
		return;
	*at = work->next;
	if (!*at)
		queue->last = at;
}

int32_t nccl_fail(struct nccl *nccl, const char *what, int status)
{
	const char *more = nccl->api.last_error(nccl->comm);
	char text[400];

	(void)snprintf(text, sizeof(text), "%s: %s%s%.200s", what, nccl->api.error_string(status),
	               more && *more ? ": " : "", more ? more : "");
	return nccl->team->fail(nccl->team->core, RH_COMM_EBACKEND, RH_COMM_NO_RANK, text);
}

static int32_t launch_fail_cuda(struct nccl *nccl, const char *what, int status)
{
	char text[200];

	(void)snprintf(text, sizeof(text), "%s: %s", what, nccl->api.cuda_error_string(status));
	return nccl->team->fail(nccl->team->core, RH_COMM_EBACKEND, RH_COMM_NO_RANK, text);
}

int nccl_enter(struct nccl *nccl)
{
	int before = nccl->device;

	(void)nccl->api.get_device(&before);
	if (before != nccl->device)
		(void)nccl->api.set_device(nccl->device);
	return before;
}

void nccl_leave(struct nccl *nccl, int device)
{
	if (device != nccl->device)
		(void)nccl->api.set_device(device);
}

/* The communicator is that of the device on which the first operation is posted. */
static int32_t launch_start(struct nccl *nccl)
{
	struct nccl_config config = {.size = sizeof(config), .magic = NCCL_MAGIC, .version = NCCL_OLDEST, .blocking = 0};
	int status = nccl->api.get_device(&nccl->device);

	if (status != CUDA_OK)
		return launch_fail_cuda(nccl, "no current device", status);
	status = nccl->api.init_rank(&nccl->comm, nccl->team->world, nccl->id, nccl->team->rank, &config);
	nccl->stage = status == NCCL_OK || status == NCCL_IN_PROGRESS ? NCCL_STARTING : NCCL_BROKEN;
	return nccl->stage == NCCL_BROKEN ? nccl_fail(nccl, "the communicator cannot start", status) : 0;
}

static int launch_type(int32_t type)
{
	static const int types[] = {0,         NCCL_FLOAT32, NCCL_FLOAT64, NCCL_FLOAT16, NCCL_BFLOAT16,
	                            NCCL_INT8, NCCL_INT32,   NCCL_INT64,   NCCL_UINT8};

	return types[type];
}

static int launch_reduction(int32_t reduce)
{
	static const int reductions[] = {0, NCCL_SUM, NCCL_AVG, NCCL_MIN, NCCL_MAX, NCCL_PROD};

	return reductions[reduce];
}

/* @return what NCCL returned */
static int launch_call(const struct nccl *nccl, const struct rh_comm_op *op)
{
	const struct nccl_api *api = &nccl->api;
	int type = launch_type(op->type);

	switch (op->what) {
	case RH_COMM_ALL_REDUCE:
		return api->all_reduce(op->in, op->out, op->count, type, launch_reduction(op->reduce), nccl->comm, op->stream);
	case RH_COMM_REDUCE_SCATTER:
		return api->reduce_scatter(op->in, op->out, op->count, type, launch_reduction(op->reduce), nccl->comm,
		                           op->stream);
	case RH_COMM_ALL_GATHER:
		return api->all_gather(op->in, op->out, op->count, type, nccl->comm, op->stream);
	case RH_COMM_BROADCAST:
		return api->broadcast(op->in, op->out, op->count, type, op->peer, nccl->comm, op->stream);
	case RH_COMM_SEND:
		return api->send(op->in, op->count, type, op->peer, nccl->comm, op->stream);
	default:
		return api->recv(op->out, op->count, type, op->peer, nccl->comm, op->stream);
	}
}

static bool launch_is_message(const struct nccl_work *work)
{
	return work->op.what == RH_COMM_SEND || work->op.what == RH_COMM_RECV;
}

static bool launch_is_good(int status)
{
	return status == NCCL_OK || status == NCCL_IN_PROGRESS;
}

/* The first of the queue and, when it is a message, those after it that are messages, too: as one group. */
static int32_t launch_next(struct nccl *nccl)
{
	bool messages = launch_is_message(nccl->queued.first);
	int status = nccl->api.group_start();
	int ended;

	do {
		struct nccl_work *work = queue_pop(&nccl->queued);

		work->step = NCCL_LAUNCHED;
		queue_append(&nccl->launched, work);
		if (launch_is_good(status))
			status = launch_call(nccl, &work->op);
	} while (messages && nccl->queued.first && launch_is_message(nccl->queued.first));
	ended = nccl->api.group_end();
	if (launch_is_good(status))
		status = ended;
	if (launch_is_good(status))
		return 0;
	nccl->stage = NCCL_BROKEN;
	return nccl_fail(nccl, "an operation cannot be launched", status);
}

/* NCCL's work is in its stream now: an event after it signals completion. */
static int32_t launch_record(struct nccl *nccl)
{
	while (nccl->launched.first) {
		struct nccl_work *work = queue_pop(&nccl->launched);
		int status = nccl->api.event_create(&work->event, CUDA_EVENT_DISABLE_TIMING);

		if (status == CUDA_OK)
			status = nccl->api.event_record(work->event, work->op.stream);
		work->step = NCCL_RUNNING;
		if (status != CUDA_OK)
			return launch_fail_cuda(nccl, "no event can be recorded", status);
	}
	return 0;
}

/* @return 0: NCCL has nothing to finish; RH_COMM_BUSY; RH_COMM_E* */
static int32_t launch_settle(struct nccl *nccl)
{
	int status = NCCL_OK;
	int r = nccl->api.async_error(nccl->comm, &status);

	if (r == NCCL_OK && status == NCCL_IN_PROGRESS)
		return RH_COMM_BUSY;
	if (r == NCCL_OK && status == NCCL_OK) {
		nccl->stage = NCCL_READY;
		return launch_record(nccl);
	}
	nccl->stage = NCCL_BROKEN;
	return nccl_fail(nccl, "the communicator failed", r != NCCL_OK ? r : status);
}

/*
 * Launch what can be. While messages are last in the queue they are held back, unless @p all: more of their group may
 * be posted before anybody looks.
 */
static int32_t launch_all(struct nccl *nccl, bool all)
{
	int32_t r = 0;

	if (nccl->stage == NCCL_NONE)
		r = launch_start(nccl);
	if (r == 0)
		r = launch_settle(nccl);
	while (r == 0 && nccl->queued.first) {
		const struct nccl_work *work = nccl->queued.first;

		while (work && launch_is_message(work))
			work = work->next;
		if (!work && !all)
			break;
		r = launch_next(nccl);
		if (r == 0)
			r = launch_settle(nccl);
	}
	return r < 0 ? r : 0;
}

void nccl_work_free(struct nccl *nccl, struct nccl_work *work)
{
	if (work->step == NCCL_QUEUED)
		queue_remove(&nccl->queued, work);
	else if (work->step == NCCL_LAUNCHED)
		queue_remove(&nccl->launched, work);
	if (work->event)
		(void)nccl->api.event_destroy(work->event);
	free(work);
}

static int32_t launch_refuse(const struct nccl *nccl)
{
	return nccl->team->fail(nccl->team->core, RH_COMM_EBACKEND, RH_COMM_NO_RANK, "the communicator failed before");
}

int32_t nccl_post(struct nccl *nccl, const struct rh_comm_op *op, void **ret_work)
{
	struct nccl_work *work = calloc(1, sizeof(*work));
	int before;
	int32_t r;

	if (!work)
		return RH_COMM_ENOMEM;
	work->op = *op;
	queue_append(&nccl->queued, work);
	nccl->poster = pthread_self();
	nccl->posted_at = launch_now();
	before = nccl->stage == NCCL_NONE ? -1 : nccl_enter(nccl);
	r = nccl->stage == NCCL_BROKEN ? launch_refuse(nccl) : launch_all(nccl, false);
	if (before >= 0)
		nccl_leave(nccl, before);
	if (r < 0) {
		nccl_work_free(nccl, work);
		return r;
	}
	*ret_work = work;
	return 0;
}

static int32_t look_running(struct nccl *nccl, const struct nccl_work *work)
{
	int status = nccl->api.event_query(work->event);

	if (status == CUDA_OK)
		return 0;
	if (status != CUDA_NOT_READY)
		return launch_fail_cuda(nccl, "an operation failed", status);
	/* a peer that is gone shows here, and not at the event */
	status = launch_settle(nccl);
	return status < 0 ? status : RH_COMM_BUSY;
}

int32_t nccl_look(struct nccl *nccl, struct nccl_work *work)
{
	int before = nccl_enter(nccl);
	int32_t r = nccl->stage == NCCL_BROKEN ? launch_refuse(nccl) : launch_all(nccl, launch_is_whole(nccl));

	if (r == 0)
		r = work->step == NCCL_RUNNING ? look_running(nccl, work) : RH_COMM_BUSY;
	if (r != RH_COMM_BUSY)
		nccl_work_free(nccl, work);
	nccl_leave(nccl, before);
	return r;
}

void nccl_let_go(struct nccl *nccl)
{
	int before;

	if (nccl->quiesced)
		return;
	nccl->quiesced = true;
	before = nccl_enter(nccl);
	if (nccl->comm)
		(void)nccl->api.comm_abort(nccl->comm);
	nccl->comm = NULL;
	nccl_leave(nccl, before);
}
