/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/bench/trace/blame.h
 * @brief Says which rank is to blame for ranks that wait. Pure.
 */
#ifndef RH_COMM_BENCH_TRACE_BLAME_H
#define RH_COMM_BENCH_TRACE_BLAME_H

#include "comm/bench/trace/find.h"

/** Who is to blame. */
struct rh_trace_blame {
	const struct rh_trace_rank *rank;       /**< it; borrowed */
	const struct rh_trace_rank *waits;      /**< a rank that waits because of it; borrowed */
	const struct rh_trace_op *own;          /**< what the blamed rank waits in itself; NULL: it does not wait */
	const struct rh_trace_op *waits_in;     /**< what `waits` waits in; NULL where `finding` says it */
	const struct rh_trace_finding *finding; /**< to what it did not come; NULL: it has come, and stopped there */
	int64_t silent; /**< nanoseconds for which it has given no sign of life, though others have; 0: it gives them */
};

/**
 * Find who is to blame for a wait of @p limit nanoseconds or longer. In this order: who gives no sign of life; who did
 * not come and does not wait itself; and where all wait for each other who did not do before what it did at earlier
 * times, or else who alone did not come.
 * @param ranks of one world and one machine, each once, by rank. @param findings of them
 * @return false: nobody waits so long, or it is not known because of whom
 */
bool rh_trace_blame(const struct rh_trace_rank *ranks, size_t count, const struct rh_trace_findings *findings,
                    int64_t limit, struct rh_trace_blame *ret_blame);
/** Write it as a sentence without a full stop, cut to the room. @return @p text */
const char *rh_trace_blame_text(const struct rh_trace_blame *blame, char *text, size_t room);

#endif
