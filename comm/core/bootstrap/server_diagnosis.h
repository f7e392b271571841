/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/core/bootstrap/server_diagnosis.h
 * @brief Finds the ranks at fault: those that are behind, stopped, or have posted another collective than the others.
 * Payloads are @p length bytes, not trusted.
 */
#ifndef RH_COMM_CORE_BOOTSTRAP_SERVER_DIAGNOSIS_H
#define RH_COMM_CORE_BOOTSTRAP_SERVER_DIAGNOSIS_H

#include "comm/core/bootstrap/server_peers.h"

/** Handle END: a rank requests the end of the world, at once or after an inquiry. */
void rh_comm_server_on_end(struct rh_comm_server *server, const struct server_peer *peer, const uint8_t *payload,
                           size_t length);
/** Handle STALLED: a rank has waited for long. Who is waited for is printed on standard error, once for all ranks. */
void rh_comm_server_on_stalled(struct rh_comm_server *server, struct server_peer *peer, const uint8_t *payload,
                               size_t length);
/** Handle ANSWER: a rank's progress and labels. */
void rh_comm_server_on_answer(struct rh_comm_server *server, struct server_peer *peer, const uint8_t *payload,
                              size_t length);
/** Open an inquiry if the rank, by its latest heartbeat, has waited for long. */
void rh_comm_server_watch(struct rh_comm_server *server, const struct server_peer *peer, int64_t now);
/** Close the inquiry, if one is open, when all ranks have answered or its time is over. */
void rh_comm_server_diagnose(struct rh_comm_server *server, int64_t now);
/** Free the inquiry. */
void rh_comm_server_diagnosis_deinit(struct rh_comm_server *server);

#endif
