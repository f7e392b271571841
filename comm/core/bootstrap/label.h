/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/core/bootstrap/label.h
 * @brief What a collective is, as a number: ranks that post different ones at the same place find out, and in words.
 */
#ifndef RH_COMM_CORE_BOOTSTRAP_LABEL_H
#define RH_COMM_CORE_BOOTSTRAP_LABEL_H

#include <stddef.h>
#include <stdint.h>

#include "roundhouse/comm.h"

/** Bits of the number of a collective that its id keeps; the rest of the id is of what it and those before it are. */
#define RH_COMM_ID_BITS 14

/** Bits of a label: what it does, type, reduction and root; the rest is the count, of which high bits are left out. */
#define RH_COMM_LABEL_WHAT 3
/** @see RH_COMM_LABEL_WHAT */
#define RH_COMM_LABEL_TYPE 4
/** @see RH_COMM_LABEL_WHAT */
#define RH_COMM_LABEL_REDUCE 3
/** @see RH_COMM_LABEL_WHAT */
#define RH_COMM_LABEL_ROOT 20

/** @return all that must be the same on all ranks that take part in @p op, a collective; never 0 */
static inline uint64_t rh_comm_label(const struct rh_comm_op *op)
{
	uint64_t reduces = op->what == RH_COMM_ALL_REDUCE || op->what == RH_COMM_REDUCE_SCATTER;
	uint64_t root = op->what == RH_COMM_BROADCAST;
	uint64_t label = op->count;

	if (op->what == RH_COMM_BARRIER)
		return RH_COMM_BARRIER;
	label = label << RH_COMM_LABEL_ROOT | (uint32_t)op->peer * root;
	label = label << RH_COMM_LABEL_REDUCE | (uint32_t)op->reduce * reduces;
	label = label << RH_COMM_LABEL_TYPE | (uint32_t)op->type;
	return label << RH_COMM_LABEL_WHAT | (uint32_t)op->what;
}

/** @return @p history, which stands for all collectives so far, with one more */
static inline uint64_t rh_comm_history(uint64_t history, uint64_t label)
{
	history = (history ^ label) * UINT64_C(0x9e3779b97f4a7c15);
	return history ^ history >> 32;
}

/** @return what backends know collective @p number by: ranks that have posted the same so far have the same */
static inline uint64_t rh_comm_id(uint64_t history, uint64_t number)
{
	return history << RH_COMM_ID_BITS | (number & ((UINT64_C(1) << RH_COMM_ID_BITS) - 1));
}

/** @return "all-reduce" …; "operation" for what is none; static storage */
const char *rh_comm_what_name(int32_t what);
/** Write a label in words: "all-reduce of 4 f32, sum". */
void rh_comm_label_text(uint64_t label, char *text, size_t room);

#endif
