/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/ucx/ring.h
 * @brief Ring all-reduce of the ranks of one host.
 */
#ifndef RH_COMM_UCX_RING_H
#define RH_COMM_UCX_RING_H

#include "comm/ucx/context.h"

/** Segments of an all-reduce that are received ahead. */
#define UCX_WINDOW 8

/** A place in the order in which segments come in. */
struct ucx_place {
	size_t time;  /**< the segment that is in its first step then */
	int32_t step; /**< to be looked at next, downwards */
};

/** A ring all-reduce that is not complete. */
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
	char *spare; /**< received and not reduced yet */
};

/** Start one. @see struct rh_comm_backend.collective */
int32_t ucx_ring_post(struct ucx *ucx, const struct rh_comm_op *op, uint64_t id, void **ret_work);
/** Make progress. @return as test() */
int32_t ucx_ring_test(struct ucx *ucx, struct ucx_ring *ring);
/** Drop one after an abort, once no message of it is in flight. */
void ucx_ring_free(struct ucx *ucx, struct ucx_ring *ring);
/** Free the spare ones. */
void ucx_free_rings(struct ucx *ucx);

#endif
