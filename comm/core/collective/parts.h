/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/core/collective/parts.h
 * @brief Operations whose buffers have a part for each rank: which lists of counts an operation has.
 */
#ifndef RH_COMM_CORE_COLLECTIVE_PARTS_H
#define RH_COMM_CORE_COLLECTIVE_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "roundhouse/comm.h"

/** @return whether parts of ranks have lengths of their own */
static inline bool rh_comm_is_listed(int32_t what)
{
	return what == RH_COMM_ALL_TO_ALL_V || what == RH_COMM_GATHER_V || what == RH_COMM_SCATTER_V ||
	       what == RH_COMM_ALL_GATHER_V || what == RH_COMM_REDUCE_SCATTER_V;
}

/** @return whether rank @p rank gives a list of what its input has for each rank: op->in_counts counts */
static inline bool rh_comm_lists_in(const struct rh_comm_op *op, int32_t rank)
{
	return op->what == RH_COMM_ALL_TO_ALL_V || op->what == RH_COMM_REDUCE_SCATTER_V ||
	       (op->what == RH_COMM_SCATTER_V && op->peer == rank);
}

/** @return whether rank @p rank gives a list of what its output takes from each rank: op->out_counts counts */
static inline bool rh_comm_lists_out(const struct rh_comm_op *op, int32_t rank)
{
	return op->what == RH_COMM_ALL_TO_ALL_V || op->what == RH_COMM_ALL_GATHER_V ||
	       (op->what == RH_COMM_GATHER_V && op->peer == rank);
}

/** @return elements of the part of @p rank, which posts @p op; of an all-to-all-v, what it keeps */
static inline size_t rh_comm_own_count(const struct rh_comm_op *op, int32_t rank)
{
	if (rh_comm_lists_in(op, rank))
		return op->in_counts[rank];
	return rh_comm_lists_out(op, rank) ? op->out_counts[rank] : op->count;
}

#endif
