/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/ps/protocol/stream.h
 * @brief Byte transports between a worker and a server, below the records of wire.h.
 *
 * There are two: a TCP connection, in wire.c, and messages of a backend of rh_comm, in message_stream.c. Nothing
 * blocks. Each belongs to a connection whose descriptor is polled.
 */
#ifndef RH_COMM_PS_PROTOCOL_STREAM_H
#define RH_COMM_PS_PROTOCOL_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Operations of a transport. One thread uses a stream at a time. */
struct rh_ps_stream {
	/** Send some of @p data. @return bytes taken; 0: none now; RH_COMM_EPEER: the other end is gone */
	int64_t (*send)(void *self, const void *data, size_t length);
	/** Read what has arrived. @return bytes; 0: nothing now; RH_COMM_EPEER: the other end is gone */
	int64_t (*recv)(void *self, void *data, size_t room);
	/** @return whether it waits for the descriptor to become writable. @param unsent not all was taken */
	bool (*blocked)(const void *self, bool unsent);
	/** @return whether transfers are in flight that the descriptor does not signal: check again soon */
	bool (*moving)(const void *self);
	/** Free @p self, but not the descriptor. */
	void (*close)(void *self);
};

#endif
