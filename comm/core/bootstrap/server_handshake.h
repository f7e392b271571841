/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/core/bootstrap/server_handshake.h
 * @brief Handshake of a connection: HELLO, CHALLENGE, PROOF, then WELCOME or REFUSED.
 */
#ifndef RH_COMM_CORE_BOOTSTRAP_SERVER_HANDSHAKE_H
#define RH_COMM_CORE_BOOTSTRAP_SERVER_HANDSHAKE_H

#include "comm/core/bootstrap/server_peers.h"

/** Handle a frame of a connection that is not a rank yet. @param payload @p length bytes, not trusted */
void rh_comm_server_handshake(struct rh_comm_server *server, struct server_peer *peer, uint32_t kind,
                              const uint8_t *payload, size_t length);

#endif
