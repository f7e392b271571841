/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/ucx/ucx.h
 * @brief The backend over UCX (UCP 1.13 and newer): messages with tags over whatever transport UCX finds.
 *
 * folder.c is where its shared memory has names, connect.c makes the worker and the endpoints, message.c posts and ends
 * messages, ring.c is the all-reduce of one host, small.c that of small vectors, ucx.c is the table. Other collectives
 * are the core's, made of messages. A context has one worker, called by one thread at a time.
 */
#ifndef RH_COMM_UCX_UCX_H
#define RH_COMM_UCX_UCX_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ucp/api/ucp.h>

#include "roundhouse/comm_backend.h"

/** Segments of an all-reduce that are received ahead. */
#define UCX_WINDOW 8

/** Bytes of a line of the processor's cache. */
#define UCX_LINE 64

/** What a piece of work is; its first member. */
enum ucx_kind { UCX_MESSAGE, UCX_RING, UCX_SMALL };

struct ucx_work;

/** The other end of an endpoint. */
struct ucx_peer {
	ucp_ep_h ep;
	bool far;               /**< on another host: UCX watches the connection, and what it says ends the messages */
	bool sent;              /**< something that nobody has seen the end of */
	ucs_status_t broken;    /**< UCS_OK, or why nothing more comes from it */
	struct ucx_work *flush; /**< says when what was sent has gone; NULL: nobody asked */
};

/** A message under way. */
struct ucx_work {
	enum ucx_kind kind;
	struct ucx_work *next;
	struct ucx_work **link; /**< what points here */
	struct ucx_work *after; /**< the next send of the same all-reduce */
	void *request;          /**< of UCP; NULL: it is through */
	ucp_tag_recv_info_t info;
	size_t length;
	int32_t peer;
	bool receives;
};

/** A place in the order in which segments come in. */
struct ucx_place {
	size_t time;  /**< the segment that is in its first step then */
	int32_t step; /**< to be looked at next, downwards */
};

/** An all-reduce under way. */
struct ucx_ring {
	enum ucx_kind kind;
	struct ucx_ring *next; /**< of the spare ones */
	struct rh_comm_op op;
	uint64_t id;
	size_t size; /**< bytes of an element */
	int32_t rank;
	int32_t world;
	size_t chunk;            /**< elements that one rank reduces */
	size_t segment;          /**< elements of a message */
	size_t segments;         /**< in a chunk */
	struct ucx_place coming; /**< of the receive that is posted next */
	size_t posted;           /**< receives */
	size_t taken;
	void *recvs[UCX_WINDOW];
	size_t numbers[UCX_WINDOW]; /**< of the receives: step times segments, and the segment */
	struct ucx_work *sends;
	struct ucx_work **sends_last;
	char *spare; /**< what has come and is not reduced yet */
};

/** A small all-reduce under way. */
struct ucx_small {
	enum ucx_kind kind;
	int32_t distance; /**< to the rank that it exchanges with now */
	int32_t type;
	int32_t reduce;
	struct ucx_small *next; /**< of the spare ones */
	struct ucx_small *made; /**< of all that there are */
	uint64_t id;
	const void *own; /**< what this rank has to give */
	void *out;
	size_t count;
	size_t length;                   /**< bytes */
	void *send;                      /**< NULL: it is through */
	void *recv;                      /**< request of UCP; NULL: none, or it is through */
	ucp_request_param_t how;         /**< receives are posted; set once */
	ucs_status_t status;             /**< of what has come */
	size_t arrived;                  /**< its bytes */
	bool ready;                      /**< it has come */
	_Alignas(UCX_LINE) char spare[]; /**< what the other rank gives */
};

/** A context of the backend. */
struct ucx {
	const struct rh_comm_team *team;
	ucp_context_h context;
	ucp_worker_h worker;
	struct ucx_peer *peers; /**< by rank */
	struct ucx_work *works; /**< under way */
	struct ucx_work *spare;
	struct ucx_ring *rings; /**< spare ones */
	struct ucx_small *smalls;
	struct ucx_small *smalls_made; /**< all, under way or not */
	_Atomic bool aborted;
	char folder[120]; /**< for names of shared memory; "": UCX's own */
	bool rdma;        /**< this machine has a device for RDMA */
	bool holds;       /**< TCP may be among the transports, which holds the end of a message back until there is room */
	bool let_go;      /**< after an abort: no buffer is touched any more */
};

