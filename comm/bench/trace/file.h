/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/bench/trace/file.h
 * @brief Reads the trace of one rank: that of rh_comm (comm/core/trace/format.h), or a dump of torch's flight recorder
 * (foreign/recorder.h). Its bytes are not trusted: the rank may have died, or still write.
 */
#ifndef RH_COMM_BENCH_TRACE_FILE_H
#define RH_COMM_BENCH_TRACE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "comm/bench/trace/foreign/value.h"

/** An operation. Times are nanoseconds since 1970. */
struct rh_trace_op {
	uint64_t place;  /**< among all operations of the rank */
	uint64_t group;  /**< 0: the world */
	uint64_t number; /**< of a collective in its group; 0: a message, or not started */
	uint64_t count;  /**< elements */
	int64_t begun;   /**< when it was posted */
	int64_t ended;   /**< when it was done; 0: it was not */
	int32_t what;    /**< RH_COMM_ALL_REDUCE … */
	int32_t type;    /**< RH_COMM_F32 … */
	int32_t reduce;  /**< RH_COMM_SUM … */
	int32_t state;   /**< enum rh_comm_trace_state */
	int32_t peer;    /**< root or peer, in the world; RH_COMM_NO_RANK: none */
	int32_t status;  /**< of one that is done */
	uint32_t tag;    /**< of a message */
	/* of another library: owned by the rank; NULL in traces of rh_comm */
	const char *name; /**< of the operation, as that library has it */
	const char *unit; /**< type of the elements; "": not known */
	const char *text; /**< all of it: "all_reduce of [3, 4] Float" */
};

/** A group that the rank is in. */
struct rh_trace_group {
	uint64_t name;
	int32_t size;         /**< 0: not known */
	const int32_t *ranks; /**< in the world; NULL: not known */
	const char *title;    /**< what another library calls it; NULL: nothing */
};

/** The trace of a rank. */
struct rh_trace_rank {
	int32_t rank;
	int32_t world;
	int64_t process;
	bool left;    /**< its context was freed: it was not killed */
	bool foreign; /**< of another library: host, process and end are not known */
	char host[64];
	char job[64];
	uint64_t posted;                 /**< operations, of which the latest are here */
	int64_t end;                     /**< nanoseconds since 1970: the last moment of which the trace knows; 0: none */
	struct rh_trace_op *ops;         /**< by place */
	const struct rh_trace_op **byno; /**< collectives, by group, then number */
	size_t count;
	size_t collectives;
	struct rh_trace_group *groups;
	size_t group_count;
	void *bytes;             /**< of the file; groups point into it */
	struct rh_values values; /**< texts, of another library */
};

/**
 * Read the bytes of a file.
 * @param[out] ret_bytes freed by the caller. @param[out] why what is wrong, naming the file, when it fails
 * @return 0 or RH_COMM_E*
 */
int32_t rh_trace_load(const char *path, char **ret_bytes, size_t *ret_length, char *why, size_t room);
/** Sort its collectives, once all of its operations are there. @return 0 or RH_COMM_ENOMEM */
int32_t rh_trace_index(struct rh_trace_rank *rank);
/**
 * Read a file.
 * @param[out] why what is wrong with it, naming it, when it fails
 * @return 0 or RH_COMM_E*; then @p ret_rank is freed by rh_trace_rank_deinit()
 */
int32_t rh_trace_read(const char *path, struct rh_trace_rank *ret_rank, char *why, size_t room);
/** Free what it holds. */
void rh_trace_rank_deinit(struct rh_trace_rank *rank);
/**
 * @return its latest collective of a group up to a number, or with @p after the first one beyond it; NULL: there is
 * none
 */
const struct rh_trace_op *rh_trace_collective(const struct rh_trace_rank *rank, uint64_t group, uint64_t number,
                                              bool after);

#endif
