/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/native/stream.h
 * @brief A stream of bytes to and from one peer: rings in shared memory, or a TCP socket.
 *
 * Used by one thread at a time. Nothing here blocks but native_tcp_open().
 */
#ifndef RH_COMM_NATIVE_STREAM_H
#define RH_COMM_NATIVE_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "comm/native/segment.h"
#include "roundhouse/comm_backend.h"

/** A stream. */
struct native_stream {
	struct native_ring *out; /**< in shared memory; NULL: the socket is used */
	struct native_ring *in;
	struct native_wakeup *wakeup; /**< the peer's, with shared memory */
	size_t ring;                  /**< bytes of a ring */
	int fd;                       /**< -1: none */
	uint32_t checks;              /**< calls of native_stream_is_answered(), most of which return without a look */
	int64_t checked;              /**< when the socket was last looked at, microseconds */
	int64_t unanswered;           /**< since when the peer's host acknowledges nothing; 0: it does */
};

/** Write what fits now. @return bytes; RH_COMM_EPEER with errno */
int64_t native_stream_write(struct native_stream *stream, const void *data, size_t length);
/** Read what is available now. @return bytes; RH_COMM_EPEER with errno, 0 for an orderly close */
int64_t native_stream_read(struct native_stream *stream, void *data, size_t length);
/**
 * Check now and then whether the host of a peer acknowledges what is sent to it. The connection to the rendezvous
 * server reveals hosts that are cut off from rank 0; two other hosts may be cut off from each other alone. Cheap.
 * @return false: nothing was acknowledged for @p timeout microseconds
 */
bool native_stream_is_answered(struct native_stream *stream, int64_t timeout);
/**
 * tcp.c: connect to every rank of another host. Blocks until the team's deadline at most.
 * @param streams by rank; the caller closes their descriptors, also after an error. @return 0 or RH_COMM_E*
 */
int32_t native_tcp_open(const struct rh_comm_team *team, struct native_stream *streams);

#endif
