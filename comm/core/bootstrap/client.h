/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file comm/core/bootstrap/client.h
 * @brief A rank's connection to the hub: values, heartbeats, and the news that the world is over.
 *
 * The service thread of a context calls rh_comm_client_serve(); everything else may come from any thread.
 */
#ifndef RH_COMM_CORE_BOOTSTRAP_CLIENT_H
#define RH_COMM_CORE_BOOTSTRAP_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "comm/core/bootstrap/frame.h"
#include "comm/core/env.h"

/** Opaque line. */
struct rh_comm_client;

/**
 * Connect, and prove each to the other to know the secret. Tried again until @p deadline while nobody listens or the
 * name is not known yet: pods start at different times.
 * @return 0, RH_COMM_EINVAL (refused, with the hub's reason), RH_COMM_ETIME, RH_COMM_EIO or RH_COMM_ENOMEM
 */
int32_t rh_comm_client_new(const struct rh_comm_env *env, int64_t deadline, struct rh_comm_client **ret_client,
                           struct rh_comm_error *err);
/** Let nothing change until rh_comm_client_fork_parent(). */
void rh_comm_client_fork_prepare(struct rh_comm_client *client);
/** It may go on. */
void rh_comm_client_fork_parent(struct rh_comm_client *client);
/** In a child of fork(), between the two: close its copy of the connection. The world is over for it. */
void rh_comm_client_fork_child(struct rh_comm_client *client);
/** Close it. NULL is nothing. */
void rh_comm_client_free(struct rh_comm_client *client);
/** Print the address at which other hosts reach this one: that of our end of the line. @return 0 or RH_COMM_EIO */
int32_t rh_comm_client_address(const struct rh_comm_client *client, char *text, size_t room);
/** Publish @p value under @p key. @return 0, RH_COMM_EINVAL (too long), RH_COMM_ENOMEM or what ended the world */
int32_t rh_comm_client_put(struct rh_comm_client *client, const char *key, const void *value, size_t length);
/**
 * Wait until some rank has put @p key.
 * @return its length; RH_COMM_EINVAL when it does not fit @p room; RH_COMM_ETIME; or what ended the world
 */
int64_t rh_comm_client_get(struct rh_comm_client *client, const char *key, void *value, size_t room, int64_t deadline,
                           struct rh_comm_error *err);
/** Say how we do. */
void rh_comm_client_beat(struct rh_comm_client *client, const struct rh_comm_beat *beat);
/** What is to be found out before the world ends. */
struct rh_comm_case {
	struct rh_comm_query query;
	const int32_t *ranks; /**< who takes part; NULL: all */
	int32_t count;        /**< of those */
};

/**
 * Ask the hub to end the world for all ranks; the first who asks gives the reason. Returns at once.
 * @param about the hub asks all ranks how far they are, and names who is behind or at odds; NULL: the reason will do
 */
void rh_comm_client_end(struct rh_comm_client *client, const struct rh_comm_error *reason,
                        const struct rh_comm_case *about);
/**
 * Wait for the hub's verdict after rh_comm_client_end() at @p since, at most until @p deadline.
 * @param silence microseconds after which a hub that has said nothing at all is waited for no more
 * @return whether the world is over
 */
bool rh_comm_client_await_verdict(struct rh_comm_client *client, int64_t since, int64_t silence, int64_t deadline);
/** The world is over here, for this reason, unless it is already. */
void rh_comm_client_close(struct rh_comm_client *client, const struct rh_comm_error *reason);
/**
 * Wait until the hub has said why the world is over, at most until @p deadline; then it is over for the reason given
 * here. The hub's reason is the true one: who sees a peer's connection close may see only what another death led to.
 */
void rh_comm_client_await_end(struct rh_comm_client *client, int64_t deadline, const struct rh_comm_error *reason);
/** Say that we have left a group. */
void rh_comm_client_gone(struct rh_comm_client *client, const struct rh_comm_gone *gone);
/** @return whether the hub asks how far we are; once for each time that it does */
bool rh_comm_client_has_query(struct rh_comm_client *client, struct rh_comm_query *ret_query);
/** Answer that. */
void rh_comm_client_answer(struct rh_comm_client *client, const struct rh_comm_answer *answer);
/** @return heartbeats since the hub said anything: more than two or three mean that it is stopped, or starved */
int32_t rh_comm_client_unanswered(struct rh_comm_client *client);
/** Say that we go, and how we did; then wait until all others have said so too, the world is over, or @p deadline. */
void rh_comm_client_leave(struct rh_comm_client *client, const struct rh_comm_beat *last, int64_t deadline);
/** @return 0, or the code of what ended the world, with @p err filled. Quick: one load when all is well */
int32_t rh_comm_client_check(const struct rh_comm_client *client, struct rh_comm_error *err);
/**
 * Read, send, and deliver. Blocks at most @p timeout microseconds, or until rh_comm_client_wake().
 * @return whether the line still works
 */
bool rh_comm_client_serve(struct rh_comm_client *client, int64_t timeout);
/** Make rh_comm_client_serve() return soon. */
void rh_comm_client_wake(struct rh_comm_client *client);

#endif
