/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/core/bootstrap/server_liveness.h
 * @brief Detects ranks that died, left, or are slow. Payloads are @p length bytes, not trusted.
 */
#ifndef RH_COMM_CORE_BOOTSTRAP_SERVER_LIVENESS_H
#define RH_COMM_CORE_BOOTSTRAP_SERVER_LIVENESS_H

#include "comm/core/bootstrap/server_peers.h"

/** Handle BEAT, a heartbeat. */
void rh_comm_server_on_beat(struct rh_comm_server *server, struct server_peer *peer, const uint8_t *payload,
                            size_t length);
/** Handle LEAVE: the rank leaves the world. */
void rh_comm_server_on_leave(struct rh_comm_server *server, struct server_peer *peer, const uint8_t *payload,
                             size_t length);
/** Handle GONE: the rank has left a group. */
void rh_comm_server_on_gone(struct rh_comm_server *server, struct server_peer *peer, const uint8_t *payload,
                            size_t length);
/** Handle the end of a connection: a rank that has not left is dead. @param number errno; 0: closed by the peer */
void rh_comm_server_lose(struct rh_comm_server *server, struct server_peer *peer, int number);
/** Periodic check: warn about slow ranks, and end the world when a rank waits for one that has left. */
void rh_comm_server_check_liveness(struct rh_comm_server *server, int64_t now);

#endif
