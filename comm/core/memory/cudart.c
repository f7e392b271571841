/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/core/memory/cudart.h"

#include <dlfcn.h>
#include <stdlib.h>

#include "comm/core/memory/symbols.h"

/* cudaStreamNonBlocking: the stream NULL does not hold it up. */
#define STREAM_FLAGS 1
/* cudaEventDisableTiming */
#define EVENT_FLAGS 2
/* Most slots that are kept for the next operation, and least bytes of one: pinning memory takes long. */
#define SPARE_MAX 8
#define SLOT_LEAST 4096
#define NO_MEMORY (-1)

#define SYMBOL(member, name)                          \
	{                                                 \
		offsetof(struct rh_comm_cudart, member), name \
	}

static const struct rh_comm_symbol cudart_symbols[] = {
	SYMBOL(device_count, "cudaGetDeviceCount"),
	SYMBOL(get_device, "cudaGetDevice"),
	SYMBOL(set_device, "cudaSetDevice"),
	SYMBOL(host_alloc, "cudaHostAlloc"),
	SYMBOL(host_free, "cudaFreeHost"),
	SYMBOL(copy, "cudaMemcpyAsync"),
	SYMBOL(stream_create, "cudaStreamCreateWithFlags"),
	SYMBOL(stream_destroy, "cudaStreamDestroy"),
	SYMBOL(stream_wait, "cudaStreamWaitEvent"),
	SYMBOL(event_create, "cudaEventCreateWithFlags"),
	SYMBOL(event_record, "cudaEventRecord"),
	SYMBOL(event_query, "cudaEventQuery"),
	SYMBOL(event_destroy, "cudaEventDestroy"),
	SYMBOL(error_string, "cudaGetErrorString"),
};

/* @return NULL, or what is missing */
static const char *cudart_find(struct rh_comm_cudart *cuda)
{
	int count = 0;

	cuda->library = rh_comm_symbols_open_cuda();
	if (!cuda->library)
		return "no CUDA runtime is found";
	if (rh_comm_symbols_find(cuda->library, cudart_symbols, sizeof(cudart_symbols) / sizeof(*cudart_symbols), cuda))
		return "the CUDA runtime lacks functions";
	return cuda->device_count(&count) == 0 && count > 0 ? NULL : "there is no CUDA device";
}

int32_t rh_comm_stager_new(struct rh_comm_stager **ret_stager, const char **ret_missing)
{
	struct rh_comm_stager *stager = calloc(1, sizeof(*stager));
	const char *missing;

	if (!stager)
		return RH_COMM_ENOMEM;
	missing = cudart_find(&stager->cuda);
	if (missing) {
		rh_comm_stager_free(stager);
		*ret_missing = missing;
		return RH_COMM_ENOTSUP;
	}
	*ret_stager = stager;
	return 0;
}

static void slot_free(const struct rh_comm_cudart *cuda, struct rh_comm_slot *slot)
{
	if (slot->event)
		(void)cuda->event_destroy(slot->event);
	if (slot->block)
		(void)cuda->host_free(slot->block);
	free(slot);
}

static void copier_free(const struct rh_comm_cudart *cuda, struct rh_comm_copier *copier)
{
	if (copier->in)
		(void)cuda->stream_destroy(copier->in);
	if (copier->out)
		(void)cuda->stream_destroy(copier->out);
	free(copier);
}

/* Memory that a copy still touches is left to the process's end. */
static void stager_free_slots(const struct rh_comm_cudart *cuda, struct rh_comm_slot *slots)
{
	while (slots) {
		struct rh_comm_slot *slot = slots;

		slots = slot->next;
		if (cuda->event_query(slot->event) == RH_COMM_CUDA_NOT_READY)
			slot->block = NULL;
		slot_free(cuda, slot);
	}
}

