/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/core/socket.h
 * @brief TCP sockets as the bootstrap and the native backend use them.
 */
#ifndef RH_COMM_CORE_SOCKET_H
#define RH_COMM_CORE_SOCKET_H

#include <stddef.h>
#include <stdint.h>

#include "roundhouse/comm.h"

/**
 * Listen, on the address of @p host when that is one of this machine's, else on all.
 * @param host NULL: on all. @param port 0: any. @param ret_host where we ourselves reach it: an address as text
 * @return 0, RH_COMM_EIO or RH_COMM_ENOMEM
 */
int32_t rh_comm_socket_listen(const char *host, int32_t port, int *ret_fd, int32_t *ret_port, char *ret_host,
                              size_t host_room, struct rh_comm_error *err);
/**
 * Connect to a name or address, once. @param deadline rh_comm_now() by which it must be done; it blocks until then at
 * most, but for the look-up of a name. @return 0; RH_COMM_EIO: with the words, may be tried again; RH_COMM_ENOMEM
 */
int32_t rh_comm_socket_connect(const char *host, int32_t port, int64_t deadline, int *ret_fd,
                               struct rh_comm_error *err);
/**
 * Make the kernel notice within @p timeout microseconds that the peer's host is gone, whether something is to be sent
 * or not; and send small frames at once.
 */
void rh_comm_socket_watch_peer(int fd, int64_t timeout);
/**
 * Make a connection ready for bulk data. The kernel gives it up for no reason but the peer's word: one whose peer is
 * stopped stays full for as long as that takes, and who notices that a host is gone is the line to the hub.
 */
void rh_comm_socket_prepare_bulk(int fd);

#endif
