/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/ucx/context.h
 * @brief A context of the backend over UCX (UCP 1.13 and newer): one worker, called by one thread at a time.
 *
 * message.c is send and receive, ring.c and small.c are the all-reduces of one host, connect.c makes the worker and the
 * endpoints, folder.c names UCX's shared memory, ucx.c is the table. Other collectives are the core's, made of
 * messages.
 */
#ifndef RH_COMM_UCX_CONTEXT_H
#define RH_COMM_UCX_CONTEXT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ucp/api/ucp.h>

#include "roundhouse/comm_backend.h"

/** Microseconds of a second. */
#define UCX_SECOND INT64_C(1000000)

/** What a piece of work is; its first member. */
enum ucx_kind { UCX_MESSAGE, UCX_RING, UCX_SMALL };

struct ucx_work;
struct ucx_ring;
struct ucx_small;

/** The other end of an endpoint. */
struct ucx_peer {
	ucp_ep_h ep;
	bool far;               /**< on another host: UCX detects failures, which end the messages */
	bool sent;              /**< something was sent since the latest flush */
	ucs_status_t broken;    /**< UCS_OK, or why the connection failed */
	struct ucx_work *flush; /**< completes when what was sent is on its way; NULL: none */
};

/** A context of the backend. */
struct ucx {
	const struct rh_comm_team *team;
	ucp_context_h context;
	ucp_worker_h worker;
	struct ucx_peer *peers; /**< by rank */
	struct ucx_work *works; /**< in flight */
	struct ucx_work *spare;
	struct ucx_ring *rings; /**< spare ones */
	struct ucx_small *smalls;
	struct ucx_small *smalls_made; /**< all, in flight or not */
	_Atomic bool aborted;
	char folder[120]; /**< for names of shared memory; "": UCX's own */
	bool rdma;        /**< this machine has an RDMA device */
	bool holds;       /**< TCP may be among the transports; it delays the end of a message until the socket has room */
	bool quiesced;    /**< after an abort: no buffer is accessed any more */
};

/** Progress until @p request, which may be NULL, is complete, for a second at most; then free it. */
void ucx_finish(struct ucx *ucx, ucs_status_ptr_t request);
/**
 * Wait for the worker to have something to do, at most @p time microseconds; it may end early.
 * @param rounds how often in a row there was nothing, from 0: the first waits only yield the processor
 */
void ucx_wait(const struct ucx *ucx, int rounds, int64_t time);
/** @return CLOCK_MONOTONIC in microseconds */
int64_t ucx_now(void);
/** Report an error of UCX. @return @p code */
int32_t ucx_fail(const struct ucx *ucx, int32_t code, int32_t rank, const char *what, ucs_status_t status);

#endif
