/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/core/collective/rounds.h
 * @brief Collectives as rounds of messages: pure functions of rank, world and size.
 *
 * A collective is cut into blocks that do not depend on each other; several are in flight at once, which is the
 * pipeline. A block is a sequence of rounds; a round sends at most one message and receives at most one, and then
 * reduces or copies. Algorithms: recursive doubling with folding for small all-reduces and the ring for large ones,
 * ring reduce-scatter and all-gather, binomial tree broadcast, dissemination barrier (Thakur, Rabenseifner, Gropp,
 * 2005), binomial tree reduce; exchanges between pairs are in exchange.h. The order in which values are combined
 * depends only on ranks and sizes, and one rank combines each element, or all in the same order: all end with the same
 * bits.
 */
#ifndef RH_COMM_CORE_COLLECTIVE_ROUNDS_H
#define RH_COMM_CORE_COLLECTIVE_ROUNDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** A collective as this rank executes it. */
struct rh_comm_plan {
	int32_t what; /**< RH_COMM_ALL_REDUCE …; a collective */
	int32_t rank;
	int32_t world;
	int32_t root;
	size_t count;             /**< elements, as in struct rh_comm_op; where ranks give lists, of this rank's own part */
	size_t size;              /**< bytes of one element */
	size_t segment;           /**< elements of the longest message; at least 1 */
	const size_t *in_offsets; /**< where there is a list: the first element of each rank's part, and the end */
	const size_t *out_offsets; /**< likewise */
	bool doubling;             /**< an all-reduce by recursive doubling: the whole vector is one block */
};

/** Memory areas. */
enum rh_comm_area { RH_COMM_AREA_IN, RH_COMM_AREA_OUT, RH_COMM_AREA_SPARE0, RH_COMM_AREA_SPARE1 };

/** A position in an area. */
struct rh_comm_place {
	enum rh_comm_area area;
	size_t offset; /**< bytes */
};

/** One message. Both sides know its length; empty messages are not sent. */
struct rh_comm_move {
	struct rh_comm_place place;
	size_t length; /**< bytes; 0: no message */
	int32_t peer;
};

/** Local work after both messages are complete. */
enum rh_comm_act { RH_COMM_ACT_NONE, RH_COMM_ACT_REDUCE, RH_COMM_ACT_COPY };

/** One round. */
struct rh_comm_round {
	struct rh_comm_move send;
	struct rh_comm_move recv;
	enum rh_comm_act act;
	struct rh_comm_place out; /**< REDUCE: out = a op b; COPY: out = a */
	struct rh_comm_place a;
	struct rh_comm_place b;
	size_t count; /**< elements that are reduced or copied */
};

/** @return the number of blocks */
size_t rh_comm_plan_blocks(const struct rh_comm_plan *plan);
/** @return bytes that each of the two spare areas of a block needs */
size_t rh_comm_plan_spare(const struct rh_comm_plan *plan);
/** Compute round @p number (0 …) of @p block. @return false when the block has no such round: it is complete */
bool rh_comm_plan_round(const struct rh_comm_plan *plan, size_t block, int32_t number, struct rh_comm_round *ret_round);

#endif
