/* SPDX-License-Identifier: Apache-2.0 */
/* Requests in flight: queued, driven, completed. */
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "comm/core/error.h"
#include "comm/core/group.h"
#include "comm/core/request/request.h"

/* After an abort a backend has so long to let go of the buffers. */
#define ABORT_PATIENCE (2 * RH_COMM_SECOND)

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
	request->executor = NULL;
	request->work = NULL;
	request->whole = NULL;
	request->end_part = NULL;
	request->bucket = NULL;
	request->parts = 0;
	request->traced = 0;
	request->held = false;
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

	if (request->executor && request->executor->free && request->work)
		request->executor->free(request);
	request->next = comm->spare;
	comm->spare = request;
}

/* Collectives keep their order on all ranks, and so do messages that meet those of one peer and tag. */
static bool request_must_follow(const struct rh_comm_op *earlier, const struct rh_comm_op *op)
{
	if (!rh_comm_op_is_message(op) || !rh_comm_op_is_message(earlier))
		return rh_comm_op_is_message(op) == rh_comm_op_is_message(earlier);
	return op->what == earlier->what && op->tag == earlier->tag &&
	       (op->peer == earlier->peer || op->peer == RH_COMM_ANY_RANK || earlier->peer == RH_COMM_ANY_RANK);
}

static int32_t request_start(struct rh_comm_request *request)
{
	struct rh_comm *comm = request->comm;
	uint64_t number = rh_comm_op_is_message(&request->op) ? 0 : comm->posted + 1;
	int32_t r;

	comm->error.code = 0;
	r = comm->start(request);
	if (request->traced > 0)
		rh_comm_trace_start(&comm->world->trace, request->traced, &request->op, number);
	return r;
}

static bool request_is_posted(const struct rh_comm_request *request)
{
	return !request->executor || !request->executor->is_posted || request->executor->is_posted(request);
}

/* @return whether one before it in the queue still has chunks to post, so that it would overtake those */
static bool request_is_held(const struct rh_comm *comm, const struct rh_comm_request *request)
{
	if (!comm->cuda.stager && comm->sourceless == 0)
		return false;
	for (const struct rh_comm_request *at = comm->first; at && at != request; at = at->next) {
		if ((at->held || !request_is_posted(at)) && request_must_follow(&at->op, &request->op))
			return true;
	}
	return false;
}

/*
 * A receive from any rank becomes one from the rank that has a message for it. Where the search begins moves on, so
 * that no sender waits for ever behind others. @return 0: the source is known; RH_COMM_BUSY; RH_COMM_E*
 */
static int32_t request_find_source(struct rh_comm_request *request)
{
	struct rh_comm *comm = request->comm;
	int32_t peer = RH_COMM_NO_RANK;
	int32_t r;

	if (!rh_comm_op_is_sourceless(&request->op))
		return 0;
	comm->error.code = 0;
	r = comm->module.backend->find(comm->self, comm->look_first, request->op.tag, &peer);
	if (r != 0)
		return r;
	comm->look_first = (peer + 1) % comm->size;
	comm->sourceless--;
	request->op.peer = peer;
	return 0;
}

static int32_t request_test_held(struct rh_comm_request *request)
{
	int32_t r;

	if (request->comm->aborted)
		return RH_COMM_EABORTED;
	if (request_is_held(request->comm, request))
		return RH_COMM_BUSY;
	r = request_find_source(request);
	if (r != 0)
		return r;
	request->held = false;
	r = request_start(request);
	return r == 0 && request->work ? RH_COMM_BUSY : r;
}

static void request_end(struct rh_comm_request *request, int32_t status)
{
	rh_comm_request_trace_end(request->comm, request->traced, &request->op, status);
	/* chunks have been counted one by one */
	if (request->sequence > 0 && !(request->executor && request->executor->counts_parts))
		request->comm->done++;
	if (rh_comm_op_is_sourceless(&request->op))
		request->comm->sourceless--;
	else if (status == 0 && request->op.what == RH_COMM_RECV && request->op.source)
		*request->op.source = request->op.peer;
	atomic_fetch_sub_explicit(&request->comm->pending, 1, memory_order_relaxed);
	if (request->whole)
		request->end_part(request, status);
	else
		atomic_store_explicit(&request->status, status, memory_order_release);
}

/* The message of the backend, or the text of the status. */
static void request_explain(const struct rh_comm *comm, int32_t code, struct rh_comm_error *err)
{
	if (comm->error.code == code)
		*err = comm->error;
	else
		(void)rh_comm_fail(err, code, RH_COMM_NO_RANK, "%s: %s", comm->module.backend->name, rh_comm_status_text(code));
}

static void request_abort_cuda(struct rh_comm *comm)
{
	struct rh_comm_cuda *cuda = &comm->cuda;

	if (cuda->self && !cuda->aborted)
		cuda->module.backend->abort(cuda->self);
	cuda->aborted = true;
}

