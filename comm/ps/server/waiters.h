/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/ps/server/waiters.h
 * @brief Requests that wait for other workers.
 */
#ifndef RH_COMM_PS_SERVER_WAITERS_H
#define RH_COMM_PS_SERVER_WAITERS_H

#include "comm/ps/server/state.h"

/** Remove a waiter from its lists and free it. */
void rh_ps_waiter_free(struct rh_ps_waiter *waiter);
/**
 * Periodic check: end requests that are late or wait for a lost worker, warn about slow workers, and end the server
 * when all workers are lost.
 */
void rh_ps_server_tick(struct rh_ps_server *server, int64_t now);

#endif
