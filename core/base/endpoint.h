/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file base/endpoint.h
 * @brief Addresses to listen at, as V1's flags write them.
 */
#ifndef RH_BASE_ENDPOINT_H
#define RH_BASE_ENDPOINT_H

#include <stdbool.h>
#include <stdint.h>

#include <sys/socket.h>

#include "base/error.h"

/**
 * Read an address: ":8080" (every interface, both IP versions where the system has both), "127.0.0.1:8080",
 * "[::1]:8080", "localhost:8080"; port 0 lets the system choose. No name is looked up.
 * @return 0, or RH_EINVAL with a message that shows the right form
 */
int rh_endpoint_parse(const char *address, struct sockaddr_storage *ret_address, socklen_t *ret_length,
                      struct rh_error *err);
/** Make the address of @p port on every IPv4 interface. @return true */
bool rh_endpoint_any_v4(uint16_t port, struct sockaddr_storage *ret_address, socklen_t *ret_length);

#endif
