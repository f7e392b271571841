/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Our declarations against the real headers of NCCL and the CUDA runtime: this must compile where those are. Of a
 * function the compiler compares the prototype that NCCL documents; api.h has the same with pointers for handles and
 * ints for enumerations.
 */
#include <cuda_runtime_api.h>
#include <nccl.h>

#include "comm/nccl/api.h"

_Static_assert(ncclSuccess == NCCL_OK && ncclInProgress == NCCL_IN_PROGRESS, "results");
_Static_assert(ncclInt8 == NCCL_INT8 && ncclUint8 == NCCL_UINT8, "bytes");
_Static_assert(ncclInt32 == NCCL_INT32 && ncclInt64 == NCCL_INT64, "integers");
_Static_assert(ncclFloat16 == NCCL_FLOAT16 && ncclFloat32 == NCCL_FLOAT32, "floats");
_Static_assert(ncclFloat64 == NCCL_FLOAT64 && ncclBfloat16 == NCCL_BFLOAT16, "more floats");
_Static_assert(ncclSum == NCCL_SUM && ncclProd == NCCL_PROD && ncclMax == NCCL_MAX, "reductions");
_Static_assert(ncclMin == NCCL_MIN && ncclAvg == NCCL_AVG, "more reductions");
_Static_assert(cudaSuccess == CUDA_OK && cudaErrorNotReady == CUDA_NOT_READY, "errors of CUDA");
_Static_assert(cudaEventDisableTiming == CUDA_EVENT_DISABLE_TIMING, "flags of CUDA");
_Static_assert(sizeof(ncclUniqueId) == sizeof(struct nccl_id), "id");
_Static_assert(sizeof(ncclResult_t) == sizeof(int) && sizeof(ncclDataType_t) == sizeof(int), "enumerations are ints");
_Static_assert(sizeof(ncclRedOp_t) == sizeof(int) && sizeof(cudaError_t) == sizeof(int), "enumerations are ints");
_Static_assert(sizeof(ncclComm_t) == sizeof(void *) && sizeof(cudaStream_t) == sizeof(void *), "handles are pointers");
_Static_assert(sizeof(cudaEvent_t) == sizeof(void *), "handles are pointers");
_Static_assert(offsetof(ncclConfig_t, size) == offsetof(struct nccl_config, size), "config");
_Static_assert(offsetof(ncclConfig_t, magic) == offsetof(struct nccl_config, magic), "config");
_Static_assert(offsetof(ncclConfig_t, version) == offsetof(struct nccl_config, version), "config");
_Static_assert(offsetof(ncclConfig_t, blocking) == offsetof(struct nccl_config, blocking), "config");
#ifdef NCCL_API_MAGIC
_Static_assert(NCCL_API_MAGIC == NCCL_MAGIC, "config");
#endif

/* The prototypes that api.h writes differently. */
struct nccl_check {
	ncclResult_t (*get_version)(int *);
	ncclResult_t (*get_unique_id)(ncclUniqueId *);
	ncclResult_t (*init_rank)(ncclComm_t *, int, ncclUniqueId, int, ncclConfig_t *);
	ncclResult_t (*of_comm[3])(ncclComm_t);
	ncclResult_t (*async_error)(ncclComm_t, ncclResult_t *);
	const char *(*error_string)(ncclResult_t);
	const char *(*last_error)(ncclComm_t);
	ncclResult_t (*group[2])(void);
	ncclResult_t (*reduces[2])(const void *, void *, size_t, ncclDataType_t, ncclRedOp_t, ncclComm_t, cudaStream_t);
	ncclResult_t (*all_gather)(const void *, void *, size_t, ncclDataType_t, ncclComm_t, cudaStream_t);
	ncclResult_t (*broadcast)(const void *, void *, size_t, ncclDataType_t, int, ncclComm_t, cudaStream_t);
	ncclResult_t (*send)(const void *, size_t, ncclDataType_t, int, ncclComm_t, cudaStream_t);
	ncclResult_t (*recv)(void *, size_t, ncclDataType_t, int, ncclComm_t, cudaStream_t);
	cudaError_t (*of_int[2])(int *);
	cudaError_t (*set_device)(int);
	cudaError_t (*event_create)(cudaEvent_t *, unsigned int);
	cudaError_t (*event_record)(cudaEvent_t, cudaStream_t);
	cudaError_t (*of_event[2])(cudaEvent_t);
	const char *(*cuda_error_string)(cudaError_t);
};

/* The addresses are never taken in a program: the functions need not be there to link. */
static inline struct nccl_check nccl_check(void)
{
	return (struct nccl_check){
		ncclGetVersion,
		ncclGetUniqueId,
		ncclCommInitRankConfig,
		{ncclCommFinalize, ncclCommDestroy, ncclCommAbort},
		ncclCommGetAsyncError,
		ncclGetErrorString,
		ncclGetLastError,
		{ncclGroupStart, ncclGroupEnd},
		{ncclAllReduce, ncclReduceScatter},
		ncclAllGather,
		ncclBroadcast,
		ncclSend,
		ncclRecv,
		{cudaGetDeviceCount, cudaGetDevice},
		cudaSetDevice,
		cudaEventCreateWithFlags,
		cudaEventRecord,
		{cudaEventQuery, cudaEventDestroy},
		cudaGetErrorString,
	};
}