void rh_comm_request_finish(struct rh_comm_request *request, int32_t status)
{
	struct rh_comm *comm = request->comm;

	if (status < 0)
		request_explain(comm, status, &request->err);
	if (status < 0)
		request_abort_cuda(comm);
	/* what is still under way for it must not touch its buffers any more */
	if (status < 0 && !comm->aborted && comm->self) {
		comm->module.backend->abort(comm->self);
		comm->aborted = true;
	}
	request_end(request, status);
}

int32_t rh_comm_request_test(struct rh_comm_request *request)
{
	struct rh_comm *comm = request->comm;

	if (request->held)
		return request_test_held(request);
	if (request->executor)
		return request->executor->test(request);
	return request->work ? comm->module.backend->test(comm->self, request->work) : 0;
}

void rh_comm_progress(struct rh_comm *comm)
{
	struct rh_comm_request **at = &comm->first;

	while (*at) {
		struct rh_comm_request *request = *at;
		int32_t r = rh_comm_request_test(request);

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

	while (rh_comm_request_test(request) == RH_COMM_BUSY && rh_comm_now() < until)
		(void)sched_yield();
}

static void request_fail_subgroup(struct rh_comm *comm)
{
	(void)pthread_mutex_lock(&comm->lock);
	rh_comm_fail_all(comm);
	(void)pthread_mutex_unlock(&comm->lock);
}

void rh_comm_fail_all(struct rh_comm *comm)
{
	if (comm->hierarchy) {
		request_fail_subgroup(comm->hierarchy->intra);
		if (comm->hierarchy->inter)
			request_fail_subgroup(comm->hierarchy->inter);
	}
	if (!comm->aborted && comm->self)
		comm->module.backend->abort(comm->self);
	comm->aborted = true;
	request_abort_cuda(comm);
	while (comm->first) {
		struct rh_comm_request *request = comm->first;

		request_drain(request);
		comm->first = request->next;
		request_end(request, rh_comm_world_check(comm->world, &request->err));
	}
	comm->last = &comm->first;
}

void rh_comm_request_set_times(struct rh_comm_request *request)
{
	request->since = rh_comm_now();
	request->deadline = request_deadline(request->comm, &request->op, request->since);
}

void rh_comm_request_enqueue(struct rh_comm_request *request)
{
	struct rh_comm *comm = request->comm;

	rh_comm_request_set_times(request);
	request->next = NULL;
	*comm->last = request;
	comm->last = &request->next;
}

void rh_comm_request_begin(struct rh_comm_request *request)
{
	struct rh_comm *comm = request->comm;
	int32_t r;

	atomic_fetch_add_explicit(&comm->pending, 1, memory_order_seq_cst);
	request->held = request_is_held(comm, request) || rh_comm_op_is_sourceless(&request->op);
	if (rh_comm_op_is_sourceless(&request->op))
		comm->sourceless++;
	request->traced = rh_comm_request_trace(comm, &request->op, 0);
	r = request->held ? 0 : request_start(request);
	if (r == 0 && (request->held || request->work)) {
		rh_comm_request_enqueue(request);
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

/* The rank that is waited for: known here for messages; for collectives the rendezvous server finds it. */
static void request_report_late(const struct rh_comm_request *request, uint64_t number, struct rh_comm_error *late)
{
	const struct rh_comm *comm = request->comm;
	const struct rh_comm_op *op = &request->op;
	long long limit = (long long)((request->deadline - request->since) / 1000);
	int32_t peer = RH_COMM_NO_RANK;
	char group[120];

	if (rh_comm_op_is_sourceless(op)) {
		(void)rh_comm_fail(late, RH_COMM_ETIME, peer,
		                   "receive of rank %d from any rank, tag %u, was not done within its time limit of %lld ms",
		                   (int)rh_comm_world_rank(comm, comm->rank), (unsigned)op->tag, limit);
	} else if (rh_comm_op_is_message(op)) {
		peer = rh_comm_world_rank(comm, op->peer);
		(void)rh_comm_fail(late, RH_COMM_ETIME, peer, "%s rank %d was not done within its time limit of %lld ms",
		                   op->what == RH_COMM_SEND ? "send to" : "receive from", (int)peer, limit);
	} else {
		(void)rh_comm_fail(late, RH_COMM_ETIME, peer, "%s number %llu%s was not done within its time limit of %lld ms",
		                   rh_comm_what_name(op->what), (unsigned long long)number,
		                   rh_comm_group_text(comm, group, sizeof(group)), limit);
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
	if (rh_comm_op_is_message(&request->op))
		(void)rh_comm_world_fail(comm->world, &late, NULL);
	else
		(void)rh_comm_world_diagnose(comm, &late, RH_COMM_REACHED_OPEN + number, NULL);
}

void rh_comm_request_check_limits(struct rh_comm_request *request)
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
