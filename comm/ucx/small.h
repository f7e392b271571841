/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/ucx/small.h
 * @brief All-reduce of small vectors, and barrier, among the ranks of one host, by recursive doubling.
 */
#ifndef RH_COMM_UCX_SMALL_H
#define RH_COMM_UCX_SMALL_H

#include "comm/ucx/context.h"

/** Bytes of a line of the processor's cache. */
#define UCX_LINE 64

/** A small all-reduce or barrier that is not complete. */
struct ucx_small {
	enum ucx_kind kind;
	int32_t distance; /**< to the rank that it exchanges with now */
	int32_t type;
	int32_t reduce;
	struct ucx_small *next; /**< of the spare ones */
	struct ucx_small *made; /**< of all allocated */
	uint64_t id;
	const void *own; /**< this rank's vector */
	void *out;
	size_t count;
	size_t length;                   /**< bytes */
	void *send;                      /**< NULL: complete */
	void *recv;                      /**< request of UCP; NULL: none, or complete */
	ucp_request_param_t how;         /**< receives are posted; set once */
	ucs_status_t status;             /**< of the receive */
	size_t arrived;                  /**< bytes received */
	bool ready;                      /**< the receive is complete */
	_Alignas(UCX_LINE) char spare[]; /**< the other rank's vector */
};

/** @return whether a vector is small, of elements of @p size bytes */
bool ucx_small_fits(const struct rh_comm_op *op, size_t size);
/** Start one. The number of ranks must be a power of two. @see struct rh_comm_backend.collective */
int32_t ucx_small_post(struct ucx *ucx, const struct rh_comm_op *op, uint64_t id, void **ret_work);
/** Make progress. @return as test() */
int32_t ucx_small_test(struct ucx *ucx, struct ucx_small *small);
/** Drop one after an abort, once no message of it is in flight. */
void ucx_small_drop(struct ucx *ucx, struct ucx_small *small);
/** Free all. */
void ucx_free_smalls(struct ucx *ucx);

#endif
