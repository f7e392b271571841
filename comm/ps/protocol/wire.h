/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/ps/protocol/wire.h
 * @brief Records between a worker and a server: over a stream of bytes, or through memory that both map.
 *
 * A record is a head and a payload, both aligned to RH_PS_ALIGN, so that values are summed where they arrived. The
 * other side sees added records after the next flush. One thread uses a wire at a time.
 */
#ifndef RH_COMM_PS_PROTOCOL_WIRE_H
#define RH_COMM_PS_PROTOCOL_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "comm/ps/protocol/record.h"
#include "comm/ps/protocol/stream.h"

/** Opaque wire. */
struct rh_ps_wire;

/** Create a wire over the connected socket @p fd and take ownership of it. @return NULL: out of memory */
struct rh_ps_wire *rh_ps_wire_new(int fd);
/** Close and free it. NULL is allowed. */
void rh_ps_wire_free(struct rh_ps_wire *wire);
/** @return the descriptor to wait for */
int rh_ps_wire_fd(const struct rh_ps_wire *wire);
/** @return whether records go through shared memory */
bool rh_ps_wire_is_shared(const struct rh_ps_wire *wire);
/** @return whether records go over messages of a backend */
bool rh_ps_wire_is_foreign(const struct rh_ps_wire *wire);
/**
 * Go on over another stream, which is the wire's from now on, and as whose descriptor the socket stays. What was read
 * of the socket and makes no record is the stream's: @p adopt gets it, at most RH_PS_ALIGN bytes.
 * @return 0, or RH_COMM_EINVAL: there is more than that
 */
int32_t rh_ps_wire_over(struct rh_ps_wire *wire, const struct rh_ps_stream *stream, void *self,
                        void (*adopt)(void *self, const void *data, size_t length));
/**
 * Watch a second connection to the other end, which is the wire's from now on: it carries nothing and
 * reveals the death of the other end.
 */
void rh_ps_wire_watch(struct rh_ps_wire *wire, int fd);
/** @return the second descriptor to wait for; -1: there is none */
int rh_ps_wire_watched(const struct rh_ps_wire *wire);
/** Take out the second connection, which the wire does not need any more. @return its descriptor, owned by the caller
 */
int rh_ps_wire_release(struct rh_ps_wire *wire);
/** Create memory for two rings. @return 0 or RH_COMM_EIO, with errno; *@p ret_memory is the caller's */
int32_t rh_ps_wire_memory(int *ret_memory);
/**
 * Go on through @p memory, which stays the caller's; the socket then only wakes. Both rings are empty before.
 * @param server which of the two ends this is. @return 0 or RH_COMM_EIO
 */
int32_t rh_ps_wire_share(struct rh_ps_wire *wire, int memory, bool server);
/** Read what has arrived, after the descriptor became readable. @return 0 or RH_COMM_EPEER: the other end is gone */
int32_t rh_ps_wire_fill(struct rh_ps_wire *wire);
/**
 * Look at the first record.
 * @param[out] ret_head copied. @param[out] ret_payload valid until it is dropped
 * @return 1: there is one; 0: none now; RH_COMM_EINVAL: malformed
 */
int32_t rh_ps_wire_next(struct rh_ps_wire *wire, struct rh_ps_head *ret_head, const uint8_t **ret_payload);
/** Remove the first record, which is complete. */
void rh_ps_wire_drop(struct rh_ps_wire *wire);
/**
 * Add a record. @return where head->length bytes are to be put before the next flush (not NULL when that is 0); NULL:
 * there is no room now
 */
uint8_t *rh_ps_wire_add(struct rh_ps_wire *wire, const struct rh_ps_head *head);
/** @return whether a record of @p length bytes can be added now */
bool rh_ps_wire_fits(struct rh_ps_wire *wire, size_t length);
/** @return how much was added so far: a position, in bytes, which starts anew when the wire changes to memory */
uint64_t rh_ps_wire_added(const struct rh_ps_wire *wire);
/** Publish nothing of what was added after position @p until; UINT64_MAX, as at first: publish all. */
void rh_ps_wire_hold(struct rh_ps_wire *wire, uint64_t until);
/** Publish what was added and dropped. @return 0, also when not all was sent; or RH_COMM_EPEER */
int32_t rh_ps_wire_flush(struct rh_ps_wire *wire);
/** @return whether something waits for the socket to become writable */
bool rh_ps_wire_unsent(const struct rh_ps_wire *wire);
/** @return whether transfers are in flight that the descriptor does not signal: check again soon */
bool rh_ps_wire_moving(const struct rh_ps_wire *wire);
/** Announce that this side is about to sleep on the descriptor. @return false: there is something to do first */
bool rh_ps_wire_sleep(struct rh_ps_wire *wire);
/** Send a descriptor and one byte over a local socket. @return 0 or RH_COMM_EIO */
int32_t rh_ps_wire_send_fd(int socket, int fd);
/** Receive one. Blocks at most @p timeout microseconds. @return the descriptor or RH_COMM_EIO */
int rh_ps_wire_receive_fd(int socket, int64_t timeout);

#endif
