/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/nccl/gpu/device.h
 * @brief A CUDA device for tests, through the runtime that RH_COMM_CUDART names; nothing is linked.
 */
#ifndef RH_TEST_COMM_NCCL_GPU_DEVICE_H
#define RH_TEST_COMM_NCCL_GPU_DEVICE_H

#include <stddef.h>
#include <stdint.h>

/** The runtime's functions, named as it names them, and a stream. */
struct device {
	void *library;
	void *stream;
	int (*device_count)(int *count);
	int (*set_device)(int device);
	int (*malloc)(void **memory, size_t length);
	int (*free)(void *memory);
	int (*copy)(void *to, const void *from, size_t length, int kind);
	int (*fill)(void *memory, int value, size_t length, void *stream);
	int (*stream_create)(void **stream, unsigned int flags);
	int (*stream_destroy)(void *stream);
	const char *(*error_string)(int status);
};

/** Open device number @p number modulo how many there are, and make a stream. @return NULL, or what is wrong */
const char *device_open(struct device *device, int number);
/** Free the stream. */
void device_close(struct device *device);
/** @return memory of the device with a copy of @p data (NULL: nothing), or NULL */
void *device_new(const struct device *device, const void *data, size_t length);
/** Copy from the device to @p data and free @p memory. @return whether that went well */
int device_take(const struct device *device, void *memory, void *data, size_t length);
/** @return the number of devices; 0 also when there is no runtime. Leaves nothing of CUDA in this process */
int device_count(void);
/** @return NCCL's version (23000 is 2.30), of the library that RH_COMM_NCCL_LIBRARY names; 0: none */
int device_nccl_version(void);

#endif
