/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/ps/server/attach.h
 * @brief Switches a worker to the transport of its data: shared memory, a second TCP connection, or a backend.
 */
#ifndef RH_COMM_PS_SERVER_ATTACH_H
#define RH_COMM_PS_SERVER_ATTACH_H

#include "comm/ps/server/state.h"

/** @return the first connection whose ticket ATTACH names, and whose hello @p hello repeats; NULL: there is none */
struct rh_ps_conn *rh_ps_conn_find_first(const struct rh_ps_server *server, uint64_t ticket,
                                         const struct rh_ps_hello *hello);
/**
 * A second connection has proved to know the secret: @p conn becomes the connection of its worker. Drops the record.
 * @return the connection that it replaces, to be lost; NULL: none, and @p conn is broken
 */
struct rh_ps_conn *rh_ps_conn_attach(struct rh_ps_server *server, struct rh_ps_conn *conn);
/** Handle CONNECT: begin to open the backend, in a thread. Drops the record. */
void rh_ps_conn_open_backend(struct rh_ps_server *server, struct rh_ps_conn *conn, const struct rh_ps_head *head,
                             const uint8_t *payload);
/** @return whether a thread owns the connection */
bool rh_ps_conn_is_opening(const struct rh_ps_conn *conn);
/** Cancel the opening. Blocks until the backend returns, some seconds at most. */
void rh_ps_conn_cancel_opening(struct rh_ps_server *server, struct rh_ps_conn *conn);
/** Continue with the connections whose backend is open. */
void rh_ps_conn_adopt(struct rh_ps_server *server);

#endif
