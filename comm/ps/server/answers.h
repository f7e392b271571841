/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/ps/server/answers.h
 * @brief Answers to workers: sent at once, or queued until the wire has room.
 */
#ifndef RH_COMM_PS_SERVER_ANSWERS_H
#define RH_COMM_PS_SERVER_ANSWERS_H

#include "comm/ps/server/state.h"

/**
 * Answer a request.
 * @param entry whose current value is sent; NULL: none. @param index of a request that names rows: their indices, of
 * which request->rows were checked
 */
void rh_ps_conn_answer(struct rh_ps_server *server, struct rh_ps_conn *conn, const struct rh_ps_head *request,
                       struct rh_ps_entry *entry, const uint8_t *index);
/** Copy the indices of a request that names rows. @return owned by the caller; NULL: out of memory */
uint8_t *rh_ps_answers_copy_index(const struct rh_ps_head *request, const uint8_t *index);
/** Answer a request with an error. */
void rh_ps_conn_refuse(struct rh_ps_conn *conn, const struct rh_ps_head *request, const struct rh_comm_error *reason);
/** Add a record. @param payload NULL: head->length is 0. @return false: the wire has no room */
bool rh_ps_answers_put(struct rh_ps_conn *conn, const struct rh_ps_head *head, const void *payload);
/** Add a record of the handshake. Without room the connection is broken. */
void rh_ps_answers_put_record(struct rh_ps_conn *conn, uint32_t kind, const void *payload, size_t length);
/**
 * Send the first queued answer.
 * @param[out] ret_released the entry that no queued answer needs any more, to be settled; else NULL
 * @return false: none is queued, or the wire has no room
 */
bool rh_ps_answers_send_first(struct rh_ps_conn *conn, struct rh_ps_entry **ret_released);
/** Drop the first queued answer; there must be one. @return as ret_released */
struct rh_ps_entry *rh_ps_answers_drop_first(struct rh_ps_conn *conn);

#endif
