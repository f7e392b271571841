/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/ps/protocol/ring.h
 * @brief Two rings of records in memory that a worker and a server map: one for each direction.
 *
 * The other side is trusted only with its own records: whatever it writes, nothing outside of the rings is
 * read or written.
 */
#ifndef RH_COMM_PS_PROTOCOL_RING_H
#define RH_COMM_PS_PROTOCOL_RING_H

#include <stdbool.h>
#include <stdint.h>

#include "comm/ps/protocol/record.h"

/** Opaque pair of rings. */
struct rh_ps_ring;

/** Create the memory, which cannot shrink. @return 0 or RH_COMM_EIO with errno; *@p ret_memory is the caller's */
int32_t rh_ps_ring_memory(int *ret_memory);
/** Map it. @param server which of the two ends this is. @return NULL: it cannot be mapped, or is not such memory */
struct rh_ps_ring *rh_ps_ring_new(int memory, bool server);
/** Unmap. NULL is allowed. */
void rh_ps_ring_free(struct rh_ps_ring *ring);
/** As rh_ps_wire_next(). @return 1, 0 or RH_COMM_EINVAL */
int32_t rh_ps_ring_next(struct rh_ps_ring *ring, struct rh_ps_head *ret_head, const uint8_t **ret_payload);
/** Remove the record that rh_ps_ring_next() returned last. */
void rh_ps_ring_drop(struct rh_ps_ring *ring);
/** As rh_ps_wire_add(). @return where the payload goes; NULL: no room */
uint8_t *rh_ps_ring_add(struct rh_ps_ring *ring, const struct rh_ps_head *head);
/** @return whether a record of @p length bytes fits now */
bool rh_ps_ring_fits(struct rh_ps_ring *ring, size_t length);
/** @return where the next record goes: bytes, which only grow */
uint64_t rh_ps_ring_added(const struct rh_ps_ring *ring);
/** Publish nothing that is added at or after @p until. */
void rh_ps_ring_hold(struct rh_ps_ring *ring, uint64_t until);
/** Publish what was added and dropped. @return whether the other side sleeps and has to be woken */
bool rh_ps_ring_flush(struct rh_ps_ring *ring);
/** Announce that this side is about to sleep. @return false: a record has arrived, or room has become free */
bool rh_ps_ring_sleep(struct rh_ps_ring *ring);

#endif
