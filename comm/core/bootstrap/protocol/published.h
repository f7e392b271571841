/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/core/bootstrap/protocol/published.h
 * @brief The address of a listener as a rank publishes it for others, in the rendezvous server or in the caller's
 * key-value store. Numbers are little-endian, as in frames. Pure.
 */
#ifndef RH_COMM_CORE_BOOTSTRAP_PROTOCOL_PUBLISHED_H
#define RH_COMM_CORE_BOOTSTRAP_PROTOCOL_PUBLISHED_H

#include <stdint.h>

#include "roundhouse/comm.h"

/** Room for a host's name or IP address, with its end. */
#define RH_COMM_ADDRESS_ROOM 304

/** A published address. A process of another version may have written it. */
struct rh_comm_published_address {
	uint32_t protocol; /**< RH_COMM_PROTOCOL of the writer; its place never changes */
	int32_t port;
	char host[RH_COMM_ADDRESS_ROOM];
};

/** Fill in an address. @return 0, or RH_COMM_EINVAL: the host's name is too long */
int32_t rh_comm_published_address_make(struct rh_comm_published_address *ret_address, const char *host, int32_t port,
                                       struct rh_comm_error *err);
/**
 * Check an address that was received. A value of protocol 7 or older is text, and the error says so.
 * @param length bytes that were received
 * @param rank who published it; named in the error
 * @return 0; RH_COMM_EINVAL: written by another version of the library, the error names both; RH_COMM_EIO: malformed
 */
int32_t rh_comm_published_address_check(const struct rh_comm_published_address *address, int64_t length, int32_t rank,
                                        struct rh_comm_error *err);

#endif
