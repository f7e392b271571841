/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/ps/server/connections.h
 * @brief Connections of the server: accepted, read, flushed, closed. Nothing blocks.
 */
#ifndef RH_COMM_PS_SERVER_CONNECTIONS_H
#define RH_COMM_PS_SERVER_CONNECTIONS_H

#include "comm/ps/server/state.h"

/** Accept a connection, if one is pending. @param local on the local socket */
void rh_ps_conn_accept(struct rh_ps_server *server, bool local);
/** Read and handle some of the records that have arrived. @return whether there are more */
bool rh_ps_conn_serve(struct rh_ps_server *server, struct rh_ps_conn *conn);
/** Send what was answered, and update the events that are polled. */
void rh_ps_conn_flush(struct rh_ps_server *server, struct rh_ps_conn *conn);
/** End the connection's role: its requests no longer wait, and its worker is lost. Freed later by rh_ps_conn_free(). */
void rh_ps_conn_lose(struct rh_ps_server *server, struct rh_ps_conn *conn);
/** Close and free it. Blocks while its backend is being opened, some seconds at most. */
void rh_ps_conn_free(struct rh_ps_server *server, struct rh_ps_conn *conn);

#endif
