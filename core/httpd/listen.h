/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file httpd/listen.h
 * @brief Listening sockets for addresses in the form of V1's flags.
 */
#ifndef RH_HTTPD_LISTEN_H
#define RH_HTTPD_LISTEN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/**
 * @return whether @p address disables the server: "" or "0", as in V1, or port 0 of any host, which would be an unknown
 * port
 */
bool rh_listen_is_off(const char *address);
/**
 * Open a socket that listens at @p address (see rh_endpoint_parse()), close-on-exec and non-blocking. @param[out]
 * ret_fd owned by the caller
 * @return 0, RH_EINVAL (the address) or RH_EIO
 */
int rh_listen_open(const char *address, int *ret_fd, struct rh_error *err);
/** @return the port that @p fd is bound to, or 0 */
uint16_t rh_listen_port(int fd);

#endif
