/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/core/bootstrap/server_store.h
 * @brief The key-value store of the ranks. Payloads are @p length bytes, not trusted.
 */
#ifndef RH_COMM_CORE_BOOTSTRAP_SERVER_STORE_H
#define RH_COMM_CORE_BOOTSTRAP_SERVER_STORE_H

#include "comm/core/bootstrap/server_peers.h"

/** Handle PUT; the first value of a key stays. */
void rh_comm_server_on_put(struct rh_comm_server *server, struct server_peer *peer, const uint8_t *payload,
                           size_t length);
/** Handle GET: send the value now, or when it is put. */
void rh_comm_server_on_get(struct rh_comm_server *server, struct server_peer *peer, const uint8_t *payload,
                           size_t length);
/** Free all values and pending gets. */
void rh_comm_server_store_deinit(struct rh_comm_server *server);

#endif
