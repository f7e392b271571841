/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file local/preflight/listeners.h
 * @brief Which process listens on a TCP port of this machine, from the kernel and /proc.
 *
 * The kernel is asked for the sockets that listen (sock_diag(7)): to print /proc/net/tcp it walks the table of all
 * connections, which has a place for each that the memory has room for, and takes milliseconds also when it is empty.
 */
#ifndef RH_LOCAL_PREFLIGHT_LISTENERS_H
#define RH_LOCAL_PREFLIGHT_LISTENERS_H

#include <stdbool.h>
#include <stdint.h>

#include "local/preflight/preflight.h"

/**
 * Ask the kernel for a socket that listens on @p port.
 * @param everywhere false: only one that listens on all addresses counts
 * @param[out] ret_inode the socket; 0: there is none
 * @return false: this kernel or sandbox does not answer such questions
 */
bool rh_listeners_ask(int32_t port, bool everywhere, unsigned long *ret_inode);
/** rh_listeners_ask() from the tables in /proc/net. Blocks for them. @return the socket's inode; 0: there is none */
unsigned long rh_listeners_read(int32_t port, bool everywhere);
/** @see rh_preflight_port_fn; @p arg is not used. Blocks for the kernel and, if there is one, for files in /proc. */
bool rh_preflight_listener(void *arg, int32_t port, bool everywhere, char who[RH_PREFLIGHT_WHO_SIZE]);

#endif
