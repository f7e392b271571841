/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/core/bootstrap/client.h
 * @brief A rank's connection to the rendezvous server: values, heartbeats, and the end of the world.
 *
 * The service thread of a context calls rh_comm_client_serve(); everything else may come from any thread.
 */
#ifndef RH_COMM_CORE_BOOTSTRAP_CLIENT_H
#define RH_COMM_CORE_BOOTSTRAP_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "comm/core/bootstrap/protocol/frame.h"
#include "comm/core/env.h"
#include "comm/core/trace/pace.h"

/** Opaque connection. */
struct rh_comm_client;

/**
 * Connect; both ends prove that they know the secret. Retried until @p deadline while the connection is refused or the
 * name does not resolve: pods start at different times.
 * @return 0, RH_COMM_EINVAL (refused, with the server's reason), RH_COMM_ETIME, RH_COMM_EIO or RH_COMM_ENOMEM
 */
int32_t rh_comm_client_new(const struct rh_comm_env *env, int64_t deadline, struct rh_comm_client **ret_client,
                           struct rh_comm_error *err);
/** Take the lock before fork(), until rh_comm_client_fork_parent(). */
void rh_comm_client_fork_prepare(struct rh_comm_client *client);
/** Release the lock after fork(). */
void rh_comm_client_fork_parent(struct rh_comm_client *client);
/** In the child, before rh_comm_client_fork_parent(): close its copy of the connection. The world is over for it. */
void rh_comm_client_fork_child(struct rh_comm_client *client);
/** Close and free it. NULL is ignored. */
void rh_comm_client_free(struct rh_comm_client *client);
/** Get the address at which other hosts reach this one: that of this end of the connection. @return 0 or RH_COMM_EIO */
int32_t rh_comm_client_address(const struct rh_comm_client *client, char *text, size_t room);
/** Publish @p value under @p key. @return 0, RH_COMM_EINVAL (too long), RH_COMM_ENOMEM or what ended the world */
int32_t rh_comm_client_put(struct rh_comm_client *client, const char *key, const void *value, size_t length);
/**
 * Wait until some rank has put @p key.
 * @return its length; RH_COMM_EINVAL when it does not fit @p room; RH_COMM_ETIME; or what ended the world
 */
int64_t rh_comm_client_get(struct rh_comm_client *client, const char *key, void *value, size_t room, int64_t deadline,
                           struct rh_comm_error *err);
/** Send a heartbeat. */
void rh_comm_client_beat(struct rh_comm_client *client, const struct rh_comm_beat *beat);
/** Report for how long this rank has waited. @param count at most RH_COMM_PACE_MARKS; 0: nothing is sent */
void rh_comm_client_pace(struct rh_comm_client *client, const struct rh_comm_pace_mark *marks, size_t count);
/** An inquiry before the end of the world. */
struct rh_comm_case {
	struct rh_comm_query query;
	const int32_t *ranks; /**< the ranks to query; NULL: all */
	int32_t count;        /**< of ranks */
};

/**
 * Request the server to end the world for all ranks; the first request gives the reason. Returns at once.
 * @param about the server queries the ranks first, and names those that are behind or have diverged; NULL: end at once
 */
void rh_comm_client_end(struct rh_comm_client *client, const struct rh_comm_error *reason,
                        const struct rh_comm_case *about);
/** Request the server to report on standard error whom an operation waits for; nothing ends. @param text about it */
void rh_comm_client_report_stall(struct rh_comm_client *client, const char *text, const struct rh_comm_case *about);
/**
 * Wait for the server's verdict after rh_comm_client_end() at @p since, at most until @p deadline.
 * @param silence microseconds after which a server that has sent nothing is given up, if it was silent for long before
 * @return whether the world is over
 */
bool rh_comm_client_await_verdict(struct rh_comm_client *client, int64_t since, int64_t silence, int64_t deadline);
/** End the world in this process, for this reason, unless it has ended already. */
void rh_comm_client_close(struct rh_comm_client *client, const struct rh_comm_error *reason);
/**
 * Wait for the server's reason for the end of the world, until @p deadline at most; after that it ends for the reason
 * given here, or, where a peer is lost and the server was silent all the time, for rank 0's silence. The server knows
 * the first failure; a closed connection to a peer may be only a consequence of it.
 */
void rh_comm_client_await_end(struct rh_comm_client *client, int64_t deadline, const struct rh_comm_error *reason);
/** Announce that this rank has left a group. */
void rh_comm_client_gone(struct rh_comm_client *client, const struct rh_comm_gone *gone);
/** @return whether the server has queried this rank's progress; true once for each query */
bool rh_comm_client_has_query(struct rh_comm_client *client, struct rh_comm_query *ret_query);
/** Answer a query. */
void rh_comm_client_answer(struct rh_comm_client *client, const struct rh_comm_answer *answer);
/** @return heartbeats since the server's latest frame: more than two or three mean that it is stopped or throttled */
int32_t rh_comm_client_unanswered(struct rh_comm_client *client);
/** Announce that this rank leaves, with its last heartbeat; then wait until all have left, the world ends, or @p
 * deadline. */
void rh_comm_client_leave(struct rh_comm_client *client, const struct rh_comm_beat *last, int64_t deadline);
/** @return 0, or the code of what ended the world, with @p err filled. Cheap: one load while the world runs */
int32_t rh_comm_client_check(const struct rh_comm_client *client, struct rh_comm_error *err);
/**
 * Receive, send, and complete gets. Blocks at most @p timeout microseconds, or until rh_comm_client_wake().
 * @return whether the connection works
 */
bool rh_comm_client_serve(struct rh_comm_client *client, int64_t timeout);
/** Make rh_comm_client_serve() return soon. */
void rh_comm_client_wake(struct rh_comm_client *client);

#endif
