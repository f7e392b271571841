/* SPDX-License-Identifier: Apache-2.0 */
#include "httpd/connections.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include "base/os/clock.h"
#include "base/support.h"

/* A connection from 10.0.0.@p host, whose descriptor has the number @p fd. */
static struct rh_connection *add(struct rh_connections *connections, uint8_t host, int fd, int64_t due)
{
	struct sockaddr_in peer = {.sin_family = AF_INET};
	struct rh_connection *connection;

	peer.sin_addr.s_addr = htonl(0x0a000000U | host);
	connection = rh_connections_add(connections, fd, (const struct sockaddr *)&peer, due);
	assert_non_null(connection);
	assert_int_equal(connection->fd, fd);
	return connection;
}

static struct rh_connections *table(size_t limit)
{
	struct rh_connections *connections = NULL;

	assert_int_equal(rh_connections_new(limit, &connections, NULL), 0);
	return connections;
}

/* Of one address the one that has gone longest without a whole request goes first. */
static void test_connections__oldest_goes_first(void **state)
{
	rh_auto(connections) connections = table(3);
	struct rh_connection *first = add(connections, 1, 1, 10);
	struct rh_connection *second = add(connections, 1, 2, 10);

	(void)state;
	assert_false(rh_connections_are_full(connections));
	(void)add(connections, 1, 3, 10);
	assert_true(rh_connections_are_full(connections));
	assert_ptr_equal(rh_connections_dispensable(connections), first);
	rh_connections_touch(connections, first, 20);
	assert_ptr_equal(rh_connections_dispensable(connections), second);
	rh_connections_drop(connections, second);
	assert_false(rh_connections_are_full(connections));
	assert_int_equal(rh_connections_dispensable(connections)->fd, 3);
	rh_connections_touch(connections, second, 30); /* it is being closed: nothing becomes of that */
	rh_connections_remove(connections, second);
	rh_connections_remove(connections, first);
	assert_int_equal(rh_connections_dispensable(connections)->fd, 3);
}

/* Who has one connection keeps it, however many another opens. */
static void test_connections__address_with_most_goes_first(void **state)
{
	rh_auto(connections) connections = table(8);
	struct rh_connection *probe = add(connections, 1, 1, 10);
	struct rh_connection *victim;

	(void)state;
	for (int i = 2; i <= 8; i++)
		(void)add(connections, 2, i, 10);
	for (int i = 9; i < 100; i++) {
		victim = rh_connections_dispensable(connections);
		assert_int_equal(victim->fd, i - 7);
		rh_connections_drop(connections, victim);
		rh_connections_remove(connections, victim);
		(void)add(connections, 2, i, 10);
	}
	rh_connections_remove(connections, probe);
	assert_false(rh_connections_are_full(connections));
}

/* IPv4 by a socket of IPv6 is the same address. */
static void test_connections__addresses(void **state)
{
	rh_auto(connections) connections = table(8);
	struct sockaddr_in6 mapped = {.sin6_family = AF_INET6};
	struct rh_connection *connection;

	(void)state;
	assert_int_equal(inet_pton(AF_INET6, "::ffff:10.0.0.7", &mapped.sin6_addr), 1);
	(void)add(connections, 7, 1, 10);
	connection = rh_connections_add(connections, 2, (const struct sockaddr *)&mapped, 10);
	assert_int_equal(connection->peers, 2);
	assert_int_equal(inet_pton(AF_INET6, "fe80::1", &mapped.sin6_addr), 1);
	assert_int_equal(rh_connections_add(connections, 3, (const struct sockaddr *)&mapped, 10)->peers, 1);
	assert_int_equal(connection->peers, 2);
}

static void test_connections__deadlines(void **state)
{
	rh_auto(connections) connections = table(8);
	struct rh_connection *late;
	struct rh_connection *soon;

	(void)state;
	assert_true(rh_connections_deadline(connections) == RH_NEVER);
	assert_null(rh_connections_overdue(connections, RH_NEVER - 1));
	late = add(connections, 1, 1, 50);
	soon = add(connections, 1, 2, 40);
	assert_int_equal(rh_connections_deadline(connections), 40);
	assert_null(rh_connections_overdue(connections, 39));
	assert_ptr_equal(rh_connections_overdue(connections, 40), soon);
	rh_connections_drop(connections, soon);
	assert_int_equal(rh_connections_deadline(connections), 50);
	assert_ptr_equal(rh_connections_overdue(connections, 60), late);
	rh_connections_touch(connections, late, 70);
	assert_null(rh_connections_overdue(connections, 60));
}

static bool has_even_descriptor(const struct rh_connection *connection)
{
	return connection->fd % 2 == 0;
}

static void test_connections__find(void **state)
{
	rh_auto(connections) connections = table(8);

	(void)state;
	assert_null(rh_connections_find(connections, has_even_descriptor));
	for (int i = 1; i <= 5; i++)
		(void)add(connections, 1, i, 10);
	assert_int_equal(rh_connections_find(connections, has_even_descriptor)->fd, 2);
}

static void test_connections__memory_is_out(void **state)
{
	struct sockaddr_in peer = {.sin_family = AF_INET};
	struct rh_connections *connections = NULL;
	struct rh_error err = {0};

	(void)state;
	rh_mem_fail_after(0);
	assert_int_equal(rh_connections_new(1, &connections, &err), RH_ENOMEM);
	rh_mem_fail_after(-1);
	assert_int_equal(rh_connections_new(1, &connections, &err), 0);
	rh_mem_fail_after(0);
	assert_null(rh_connections_add(connections, 1, (const struct sockaddr *)&peer, 10));
	rh_mem_fail_after(-1);
	rh_connections_free(connections);
	rh_connections_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_connections__oldest_goes_first),
		cmocka_unit_test(test_connections__address_with_most_goes_first),
		cmocka_unit_test(test_connections__addresses),
		cmocka_unit_test(test_connections__deadlines),
		cmocka_unit_test(test_connections__find),
		cmocka_unit_test(test_connections__memory_is_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
