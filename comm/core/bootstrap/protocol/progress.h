/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/core/bootstrap/protocol/progress.h
 * @brief Payloads of frames by which ranks report how far they are.
 */
#ifndef RH_COMM_CORE_BOOTSTRAP_PROTOCOL_PROGRESS_H
#define RH_COMM_CORE_BOOTSTRAP_PROTOCOL_PROGRESS_H

#include <stdint.h>

/** Collectives of which each context remembers what they were; a power of two. */
#define RH_COMM_REMEMBERED 16
/** Room for which group it is, for people: rh_comm_group_text(). */
#define RH_COMM_GROUP_ROOM 120

/** Microseconds without a heartbeat, or without an answer to any, after which the other end is stopped or throttled. */
#define RH_COMM_SILENT 3000000

/** Progress of a rank. */
struct rh_comm_beat {
	uint64_t posted; /**< collectives that it has posted */
	uint64_t done;   /**< collectives that are done there */
	int64_t waiting; /**< microseconds that it has waited for the oldest operation; 0: it does not wait */
	int32_t what;    /**< RH_COMM_ALL_REDUCE … of the oldest one */
	/** of the oldest one, when it is a message: a rank of the world, or RH_COMM_ANY_RANK; else RH_COMM_NO_RANK */
	int32_t peer;
	uint64_t group;  /**< of the oldest one; 0: it is the world's */
	uint64_t number; /**< of the oldest one in that group; 0: it is a message */
};

/** A rank has left a group. */
struct rh_comm_gone {
	uint64_t group;
	uint64_t done; /**< collectives of the group in which it took part */
	int32_t size;  /**< of the group */
	int32_t reserved;
	char text[RH_COMM_GROUP_ROOM]; /**< which group that is */
};

/** @name How far a rank is in a context: 0, it does not know it; this; or that and the collectives it has posted @{ */
#define RH_COMM_REACHED_OPENING 1
#define RH_COMM_REACHED_OPEN 2
/** @} */

/** Query of a rank's progress. */
struct rh_comm_query {
	uint64_t group;  /**< 0: the world */
	uint64_t needed; /**< progress that all must have */
};

/** The operation that a rank posted last. */
struct rh_comm_latest {
	uint64_t group;                /**< 0: the world */
	uint64_t number;               /**< of a collective; 0: a message */
	int64_t ago;                   /**< microseconds since it was done, or, if it is open, since it was posted */
	int32_t what;                  /**< RH_COMM_ALL_REDUCE …; 0: none was posted yet */
	int32_t open;                  /**< 1: it is not done */
	char text[RH_COMM_GROUP_ROOM]; /**< which group that is; "": the world, or one that it has left */
};

/** Answer to a query. */
struct rh_comm_answer {
	struct rh_comm_query query;
	uint64_t reached;
	char text[RH_COMM_GROUP_ROOM]; /**< which group the query is about; "": the world, or it is not open here */
	struct rh_comm_latest latest;
	/** what the collectives up to the one that is asked for were (label.h), by number; 0: not known */
	uint64_t labels[RH_COMM_REMEMBERED];
};

#endif
