/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/core/bootstrap/server_pace.h
 * @brief Finds the rank that comes last to collectives again and again, and says so on standard error. Nothing ends.
 */
#ifndef RH_COMM_CORE_BOOTSTRAP_SERVER_PACE_H
#define RH_COMM_CORE_BOOTSTRAP_SERVER_PACE_H

#include "comm/core/bootstrap/server_peers.h"

/** Handle PACE: for how long a rank has waited. The payload is @p length bytes, not trusted. */
void rh_comm_server_on_pace(struct rh_comm_server *server, struct server_peer *peer, const uint8_t *payload,
                            size_t length);
/** Periodic: compare the ranks, if any of them has reported; once a second at most. @param now microseconds */
void rh_comm_server_judge_pace(struct rh_comm_server *server, int64_t now);

#endif
