/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/nccl/api.h
 * @brief The functions of NCCL and of the CUDA runtime that this backend calls, found at run time.
 *
 * Neither is linked: on a machine without them the backend reports so, and the build needs no toolkit. The declarations
 * are ours; check.c compares them with the real headers, in the build where those are there, and in a test. Handles are
 * pointers, enumerations ints, as in the C ABI of both.
 */
#ifndef RH_COMM_NCCL_API_H
#define RH_COMM_NCCL_API_H

#include <stddef.h>
#include <stdint.h>

/** @name ncclResult_t, the values that are distinguished @{ */
#define NCCL_OK 0
#define NCCL_IN_PROGRESS 7
/** @} */

/** @name ncclDataType_t @{ */
#define NCCL_INT8 0
#define NCCL_UINT8 1
#define NCCL_INT32 2
#define NCCL_INT64 4
#define NCCL_FLOAT16 6
#define NCCL_FLOAT32 7
#define NCCL_FLOAT64 8
#define NCCL_BFLOAT16 9
/** @} */

/** @name ncclRedOp_t @{ */
#define NCCL_SUM 0
#define NCCL_PROD 1
#define NCCL_MAX 2
#define NCCL_MIN 3
#define NCCL_AVG 4
/** @} */

/** @name cudaError_t and flags @{ */
#define CUDA_OK 0
#define CUDA_NOT_READY 600
#define CUDA_EVENT_DISABLE_TIMING 2
/** @} */

/** Non-blocking communicators exist since 2.14; configurations of that version are understood by all later ones. */
#define NCCL_OLDEST 21400
/** First word of a configuration. */
#define NCCL_MAGIC 0xcafebeef

/** ncclUniqueId. */
struct nccl_id {
	char internal[128];
};

/** ncclConfig_t of version 2.14, of which later ones are longer. */
struct nccl_config {
	size_t size;
	unsigned int magic;
	unsigned int version;
	int blocking;
};

/** The functions; the libraries' names have a prefix: all_reduce is ncclAllReduce. Results are theirs. */
struct nccl_api {
	void *nccl_library;
	void *cuda_library;
	int (*get_version)(int *version);
	int (*get_unique_id)(struct nccl_id *id);
	int (*init_rank)(void **comm, int ranks, struct nccl_id id, int rank, struct nccl_config *config);
	int (*finalize)(void *comm);
	int (*destroy)(void *comm);
	int (*comm_abort)(void *comm);
	int (*async_error)(void *comm, int *status);
	const char *(*error_string)(int status);
	const char *(*last_error)(void *comm);
	int (*group_start)(void);
	int (*group_end)(void);
	int (*all_reduce)(const void *in, void *out, size_t count, int type, int op, void *comm, void *stream);
	int (*reduce_scatter)(const void *in, void *out, size_t count, int type, int op, void *comm, void *stream);
	int (*all_gather)(const void *in, void *out, size_t count, int type, void *comm, void *stream);
	int (*broadcast)(const void *in, void *out, size_t count, int type, int root, void *comm, void *stream);
	int (*send)(const void *data, size_t count, int type, int peer, void *comm, void *stream);
	int (*recv)(void *data, size_t count, int type, int peer, void *comm, void *stream);
	int (*device_count)(int *count);
	int (*get_device)(int *device);
	int (*set_device)(int device);
	int (*event_create)(void **event, unsigned int flags);
	int (*event_record)(void *event, void *stream);
	int (*event_query)(void *event);
	int (*event_destroy)(void *event);
	const char *(*cuda_error_string)(int status);
};

/**
 * Find the CUDA runtime, preferring one that the program has loaded already, and a device; then NCCL.
 * @param[out] why one line when something is missing. @return 0 or RH_COMM_ENOTSUP
 */
int32_t nccl_api_load(struct nccl_api *ret_api, char *why, size_t room);
/** Unload both libraries. */
void nccl_api_unload(struct nccl_api *api);

#endif
