/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/core/bootstrap/protocol/label.h
 * @brief Labels: numbers that describe collectives, so that ranks detect that they have posted different ones.
 */
#ifndef RH_COMM_CORE_BOOTSTRAP_PROTOCOL_LABEL_H
#define RH_COMM_CORE_BOOTSTRAP_PROTOCOL_LABEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "comm/core/collective/parts.h"
#include "roundhouse/comm.h"

/** Bits of the number of a collective that its id keeps; the rest of the id is of what it and those before it are. */
#define RH_COMM_ID_BITS 14

/** Bits of a label: what it does, type, reduction and root; the rest is the count, of which high bits are left out. */
#define RH_COMM_LABEL_WHAT 5
/** @see RH_COMM_LABEL_WHAT */
#define RH_COMM_LABEL_TYPE 4
/** @see RH_COMM_LABEL_WHAT */
#define RH_COMM_LABEL_REDUCE 4
/** @see RH_COMM_LABEL_WHAT */
#define RH_COMM_LABEL_ROOT 17

/** @return whether it combines elements of the ranks */
static inline bool rh_comm_what_reduces(int32_t what)
{
	return what == RH_COMM_ALL_REDUCE || what == RH_COMM_REDUCE_SCATTER || what == RH_COMM_REDUCE ||
	       what == RH_COMM_REDUCE_SCATTER_V;
}

/** @return whether rh_comm_op.peer is its root */
static inline bool rh_comm_what_has_root(int32_t what)
{
	return what == RH_COMM_BROADCAST || (what >= RH_COMM_GATHER && what <= RH_COMM_REDUCE);
}

/**
 * @param root rank in the world of rh_comm_op.peer, which is one of the group; of operations with a root alone
 * @return the label of a collective: all that must be equal on all ranks that post it; never 0. Where ranks give lists
 * of counts it says nothing of those; see rh_comm_label_listed()
 */
static inline uint64_t rh_comm_label(const struct rh_comm_op *op, int32_t root)
{
	uint64_t reduces = rh_comm_what_reduces(op->what);
	uint64_t rooted = rh_comm_what_has_root(op->what);
	uint64_t label = rh_comm_is_listed(op->what) ? 0 : op->count;

	if (op->what == RH_COMM_BARRIER)
		return RH_COMM_BARRIER;
	label = label << RH_COMM_LABEL_ROOT | (uint32_t)root * rooted;
	label = label << RH_COMM_LABEL_REDUCE | (uint32_t)op->reduce * reduces;
	label = label << RH_COMM_LABEL_TYPE | (uint32_t)op->type;
	return label << RH_COMM_LABEL_WHAT | (uint32_t)op->what;
}

/**
 * @return the label of an all-gather-v or reduce-scatter-v of @p world ranks, which all give the same list: with its
 * total, and, for the root, a number that stands for the list
 */
uint64_t rh_comm_label_listed(const struct rh_comm_op *op, int32_t world);

/** @return the hash of all collectives so far, @p history, and one more */
static inline uint64_t rh_comm_history(uint64_t history, uint64_t label)
{
	history = (history ^ label) * UINT64_C(0x9e3779b97f4a7c15);
	return history ^ history >> 32;
}

/** @return the id of collective @p number for backends: equal on ranks that have posted the same collectives so far */
static inline uint64_t rh_comm_id(uint64_t history, uint64_t number)
{
	return history << RH_COMM_ID_BITS | (number & ((UINT64_C(1) << RH_COMM_ID_BITS) - 1));
}

/** @return "all-reduce" …; "operation" for an unknown one; static storage */
const char *rh_comm_what_name(int32_t what);
/** Describe a label as text: "all-reduce of 4 f32, sum". */
void rh_comm_label_text(uint64_t label, char *text, size_t room);

#endif
