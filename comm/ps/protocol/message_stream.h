/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/ps/protocol/message_stream.h
 * @brief A stream over messages of a backend of rh_comm.
 *
 * Bytes are copied into stream, and each block is one message. Its length is announced over the connection that the two
 * ends have anyway, so that the receiver knows what to expect, can sleep on a descriptor, and sees when the other end
 * is gone. Credits return the same way: only a few blocks are in flight to a receiver that is stopped.
 */
#ifndef RH_COMM_PS_PROTOCOL_MESSAGE_STREAM_H
#define RH_COMM_PS_PROTOCOL_MESSAGE_STREAM_H

#include "comm/ps/protocol/device.h"
#include "comm/ps/protocol/stream.h"
#include "roundhouse/comm_backend.h"

/** Opaque stream. */
struct rh_ps_message_stream;

/**
 * A context of a backend with two ranks; two of them where a backend executes messages of both directions in one order
 * (nccl).
 */
struct rh_ps_message_stream_plan {
	const struct rh_comm_backend *backend; /**< lives longer */
	void *out;                             /**< the context for what is sent */
	void *in;                              /**< for what is received; may be the same */
	struct rh_ps_streams streams;          /**< of a backend for memory of devices */
	int32_t peer;                          /**< rank of the other end */
	int control;                           /**< the connection; stays the caller's */
	void *team;                            /**< given to free_team() once the context is closed */
	void (*free_team)(void *team);
};

/** The operations; their first argument is a struct rh_ps_message_stream. */
extern const struct rh_ps_stream rh_ps_message_stream_operations;

/**
 * Create the stream, which owns contexts and streams from then on; its close() waits a second at most for unsent
 * data. @return NULL: out of memory, and nothing is owned
 */
struct rh_ps_message_stream *rh_ps_message_stream_new(const struct rh_ps_message_stream_plan *plan);
/** Add data that was read from the connection before. @param self a struct rh_ps_message_stream */
void rh_ps_message_stream_adopt(void *self, const void *data, size_t length);

#endif