/** @name folder.c @{ */
/** Make a folder for the names of this context's shared memory, and remove those of processes that are no more. */
void ucx_folder_make(struct ucx *ucx);
/** Remove it, and those of processes that are no more. */
void ucx_folder_remove(struct ucx *ucx);
/** @} */

/** @name connect.c @{ */
/** Make the worker, and an endpoint to each rank. @return 0 or RH_COMM_E*; ucx_disconnect() frees what it made */
int32_t ucx_connect(struct ucx *ucx);
/** Close all. */
void ucx_disconnect(struct ucx *ucx);
/** Progress until @p request, which may be NULL, is done or a second is over; it is freed. */
void ucx_finish(struct ucx *ucx, ucs_status_ptr_t request);
/**
 * Wait for something to come, at most @p time microseconds: whoever finds nothing again and again gives its processor
 * away. It may end early.
 * @param rounds how often in a row nothing has come, 0 at first: the first ones only yield
 */
void ucx_rest(const struct ucx *ucx, int rounds, int64_t time);
/** @return CLOCK_MONOTONIC in microseconds */
int64_t ucx_now(void);
/** Say what UCX said. @return @p code */
int32_t ucx_fail(const struct ucx *ucx, int32_t code, int32_t rank, const char *what, ucs_status_t status);
/** @} */

/** Bits of a tag that count: all. */
#define UCX_TAG_WHOLE UINT64_MAX

/** @name message.c: operations of the table @{ */
/** @return UCP's tag of what @p sender sends with the core's tag @p tag */
ucp_tag_t ucx_tag(int32_t sender, uint64_t tag);
/**
 * What a message came to, in words when it failed. @param fits it has the length that was expected
 * @return 0 or RH_COMM_E*
 */
int32_t ucx_explain(const struct ucx *ucx, int32_t peer, ucs_status_t status, bool fits);
/** @see struct rh_comm_backend.send */
int32_t ucx_send(void *self, int32_t peer, uint64_t tag, const void *data, size_t length, void **ret_work);
/** @see struct rh_comm_backend.recv */
int32_t ucx_recv(void *self, int32_t peer, uint64_t tag, void *data, size_t length, void **ret_work);
/** Look whether a message is through, without making progress. @return as test() */
int32_t ucx_look(struct ucx *ucx, struct ucx_work *work);
/** @see struct rh_comm_backend.test */
int32_t ucx_test(void *self, void *work);
/** @see struct rh_comm_backend.idle */
int32_t ucx_idle(void *self);
/** After an abort: see to it that no buffer is touched any more. Once. */
void ucx_let_go(struct ucx *ucx);
/** Free what is under way and the spare ones. */
void ucx_free_works(struct ucx *ucx);
/** @} */

/** @return the core's tag of message @p number of a collective */
static inline uint64_t ucx_collective_tag(uint64_t id, size_t number)
{
	return UINT64_C(1) << 63 | id << 24 | (number & ((UINT64_C(1) << 24) - 1));
}

/** @name ring.c @{ */
/** Start one. @see struct rh_comm_backend.collective */
int32_t ucx_ring_post(struct ucx *ucx, const struct rh_comm_op *op, uint64_t id, void **ret_work);
/** Move on. @return as test() */
int32_t ucx_ring_test(struct ucx *ucx, struct ucx_ring *ring);
/** Give up one whose messages have been let go. */
void ucx_ring_free(struct ucx *ucx, struct ucx_ring *ring);
/** Free the spare ones. */
void ucx_free_rings(struct ucx *ucx);
/** @} */

/** @name small.c @{ */
/** @return whether a vector is small, of elements of @p size bytes */
bool ucx_small_fits(const struct rh_comm_op *op, size_t size);
/** Start one. The number of ranks must be a power of two. @see struct rh_comm_backend.collective */
int32_t ucx_small_post(struct ucx *ucx, const struct rh_comm_op *op, uint64_t id, void **ret_work);
/** Move on. @return as test() */
int32_t ucx_small_test(struct ucx *ucx, struct ucx_small *small);
/** Give up one whose messages have been let go. */
void ucx_small_drop(struct ucx *ucx, struct ucx_small *small);
/** Free all. */
void ucx_free_smalls(struct ucx *ucx);
/** @} */

#endif
