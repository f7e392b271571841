/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/core/collective/dispatch.h"

#include <string.h>

#include "comm/core/collective/counts.h"
#include "comm/core/collective/hierarchical.h"
#include "comm/core/collective/reduce.h"
#include "comm/core/collective/schedule.h"
#include "comm/core/memory/cuda.h"
#include "comm/core/memory/stage.h"

/* Hand a message to the backend. */
static int32_t dispatch_message(struct rh_comm_request *request)
{
	struct rh_comm *comm = request->comm;
	const struct rh_comm_op *op = &request->op;
	size_t length = op->count * rh_comm_type_size(op->type);

	if (length == 0)
		return 0;
	if (op->what == RH_COMM_SEND)
		return comm->module.backend->send(comm->self, op->peer, op->tag, op->in, length, &request->work);
	return comm->module.backend->recv(comm->self, op->peer, op->tag, op->out, length, &request->work);
}

/* What the table wants that is not the backend's to do. */
static const char *dispatch_algorithm(const struct rh_comm *comm, const struct rh_comm_op *op)
{
	const struct rh_comm_tune *tune = &comm->world->tune;
	const char *word;

	/* the others have one algorithm */
	if (tune->count == 0 || op->what > RH_COMM_BARRIER)
		return NULL;
	word = rh_comm_tune_find(tune, op->what, op->count * rh_comm_type_size(op->type), comm->size).algorithm;
	return word && strcmp(word, "flat") != 0 && strcmp(word, "staged") != 0 ? word : NULL;
}

static int32_t dispatch_hierarchical(struct rh_comm_request *request)
{
	struct rh_comm_hier *hier = NULL;
	int32_t r = rh_comm_hier_new(request->comm, &request->op, &hier);

	if (r < 0)
		return r;
	request->executor = &rh_comm_hierarchical_executor;
	request->work = hier;
	return 0;
}

static int32_t dispatch_schedule(struct rh_comm_request *request, uint64_t id)
{
	struct rh_comm_schedule *schedule = NULL;
	int32_t r = rh_comm_schedule_new(request->comm, &request->op, id, &schedule);

	if (r < 0)
		return r;
	request->executor = &rh_comm_schedule_executor;
	request->work = schedule;
	return 0;
}

/* Of messages, with an exchange of counts before where ranks may expect different ones. */
static int32_t dispatch_messages(struct rh_comm_request *request, uint64_t id)
{
	struct rh_comm_counted *counted = NULL;
	int32_t r = rh_comm_counted_new(request->comm, &request->op, id, &counted);

	if (r == RH_COMM_ENOTSUP)
		return dispatch_schedule(request, id);
	if (r < 0)
		return r;
	request->executor = &rh_comm_counts_executor;
	request->work = counted;
	return 0;
}

/* Hand a collective to the backend, or make it of groups or messages. */
static int32_t dispatch_collective(struct rh_comm_request *request)
{
	struct rh_comm *comm = request->comm;
	const struct rh_comm_backend *backend = comm->module.backend;
	const char *algorithm = dispatch_algorithm(comm, &request->op);
	uint64_t id = rh_comm_request_record(comm, &request->op);
	int32_t r = RH_COMM_ENOTSUP;

	request->sequence = comm->posted;
	if (backend->collective && comm->size > 1 && !algorithm)
		r = backend->collective(comm->self, &request->op, id, &request->work);
	if (r == RH_COMM_ENOTSUP && comm->hierarchy && (!algorithm || strcmp(algorithm, "levels") == 0))
		r = dispatch_hierarchical(request);
	return r == RH_COMM_ENOTSUP ? dispatch_messages(request, id) : r;
}

static int32_t dispatch_host(struct rh_comm_request *request)
{
	return rh_comm_op_is_message(&request->op) ? dispatch_message(request) : dispatch_collective(request);
}

int32_t rh_comm_dispatch(struct rh_comm_request *request)
{
	if (request->op.memory != RH_COMM_CUDA || request->op.what == RH_COMM_BARRIER)
		return dispatch_host(request);
	return request->comm->cuda.self ? rh_comm_cuda_start(request) : rh_comm_stage_begin(request, dispatch_host);
}
