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

#include "comm/ps/server/answers.h"
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
		struct rh_ps_head request = {.kind = (uint16_t)kinds[i], .sequence = i + 1, .bytes = 8};
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

/* Rows that are asked for: at once; where the value comes later; and where the worker does not read for a while. */
static struct rh_ps_head pull_rows(uint64_t sequence, uint32_t count)
{
	return (struct rh_ps_head){.kind = RH_PS_REC_PULL_ROWS,
	                           .sequence = sequence,
	                           .key = 7,
	                           .bytes = 4 * sizeof(float),
	                           .length = count * (uint32_t)sizeof(uint32_t),
	                           .type = RH_COMM_F32,
	                           .width = 1,
	                           .rows = count,
	                           .timeout = -1,
	                           .flags = RH_PS_WANT_VALUE};
}

static void test_requests__rows_are_pulled(void **state)
{
	static const uint32_t index[] = {1, 3};
	static const float first[] = {10, 11, 12, 13};
	static const float expected[] = {11, 13};
	struct rh_ps_head init = pull_rows(2, 0);
	struct fixture fixture;
	const uint8_t *payload;
	struct rh_ps_head head = pull_rows(1, 2);

	(void)state;
	fixture_init(&fixture);
	/* the first value is not there yet: the request waits, with a copy of its rows */
	rh_ps_server_request(&fixture.server, &fixture.conn, &head, (const uint8_t *)index);
	assert_false(LIST_EMPTY(&fixture.server.waiters));
	init.kind = RH_PS_REC_INIT;
	init.length = sizeof(first);
	init.flags = 0;
	assert_int_equal(ask(&fixture, init, first, &payload).kind, RH_PS_REC_ACK);
	assert_true(LIST_EMPTY(&fixture.server.waiters));
	assert_int_equal(rh_ps_wire_next(fixture.worker, &head, &payload), 1);
	assert_int_equal(head.kind, RH_PS_REC_VALUE);
	assert_int_equal(head.length, sizeof(expected));
	assert_memory_equal(payload, expected, sizeof(expected));
	rh_ps_wire_drop(fixture.worker);
	head = ask(&fixture, pull_rows(3, 2), index, &payload);
	assert_int_equal(head.length, sizeof(expected));
	assert_memory_equal(payload, expected, sizeof(expected));
	/* none is an answer, too */
	head = ask(&fixture, pull_rows(4, 0), index, &payload);
	assert_int_equal(head.kind, RH_PS_REC_VALUE);
	assert_int_equal(head.length, 0);
	fixture_deinit(&fixture);
}

static void test_requests__rows_wait_for_room(void **state)
{
	static const uint32_t index[] = {0, 2};
	static const float first[] = {20, 21, 22, 23};
	static const float expected[] = {20, 22};
	struct rh_ps_head init = pull_rows(1, 0);
	struct rh_ps_entry *released;
	struct fixture fixture;
	const uint8_t *payload;
	uint64_t asked = 1;
	uint64_t seen = 1;

	(void)state;
	fixture_init(&fixture);
	init.kind = RH_PS_REC_INIT;
	init.length = sizeof(first);
	init.flags = 0;
	assert_int_equal(ask(&fixture, init, first, &payload).kind, RH_PS_REC_ACK);
	while (STAILQ_EMPTY(&fixture.conn.answers)) {
		struct rh_ps_head head = pull_rows(++asked, 2);

		rh_ps_server_request(&fixture.server, &fixture.conn, &head, (const uint8_t *)index);
	}
	while (seen < asked) {
		struct rh_ps_head head;

		while (rh_ps_answers_send_first(&fixture.conn, &released))
			;
		assert_int_equal(rh_ps_wire_flush(fixture.conn.wire), 0);
		assert_int_equal(rh_ps_wire_fill(fixture.worker), 0);
		while (rh_ps_wire_next(fixture.worker, &head, &payload) > 0) {
			assert_int_equal(head.sequence, ++seen);
			assert_memory_equal(payload, expected, sizeof(expected));
			rh_ps_wire_drop(fixture.worker);
		}
	}
	fixture_deinit(&fixture);
}

/* A push that has counted before is answered again, and its rows are looked at all the same. */
static void test_requests__rows_that_are_wrong_are_refused(void **state)
{
	static const uint32_t index[] = {2, 1};
	static const float first[] = {1, 2, 3, 4};
	struct rh_ps_head init = pull_rows(5, 0);
	struct rh_ps_head again = pull_rows(1, 4);
	_Alignas(RH_PS_ALIGN) uint8_t far[2 * RH_PS_ALIGN] = {0};
	struct fixture fixture;
	const uint8_t *payload;
	struct rh_ps_head head;

	(void)state;
	memset(far, 0xff, 16);
	fixture_init(&fixture);
	init.kind = RH_PS_REC_INIT;
	init.length = sizeof(first);
	init.flags = 0;
	assert_int_equal(ask(&fixture, init, first, &payload).kind, RH_PS_REC_ACK);
	head = ask(&fixture, pull_rows(6, 2), index, &payload);
	assert_int_equal(head.kind, RH_PS_REC_ERROR);
	assert_non_null(strstr((const char *)payload, "rows must ascend"));
	fixture.server.store->workers[WORKER].last = 6;
	again.kind = RH_PS_REC_PUSH_PULL_ROWS;
	again.length = sizeof(far) - RH_PS_ALIGN + 16;
	head = ask(&fixture, again, far, &payload);
	assert_int_equal(head.kind, RH_PS_REC_ERROR);
	assert_non_null(strstr((const char *)payload, "row 4294967295 is out of range"));
	fixture_deinit(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_requests__ping_is_acknowledged),
		cmocka_unit_test(test_requests__kind_that_is_not_known_is_named),
		cmocka_unit_test(test_requests__value_is_set_once_and_read),
		cmocka_unit_test(test_requests__rows_are_pulled),
		cmocka_unit_test(test_requests__rows_wait_for_room),
		cmocka_unit_test(test_requests__rows_that_are_wrong_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
