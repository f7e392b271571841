/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* clang-format off */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#include "comm/ps/server/requests.h"

#define WORKER 0
#define INDEX 3

/* A server without descriptors of its own, and a worker's end of a connection to it. */
struct fixture {
	struct rh_ps_server server;
	struct rh_ps_conn conn;
	struct rh_ps_wire *worker;
};

static void fixture_init(struct fixture *fixture)
{
	struct rh_ps_config config = {.index = INDEX, .servers = INDEX + 1, .workers = WORKER + 2, .mode = RH_PS_ASYNC};
	int fds[2];

	memset(fixture, 0, sizeof(*fixture));
	fixture->server.store = rh_ps_store_new(&config, 1);
	assert_non_null(fixture->server.store);
	LIST_INIT(&fixture->server.waiters);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
	fixture->conn.wire = rh_ps_wire_new(fds[0]);
	fixture->conn.worker = WORKER;
	fixture->conn.phase = RH_PS_ON;
	STAILQ_INIT(&fixture->conn.answers);
	fixture->worker = rh_ps_wire_new(fds[1]);
	assert_true(fixture->conn.wire && fixture->worker);
}

static void fixture_deinit(const struct fixture *fixture)
{
	rh_ps_wire_free(fixture->conn.wire);
	rh_ps_wire_free(fixture->worker);
	rh_ps_store_free(fixture->server.store);
}

/* Execute a request as the worker sends it. @return the answer, and its payload where there is one */
static struct rh_ps_head ask(struct fixture *fixture, struct rh_ps_head request, const void *payload,
                             const uint8_t **ret_payload)
{
	struct rh_ps_head head;

	rh_ps_server_request(&fixture->server, &fixture->conn, &request, payload);
	assert_int_equal(rh_ps_wire_flush(fixture->conn.wire), 0);
	assert_int_equal(rh_ps_wire_fill(fixture->worker), 0);
	assert_int_equal(rh_ps_wire_next(fixture->worker, &head, ret_payload), 1);
	rh_ps_wire_drop(fixture->worker);
	assert_int_equal(head.sequence, request.sequence);
	return head;
}

static void test_requests__ping_is_acknowledged(void **state)
{
	struct fixture fixture;
	const uint8_t *payload;

	(void)state;
	fixture_init(&fixture);
	assert_int_equal(ask(&fixture, (struct rh_ps_head){.kind = RH_PS_REC_PING}, NULL, &payload).kind, RH_PS_REC_ACK);
	fixture_deinit(&fixture);
}

/* One of a later version, and what is known and no request: neither is taken for one, and neither ends the connection.
 */
static void test_requests__kind_that_is_not_known_is_named(void **state)
{
	static const uint32_t kinds[] = {RH_PS_REC_HELLO,  RH_PS_REC_SESSION, RH_PS_REC_ACK, RH_PS_REC_VALUE,
	                                 RH_PS_REC_PLACES, RH_PS_REC_END,     RH_PS_KIND_MAX};
	struct fixture fixture;

	(void)state;
	fixture_init(&fixture);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		struct rh_ps_head request = {.kind = kinds[i], .sequence = i + 1, .bytes = 8};
		const uint8_t *payload;
		char expected[128];
		struct rh_ps_head head = ask(&fixture, request, NULL, &payload);

		(void)snprintf(expected, sizeof(expected),
		               "server %d knows no request of kind %u: use one version of the library everywhere", INDEX,
		               (unsigned int)kinds[i]);
		assert_int_equal(head.kind, RH_PS_REC_ERROR);
		assert_int_equal(head.status, RH_COMM_EINVAL);
		assert_int_equal(head.length, strlen(expected) + 1);
		assert_string_equal((const char *)payload, expected);
		assert_false(fixture.conn.broken);
	}
	fixture_deinit(&fixture);
}

/* A request that changes a value, and the one that reads it; the same request again changes nothing. */
static void test_requests__value_is_set_once_and_read(void **state)
{
	float first[2] = {1.5F, -2.0F};
	struct rh_ps_head init = {.kind = RH_PS_REC_INIT,
	                          .sequence = 1,
	                          .key = 7,
	                          .bytes = sizeof(first),
	                          .length = sizeof(first),
	                          .type = RH_COMM_F32,
	                          .timeout = -1,
	                          .flags = RH_PS_WANT_VALUE};
	struct rh_ps_head pull = init;
	struct fixture fixture;
	const uint8_t *payload;

	(void)state;
	pull.kind = RH_PS_REC_PULL;
	pull.sequence = 2;
	pull.length = 0;
	fixture_init(&fixture);
	for (int again = 0; again < 2; again++) {
		assert_int_equal(ask(&fixture, init, first, &payload).kind, RH_PS_REC_VALUE);
		assert_memory_equal(payload, first, sizeof(first));
	}
	assert_int_equal(ask(&fixture, pull, NULL, &payload).kind, RH_PS_REC_VALUE);
	assert_memory_equal(payload, first, sizeof(first));
	fixture_deinit(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_requests__ping_is_acknowledged),
		cmocka_unit_test(test_requests__kind_that_is_not_known_is_named),
		cmocka_unit_test(test_requests__value_is_set_once_and_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
