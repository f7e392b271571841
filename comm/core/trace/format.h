/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/core/trace/format.h
 * @brief Format of the trace of a rank: a ring of its latest operations.
 *
 * A file is the head, the groups, then the entries, as they lie in memory: it is read on a machine of the same kind, by
 * `roundhouse comm trace`.
 */
#ifndef RH_COMM_CORE_TRACE_FORMAT_H
#define RH_COMM_CORE_TRACE_FORMAT_H

#include <stdatomic.h>
#include <stdint.h>

/** First bytes of a file; the digit is the version of the format. */
#define RH_COMM_TRACE_MAGIC "rhtrace1"
/** End of the name of each file. */
#define RH_COMM_TRACE_SUFFIX ".rhtrace"
/** Name of a rank's file in the folder that RH_COMM_TRACE names; takes the rank. */
#define RH_COMM_TRACE_NAME "rank-%d" RH_COMM_TRACE_SUFFIX
/** Entries of a file; a power of two. */
#define RH_COMM_TRACE_ENTRIES 1024
/** Entries of a ring without a file; a power of two. */
#define RH_COMM_TRACE_ENTRIES_PRIVATE 64
/** Bytes for the groups of a file. */
#define RH_COMM_TRACE_GROUP_BYTES 65024

/** States of an operation. */
enum rh_comm_trace_state {
	RH_COMM_TRACE_POSTED = 1, /**< the caller has posted it */
	RH_COMM_TRACE_STARTED,    /**< the backend has it */
	RH_COMM_TRACE_DONE,       /**< it ended, well or with an error */
};

/** The same moment on both clocks. */
struct rh_comm_trace_clock {
	int64_t ticks; /**< rh_comm_trace_ticks() */
	int64_t time;  /**< nanoseconds since 1970 */
};

/** Begin of a file. */
struct rh_comm_trace_head {
	char magic[8];
	uint32_t head_bytes;                  /**< sizeof(struct rh_comm_trace_head) */
	uint32_t group_bytes;                 /**< room for groups */
	uint32_t entry_bytes;                 /**< sizeof(struct rh_comm_trace_entry) */
	uint32_t entry_count;                 /**< a power of two */
	int32_t rank;                         /**< in the world */
	int32_t world;                        /**< number of ranks */
	int64_t process;                      /**< process id */
	struct rh_comm_trace_clock clocks[3]; /**< [0]: at the begin; the others take turns, once a second */
	_Atomic uint32_t clock;               /**< which of them is the latest */
	_Atomic uint32_t groups_used;         /**< bytes */
	_Atomic uint64_t posted;              /**< operations so far */
	_Atomic uint32_t left;                /**< 1: the context was freed: the rank was not killed */
	uint32_t reserved;                    /**< 0 */
	char host[64];                        /**< name of the machine, with a NUL */
	char job[64];                         /**< begin of RH_COMM_JOB, with a NUL */
	/* what rank 0 found last about the pace of all ranks (pace.h); in other ranks' files 0 */
	_Atomic uint32_t pace_rounds;   /**< rounds that were compared; 0: nothing is known */
	_Atomic int32_t pace_late;      /**< the rank that the others wait for; RH_COMM_NO_RANK: none */
	_Atomic uint32_t pace_share;    /**< part of the time for which they do, in millionths */
	_Atomic uint32_t pace_transfer; /**< part of the time in which all ranks wait, in millionths */
	char pad[256];                  /**< 0 */
};

/** A group, followed by its ranks in the world (int32_t), if there was room, and padded to 8 bytes. */
struct rh_comm_trace_group {
	uint64_t name;  /**< equal on all members */
	int32_t size;   /**< members */
	int32_t listed; /**< ranks that follow: `size` or 0 */
};

/** An operation. Members are atomic because another thread may reuse an old entry; there is no order among them. */
struct rh_comm_trace_entry {
	_Atomic uint64_t place;  /**< among all operations of the process, from 1; 0: being written, or never */
	_Atomic uint64_t group;  /**< name of the group; 0: the world */
	_Atomic uint64_t number; /**< of a collective in its group, from 1; 0: a message, or not started */
	_Atomic uint64_t count;  /**< elements; 0 where ranks give lists of counts */
	_Atomic int64_t begun;   /**< ticks: posted */
	_Atomic int64_t ended;   /**< ticks: done; 0: not yet */
	_Atomic uint32_t kind;  /**< what, type and reduction, 8 bits each from the lowest; then enum rh_comm_trace_state */
	_Atomic int32_t peer;   /**< root or peer, as rank in the world; RH_COMM_NO_RANK: none */
	_Atomic uint32_t tag;   /**< of a message */
	_Atomic int32_t status; /**< of one that is done: 0 or RH_COMM_E* */
};

_Static_assert(sizeof(struct rh_comm_trace_head) == 512, "part of the format");
_Static_assert(sizeof(struct rh_comm_trace_entry) == 64, "one line of the cache");

#endif
