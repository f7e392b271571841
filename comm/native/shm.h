/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/native/shm.h
 * @brief Collectives of one host in shared memory: shm_queue.c posts and tests them, shm_task.c executes them.
 *
 * Tasks of a context are executed in the order of posting. One thread at a time; nothing blocks. The backend mpi is
 * linked with these files, too, so they depend on nothing else of the library.
 */
#ifndef RH_COMM_NATIVE_SHM_H
#define RH_COMM_NATIVE_SHM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "comm/native/copy_policy.h"
#include "comm/native/segment.h"
#include "comm/native/work.h"
#include "roundhouse/comm_backend.h"

/** A collective in shared memory. */
struct native_shm_task {
	enum native_kind kind;
	struct native_shm_task *next;    /**< of the queue, or of the free list */
	struct native_shm_task *earlier; /**< the one allocated before it */
	struct rh_comm_op op;
	size_t size;  /**< bytes of an element */
	size_t chunk; /**< elements of a chunk: of the vector, or of each rank's part */
	bool begun;
	bool done;
	bool cached;     /**< chunks are written with cached stores */
	uint64_t id;     /**< equal on all ranks that post the same collective */
	int64_t since;   /**< nanoseconds of CLOCK_MONOTONIC at its begin */
	uint64_t number; /**< of a flat one; else of its first chunk */
	uint64_t chunks; /**< 0: it is flat */
	uint64_t staged; /**< chunks copied in */
	uint64_t reduced;
	uint64_t consumed;
};

/** The queue of a context's tasks. */
struct native_shm_queue {
	char nothing[2]; /**< input and output of a barrier */
	const struct native_segment *segment;
	const struct rh_comm_team *team;
	uint64_t flat;                 /**< flat tasks so far */
	uint64_t chunks;               /**< chunks so far */
	struct native_shm_task *first; /**< executed one after the other */
	struct native_shm_task **last;
	struct native_shm_task *spare;
	struct native_shm_task *made; /**< the latest allocation; leads to all others */
	int32_t odd;                  /**< a rank that posted another collective: the queue stops; RH_COMM_NO_RANK: none */
	struct native_copy_policy policy; /**< of local rank 0 */
};

/** @name shm_queue.c @{ */
/** Initialize it. @p team and @p segment are borrowed until native_shm_queue_deinit(). */
void native_shm_queue_init(struct native_shm_queue *queue, const struct rh_comm_team *team,
                           const struct native_segment *segment);
/** @return whether all ranks are on this host, and the operation is a barrier or has elements */
bool native_shm_queue_supports(const struct native_shm_queue *queue, const struct rh_comm_op *op);
/**
 * Post a supported operation. Buffers are borrowed until it is complete. @param id equal on all ranks that post the
 * same
 * @return 0, with *@p ret_task NULL when it is complete already; RH_COMM_ENOMEM
 */
int32_t native_shm_queue_post(struct native_shm_queue *queue, const struct rh_comm_op *op, uint64_t id,
                              struct native_shm_task **ret_task);
/** Make progress. @return 0: @p task is complete and freed; RH_COMM_BUSY; RH_COMM_EINVAL: another rank differs */
int32_t native_shm_queue_test(struct native_shm_queue *queue, struct native_shm_task *task);
/** Free all tasks. */
void native_shm_queue_deinit(struct native_shm_queue *queue);
/** @} */

/** shm_task.c: execute the tasks of the queue, one after the other, as far as the other ranks allow. */
void native_shm_queue_progress(struct native_shm_queue *queue);

#endif
