/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/native/segment.h
 * @brief Layout of the memory that the ranks of one host share, and how it is mapped.
 */
#ifndef RH_COMM_NATIVE_SEGMENT_H
#define RH_COMM_NATIVE_SEGMENT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "comm/native/wakeup.h"
#include "roundhouse/comm_backend.h"

/** Most and fewest bytes of a staging slot, about how many bytes all slots of one index may take, and slots per rank.
 */
#define NATIVE_SLOT_MAX (512 * 1024)
#define NATIVE_SLOT_MIN (128 * 1024)
#define NATIVE_SLOT_ROW (2 * 1024 * 1024)
#define NATIVE_SLOTS 4
/** Bytes of one flat slot; the default limit of flat vectors; and the limit below which no tuning table is asked. */
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
 * Operation ids that fit into a line beside a counter. A rank begins an operation when all others have consumed
 * everything but the last NATIVE_SLOTS + 1 before it, so an id is overwritten only after all ranks have read it.
 */
#define NATIVE_IDS 7

/** A counter with the ids of the operations that it counts; an id is stored by the first number of its operation. */
struct native_id_counter {
	_Alignas(NATIVE_LINE) _Atomic uint64_t value;
	_Atomic uint64_t ids[NATIVE_IDS];
};

/** Bytes that fit into a line beside a counter and an id. */
#define NATIVE_TINY 48

/** A vector in the line of its counter: a reader that sees the counter has the data in its cache. */
struct native_tiny {
	_Alignas(NATIVE_LINE) _Atomic uint64_t value;
	_Atomic uint64_t id;
	char data[NATIVE_TINY];
};

/** Progress of one rank in collectives, read by the other ranks of the host. Counters count chunks and never fall. */
struct native_progress {
	struct native_id_counter flat;   /**< small vectors published */
	struct native_tiny tiny[2];      /**< tiny vectors, alternating */
	struct native_id_counter staged; /**< chunks copied in */
	struct native_counter reduced;   /**< chunks whose own part is reduced */
	struct native_counter consumed;  /**< chunks copied out */
	struct native_counter cached;    /**< of local rank 0: size classes copied with cached stores, one bit each */
	struct native_wakeup wakeup;
};

/** A ring: a stream of bytes from one rank to another. Its bytes follow it. */
struct native_ring {
	struct native_counter head; /**< bytes written */
	struct native_counter tail; /**< bytes read */
};

/** The mapping of one rank. */
struct native_segment {
	void *base;    /**< NULL: this host has one rank */
	size_t length; /**< bytes of the mapping */
	size_t slot;   /**< bytes of a staging slot */
	size_t ring;   /**< bytes of a ring; 0: the segment has no rings */
	int32_t world; /**< local ranks */
	int32_t rank;  /**< local rank */
};

/**
 * Create and map the anonymous segment of this host's ranks. Blocks until all of them have mapped it, or the team's
 * deadline. @param rings whether it contains rings. @return 0 or RH_COMM_E*
 */
int32_t native_segment_open(const struct rh_comm_team *team, bool rings, struct native_segment *ret_segment);
/** Unmap it. An empty one is fine. */
void native_segment_close(struct native_segment *segment);
/** @return the progress of local rank @p rank; valid until the segment is closed, as the pointers below */
struct native_progress *native_segment_progress(const struct native_segment *segment, int32_t rank);
/** @return one of the two flat slots of a local rank, NATIVE_FLAT_MAX bytes */
char *native_segment_flat(const struct native_segment *segment, int32_t rank, uint64_t number);
/** @return a staging slot of a local rank, segment->slot bytes */
char *native_segment_slot(const struct native_segment *segment, int32_t rank, uint64_t number);
/** @return the ring from one local rank to another */
struct native_ring *native_segment_ring(const struct native_segment *segment, int32_t from, int32_t to);

#endif
