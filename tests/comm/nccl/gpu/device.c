/* SPDX-License-Identifier: Apache-2.0 */
#include "comm/nccl/gpu/device.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* cudaStreamNonBlocking, cudaMemcpyDefault */
#define STREAM_FLAGS 1
#define COPY_ANY 4
#define COUNT_MAX 100

struct symbol {
	size_t offset;
	const char *name;
};

static const struct symbol symbols[] = {
	{offsetof(struct device, device_count), "cudaGetDeviceCount"},
	{offsetof(struct device, set_device), "cudaSetDevice"},
	{offsetof(struct device, malloc), "cudaMalloc"},
	{offsetof(struct device, free), "cudaFree"},
	{offsetof(struct device, copy), "cudaMemcpy"},
	{offsetof(struct device, fill), "cudaMemsetAsync"},
	{offsetof(struct device, stream_create), "cudaStreamCreateWithFlags"},
	{offsetof(struct device, stream_destroy), "cudaStreamDestroy"},
	{offsetof(struct device, error_string), "cudaGetErrorString"},
};

static const char *device_find(struct device *device)
{
	const char *path = getenv("RH_COMM_CUDART");

	device->library = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
	if (!device->library)
		return "RH_COMM_CUDART names no CUDA runtime";
	for (size_t i = 0; i < sizeof(symbols) / sizeof(*symbols); i++) {
		void *address = dlsym(device->library, symbols[i].name);

		if (!address)
			return symbols[i].name;
		*(void **)(void *)((char *)device + symbols[i].offset) = address;
	}
	return NULL;
}

const char *device_open(struct device *device, int number)
{
	const char *missing = device_find(device);
	int count = 0;
	int status;

	if (missing)
		return missing;
	status = device->device_count(&count);
	if (status == 0 && count > 0)
		status = device->set_device(number % count);
	if (status == 0)
		status = device->stream_create(&device->stream, STREAM_FLAGS);
	return status == 0 ? NULL : device->error_string(status);
}

void device_close(struct device *device)
{
	(void)device->stream_destroy(device->stream);
}

void *device_new(const struct device *device, const void *data, size_t length)
{
	void *memory = NULL;

	if (device->malloc(&memory, length > 0 ? length : 1) != 0)
		return NULL;
	if (data && device->copy(memory, data, length, COPY_ANY) != 0)
		return NULL;
	return memory;
}

int device_take(const struct device *device, void *memory, void *data, size_t length)
{
	int status = device->copy(data, memory, length, COPY_ANY);

	return device->free(memory) == 0 && status == 0;
}

/* In a process of its own: CUDA does not survive a fork(), and the test's ranks are forked. */
static int ask_child(int (*ask)(void))
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0)
		_exit(ask());
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return 0;
	return WEXITSTATUS(status);
}

static int count_devices(void)
{
	struct device device = {0};
	int count = 0;

	if (device_find(&device) || device.device_count(&count) != 0)
		return 0;
	return count < COUNT_MAX ? count : COUNT_MAX;
}

int device_count(void)
{
	return ask_child(count_devices);
}

int device_nccl_version(void)
{
	const char *path = getenv("RH_COMM_NCCL_LIBRARY");
	void *library = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
	int (*get_version)(int *version) = NULL;
	int version = 0;

	if (library)
		*(void **)&get_version = dlsym(library, "ncclGetVersion");
	return get_version && get_version(&version) == 0 ? version : 0;
}
