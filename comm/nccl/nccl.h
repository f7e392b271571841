/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/nccl/nccl.h
 * @brief The backend over NCCL (2.14 and newer) for memory of CUDA devices.
 *
 * Nothing blocks: the communicator is started by the first operation, on the device of the thread that posts it, and
 * is non-blocking; so operations wait in a queue until it is ready, and are launched on the stream of their caller in
 * the order in which they were posted. Messages that were posted one after the other are one group, so that two ranks
 * may send to each other: they are held back until the thread that posted them waits or tests, and from other threads,
 * which cannot know whether more is to come, for 10 ms after the last of them. launch.c brings operations to their
 * streams, nccl.c is the table. api.c finds NCCL and the CUDA runtime.
 */
#ifndef RH_COMM_NCCL_NCCL_H
#define RH_COMM_NCCL_NCCL_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "comm/nccl/api.h"
#include "roundhouse/comm_backend.h"

/** State of the communicator. */
enum nccl_stage { NCCL_NONE, NCCL_STARTING, NCCL_READY, NCCL_BROKEN };

/** State of an operation. */
enum nccl_step { NCCL_QUEUED, NCCL_LAUNCHED, NCCL_RUNNING };

/** An operation in flight. */
struct nccl_work {
	struct nccl_work *next; /**< in the queue of its step; after that the core alone owns it */
	enum nccl_step step;
	struct rh_comm_op op;
	void *event; /**< NULL: none is recorded yet */
};

/** A queue of operations. */
struct nccl_queue {
	struct nccl_work *first;
	struct nccl_work **last;
};

/** A context of the backend. */
struct nccl {
	const struct rh_comm_team *team;
	struct nccl_api api;
	struct nccl_id id;
	enum nccl_stage stage;
	void *comm;
	int device;                 /**< of the communicator */
	struct nccl_queue queued;   /**< not given to NCCL yet */
	struct nccl_queue launched; /**< passed to NCCL, which has not confirmed yet that they are in their streams */
	pthread_t poster;           /**< the thread that posted last */
	int64_t posted_at;          /**< when that was; monotonic microseconds */
	_Atomic bool aborted;
	bool quiesced;
};

/** @name launch.c @{ */
/** Put an operation into the queue, and launch what can be. @return 0 or RH_COMM_E* */
int32_t nccl_post(struct nccl *nccl, const struct rh_comm_op *op, void **ret_work);
/** Make progress, and test an operation. @return as test() of the table */
int32_t nccl_look(struct nccl *nccl, struct nccl_work *work);
/** Report an error of NCCL. @return @p code */
int32_t nccl_fail(struct nccl *nccl, const char *what, int status);
/** Abort the communicator: kernels that run end. Once. */
void nccl_let_go(struct nccl *nccl);
/** Make the communicator's device the current one. @return the one before */
int nccl_enter(struct nccl *nccl);
/** Make @p device the current one again. */
void nccl_leave(struct nccl *nccl, int device);
/** Free an operation, whatever its step. */
void nccl_work_free(struct nccl *nccl, struct nccl_work *work);
/** @} */

#endif
