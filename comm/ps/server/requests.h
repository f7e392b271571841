/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/ps/server/requests.h
 * @brief Executes requests of workers.
 */
#ifndef RH_COMM_PS_SERVER_REQUESTS_H
#define RH_COMM_PS_SERVER_REQUESTS_H

#include "comm/ps/server/state.h"

/** Append a record that changes the store to the journal, send it to the backup, and apply it. @return 0, or
 * RH_COMM_E*: the server ends */
int32_t rh_ps_server_take(struct rh_ps_server *server, const struct rh_ps_head *head, const uint8_t *payload,
                          struct rh_ps_entry **ret_entry);
/** Execute a request. One of a kind that is not known is refused by name. */
void rh_ps_server_request(struct rh_ps_server *server, struct rh_ps_conn *conn, struct rh_ps_head *head,
                          const uint8_t *payload);
/** Apply complete rounds of an entry, and answer the requests that waited for them. */
void rh_ps_server_settle(struct rh_ps_server *server, struct rh_ps_entry *entry);
/** Drop all requests of a connection that wait. */
void rh_ps_server_forget(struct rh_ps_server *server, const struct rh_ps_conn *conn);

#endif
