/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/core/collective/tune.h
 * @brief The table of RH_COMM_TUNE: which algorithm and chunk a collective of a size uses.
 *
 * Syntax as UCC's: rules joined by '#', each of fields joined by ':' in any order: names of collectives ("allreduce",
 * "bcast", "reduce_scatter", "allgather", joined by ','), a range of bytes ("0-8k", "1m-inf"), a range of ranks
 * ("[2-8]"), "@algorithm", "chunk=64k". A missing field matches everything, or sets nothing. The last matching rule
 * wins. Pure.
 */
#ifndef RH_COMM_CORE_COLLECTIVE_TUNE_H
#define RH_COMM_CORE_COLLECTIVE_TUNE_H

#include <stddef.h>
#include <stdint.h>

#include "roundhouse/comm.h"

/** Most rules of a table. */
#define RH_COMM_RULES 16
/** Longest text of a table. */
#define RH_COMM_TUNE_ROOM 512

/** One rule. */
struct rh_comm_rule {
	uint32_t what; /**< bits 1 << RH_COMM_ALL_REDUCE … */
	size_t from;   /**< fewest bytes */
	size_t to;     /**< limit of bytes, exclusive */
	int32_t least; /**< ranks */
	int32_t most;
	const char *algorithm; /**< a static word, or NULL */
	size_t chunk;          /**< bytes; 0: the default */
};

/** A table. All zero is an empty one. */
struct rh_comm_tune {
	size_t count;
	struct rh_comm_rule rules[RH_COMM_RULES];
};

/** Read a table. @return 0, or RH_COMM_EINVAL that names the field */
int32_t rh_comm_tune_parse(const char *text, struct rh_comm_tune *ret_tune, struct rh_comm_error *err);
/** @return the rule for a collective of @p bytes in a world of @p world; an empty rule when none matches */
struct rh_comm_rule rh_comm_tune_find(const struct rh_comm_tune *tune, int32_t what, size_t bytes, int32_t world);

#endif