void rh_comm_stager_free(struct rh_comm_stager *stager)
{
	if (!stager)
		return;
	stager_free_slots(&stager->cuda, stager->spare);
	stager_free_slots(&stager->cuda, stager->lost);
	while (stager->copiers) {
		struct rh_comm_copier *copier = stager->copiers;

		stager->copiers = copier->next;
		copier_free(&stager->cuda, copier);
	}
	if (stager->cuda.library)
		(void)dlclose(stager->cuda.library);
	free(stager);
}

int rh_comm_stager_enter(const struct rh_comm_stager *stager, int device)
{
	int before = device;

	(void)stager->cuda.get_device(&before);
	if (before != device)
		(void)stager->cuda.set_device(device);
	return before;
}

void rh_comm_stager_leave(const struct rh_comm_stager *stager, int device, int before)
{
	if (before != device)
		(void)stager->cuda.set_device(before);
}

int rh_comm_stager_copier(struct rh_comm_stager *stager, int device, struct rh_comm_copier **ret_copier)
{
	struct rh_comm_copier *copier = stager->copiers;
	int status;

	while (copier && copier->device != device)
		copier = copier->next;
	if (copier) {
		*ret_copier = copier;
		return 0;
	}
	copier = calloc(1, sizeof(*copier));
	if (!copier)
		return NO_MEMORY;
	copier->device = device;
	status = stager->cuda.stream_create(&copier->in, STREAM_FLAGS);
	if (status == 0)
		status = stager->cuda.stream_create(&copier->out, STREAM_FLAGS);
	if (status != 0) {
		copier_free(&stager->cuda, copier);
		return status;
	}
	copier->next = stager->copiers;
	stager->copiers = copier;
	*ret_copier = copier;
	return 0;
}

/* @return one that fits, out of the row; NULL: there is none */
static struct rh_comm_slot *slot_find(struct rh_comm_stager *stager, int device, size_t room)
{
	struct rh_comm_slot **at = &stager->spare;
	struct rh_comm_slot *slot;

	while (*at && ((*at)->device != device || (*at)->room < room))
		at = &(*at)->next;
	slot = *at;
	if (slot) {
		*at = slot->next;
		stager->spare_count--;
	}
	return slot;
}

static int slot_new(const struct rh_comm_cudart *cuda, int device, size_t room, struct rh_comm_slot **ret_slot)
{
	struct rh_comm_slot *slot = calloc(1, sizeof(*slot));
	int status;

	if (!slot)
		return NO_MEMORY;
	slot->device = device;
	slot->room = SLOT_LEAST;
	while (slot->room < room)
		slot->room *= 2;
	status = cuda->host_alloc(&slot->block, slot->room, 0);
	if (status != 0)
		slot->block = NULL;
	else
		status = cuda->event_create(&slot->event, EVENT_FLAGS);
	if (status != 0) {
		slot_free(cuda, slot);
		return status;
	}
	*ret_slot = slot;
	return 0;
}

int rh_comm_slot_take(struct rh_comm_stager *stager, int device, size_t room, struct rh_comm_slot **ret_slot)
{
	struct rh_comm_slot *slot = slot_find(stager, device, room);

	if (!slot)
		return slot_new(&stager->cuda, device, room, ret_slot);
	*ret_slot = slot;
	return 0;
}

void rh_comm_slot_give(struct rh_comm_stager *stager, struct rh_comm_slot *slot, int busy)
{
	struct rh_comm_slot **row = busy ? &stager->lost : &stager->spare;

	slot->next = *row;
	*row = slot;
	if (busy || ++stager->spare_count <= SPARE_MAX)
		return;
	/* the one that has not been used for longest is the row's last */
	while ((*row)->next)
		row = &(*row)->next;
	slot_free(&stager->cuda, *row);
	*row = NULL;
	stager->spare_count--;
}

const char *rh_comm_stager_message(const struct rh_comm_stager *stager, int status)
{
	return status == NO_MEMORY ? "out of memory" : stager->cuda.error_string(status);
}
