/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/native/native.h
 * @brief The backend that is always there: shared memory between ranks of one host, TCP between hosts.
 *
 * channel.c turns a stream of bytes to one peer into messages with tags; its streams are rings in shared memory
 * (ring.c) and sockets (tcp.c). segment.c owns the memory that the ranks of a host share. reduce_shm.c is the
 * all-reduce for a world that is one host. native.c is the table.
 */
#ifndef RH_COMM_NATIVE_NATIVE_H
#define RH_COMM_NATIVE_NATIVE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "roundhouse/comm_backend.h"

/** One cache line pair: neighbours are fetched together. */
#define NATIVE_LINE 128
/** Bytes of one staging slot, and how many a rank has. */
#define NATIVE_SLOT (128 * 1024)
#define NATIVE_SLOTS 4
/** Bytes of one flat slot: vectors up to this go flat. */
#define NATIVE_FLAT (16 * 1024)
/** Bytes of a ring, a power of two. */
#define NATIVE_RING (256 * 1024)

/** A counter that one rank writes and the others read. */
struct native_counter {
	_Alignas(NATIVE_LINE) _Atomic uint64_t value;
};

/** What a rank says to its host's other ranks about all-reduces. Counts chunks, never falls. */
struct native_progress {
	struct native_counter flat;     /**< small vectors published */
	struct native_counter staged;   /**< chunks copied in */
	struct native_counter reduced;  /**< chunks whose own part is reduced */
	struct native_counter consumed; /**< chunks copied out */
};

/** A ring: a stream of bytes from one rank to another. */
struct native_ring {
	struct native_counter head; /**< bytes written */
	struct native_counter tail; /**< bytes read */
	char data[NATIVE_RING];
};

/** The memory that the ranks of one host share. */
struct native_segment {
	void *base;
	size_t length;
	int32_t world; /**< local ranks */
	int32_t rank;  /**< local rank */
};

/** @name segment.c @{ */
/** Make and map the segment of this host's ranks; it has no name any more when this is done. @return 0 or RH_COMM_E* */
int32_t native_segment_open(const struct rh_comm_team *team, struct native_segment *ret_segment);
/** Unmap it. */
void native_segment_close(struct native_segment *segment);
/** @return what local rank @p rank says */
struct native_progress *native_segment_progress(const struct native_segment *segment, int32_t rank);
/** @return one of the two flat slots of a local rank */
char *native_segment_flat(const struct native_segment *segment, int32_t rank, uint64_t number);
/** @return a staging slot of a local rank */
char *native_segment_slot(const struct native_segment *segment, int32_t rank, uint64_t number);
/** @return the ring from one local rank to another */
struct native_ring *native_segment_ring(const struct native_segment *segment, int32_t from, int32_t to);
/** @} */

/** A stream of bytes to and from one peer. */
struct native_stream {
	struct native_ring *out; /**< shared memory; NULL: the socket */
	struct native_ring *in;
	int fd; /**< -1: none */
};

/** @name ring.c, tcp.c @{ */
/** Write what fits now. @return bytes; RH_COMM_EPEER with errno */
int64_t native_stream_write(struct native_stream *stream, const void *data, size_t length);
/** Read what is there now. @return as native_stream_write() */
int64_t native_stream_read(struct native_stream *stream, void *data, size_t length);
/** Connect to every rank of another host. @param streams by rank. @return 0 or RH_COMM_E* */
int32_t native_tcp_open(const struct rh_comm_team *team, struct native_stream *streams);
/** @} */

/** What a piece of work is; its first member. */
enum native_kind { NATIVE_MESSAGE, NATIVE_REDUCE };

/** A message under way. */
struct native_message {
	enum native_kind kind;
	struct native_message *next;
	struct native_message **link; /**< what points here; NULL: it is in no queue any more */
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
	struct native_queue recvs;   /**< posted and not matched */
	struct native_queue strays;  /**< arrived whole or in part before they were asked for; each owns its buffer */
	size_t sent;                 /**< bytes of the first send, its head counted */
	struct native_head head;     /**< of the message that comes in */
	size_t got;                  /**< bytes of it, its head counted */
	struct native_message *into; /**< where it goes; NULL: not known yet */
	int32_t broken;              /**< 0, or why no more can be done */
	int number;                  /**< errno of that; 0: closed */
};

/** @name channel.c @{ */
/** Make a channel ready. */
void native_channel_init(struct native_channel *channel, int32_t peer);
/** Free what it holds. */
void native_channel_deinit(struct native_channel *channel);
/** Queue a send. @return 0, and *@p ret_message NULL when it is through already; RH_COMM_ENOMEM */
int32_t native_channel_send(struct native_channel *channel, uint64_t tag, const void *data, size_t length,
                            struct native_message **ret_message);
/** Queue a receive. @return 0 or RH_COMM_ENOMEM */
int32_t native_channel_recv(struct native_channel *channel, uint64_t tag, void *data, size_t length,
                            struct native_message **ret_message);
/** Move bytes, as many as go now. */
void native_channel_progress(struct native_channel *channel);
/** Free a message that is done, or will never be. */
void native_message_free(struct native_message *message);
/** @} */

/** An all-reduce in shared memory. */
struct native_reduce {
	enum native_kind kind;
	struct native_reduce *next;
	struct rh_comm_op op;
	size_t size; /**< bytes of an element */
	bool begun;
	bool done;
	uint64_t number; /**< of a flat one; else of its first chunk */
	uint64_t chunks; /**< 0: it is flat */
	uint64_t staged; /**< chunks copied in */
	uint64_t reduced;
	uint64_t consumed;
};

/** @name reduce_shm.c @{ */
/** What all all-reduces of a context have in common. */
struct native_reducer {
	const struct native_segment *segment;
	const struct rh_comm_team *team;
	uint64_t flat;               /**< small vectors so far */
	uint64_t chunks;             /**< chunks so far */
	struct native_reduce *first; /**< they are done one after the other */
	struct native_reduce **last;
	struct native_reduce *spare;
};

/** Make it ready. */
void native_reducer_init(struct native_reducer *reducer, const struct rh_comm_team *team,
                         const struct native_segment *segment);
/** Post one. @return 0, and *@p ret_reduce NULL when it is done already; RH_COMM_ENOMEM */
int32_t native_reduce_post(struct native_reducer *reducer, const struct rh_comm_op *op,
                           struct native_reduce **ret_reduce);
/** Move on. @return whether @p reduce is done; it is freed then */
bool native_reduce_test(struct native_reducer *reducer, struct native_reduce *reduce);
/** Free all. */
void native_reducer_deinit(struct native_reducer *reducer);
/** @} */

#endif
