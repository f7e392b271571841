/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file httpd/connections.h
 * @brief The connections of one server: their number, their deadlines, and which to close when all places are used.
 *
 * Silent clients must not lock others out. So each request has a deadline, and when all places are used, one connection
 * is closed for the next: of the address with most connections, the one that was longest without a complete request.
 * The module makes no socket calls. All functions are called on the loop's thread.
 */
#ifndef RH_HTTPD_CONNECTIONS_H
#define RH_HTTPD_CONNECTIONS_H

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
	struct rh_connection *previous; /**< of the table: the one that changed before */
	struct rh_connection *next;     /**< of the table */
	void *owner;                    /**< the caller's; NULL at first */
	void *tls;                      /**< the caller's; NULL at first */
	size_t peers;                   /**< of the table: connections of the same address, this one included */
	int64_t due;                    /**< deadline, monotonic microseconds */
	int fd;                         /**< borrowed */
	uint8_t address[16];            /**< of the peer; IPv4 as ::ffff:a.b.c.d */
	bool closing;                   /**< of the table: see rh_connections_drop() */
};

/** Create a table. @param limit most connections, at least 1. @return 0 or RH_ENOMEM */
int rh_connections_new(size_t limit, struct rh_connections **ret_connections, struct rh_error *err);
/** Free the table with all its connections; descriptors stay open. NULL is ignored. */
void rh_connections_free(struct rh_connections *connections);
RH_DEFINE_CLEANUP(connections);
/** Add a connection as the newest one. @param due its deadline. @return borrowed; NULL: out of memory */
struct rh_connection *rh_connections_add(struct rh_connections *connections, int fd, const struct sockaddr *peer,
                                         int64_t due);
/** Remove and free a connection; its descriptor stays open. */
void rh_connections_remove(struct rh_connections *connections, struct rh_connection *connection);
/** Make a connection the newest one, with a new deadline: a request or its head is complete, or a reply was sent. */
void rh_connections_touch(struct rh_connections *connections, struct rh_connection *connection, int64_t due);
/** Mark a connection as closing: it neither counts nor is found any more; only rh_connections_remove() follows. */
void rh_connections_drop(struct rh_connections *connections, struct rh_connection *connection);
/** @return whether all places are used */
bool rh_connections_are_full(const struct rh_connections *connections);
/** @return the connection to close for a new one, borrowed; NULL: none */
struct rh_connection *rh_connections_dispensable(const struct rh_connections *connections);
/** @return a connection whose deadline is not after @p now, monotonic microseconds; borrowed; NULL: none */
struct rh_connection *rh_connections_overdue(const struct rh_connections *connections, int64_t now);
/** @return the oldest connection that @p fits accepts, borrowed; NULL: none */
struct rh_connection *rh_connections_find(const struct rh_connections *connections,
                                          bool (*fits)(const struct rh_connection *connection));
/** @return the first deadline, monotonic microseconds; RH_NEVER without connections */
int64_t rh_connections_deadline(const struct rh_connections *connections);

#endif
