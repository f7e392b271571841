/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/native/native.h
 * @brief The backend that is always there: shared memory between ranks of one host, TCP between hosts.
 *
 * channel.c turns a stream of bytes to one peer into messages with tags; its streams (stream.c) are rings in shared
 * memory and sockets, which tcp.c connects. segment.c owns the memory that the ranks of a host share, bell.c wakes
 * those of them that sleep. shared.c moves the collectives of a world that is one host, sharer.c has their row, copy.c
 * what they are copied with, way.c how. native.c is the table. The backend mpi has segment.c, bell.c, shared.c,
 * sharer.c, copy.c and way.c in it, too, so these need nothing of the library.
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
/** Most and fewest bytes of a staging slot, about how many bytes a row of them may take, and how many a rank has. */
#define NATIVE_SLOT_MAX (512 * 1024)
#define NATIVE_SLOT_MIN (128 * 1024)
#define NATIVE_SLOT_ROW (2 * 1024 * 1024)
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

/**
 * Ids of operations that fit into a line beside a counter. A rank begins an operation when all others have consumed
 * everything but the last NATIVE_SLOTS + 1 before it, so nobody looks for an id that is no longer there.
 */
#define NATIVE_IDS 7

/** A counter of what belongs to operations, and which those are: by the first number of each. */
struct native_noted {
	_Alignas(NATIVE_LINE) _Atomic uint64_t value;
	_Atomic uint64_t ids[NATIVE_IDS];
};

/** Bytes that fit into a line beside a counter and an id. */
#define NATIVE_TINY 48

/** A vector that fits into the line of its counter: who sees the one has the other. */
struct native_tiny {
	_Alignas(NATIVE_LINE) _Atomic uint64_t value;
	_Atomic uint64_t id;
	char data[NATIVE_TINY];
};

/** What wakes a rank that sleeps. */
struct native_bell {
	_Alignas(NATIVE_LINE) _Atomic uint32_t rung; /**< how often; the futex */
	_Atomic uint32_t asleep;                     /**< not 0: somebody is to ring */
};

/** What a rank says to its host's other ranks about collectives. Counts chunks, never falls. */
struct native_progress {
	struct native_noted flat;       /**< small vectors published */
	struct native_tiny tiny[2];     /**< those that are smaller still, in turns */
	struct native_noted staged;     /**< chunks copied in */
	struct native_counter reduced;  /**< chunks whose own part is reduced */
	struct native_counter consumed; /**< chunks copied out */
	struct native_counter cached;   /**< of local rank 0: classes of sizes whose chunks go through the cache, as bits */
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
	size_t slot;   /**< bytes of a staging slot */
	size_t ring;   /**< bytes of a ring; 0: there are none */
	int32_t world; /**< local ranks */
	int32_t rank;  /**< local rank */
};

/** @name segment.c @{ */
/**
 * Make and map the segment of this host's ranks, which has no name.
 * @param rings whether there are rings in it. @return 0 or RH_COMM_E*
 */
int32_t native_segment_open(const struct rh_comm_team *team, bool rings, struct native_segment *ret_segment);
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

/** @name copy.c @{ */
/** Copy to memory that another processor is to read soon; before it is told, native_copy_settle(). */
void native_copy_for_others(void *to, const void *from, size_t length);
/** What native_copy_for_others() has written is seen before what is written from now on. */
void native_copy_settle(void);
/** @} */

/** A stream of bytes to and from one peer. */
struct native_stream {
	struct native_ring *out; /**< shared memory; NULL: the socket */
	struct native_ring *in;
	struct native_bell *bell; /**< the peer's, with shared memory */
	size_t ring;              /**< bytes of a ring */
	int fd;                   /**< -1: none */
	uint32_t looks;           /**< at whether the peer's host answers, those that were saved counted */
	int64_t looked;           /**< when that was */
	int64_t unanswered;       /**< since when it does not; 0: it does */
};

/** @name stream.c, tcp.c @{ */
/** Write what fits now. @return bytes; RH_COMM_EPEER with errno */
int64_t native_stream_write(struct native_stream *stream, const void *data, size_t length);
/** Read what is there now. @return as native_stream_write() */
int64_t native_stream_read(struct native_stream *stream, void *data, size_t length);
/**
 * Look now and then whether the host of a peer that is waited for acknowledges what is sent to it. The line to the hub
 * tells of hosts that are cut off from rank 0; two others may be cut off from each other alone. Cheap.
 * @return false: it has not for @p timeout microseconds
 */
