/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/core/request/request.h
 * @brief Requests in flight: started by comm->start, driven by their executor, completed here.
 *
 * Unless stated otherwise the context's lock is held, and nothing blocks.
 */
#ifndef RH_COMM_CORE_REQUEST_REQUEST_H
#define RH_COMM_CORE_REQUEST_REQUEST_H

#include "comm/core/context.h"

/** What executes a request. NULL is the backend for host memory. */
struct rh_comm_executor {
	/** Make progress. @return 0: complete; RH_COMM_BUSY; RH_COMM_E* */
	int32_t (*test)(struct rh_comm_request *request);
	/** Free request->work; called once, after an end of any kind. May be NULL. */
	void (*free)(struct rh_comm_request *request);
	/** @return whether all its parts are posted, so that a later request cannot overtake them. NULL: always */
	bool (*is_posted)(const struct rh_comm_request *request);
	bool on_device;    /**< the backend for CUDA memory: the other backend's pause() does not see its completion */
	bool counts_parts; /**< it counts completed collectives itself */
};

/** A request. */
struct rh_comm_request {
	struct rh_comm_request *next;
	struct rh_comm *comm;
	struct rh_comm_op op;
	uint64_t sequence; /**< number of a collective; 0: a message */
	const struct rh_comm_executor *executor;
	void *work; /**< the executor's; NULL: nothing is in flight */
	/** not started: it would overtake an earlier request that is posted in parts, or no rank has a message for it */
	bool held;
	struct rh_comm_request *whole; /**< the batch that it is a part of; NULL: none */
	/** Called instead of setting the status of a part of a batch. Recycles the part. */
	void (*end_part)(struct rh_comm_request *part, int32_t status);
	struct rh_comm_bucket *bucket; /**< of such a part: small vectors that travel as one; freed by its batch */
	size_t parts;                  /**< of a batch: those that are not complete */
	uint64_t traced;               /**< its place in the trace; 0: it is not there */
	int64_t since;                 /**< when it was posted, microseconds */
	int64_t deadline;
	struct rh_comm_error err;
	_Atomic int32_t status; /**< RH_COMM_BUSY until it is complete */
};

/** Allocate a request. @return NULL: out of memory */
struct rh_comm_request *rh_comm_request_new(struct rh_comm *comm, const struct rh_comm_op *op);
/** Free what a request holds and put it into the free list. */
void rh_comm_request_recycle(struct rh_comm_request *request);
/** Start it, and append it to the queue unless it completes at once. */
void rh_comm_request_begin(struct rh_comm_request *request);
/** Allocate a request and start it. The lock is not held; it is taken. @return NULL: out of memory */
static inline struct rh_comm_request *rh_comm_request_post(struct rh_comm *comm, const struct rh_comm_op *op)
{
	struct rh_comm_request *request;

	(void)pthread_mutex_lock(&comm->lock);
	request = rh_comm_request_new(comm, op);
	if (request)
		rh_comm_request_begin(request);
	(void)pthread_mutex_unlock(&comm->lock);
	return request;
}
/** Set its times: it begins now. */
void rh_comm_request_set_times(struct rh_comm_request *request);
/** Complete a request that is in no queue. @param status 0 or RH_COMM_E*; comm->error may have the backend's message */
void rh_comm_request_finish(struct rh_comm_request *request, int32_t status);
/** Append a request that was started elsewhere to the queue. */
void rh_comm_request_enqueue(struct rh_comm_request *request);
/** Drive one request. @return 0: its work is complete; RH_COMM_BUSY; RH_COMM_E* */
int32_t rh_comm_request_test(struct rh_comm_request *request);
/**
 * Note in the trace that an operation is posted. Those of subgroups are parts of others.
 * @param number of a collective; 0: not known yet. @return its place there; 0: none
 */
static inline uint64_t rh_comm_request_trace(struct rh_comm *comm, const struct rh_comm_op *op, uint64_t number)
{
	bool about = rh_comm_what_has_root(op->what) || op->what == RH_COMM_SEND || op->what == RH_COMM_RECV;
	int32_t peer = about ? rh_comm_world_rank(comm, op->peer) : RH_COMM_NO_RANK;

	if (atomic_load_explicit(&comm->is_subgroup, memory_order_relaxed))
		return 0;
	return rh_comm_trace_post(&comm->world->trace, op, comm->name, number, peer);
}
/** Note in the trace that it has ended. With the lock. @param traced its place there. @param status 0 or RH_COMM_E* */
static inline void rh_comm_request_trace_end(struct rh_comm *comm, uint64_t traced, const struct rh_comm_op *op,
                                             int32_t status)
{
	int64_t ticks;

	if (traced == 0)
		return;
	ticks = rh_comm_trace_end(&comm->world->trace, traced, op, status);
	if (!comm->is_group && rh_comm_pace_is_common(op->what))
		rh_comm_waits_mark(&comm->world->trace.waits, ticks);
}
/** Count a collective and record its label. @return its id, for backends */
static inline uint64_t rh_comm_request_record(struct rh_comm *comm, const struct rh_comm_op *op)
{
	bool listed = op->what == RH_COMM_ALL_GATHER_V || op->what == RH_COMM_REDUCE_SCATTER_V;
	uint64_t label =
		listed ? rh_comm_label_listed(op, comm->size) : rh_comm_label(op, rh_comm_world_rank(comm, op->peer));

	comm->history = rh_comm_history(comm->history, label);
	comm->labels[++comm->posted % RH_COMM_REMEMBERED] = label;
	return rh_comm_id(comm->history, comm->posted);
}
/** Check the world and the deadline, and end what has to end. The lock is not held. May block for some seconds. */
void rh_comm_request_check_limits(struct rh_comm_request *request);
/** Drive all requests of the context. */
void rh_comm_progress(struct rh_comm *comm);
/** End all requests, and those of its hierarchy, with what ended the world. Blocks for two seconds at most. */
void rh_comm_fail_all(struct rh_comm *comm);
/** @return whether it is a send or receive */
static inline bool rh_comm_op_is_message(const struct rh_comm_op *op)
{
	return op->what == RH_COMM_SEND || op->what == RH_COMM_RECV;
}
/** @return whether it is a receive from any rank, for which no rank has had a message yet */
static inline bool rh_comm_op_is_sourceless(const struct rh_comm_op *op)
{
	return op->what == RH_COMM_RECV && op->peer == RH_COMM_ANY_RANK;
}

#endif
