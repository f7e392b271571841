/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/bench/trace/find.h
 * @brief Compares the traces of several ranks: who did not come to which operation, and who posted another one. Pure.
 */
#ifndef RH_COMM_BENCH_TRACE_FIND_H
#define RH_COMM_BENCH_TRACE_FIND_H

#include "comm/bench/trace/file.h"

/** A time that is not known. */
#define RH_TRACE_UNTIMED (-1)

/** Kinds of findings, by weight. */
enum rh_trace_kind {
	RH_TRACE_DIFFERS, /**< ranks posted different collectives at the same place */
	RH_TRACE_MISSING, /**< ranks did not come to a collective that others have posted */
	RH_TRACE_OPEN     /**< a message that is not done */
};

/** A finding. */
struct rh_trace_finding {
	enum rh_trace_kind kind;
	struct rh_trace_op op;    /**< what most posted; the message */
	struct rh_trace_op other; /**< DIFFERS: what the first of `ranks` posted instead */
	int32_t *ranks;           /**< who differs, or did not come; of a message who posted it */
	int32_t count;            /**< of them */
	int32_t members;          /**< ranks of the group; 0: not known */
	const char *title;        /**< what another library calls the group; NULL: nothing. Borrowed from a rank */
	int32_t waiting;          /**< a rank that did it as most did, or waits longest; RH_COMM_NO_RANK: none waits */
	int64_t waited;           /**< nanoseconds that it has waited until the end of its trace; RH_TRACE_UNTIMED */
	uint64_t waits_at;        /**< MISSING: the number at which it waits: that of `op`, or a later one */
};

/** What was found. */
struct rh_trace_findings {
	struct rh_trace_finding *items; /**< by kind, then group */
	size_t count;
};

/**
 * Compare.
 * @param ranks of one world, each once, by rank
 * @return 0 or RH_COMM_ENOMEM; *@p ret_findings is freed by rh_trace_findings_deinit(), also after an error
 */
int32_t rh_trace_find(const struct rh_trace_rank *ranks, size_t count, struct rh_trace_findings *ret_findings);
/** Free what it holds. */
void rh_trace_findings_deinit(struct rh_trace_findings *findings);
/** @return whether both are the same operation, as all ranks must post it */
bool rh_trace_is_same(const struct rh_trace_op *a, const struct rh_trace_op *b);

#endif
