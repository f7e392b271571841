/* SPDX-License-Identifier: Apache-2.0 */
/* What a worker takes from a scheduler: the addresses of the servers, and nothing that only looks like them. */
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
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

#include "comm/core/bootstrap/protocol/socket.h"
#include "comm/core/error.h"
#include "comm/ps/protocol/call.h"
#include "comm/ps/scheduler/join.h"

#define SERVERS 2
#define LIMIT (20 * RH_COMM_SECOND)

/* A scheduler that knows the secret, and sends what it likes as PLACES. */
struct fake {
	struct rh_comm_listener listener;
	pthread_t thread;
	struct rh_ps_place places[SERVERS + 1];
	size_t length;
};

static void *fake_run(void *arg)
{
	const struct fake *fake = arg;
	struct rh_ps_assignment note = {.index = 0, .servers = SERVERS, .workers = 1, .replicas = 1};
	struct rh_ps_call call = {.whom = "the worker", .deadline = rh_comm_now() + LIMIT};
	struct rh_ps_challenge challenge = {.nonce = {1}};
	struct pollfd set = {.fd = fake->listener.fd, .events = POLLIN};
	uint8_t proof[RH_COMM_DIGEST];
	struct rh_ps_hello hello;

	/* the listener does not block */
	if (poll(&set, 1, -1) == 1)
		call.wire = rh_ps_wire_new(accept(fake->listener.fd, NULL, NULL));
	if (call.wire && rh_ps_call_receive(&call, RH_PS_REC_HELLO, &hello, sizeof(hello)) == 0) {
		rh_ps_prove("", "server", hello.nonce, &hello, challenge.proof);
		(void)rh_ps_call_send(&call, RH_PS_REC_CHALLENGE, 0, &challenge, sizeof(challenge));
		(void)rh_ps_call_receive(&call, RH_PS_REC_PROOF, proof, sizeof(proof));
		(void)rh_ps_call_send(&call, RH_PS_REC_ASSIGN, 0, &note, sizeof(note));
		(void)rh_ps_call_send(&call, RH_PS_REC_PLACES, 0, fake->places, fake->length);
		/* until the worker has read it, and closes */
		(void)rh_ps_call_receive(&call, RH_PS_REC_LEAVE, NULL, 0);
	}
	rh_ps_wire_free(call.wire);
	return NULL;
}

static void fake_start(struct fake *fake)
{
	memset(fake, 0, sizeof(*fake));
	assert_int_equal(rh_comm_socket_listen("127.0.0.1", 0, &fake->listener, NULL), 0);
	rh_ps_place_set(&fake->places[0], "ps-0", 2222);
	rh_ps_place_set(&fake->places[1], "::1", 65535);
	fake->length = SERVERS * sizeof(fake->places[0]);
}

/* @return as rh_ps_join_open(), to the fake scheduler */
static int32_t join(struct fake *fake, struct rh_ps_join **ret_join, struct rh_comm_error *err)
{
	struct rh_ps_join_plan plan = {.index = -1,
	                               .root = {"127.0.0.1", fake->listener.port},
	                               .backend = RH_PS_BACKEND_OWN,
	                               .job = "",
	                               .secret = "",
	                               .init_timeout = LIMIT,
	                               .death_timeout = LIMIT};

	assert_int_equal(pthread_create(&fake->thread, NULL, fake_run, fake), 0);
	return rh_ps_join_open(&plan, ret_join, err);
}

static void fake_stop(const struct fake *fake)
{
	assert_int_equal(pthread_join(fake->thread, NULL), 0);
	(void)close(fake->listener.fd);
}

static void test_join__takes_the_addresses_of_all_servers(void **state)
{
	struct rh_ps_join *joined = NULL;
	struct rh_comm_error err = {0};
	char text[RH_PS_PLACE_TEXT];
	struct fake fake;

	(void)state;
	fake_start(&fake);
	if (join(&fake, &joined, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(rh_ps_join_cluster(joined)->server_count, SERVERS);
	rh_ps_place_print(&rh_ps_join_cluster(joined)->places[0], text);
	assert_string_equal(text, "ps-0:2222");
	rh_ps_place_print(&rh_ps_join_cluster(joined)->places[1], text);
	assert_string_equal(text, "[::1]:65535");
	rh_ps_join_free(joined);
	fake_stop(&fake);
}

static void test_join__refuses_what_is_no_address(void **state)
{
	static const struct {
		const char *name;
		size_t length;
		int32_t port;
		char fill; /* of the name of the host of server 1; 0: it stays */
		bool blank;
	} rows[] = {
		{"too short", sizeof(struct rh_ps_place), 1, 0, false},
		{"too long", (SERVERS + 1) * sizeof(struct rh_ps_place), 1, 0, false},
		{"nothing", 0, 1, 0, false},
		{"part of an address", SERVERS * sizeof(struct rh_ps_place) - 1, 1, 0, false},
		{"no port", SERVERS * sizeof(struct rh_ps_place), 0, 0, false},
		{"negative port", SERVERS * sizeof(struct rh_ps_place), -1, 0, false},
		{"port that is too large", SERVERS * sizeof(struct rh_ps_place), 65536, 0, false},
		{"name without an end", SERVERS * sizeof(struct rh_ps_place), 1, 'x', false},
		{"no name", SERVERS * sizeof(struct rh_ps_place), 1, 0, true},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rh_ps_join *joined = NULL;
		struct rh_comm_error err = {0};
		struct fake fake;

		fake_start(&fake);
		fake.length = rows[i].length;
		fake.places[1].port = rows[i].port;
		if (rows[i].fill)
			memset(fake.places[1].host, rows[i].fill, sizeof(fake.places[1].host));
		if (rows[i].blank)
			fake.places[1].host[0] = '\0';
		if (join(&fake, &joined, &err) != RH_COMM_EPEER || !strstr(err.text, "sent a malformed record"))
			fail_msg("%s: %s", rows[i].name, err.text);
		fake_stop(&fake);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_join__takes_the_addresses_of_all_servers),
		cmocka_unit_test(test_join__refuses_what_is_no_address),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
