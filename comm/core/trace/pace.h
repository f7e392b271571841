/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/core/trace/pace.h
 * @brief Finds the rank that comes last over many operations. Pure.
 *
 * Who comes last waits least: a collective is done for all at about the same time. So no clocks are compared, only how
 * long each rank waited between two collectives that all of them wait for. A slow link makes all of them wait, and
 * nobody is late.
 */
#ifndef RH_COMM_CORE_TRACE_PACE_H
#define RH_COMM_CORE_TRACE_PACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "roundhouse/comm.h"

/** Fewest rounds that are judged. */
#define RH_COMM_PACE_ROUNDS_LEAST 20
/** Who makes the others wait for this part of the time is late. */
#define RH_COMM_PACE_LATE 0.04
/** Marks of one level of a history, and most marks of one report. */
#define RH_COMM_PACE_MARKS 52
/** Levels of a history. */
#define RH_COMM_PACE_LEVELS 14
/** Level i has the marks whose number is a multiple of this to the power of i. */
#define RH_COMM_PACE_LEVEL_STEP 2
/** Nanoseconds that the rounds of a history take at least before they are judged: shorter ones are nobody's concern. */
#define RH_COMM_PACE_TIME_LEAST 250000000

/** @return whether no rank gets through this collective (RH_COMM_ALL_REDUCE …) before all have come to it */
static inline bool rh_comm_pace_is_common(int32_t what)
{
	switch (what) {
	case RH_COMM_ALL_REDUCE:
	case RH_COMM_REDUCE_SCATTER:
	case RH_COMM_REDUCE_SCATTER_V:
	case RH_COMM_ALL_GATHER:
	case RH_COMM_ALL_GATHER_V:
	case RH_COMM_ALL_TO_ALL:
	case RH_COMM_ALL_TO_ALL_V:
	case RH_COMM_BARRIER:
		return true;
	default:
		return false;
	}
}

/** The end of a collective that all ranks of the world wait for. Nanoseconds, from any moment of this rank's own. */
struct rh_comm_pace_mark {
	uint64_t number; /**< of the collective among these, from 1; equal on all ranks */
	int64_t waited;  /**< for operations of all kinds, so far */
	int64_t ended;   /**< when it ended */
};

/** Marks of a rank, by ascending number. Borrowed. */
struct rh_comm_pace_marks {
	const struct rh_comm_pace_mark *items;
	size_t count;
};

/** How long ranks waited. Any unit of time. */
struct rh_comm_pace_rounds {
	int32_t world;         /**< ranks */
	size_t count;          /**< rounds: from one mark to the next one */
	const double *waits;   /**< by round, then rank */
	const double *periods; /**< by round: how long it took */
};

/** What was found. */
struct rh_comm_pace {
	int32_t late;    /**< the rank that the others wait for; RH_COMM_NO_RANK: none */
	double share;    /**< part of the time for which they wait for it */
	double transfer; /**< part of the time in which all ranks wait: the data move */
	double time;     /**< how long the rounds took, in their unit */
	size_t rounds;   /**< that were compared; 0: nothing is known */
};

/** Judge. @return 0 or RH_COMM_ENOMEM */
int32_t rh_comm_pace_judge(const struct rh_comm_pace_rounds *rounds, struct rh_comm_pace *ret_pace);
/**
 * Judge by the marks that all ranks have.
 * @param ranks by rank. @param step each so many of them is taken: where a step of the training has several
 * collectives, only the first is late, and longer rounds show that more clearly. @return 0 or RH_COMM_ENOMEM
 */
int32_t rh_comm_pace_judge_marks(const struct rh_comm_pace_marks *ranks, int32_t world, size_t step,
                                 struct rh_comm_pace *ret_pace);

/** The latest marks of a rank: level 0 has all, each further one reaches farther back. All zero: none. */
struct rh_comm_pace_history {
	struct rh_comm_pace_mark marks[RH_COMM_PACE_LEVELS][RH_COMM_PACE_MARKS];
	size_t counts[RH_COMM_PACE_LEVELS];
};

/** Add a mark. One whose number is not greater than that of the latest is ignored. */
void rh_comm_pace_add(struct rh_comm_pace_history *history, const struct rh_comm_pace_mark *mark);
/**
 * Judge by the histories of all ranks, level by level; the first that names a rank counts.
 * @param ranks by rank. @return 0 or RH_COMM_ENOMEM
 */
int32_t rh_comm_pace_judge_histories(const struct rh_comm_pace_history *const *ranks, int32_t world,
                                     struct rh_comm_pace *ret_pace);

#endif
