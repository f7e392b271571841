/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/core/bootstrap/protocol/socket.h
 * @brief TCP sockets as the bootstrap and the native backend use them.
 */
#ifndef RH_COMM_CORE_BOOTSTRAP_PROTOCOL_SOCKET_H
#define RH_COMM_CORE_BOOTSTRAP_PROTOCOL_SOCKET_H

#include <stdbool.h>
#include <stdint.h>

#include "roundhouse/comm.h"

/** A listening socket. */
struct rh_comm_listener {
	int fd; /**< owned by the caller */
	int32_t port;
	char host[64]; /**< the address at which this process reaches it, as text */
};

/**
 * Listen, on the address of @p host when that is one of this machine's, else on all.
 * @param host NULL: on all. @param port 0: any
 * @return 0, RH_COMM_EIO or RH_COMM_ENOMEM
 */
int32_t rh_comm_socket_listen(const char *host, int32_t port, struct rh_comm_listener *ret_listener,
                              struct rh_comm_error *err);
/**
 * Connect to a name or address, once. @param deadline rh_comm_now() by which it must be done; it blocks until then at
 * most, but for the look-up of a name. @return 0; RH_COMM_EIO: with a message, may be retried; RH_COMM_ENOMEM
 */
int32_t rh_comm_socket_connect(const char *host, int32_t port, int64_t deadline, int *ret_fd,
                               struct rh_comm_error *err);
/** Parameters of rh_comm_socket_call(). */
struct rh_comm_calling {
	const char *host;
	int32_t port;
	int64_t deadline;            /**< rh_comm_now() by which it must be done */
	int32_t (*check)(void *arg); /**< called twice a second; a negative result ends the attempt. May be NULL */
	void *arg;
};

/** rh_comm_socket_connect() that asks a callback now and then whether to continue. */
int32_t rh_comm_socket_call(const struct rh_comm_calling *calling, int *ret_fd, struct rh_comm_error *err);
/**
 * Make the kernel notice within @p timeout microseconds that the peer's host is gone, whether something is to be sent
 * or not; and send small frames at once.
 */
void rh_comm_socket_watch_peer(int fd, int64_t timeout);
/**
 * Make a connection ready for bulk data. The kernel never times it out: the connection to a stopped
 * peer stays full for as long as that takes, and the connection to the rendezvous server detects dead hosts.
 */
void rh_comm_socket_prepare_bulk(int fd);
/** Make the kernel notice within @p timeout microseconds, seconds at least, that an idle peer's host is gone. */
void rh_comm_socket_watch_idle(int fd, int64_t timeout);
/**
 * @return whether something was sent that the peer's host has not acknowledged, though it was sent again. A host whose
 * process is stopped acknowledges; one that is cut off does not
 * @param[out] ret_silence microseconds since its last acknowledgement
 */
bool rh_comm_socket_is_unanswered(int fd, int64_t *ret_silence);

#endif
