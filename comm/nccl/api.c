/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/nccl/api.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "comm/core/memory/symbols.h"
#include "roundhouse/comm.h"

#define SYMBOL(member, name)                    \
	{                                           \
		offsetof(struct nccl_api, member), name \
	}

static const struct rh_comm_symbol api_cuda[] = {
	SYMBOL(device_count, "cudaGetDeviceCount"), SYMBOL(get_device, "cudaGetDevice"),
	SYMBOL(set_device, "cudaSetDevice"),        SYMBOL(event_create, "cudaEventCreateWithFlags"),
	SYMBOL(event_record, "cudaEventRecord"),    SYMBOL(event_query, "cudaEventQuery"),
	SYMBOL(event_destroy, "cudaEventDestroy"),  SYMBOL(cuda_error_string, "cudaGetErrorString"),
};

static const struct rh_comm_symbol api_nccl[] = {
	SYMBOL(get_version, "ncclGetVersion"),
	SYMBOL(get_unique_id, "ncclGetUniqueId"),
	SYMBOL(init_rank, "ncclCommInitRankConfig"),
	SYMBOL(finalize, "ncclCommFinalize"),
	SYMBOL(destroy, "ncclCommDestroy"),
	SYMBOL(comm_abort, "ncclCommAbort"),
	SYMBOL(async_error, "ncclCommGetAsyncError"),
	SYMBOL(error_string, "ncclGetErrorString"),
	SYMBOL(last_error, "ncclGetLastError"),
	SYMBOL(group_start, "ncclGroupStart"),
	SYMBOL(group_end, "ncclGroupEnd"),
	SYMBOL(all_reduce, "ncclAllReduce"),
	SYMBOL(reduce_scatter, "ncclReduceScatter"),
	SYMBOL(all_gather, "ncclAllGather"),
	SYMBOL(broadcast, "ncclBroadcast"),
	SYMBOL(send, "ncclSend"),
	SYMBOL(recv, "ncclRecv"),
};

static int32_t api_load_cuda(struct nccl_api *api, char *why, size_t room)
{
	const char *missing;
	int count = 0;
	int status;

	api->cuda_library = rh_comm_symbols_open_cuda();
	if (!api->cuda_library) {
		(void)snprintf(why, room, "no CUDA runtime (libcudart.so) is found");
		return RH_COMM_ENOTSUP;
	}
	missing = rh_comm_symbols_find(api->cuda_library, api_cuda, sizeof(api_cuda) / sizeof(*api_cuda), api);
	if (missing) {
		(void)snprintf(why, room, "the CUDA runtime has no %s", missing);
		return RH_COMM_ENOTSUP;
	}
	status = api->device_count(&count);
	if (status == CUDA_OK && count > 0)
		return 0;
	(void)snprintf(why, room, "no CUDA device: %s",
	               status == CUDA_OK ? "the driver knows none" : api->cuda_error_string(status));
	return RH_COMM_ENOTSUP;
}

static int32_t api_load_nccl(struct nccl_api *api, char *why, size_t room)
{
	static const char *const names[] = {"libnccl.so.2", "libnccl.so", NULL};
	const char *missing;
	int version = 0;

	api->nccl_library = rh_comm_symbols_open(getenv("RH_COMM_NCCL_LIBRARY"), names);
	if (!api->nccl_library) {
		(void)snprintf(why, room, "no NCCL (libnccl.so.2) is found");
		return RH_COMM_ENOTSUP;
	}
	missing = rh_comm_symbols_find(api->nccl_library, api_nccl, sizeof(api_nccl) / sizeof(*api_nccl), api);
	if (!missing && api->get_version(&version) == NCCL_OK && version >= NCCL_OLDEST)
		return 0;
	if (missing && version == 0)
		(void)snprintf(why, room, "NCCL has no %s; it must be 2.14 or newer", missing);
	else
		(void)snprintf(why, room, "NCCL is of version %d, it must be 2.14 (%d) or newer", version, NCCL_OLDEST);
	return RH_COMM_ENOTSUP;
}

int32_t nccl_api_load(struct nccl_api *ret_api, char *why, size_t room)
{
	struct nccl_api api = {0};
	/* without a device NCCL, which is large, is not even loaded */
	int32_t r = api_load_cuda(&api, why, room);

	if (r == 0)
		r = api_load_nccl(&api, why, room);
	if (r == 0)
		*ret_api = api;
	else
		nccl_api_unload(&api);
	return r;
}

void nccl_api_unload(struct nccl_api *api)
{
	if (api->nccl_library)
		(void)dlclose(api->nccl_library);
	if (api->cuda_library)
		(void)dlclose(api->cuda_library);
	*api = (struct nccl_api){0};
}