bool native_stream_is_answered(struct native_stream *stream, int64_t timeout);
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
/** End it when the peer's host has acknowledged nothing for @p timeout microseconds. Cheap. */
void native_channel_look(struct native_channel *channel, int64_t timeout);
/** Free a message that is done, or will never be. */
void native_message_free(struct native_message *message);
/** @} */

/** Classes of sizes: powers of two. */
#define NATIVE_WAY_CLASSES 32

/** What is known of operations of similar size. All zero is nothing. */
struct native_way_class {
	bool cached;       /**< they go through the cache */
	uint32_t trial;    /**< operations left that try the other way */
	uint32_t count;    /**< operations since the last trial */
	uint32_t interval; /**< operations until the next one */
	uint32_t slow;     /**< operations in a row that took long */
	double best;       /**< nanoseconds a byte, of late */
	double tried;      /**< those of the trial */
};

/** Through the cache or around it, by what was measured. All zero is the beginning. */
struct native_way {
	struct native_way_class classes[NATIVE_WAY_CLASSES];
	bool latest; /**< what the last trial of any class found, for those that begin */
};

/** @name way.c: pure @{ */
/** @return the class of an operation of @p bytes */
uint32_t native_way_class(size_t bytes);
/** @return whether the next operation of @p bytes, at least 1, goes through the cache */
bool native_way_choose(struct native_way *way, size_t bytes);
/** The operation that native_way_choose() was asked about last took @p time nanoseconds. */
void native_way_learn(struct native_way *way, size_t bytes, int64_t time);
/** @} */

/** A collective in shared memory. */
struct native_shared {
	enum native_kind kind;
	struct native_shared *next;    /**< of those that wait, or that can be had */
	struct native_shared *earlier; /**< the one made before it */
	struct rh_comm_op op;
	size_t size;  /**< bytes of an element */
	size_t chunk; /**< elements of a chunk: of the vector, or of each rank's part */
	bool begun;
	bool done;
	bool cached;     /**< chunks are written through the cache */
	uint64_t id;     /**< the same on all ranks that do the same */
	int64_t since;   /**< nanoseconds of CLOCK_MONOTONIC */
	uint64_t number; /**< of a flat one; else of its first chunk */
	uint64_t chunks; /**< 0: it is flat */
	uint64_t staged; /**< chunks copied in */
	uint64_t reduced;
	uint64_t consumed;
};

/** @name sharer.c, shared.c @{ */
/** What all such collectives of a context have in common. */
struct native_sharer {
	char nothing[2]; /**< what a barrier sums */
	const struct native_segment *segment;
	const struct rh_comm_team *team;
	uint64_t flat;               /**< small vectors so far */
	uint64_t chunks;             /**< chunks so far */
	struct native_shared *first; /**< they are done one after the other */
	struct native_shared **last;
	struct native_shared *spare;
	struct native_shared *made; /**< the last one; what is done and not yet tested is in no other row */
	int32_t odd;                /**< a rank that does something else: nothing goes on; RH_COMM_NO_RANK: there is none */
	struct native_way way;      /**< of local rank 0 */
};

/** Make it ready. */
void native_sharer_init(struct native_sharer *sharer, const struct rh_comm_team *team,
                        const struct native_segment *segment);
/** @return whether all ranks are on this host, and there is something to be done */
bool native_shared_can(const struct native_sharer *sharer, const struct rh_comm_op *op);
/**
 * Post one that can be. @param id the same on all ranks that do the same
 * @return 0, and *@p ret_shared NULL when it is done already; RH_COMM_ENOMEM
 */
int32_t native_shared_post(struct native_sharer *sharer, const struct rh_comm_op *op, uint64_t id,
                           struct native_shared **ret_shared);
/** Move on. @return 0: @p shared is done and freed; RH_COMM_BUSY; RH_COMM_EINVAL: another rank does something else */
int32_t native_shared_test(struct native_sharer *sharer, struct native_shared *shared);
/** Move all on, one after the other, as far as the others allow. */
void native_sharer_run(struct native_sharer *sharer);
/** Free all. */
void native_sharer_deinit(struct native_sharer *sharer);
/** @} */

#endif
