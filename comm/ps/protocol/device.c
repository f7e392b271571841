/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/ps/protocol/device.h"

#include <stdio.h>
#include <stdlib.h>

#include "comm/ps/protocol/wire.h"

/* cudaStreamNonBlocking */
#define STREAM_FLAGS 1

int32_t rh_ps_device_open(struct rh_ps_device *ret_device, char *why, size_t room)
{
	struct rh_ps_device device = {0};
	const char *missing = "out of memory";

	if (rh_comm_stager_new(&device.stager, &missing) == 0 && device.stager->cuda.get_device(&device.number) == 0) {
		*ret_device = device;
		return 0;
	}
	(void)snprintf(why, room, "%s", device.stager ? "the CUDA runtime names no device" : missing);
	rh_comm_stager_free(device.stager);
	return RH_COMM_ENOTSUP;
}

void rh_ps_device_close(struct rh_ps_device *device)
{
	rh_comm_stager_free(device->stager);
	*device = (struct rh_ps_device){0};
}

int32_t rh_ps_streams_open(const struct rh_ps_device *device, struct rh_ps_streams *ret_streams)
{
	struct rh_ps_streams streams = {.device = device};
	const struct rh_comm_cudart *cuda = &device->stager->cuda;
	int before = rh_comm_stager_enter(device->stager, device->number);
	int status = cuda->stream_create(&streams.out, STREAM_FLAGS);

	if (status == 0)
		status = cuda->stream_create(&streams.in, STREAM_FLAGS);
	rh_comm_stager_leave(device->stager, device->number, before);
	if (status != 0) {
		rh_ps_streams_close(&streams);
		return RH_COMM_EBACKEND;
	}
	*ret_streams = streams;
	return 0;
}

void rh_ps_streams_close(struct rh_ps_streams *streams)
{
	if (streams->out)
		(void)streams->device->stager->cuda.stream_destroy(streams->out);
	if (streams->in)
		(void)streams->device->stager->cuda.stream_destroy(streams->in);
	*streams = (struct rh_ps_streams){0};
}

void *rh_ps_streams_alloc(const struct rh_ps_streams *streams, size_t length)
{
	const struct rh_ps_device *device = streams->device;
	void *memory = NULL;
	int before;

	if (!device)
		return aligned_alloc(RH_PS_ALIGN, length);
	before = rh_comm_stager_enter(device->stager, device->number);
	if (device->stager->cuda.host_alloc(&memory, length, 0) != 0)
		memory = NULL;
	rh_comm_stager_leave(device->stager, device->number, before);
	return memory;
}

void rh_ps_streams_free(const struct rh_ps_streams *streams, void *memory)
{
	if (!memory)
		return;
	if (streams->device)
		(void)streams->device->stager->cuda.host_free(memory);
	else
		free(memory);
}
