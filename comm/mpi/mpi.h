/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/mpi/mpi.h
 * @brief The backend over Open MPI (4.1 and 5): messages between processes that mpirun has started.
 *
 * process.c owns the state of the process: MPI itself, two communicators, and the numbers of the contexts, which are
 * part of every tag; so a context, a group's too, is made without a blocking call of MPI. message.c posts and ends
 * messages, mpi.c is the table.
 *
 * MPI's own collectives are not used: those that block cannot be ended when a rank dies, those that do not are slower,
 * and none knows bfloat16. Where all ranks are on one host, collectives go through shared memory, as MPI's do inside:
 * with comm/native. Others are the core's, made of messages.
 */
#ifndef RH_COMM_MPI_MPI_H
#define RH_COMM_MPI_MPI_H

#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "comm/native/shm.h"
#include "roundhouse/comm_backend.h"

/** Bits of a tag for the context; they limit the contexts that two processes share at a time. */
#define MPI_CONTEXT_BITS 6

/** MPI in this process. */
struct mpi_process {
	pthread_mutex_t lock; /**< over every call of MPI, as several threads may use several contexts */
	MPI_Comm messages;    /**< for what the user sends */
	MPI_Comm collectives;
	uint64_t *taken;       /**< for each rank of MPI_COMM_WORLD the numbers of contexts that it is in, as bits */
	int32_t tag_bits;      /**< that MPI's tags have beside the context's number */
	bool ready;            /**< the communicators exist */
	_Atomic bool unstable; /**< something was aborted: MPI may still have messages in flight */
};

/** Address of a rank. */
struct mpi_peer {
	int32_t rank;   /**< of MPI_COMM_WORLD */
	int32_t number; /**< of the context in that process */
};

/** A send or receive that is not complete. */
struct mpi_work {
	enum native_kind kind; /**< NATIVE_MESSAGE; first, as in a struct native_shm_task */
	struct mpi_work *next;
	struct mpi_work **link; /**< the pointer to it */
	MPI_Request request;
	size_t length;
	int32_t peer;
	bool receives;
};

/** A context of the backend. */
struct mpi {
	const struct rh_comm_team *team;
	struct mpi_process *process;
	struct mpi_peer *peers; /**< by rank */
	int32_t number;         /**< of this context here; -1: none yet */
	struct mpi_work *works;
	struct mpi_work *spare;
	struct native_segment segment; /**< when all ranks are on one host */
	struct native_shm_queue queue;
	bool moved;     /**< a message has ended since arm() */
	bool listens;   /**< somebody has looked for a message from any rank since arm() */
	uint64_t quiet; /**< how often arm() found that none had */
	_Atomic bool aborted;
	bool quiesced;
};

/** @name process.c @{ */
/** @return the state of the process; static storage */
struct mpi_process *mpi_process(void);
/** Start MPI if it is not started, and create the communicators. Collective in the first context. @return 0 or
 * RH_COMM_E* */
int32_t mpi_process_start(const struct rh_comm_team *team, struct mpi_process *process);
/**
 * Take a number for a context: one that no other context here has in which any of its peers is, for MPI distinguishes
 * senders by itself. @return it, or RH_COMM_ENOTSUP: all are in use
 */
int32_t mpi_process_take(const struct mpi *mpi);
/** Release mpi->number. */
void mpi_process_give(const struct mpi *mpi);
/** Report an error of MPI. @return @p code */
int32_t mpi_fail(const struct rh_comm_team *team, int32_t code, int32_t rank, const char *what, int status);
/** @} */

/** @name message.c: operations of the table @{ */
/** @see struct rh_comm_backend.send */
int32_t mpi_send(void *self, int32_t peer, uint64_t tag, const void *data, size_t length, void **ret_work);
/** @see struct rh_comm_backend.recv */
int32_t mpi_recv(void *self, int32_t peer, uint64_t tag, void *data, size_t length, void **ret_work);
/** rh_comm_backend.find */
int32_t mpi_find(void *self, int32_t first, uint64_t tag, int32_t *ret_peer);
/** Make progress with a message. @see struct rh_comm_backend.test */
int32_t mpi_test_message(struct mpi *mpi, struct mpi_work *message);
/** Free all messages. */
void mpi_free_works(struct mpi *mpi);
/** @} */

#endif
