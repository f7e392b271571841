/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file controller/http/connections.h
 * @brief The connections of one server: how many there may be, how long each may take, and which goes first.
 *
 * Who connects and sends nothing must not keep others away. So a connection has a deadline for each whole request, and
 * where all places are taken, one is closed for the next: of the address that has most of them, the one that has gone
 * longest without a whole request. It knows no socket calls. One thread.
 */
#ifndef RH_CONTROLLER_HTTP_CONNECTIONS_H
#define RH_CONTROLLER_HTTP_CONNECTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sys/socket.h>

#include "base/error.h"
#include "base/mem.h"

/** Opaque table. */
struct rh_connections;

/** One connection. Owned by its table. */
struct rh_connection {
	struct rh_connection *previous; /**< the table's: the one that changed before */
	struct rh_connection *next;     /**< the table's */
	void *owner;                    /**< the caller's; NULL at first */
	void *tls;                      /**< the caller's; NULL at first */
	size_t peers;                   /**< the table's: connections of the same address, with this one */
	int64_t due;                    /**< monotonic microseconds when it is to be closed */
	int fd;                         /**< borrowed */
	uint8_t address[16];            /**< of the other end; IPv4 as ::ffff:a.b.c.d */
	bool closing;                   /**< the table's: see rh_connections_drop() */
};

/** @param limit connections at a time, at least 1. @return 0 or RH_ENOMEM */
int rh_connections_new(size_t limit, struct rh_connections **ret_connections, struct rh_error *err);
/** Free the table with all its connections; descriptors are left alone. NULL is nothing. */
void rh_connections_free(struct rh_connections *connections);
RH_DEFINE_CLEANUP(connections);
/** @return the new connection of @p fd, borrowed, newest of all, with deadline @p due; NULL when memory is out */
struct rh_connection *rh_connections_add(struct rh_connections *connections, int fd, const struct sockaddr *peer,
                                         int64_t due);
/** Forget it; its descriptor is left alone. */
void rh_connections_remove(struct rh_connections *connections, struct rh_connection *connection);
/** A whole request, or its head, has come, or its answer has gone: it is the newest of all, with a new deadline. */
void rh_connections_touch(struct rh_connections *connections, struct rh_connection *connection, int64_t due);
/** It is being closed: it counts no more and is found no more, but for rh_connections_remove(). */
void rh_connections_drop(struct rh_connections *connections, struct rh_connection *connection);
/** @return whether all places are taken */
bool rh_connections_are_full(const struct rh_connections *connections);
/** @return the connection that is to be closed to make room; borrowed; NULL: there is none */
struct rh_connection *rh_connections_dispensable(const struct rh_connections *connections);
/** @return one whose deadline is not after @p now, monotonic microseconds; borrowed; NULL: there is none */
struct rh_connection *rh_connections_overdue(const struct rh_connections *connections, int64_t now);
/** @return the oldest that @p fits says yes to; borrowed; NULL: there is none */
struct rh_connection *rh_connections_find(const struct rh_connections *connections,
                                          bool (*fits)(const struct rh_connection *connection));
/** @return the first deadline, monotonic microseconds; RH_NEVER without connections */
int64_t rh_connections_deadline(const struct rh_connections *connections);

#endif
