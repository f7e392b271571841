/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/core/memory/cudart.h
 * @brief The parts of the CUDA runtime that the staging of CUDA memory needs: its functions, streams, pinned host
 * memory.
 *
 * The runtime is the one that the program has loaded, or one that can be loaded; nothing is linked. Everything is
 * called with the context's lock. Results of type int are the runtime's own: 0 is success.
 */
#ifndef RH_COMM_CORE_MEMORY_CUDART_H
#define RH_COMM_CORE_MEMORY_CUDART_H

#include <stddef.h>
#include <stdint.h>

#include "roundhouse/comm.h"

/** @name Values of the CUDA runtime @{ */
#define RH_COMM_CUDA_NOT_READY 600
/** cudaMemcpyDefault: the runtime detects the memory type of each address. */
#define RH_COMM_CUDA_COPY_ANY 4
/** @} */

/** Functions of the runtime, each named after its own: event_query is cudaEventQuery. */
struct rh_comm_cudart {
	void *library;
	int (*device_count)(int *count);
	int (*get_device)(int *device);
	int (*set_device)(int device);
	int (*host_alloc)(void **memory, size_t length, unsigned int flags);
	int (*host_free)(void *memory);
	int (*copy)(void *to, const void *from, size_t length, int kind, void *stream);
	int (*stream_create)(void **stream, unsigned int flags);
	int (*stream_destroy)(void *stream);
	int (*stream_wait)(void *stream, void *event, unsigned int flags);
	int (*event_create)(void **event, unsigned int flags);
	int (*event_record)(void *event, void *stream);
	int (*event_query)(void *event);
	int (*event_destroy)(void *event);
	const char *(*error_string)(int status);
};

/** The streams of one device in which copies run: not the caller's, so that its later kernels delay nothing. */
struct rh_comm_copier {
	struct rh_comm_copier *next;
	int device;
	void *in;  /**< to the host */
	void *out; /**< to the device */
};

/** Pinned host memory with an event of its device. */
struct rh_comm_slot {
	struct rh_comm_slot *next;
	int device;
	size_t room; /**< bytes of block */
	void *block;
	void *event;
};

/** State of a context. */
struct rh_comm_stager {
	struct rh_comm_cudart cuda;
	struct rh_comm_copier *copiers;
	struct rh_comm_slot *spare; /**< free slots */
	int32_t spare_count;
	struct rh_comm_slot *lost; /**< slots that an unfinished copy may still access */
};

/**
 * Find the runtime and a device.
 * @param[out] ret_missing what is missing; static. @return 0, RH_COMM_ENOTSUP with @p ret_missing, or RH_COMM_ENOMEM
 */
int32_t rh_comm_stager_new(struct rh_comm_stager **ret_stager, const char **ret_missing);
/** Free it and all that it has; no copy is in flight. NULL is ignored. */
void rh_comm_stager_free(struct rh_comm_stager *stager);
/** Make @p device the current one. @return the one before */
int rh_comm_stager_enter(const struct rh_comm_stager *stager, int device);
/** Make @p before the current device again, after rh_comm_stager_enter(). */
void rh_comm_stager_leave(const struct rh_comm_stager *stager, int device, int before);
/** Find or make the streams of the current device. @return 0, or the runtime's error; -1: out of memory */
int rh_comm_stager_copier(struct rh_comm_stager *stager, int device, struct rh_comm_copier **ret_copier);
/** Take a slot of at least @p room bytes, of the current device. @return 0, or the runtime's error; -1: no memory */
int rh_comm_slot_take(struct rh_comm_stager *stager, int device, size_t room, struct rh_comm_slot **ret_slot);
/** Release a slot. @param busy a copy may still access it: it is never reused */
void rh_comm_slot_give(struct rh_comm_stager *stager, struct rh_comm_slot *slot, int busy);
/** @return a message for the result of a function here; static storage */
const char *rh_comm_stager_message(const struct rh_comm_stager *stager, int status);

#endif
