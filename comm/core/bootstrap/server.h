/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/core/bootstrap/server.h
 * @brief The rendezvous server in rank 0: a key-value store, and detection of dead ranks.
 *
 * Every rank keeps one connection to it while the world lasts, rank 0 too. A connection that closes without LEAVE, or
 * whose host does not answer for the death timeout, is a dead rank: the world ends, and all others get the reason. A
 * rank that is stopped or slow while its host answers is only named, on standard error. The server has a thread of its
 * own.
 */
#ifndef RH_COMM_CORE_BOOTSTRAP_SERVER_H
#define RH_COMM_CORE_BOOTSTRAP_SERVER_H

#include <stdint.h>

#include "comm/core/env.h"
#include "comm/core/trace/pace.h"

/** Opaque server. */
struct rh_comm_server;

/**
 * Listen and start the thread.
 * @param env copied where it is needed; port 0: any. @return 0, RH_COMM_EIO (the port is taken, …) or
 * RH_COMM_ENOMEM
 */
int32_t rh_comm_server_new(const struct rh_comm_env *env, struct rh_comm_server **ret_server,
                           struct rh_comm_error *err);
/** @return the port on which it listens */
int32_t rh_comm_server_port(const struct rh_comm_server *server);
/** @return the address at which this process reaches it; valid as long as the server */
const char *rh_comm_server_host(const struct rh_comm_server *server);
/** Get what the ranks' waits say of their pace; rounds 0: nothing is known yet. Any thread. */
void rh_comm_server_pace(struct rh_comm_server *server, struct rh_comm_pace *ret_pace);
/** Open and close no descriptor until rh_comm_server_fork_parent(). */
void rh_comm_server_fork_prepare(struct rh_comm_server *server);
/** Undo rh_comm_server_fork_prepare(). */
void rh_comm_server_fork_parent(struct rh_comm_server *server);
/** In a child of fork(), between the two: close its copies of all descriptors. The rest stays as it is. */
void rh_comm_server_fork_child(struct rh_comm_server *server);
/** Stop the thread and close all connections. NULL is allowed. */
void rh_comm_server_free(struct rh_comm_server *server);

#endif
