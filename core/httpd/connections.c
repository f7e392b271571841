/* SPDX-License-Identifier: Apache-2.0 */
#include "httpd/connections.h"

#include <netinet/in.h>
#include <string.h>

#include "base/os/clock.h"

struct rh_connections {
	struct rh_connection *oldest; /* those that are not being closed, in the order of their last change */
	struct rh_connection *newest;
	struct rh_connection *closing;
	size_t count; /* without those that are being closed */
	size_t limit;
};

int rh_connections_new(size_t limit, struct rh_connections **ret_connections, struct rh_error *err)
{
	struct rh_connections *connections = rh_alloc(sizeof(*connections));

	if (!connections)
		return rh_fail_oom(err);
	connections->limit = limit;
	*ret_connections = connections;
	return 0;
}

static void connections_free_list(struct rh_connection *first)
{
	for (struct rh_connection *next; first; first = next) {
		next = first->next;
		rh_free(first);
	}
}

void rh_connections_free(struct rh_connections *connections)
{
	if (!connections)
		return;
	connections_free_list(connections->oldest);
	connections_free_list(connections->closing);
	rh_free(connections);
}

static void connections_set_address(struct rh_connection *connection, const struct sockaddr *peer)
{
	static const uint8_t mapped[] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

	if (peer->sa_family == AF_INET6) {
		memcpy(connection->address, &((const struct sockaddr_in6 *)(const void *)peer)->sin6_addr, 16);
	} else if (peer->sa_family == AF_INET) {
		memcpy(connection->address, mapped, sizeof(mapped));
		memcpy(connection->address + sizeof(mapped), &((const struct sockaddr_in *)(const void *)peer)->sin_addr, 4);
	}
}

static void connections_append(struct rh_connections *connections, struct rh_connection *connection)
{
	connection->previous = connections->newest;
	connection->next = NULL;
	if (connections->newest)
		connections->newest->next = connection;
	else
		connections->oldest = connection;
	connections->newest = connection;
}

static void connections_take_out(struct rh_connections *connections, struct rh_connection *connection)
{
	if (connection->previous)
		connection->previous->next = connection->next;
	else if (connection->closing)
		connections->closing = connection->next;
	else
		connections->oldest = connection->next;
	if (connection->next)
		connection->next->previous = connection->previous;
	else if (!connection->closing)
		connections->newest = connection->previous;
}

static void connections_count_peers(struct rh_connections *connections, struct rh_connection *connection, bool comes)
{
	connection->peers = comes;
	for (struct rh_connection *other = connections->oldest; other; other = other->next) {
		if (other == connection || memcmp(other->address, connection->address, sizeof(other->address)) != 0)
			continue;
		if (comes) {
			other->peers++;
			connection->peers++;
		} else {
			other->peers--;
		}
	}
}

struct rh_connection *rh_connections_add(struct rh_connections *connections, int fd, const struct sockaddr *peer,
                                         int64_t due)
{
	struct rh_connection *connection = rh_alloc(sizeof(*connection));

	if (!connection)
		return NULL;
	connection->fd = fd;
	connection->due = due;
	connections_set_address(connection, peer);
	connections_append(connections, connection);
	connections_count_peers(connections, connection, true);
	connections->count++;
	return connection;
}

void rh_connections_drop(struct rh_connections *connections, struct rh_connection *connection)
{
	if (connection->closing)
		return;
	connections_count_peers(connections, connection, false);
	connections_take_out(connections, connection);
	connections->count--;
	connection->closing = true;
	connection->previous = NULL;
	connection->next = connections->closing;
	if (connection->next)
		connection->next->previous = connection;
	connections->closing = connection;
}

void rh_connections_remove(struct rh_connections *connections, struct rh_connection *connection)
{
	rh_connections_drop(connections, connection);
	connections_take_out(connections, connection);
	rh_free(connection);
}

void rh_connections_touch(struct rh_connections *connections, struct rh_connection *connection, int64_t due)
{
	if (connection->closing)
		return;
	connection->due = due;
	connections_take_out(connections, connection);
	connections_append(connections, connection);
}

bool rh_connections_are_full(const struct rh_connections *connections)
{
	return connections->count >= connections->limit;
}

struct rh_connection *rh_connections_dispensable(const struct rh_connections *connections)
{
	struct rh_connection *found = connections->oldest;

	for (struct rh_connection *other = found; other; other = other->next) {
		if (other->peers > found->peers)
			found = other;
	}
	return found;
}

struct rh_connection *rh_connections_overdue(const struct rh_connections *connections, int64_t now)
{
	struct rh_connection *connection = connections->oldest;

	while (connection && connection->due > now)
		connection = connection->next;
	return connection;
}

struct rh_connection *rh_connections_find(const struct rh_connections *connections,
                                          bool (*fits)(const struct rh_connection *connection))
{
	struct rh_connection *connection = connections->oldest;

	while (connection && !fits(connection))
		connection = connection->next;
	return connection;
}

int64_t rh_connections_deadline(const struct rh_connections *connections)
{
	int64_t deadline = RH_NEVER;

	for (const struct rh_connection *connection = connections->oldest; connection; connection = connection->next) {
		if (connection->due < deadline)
			deadline = connection->due;
	}
	return deadline;
}
