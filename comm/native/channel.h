/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/native/channel.h
 * @brief Messages with tags over the stream to one peer. One thread at a time; nothing blocks.
 */
#ifndef RH_COMM_NATIVE_CHANNEL_H
#define RH_COMM_NATIVE_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "comm/native/stream.h"
#include "comm/native/work.h"

/** A send or receive that is not complete. */
struct native_message {
	enum native_kind kind;
	struct native_message *next;
	struct native_message **link; /**< the pointer to it; NULL: it is in no queue */
	struct native_channel *channel;
	uint64_t tag;
	const char *from; /**< of a send */
	char *to;         /**< of a receive */
	size_t length;
	bool done;
	int32_t status;
};

/** A queue of messages. */
struct native_queue {
	struct native_message *first;
	struct native_message **last;
};

/** First bytes of a message on a stream. */
struct native_head {
	uint64_t tag;
	uint64_t length;
};

/** All messages to and from one peer. */
struct native_channel {
	struct native_stream stream;
	int32_t peer;
	struct native_queue sends;
	struct native_queue recvs; /**< posted and not matched */
	struct native_queue
		strays;  /**< unexpected: arrived, whole or in part, before a receive was posted; own their buffers */
	size_t sent; /**< bytes written of the first send, head included */
	struct native_head head;     /**< of the incoming message */
	size_t got;                  /**< bytes read of it, head included */
	struct native_message *into; /**< its receive; NULL: not matched yet */
	int32_t broken;              /**< 0, or the RH_COMM_E* that ended the channel */
	int number;                  /**< errno of it; 0: closed by the peer */
};

/** Initialize a channel; the caller sets its stream. */
void native_channel_init(struct native_channel *channel, int32_t peer);
/** Free what it holds. */
void native_channel_deinit(struct native_channel *channel);
/**
 * Post a send. @p data is borrowed until the message is complete.
 * @return 0, with *@p ret_message NULL when it is complete already; RH_COMM_ENOMEM
 */
int32_t native_channel_send(struct native_channel *channel, uint64_t tag, const void *data, size_t length,
                            struct native_message **ret_message);
/** Post a receive. @p data is borrowed until the message is complete. @return 0 or RH_COMM_ENOMEM */
int32_t native_channel_recv(struct native_channel *channel, uint64_t tag, void *data, size_t length,
                            struct native_message **ret_message);
/** @return whether a send or receive is posted and not complete */
bool native_channel_is_busy(const struct native_channel *channel);
/** Move as many bytes as possible without blocking, and complete messages. */
void native_channel_progress(struct native_channel *channel);
/**
 * Move bytes, and look whether a message of @p tag has begun to arrive that no receive is posted for. Those of other
 * tags before it are kept. On a broken channel: whether there is one that arrived before.
 */
bool native_channel_finds(struct native_channel *channel, uint64_t tag);
/** Mark the channel broken when the peer's host has acknowledged nothing for @p timeout microseconds. Cheap. */
void native_channel_check_peer(struct native_channel *channel, int64_t timeout);
/** Free a message that is complete or whose channel is broken. */
void native_message_free(struct native_message *message);

#endif
