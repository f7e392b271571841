/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/ps/protocol/device.h
 * @brief Support for a backend that moves only memory of CUDA devices: pinned host memory, which a device accesses, and
 * a stream for each direction, so that neither waits for the other.
 */
#ifndef RH_COMM_PS_PROTOCOL_DEVICE_H
#define RH_COMM_PS_PROTOCOL_DEVICE_H

#include "comm/core/memory/cudart.h"

/** The CUDA runtime and the device that is used. All zero is none. */
struct rh_ps_device {
	struct rh_comm_stager *stager; /**< NULL: there is none */
	int number;
};

/** The streams of one connection. All zero is none. */
struct rh_ps_streams {
	const struct rh_ps_device *device; /**< NULL: the backend moves host memory */
	void *out;
	void *in;
};

/** Find the runtime and the caller's device. @param[out] why one line. @return 0 or RH_COMM_ENOTSUP */
int32_t rh_ps_device_open(struct rh_ps_device *ret_device, char *why, size_t room);
/** Close it. */
void rh_ps_device_close(struct rh_ps_device *device);
/** Create the streams. @return 0 or RH_COMM_EBACKEND */
int32_t rh_ps_streams_open(const struct rh_ps_device *device, struct rh_ps_streams *ret_streams);
/** Free them; they must be empty. */
void rh_ps_streams_close(struct rh_ps_streams *streams);
/** Get memory for a block, aligned to 64, pinned where a device is to reach it. @return NULL: out of memory */
void *rh_ps_streams_alloc(const struct rh_ps_streams *streams, size_t length);
/** Free it. NULL is ignored. */
void rh_ps_streams_free(const struct rh_ps_streams *streams, void *memory);

#endif
