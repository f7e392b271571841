/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/native/native.h
 * @brief The backend that is always there: shared memory between ranks of one host, TCP between hosts.
 *
 * channel.c turns a stream of bytes to one peer into messages with tags; its streams (stream.c) are rings in shared
 * memory and sockets, which tcp.c connects. segment.c owns the memory that the ranks of a host share, bell.c wakes
 * those of them that sleep. shared.c has the collectives of a world that is one host. native.c is the table.
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
/** Bytes of one flat slot; vectors up to this go flat, and up to this without asking whether that is wanted. */
#define NATIVE_FLAT_MAX (16 * 1024)
#define NATIVE_FLAT (8 * 1024)
#define NATIVE_FLAT_ALWAYS 256
/** Most and fewest bytes of a ring, powers of two, and about how many bytes all rings of a host may take. */
#define NATIVE_RING_MAX (256 * 1024)
#define NATIVE_RING_MIN 4096
#define NATIVE_RINGS (8 * 1024 * 1024)

/** A counter that one rank writes and the others read. */
struct native_counter {
	_Alignas(NATIVE_LINE) _Atomic uint64_t value;
};

/** What wakes a rank that sleeps. */
struct native_bell {
	_Alignas(NATIVE_LINE) _Atomic uint32_t rung; /**< how often; the futex */
	_Atomic uint32_t asleep;                     /**< not 0: somebody is to ring */
};

/** What a rank says to its host's other ranks about collectives. Counts chunks, never falls. */
struct native_progress {
	struct native_counter flat;     /**< small vectors published */
	struct native_counter staged;   /**< chunks copied in */
	struct native_counter reduced;  /**< chunks whose own part is reduced */
	struct native_counter consumed; /**< chunks copied out */
	struct native_bell bell;
};

/** A ring: a stream of bytes from one rank to another. Its bytes follow it. */
struct native_ring {
	struct native_counter head; /**< bytes written */
	struct native_counter tail; /**< bytes read */
};

/** The memory that the ranks of one host share. */
struct native_segment {
	void *base;
	size_t length;
	size_t ring;   /**< bytes of a ring */
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

/** @name bell.c @{ */
/** There is news for the rank whose bell it is: wake it if it sleeps. */
void native_bell_ring(struct native_bell *bell);
/** There is news for all others. */
void native_bell_ring_all(const struct native_segment *segment);
/** From now on the own bell is rung. @return a ticket for native_bell_sleep() */
uint32_t native_bell_arm(struct native_bell *bell);
/** Sleep until the bell has been rung since the ticket, at most @p time microseconds. */
void native_bell_sleep(struct native_bell *bell, uint32_t rung, int64_t time);
/** @} */

/** A stream of bytes to and from one peer. */
struct native_stream {
	struct native_ring *out; /**< shared memory; NULL: the socket */
	struct native_ring *in;
	struct native_bell *bell; /**< the peer's, with shared memory */
	size_t ring;              /**< bytes of a ring */
	int fd;                   /**< -1: none */
};

/** @name stream.c, tcp.c @{ */
/** Write what fits now. @return bytes; RH_COMM_EPEER with errno */
int64_t native_stream_write(struct native_stream *stream, const void *data, size_t length);
/** Read what is there now. @return as native_stream_write() */
int64_t native_stream_read(struct native_stream *stream, void *data, size_t length);
/** Connect to every rank of another host. @param streams by rank. @return 0 or RH_COMM_E* */
int32_t native_tcp_open(const struct rh_comm_team *team, struct native_stream *streams);
/** @} */

/** What a piece of work is; its first member. */
enum native_kind { NATIVE_MESSAGE, NATIVE_SHARED };

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
/** @return whether anything is to be sent or received */
bool native_channel_is_busy(const struct native_channel *channel);
/** Move bytes, as many as go now. */
void native_channel_progress(struct native_channel *channel);
/** Free a message that is done, or will never be. */
void native_message_free(struct native_message *message);
/** @} */

/** A collective in shared memory. */
struct native_shared {
	enum native_kind kind;
	struct native_shared *next;
	struct rh_comm_op op;
	size_t size;  /**< bytes of an element */
	size_t chunk; /**< elements of a chunk: of the vector, or of each rank's part */
	bool begun;
	bool done;
	uint64_t number; /**< of a flat one; else of its first chunk */
	uint64_t chunks; /**< 0: it is flat */
	uint64_t staged; /**< chunks copied in */
	uint64_t reduced;
	uint64_t consumed;
};

/** @name shared.c @{ */
/** What all such collectives of a context have in common. */
struct native_sharer {
	const struct native_segment *segment;
	const struct rh_comm_team *team;
	uint64_t flat;               /**< small vectors so far */
	uint64_t chunks;             /**< chunks so far */
	struct native_shared *first; /**< they are done one after the other */
	struct native_shared **last;
	struct native_shared *spare;
};

/** Make it ready. */
void native_sharer_init(struct native_sharer *sharer, const struct rh_comm_team *team,
                        const struct native_segment *segment);
/** Post one. @return 0, and *@p ret_shared NULL when it is done already; RH_COMM_ENOMEM */
int32_t native_shared_post(struct native_sharer *sharer, const struct rh_comm_op *op,
                           struct native_shared **ret_shared);
/** Move on. @return whether @p shared is done; it is freed then */
bool native_shared_test(struct native_sharer *sharer, struct native_shared *shared);
/** Free all. */
void native_sharer_deinit(struct native_sharer *sharer);
/** @} */

#endif
