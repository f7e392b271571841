/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of CUDA devices where no backend moves it: copied to pinned host memory when an operation starts, and back
 * when it is done. The CUDA runtime is the one that the program has loaded, or else can be; nothing is linked.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comm/core/context.h"
#include "comm/core/error.h"

/* cudaMemcpyDefault: the runtime knows of each address where it lies. */
#define COPY_ANY 4

/* What is called of the CUDA runtime; results are its own, 0 is good. */
struct rh_comm_stager {
	void *library;
	int (*device_count)(int *count);
	int (*host_alloc)(void **memory, size_t length, unsigned int flags);
	int (*host_free)(void *memory);
	int (*copy)(void *to, const void *from, size_t length, int kind, void *stream);
	int (*synchronize)(void *stream);
	const char *(*error_string)(int status);
};

static void *stage_library(void)
{
	static const char *const names[] = {"libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0", "libcudart.so"};
	const char *own = getenv("RH_COMM_CUDART");
	void *library = NULL;

	if (own && own[0])
		return dlopen(own, RTLD_NOW | RTLD_LOCAL);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names) && !library; i++)
		library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names) && !library; i++)
		library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
	return library;
}

/* @return NULL, or what is missing */
static const char *stage_find(struct rh_comm_stager *stager)
{
	int count = 0;

	stager->library = stage_library();
	if (!stager->library)
		return "no CUDA runtime is found";
	*(void **)&stager->device_count = dlsym(stager->library, "cudaGetDeviceCount");
	*(void **)&stager->host_alloc = dlsym(stager->library, "cudaHostAlloc");
	*(void **)&stager->host_free = dlsym(stager->library, "cudaFreeHost");
	*(void **)&stager->copy = dlsym(stager->library, "cudaMemcpyAsync");
	*(void **)&stager->synchronize = dlsym(stager->library, "cudaStreamSynchronize");
	*(void **)&stager->error_string = dlsym(stager->library, "cudaGetErrorString");
	if (!stager->device_count || !stager->host_alloc || !stager->host_free || !stager->copy || !stager->synchronize ||
	    !stager->error_string)
		return "the CUDA runtime lacks functions";
	return stager->device_count(&count) == 0 && count > 0 ? NULL : "there is no CUDA device";
}

int32_t rh_comm_stage_open(struct rh_comm *comm, struct rh_comm_error *err)
{
	struct rh_comm_stager *stager;
	const char *missing;

	if (comm->cuda.stager)
		return 0;
	stager = calloc(1, sizeof(*stager));
	if (!stager)
		return rh_comm_fail(err, RH_COMM_ENOMEM, RH_COMM_NO_RANK, "out of memory");
	missing = stage_find(stager);
	if (!missing) {
		comm->cuda.stager = stager;
		return 0;
	}
	if (stager->library)
		(void)dlclose(stager->library);
	free(stager);
	return rh_comm_fail(err, RH_COMM_ENOTSUP, RH_COMM_NO_RANK,
	                    "CUDA memory cannot be moved here: %s, and to copy it to the host: %s", comm->cuda.why,
	                    missing);
}

void rh_comm_stage_close(struct rh_comm *comm)
{
	if (!comm->cuda.stager)
		return;
	(void)dlclose(comm->cuda.stager->library);
	free(comm->cuda.stager);
	comm->cuda.stager = NULL;
}

static int32_t stage_fail(struct rh_comm *comm, const char *what, int status)
{
	return rh_comm_fail(&comm->said, RH_COMM_EBACKEND, RH_COMM_NO_RANK, "%s: %s", what,
	                    comm->cuda.stager->error_string(status));
}

/* Bytes that the operation reads and writes on this rank. */
static void stage_lengths(const struct rh_comm *comm, const struct rh_comm_op *op, size_t *ret_in, size_t *ret_out)
{
	size_t length = op->count * rh_comm_type_size(op->type);
	bool reads = op->what != RH_COMM_RECV && (op->what != RH_COMM_BROADCAST || op->peer == comm->rank);

	*ret_in = reads ? length : 0;
	*ret_out = op->what == RH_COMM_SEND ? 0 : length;
	if (op->what == RH_COMM_REDUCE_SCATTER)
		*ret_in = length * (size_t)comm->size;
	if (op->what == RH_COMM_ALL_GATHER)
		*ret_out = length * (size_t)comm->size;
}

int32_t rh_comm_stage_begin(struct rh_comm_request *request)
{
	struct rh_comm *comm = request->comm;
	const struct rh_comm_stager *stager = comm->cuda.stager;
	struct rh_comm_staged *staged = &request->staged;
	size_t in;
	size_t out;
	int status;

	stage_lengths(comm, &request->op, &in, &out);
	if (in + out == 0)
		return 0;
	/* the results begin on a line of their own */
	in = (in + 127) / 128 * 128;
	status = stager->host_alloc(&staged->block, in + out, 0);
	if (status != 0)
		return stage_fail(comm, "no pinned host memory", status);
	staged->to = request->op.out;
	staged->from = (char *)staged->block + in;
	staged->length = out;
	stage_lengths(comm, &request->op, &in, &out);
	status = in > 0 ? stager->copy(staged->block, request->op.in, in, COPY_ANY, request->op.stream) : 0;
	/* this waits for the device, never for a peer */
	if (status == 0)
		status = stager->synchronize(request->op.stream);
	request->op.in = staged->block;
	request->op.out = staged->from;
	/* the root's result is what it sent */
	if (request->op.what == RH_COMM_BROADCAST && in > 0)
		memcpy(staged->from, staged->block, out);
	return status == 0 ? 0 : stage_fail(comm, "device memory cannot be copied to the host", status);
}

int32_t rh_comm_stage_end(struct rh_comm_request *request)
{
	struct rh_comm *comm = request->comm;
	const struct rh_comm_staged *staged = &request->staged;
	int status = 0;

	if (!staged->block)
		return 0;
	if (staged->length > 0)
		status = comm->cuda.stager->copy(staged->to, staged->from, staged->length, COPY_ANY, request->op.stream);
	if (status == 0)
		status = comm->cuda.stager->synchronize(request->op.stream);
	return status == 0 ? 0 : stage_fail(comm, "results cannot be copied to the device", status);
}

void rh_comm_stage_free(struct rh_comm_request *request)
{
	if (request->staged.block)
		(void)request->comm->cuda.stager->host_free(request->staged.block);
	request->staged.block = NULL;
}
