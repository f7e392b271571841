/* SPDX-License-Identifier: Apache-2.0 */
/* Every connection proves the shared secret, the second one of a worker, too; other protocols are named. */
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
#include "comm/ps/servers.h"

#define SECRET "known to all of the job"
#define LIMIT (20 * RH_COMM_SECOND)

/* One connection to a server, or to a scheduler. */
struct caller {
	struct rh_ps_call call;
	struct rh_comm_error err;
};

static void caller_take(struct caller *caller, int fd)
{
	memset(caller, 0, sizeof(*caller));
	caller->call =
		(struct rh_ps_call){.wire = rh_ps_wire_new(fd), .whom = "the other end", .deadline = rh_comm_now() + LIMIT};
	caller->call.err = &caller->err;
	assert_non_null(caller->call.wire);
}

static void caller_open(struct caller *caller, int32_t port)
{
	int fd = -1;

	assert_int_equal(rh_comm_socket_connect("127.0.0.1", port, rh_comm_now() + LIMIT, &fd, NULL), 0);
	caller_take(caller, fd);
}

static void caller_close(const struct caller *caller)
{
	rh_ps_wire_free(caller->call.wire);
}

static struct rh_ps_hello make_hello(uint32_t role)
{
	struct rh_ps_hello hello;

	memset(&hello, 0, sizeof(hello));
	hello.role = role;
	hello.workers = 1;
	hello.servers = 1;
	hello.session = 7;
	rh_ps_job_digest("", hello.job);
	(void)snprintf(hello.backend, sizeof(hello.backend), "%s", RH_PS_BACKEND_OWN);
	return hello;
}

/* The first connection of a worker that knows the secret. */
static void greet(struct caller *caller, int32_t port, struct rh_ps_hello *hello, struct rh_ps_welcome *ret_welcome)
{
	*hello = make_hello(RH_PS_ROLE_WORKS);
	caller_open(caller, port);
	assert_int_equal(rh_ps_call_greet(&caller->call, hello, SECRET), 0);
	assert_int_equal(rh_ps_call_receive(&caller->call, RH_PS_REC_WELCOME, ret_welcome, sizeof(*ret_welcome)), 0);
	assert_int_not_equal(ret_welcome->ticket, 0);
}

/* Whoever knows the ticket, and no secret, does what it can. */
static void must_not_attach(struct caller *thief, const struct rh_ps_hello *hello, uint64_t ticket)
{
	struct rh_ps_challenge challenge;
	uint8_t guess[RH_COMM_DIGEST] = {1, 2, 3};

	assert_int_equal(rh_ps_call_send(&thief->call, RH_PS_REC_ATTACH, ticket, hello, sizeof(*hello)), 0);
	assert_int_equal(rh_ps_call_receive(&thief->call, RH_PS_REC_CHALLENGE, &challenge, sizeof(challenge)), 0);
	assert_int_equal(rh_ps_call_send(&thief->call, RH_PS_REC_PROOF, 0, guess, sizeof(guess)), 0);
	assert_int_equal(rh_ps_call_receive(&thief->call, RH_PS_REC_ACK, NULL, 0), RH_COMM_EINVAL);
	assert_non_null(strstr(thief->err.text, "server 0 has another secret"));
}

static void must_be_closed(struct caller *thief)
{
	assert_int_equal(rh_ps_call_receive(&thief->call, RH_PS_REC_ACK, NULL, 0), RH_COMM_EIO);
	assert_non_null(strstr(thief->err.text, "the connection closed"));
}

static int connect_near(const struct rh_ps_welcome *welcome)
{
	int fd = rh_ps_local_connect(welcome->local);

	assert_true(fd >= 0);
	return fd;
}

static void test_handshake__a_second_connection_proves_the_secret(void **state)
{
	struct servers servers = {.options = {.workers = 1, .mode = RH_PS_ASYNC, .rule = RH_PS_SUM, .secret = SECRET}};
	struct rh_ps_welcome welcome;
	struct rh_ps_hello hello;
	struct rh_ps_hello other;
	struct caller first;
	struct caller thief;
	struct caller second;

	(void)state;
	servers_start(&servers, 1);
	greet(&first, servers.ports[0], &hello, &welcome);
	/* over TCP, and over the local socket, where memory would be the answer */
	caller_open(&thief, servers.ports[0]);
	must_not_attach(&thief, &hello, welcome.ticket);
	caller_close(&thief);
	caller_take(&thief, connect_near(&welcome));
	must_not_attach(&thief, &hello, welcome.ticket);
	caller_close(&thief);
	/* the ticket alone, as protocol 3 took it */
	caller_open(&thief, servers.ports[0]);
	assert_int_equal(rh_ps_call_send(&thief.call, RH_PS_REC_ATTACH, welcome.ticket, NULL, 0), 0);
	must_be_closed(&thief);
	caller_close(&thief);
	/* a ticket that was not given, and another worker's hello */
	caller_open(&thief, servers.ports[0]);
	assert_int_equal(rh_ps_call_send(&thief.call, RH_PS_REC_ATTACH, welcome.ticket + 1, &hello, sizeof(hello)), 0);
	must_be_closed(&thief);
	caller_close(&thief);
	caller_open(&thief, servers.ports[0]);
	other = hello;
	other.session++;
	assert_int_equal(rh_ps_call_send(&thief.call, RH_PS_REC_ATTACH, welcome.ticket, &other, sizeof(other)), 0);
	must_be_closed(&thief);
	caller_close(&thief);
	/* whose first connection it is may still attach */
	caller_open(&second, servers.ports[0]);
	assert_int_equal(rh_ps_call_attach(&second.call, &(struct rh_ps_call_proof){&hello, SECRET, welcome.ticket}), 0);
	assert_int_equal(rh_ps_call_receive(&second.call, RH_PS_REC_ACK, NULL, 0), 0);
	caller_close(&second);
	caller_close(&first);
	servers_stop(&servers);
}

/* What was read of one attachment is of no use for another one: the server's nonce is new. */
static void test_handshake__a_proof_holds_once(void **state)
{
	struct servers servers = {.options = {.workers = 1, .mode = RH_PS_ASYNC, .rule = RH_PS_SUM, .secret = SECRET}};
	struct rh_ps_challenge challenge;
	uint8_t proof[RH_COMM_DIGEST];
	struct rh_ps_welcome welcome;
	struct rh_ps_hello hello;
	struct caller first;
	struct caller genuine;
	struct caller thief;

	(void)state;
	servers_start(&servers, 1);
	greet(&first, servers.ports[0], &hello, &welcome);
	caller_open(&genuine, servers.ports[0]);
	assert_int_equal(rh_ps_call_send(&genuine.call, RH_PS_REC_ATTACH, welcome.ticket, &hello, sizeof(hello)), 0);
	assert_int_equal(rh_ps_call_receive(&genuine.call, RH_PS_REC_CHALLENGE, &challenge, sizeof(challenge)), 0);
	rh_ps_prove(SECRET, "worker", challenge.nonce, &hello, proof);
	caller_open(&thief, servers.ports[0]);
	assert_int_equal(rh_ps_call_send(&thief.call, RH_PS_REC_ATTACH, welcome.ticket, &hello, sizeof(hello)), 0);
	assert_int_equal(rh_ps_call_receive(&thief.call, RH_PS_REC_CHALLENGE, &challenge, sizeof(challenge)), 0);
	assert_int_equal(rh_ps_call_send(&thief.call, RH_PS_REC_PROOF, 0, proof, sizeof(proof)), 0);
	assert_int_equal(rh_ps_call_receive(&thief.call, RH_PS_REC_ACK, NULL, 0), RH_COMM_EINVAL);
	assert_non_null(strstr(thief.err.text, "another secret"));
	assert_int_equal(rh_ps_call_send(&genuine.call, RH_PS_REC_PROOF, 0, proof, sizeof(proof)), 0);
	assert_int_equal(rh_ps_call_receive(&genuine.call, RH_PS_REC_ACK, NULL, 0), 0);
	caller_close(&genuine);
	caller_close(&thief);
	caller_close(&first);
	servers_stop(&servers);
}

/* A worker attaches to no server that does not know the secret, either. */
static void test_handshake__a_worker_does_not_attach_to_a_stranger(void **state)
{
	const struct rh_ps_head head = {.kind = RH_PS_REC_CHALLENGE, .length = sizeof(struct rh_ps_challenge)};
	struct rh_ps_hello hello = make_hello(RH_PS_ROLE_WORKS);
	struct rh_ps_challenge challenge = {.nonce = {1}, .proof = {2}};
	struct rh_ps_wire *stranger;
	struct caller worker;
	uint8_t *at;
	int fds[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
	caller_take(&worker, fds[0]);
	stranger = rh_ps_wire_new(fds[1]);
	assert_non_null(stranger);
	at = rh_ps_wire_add(stranger, &head);
	assert_non_null(at);
	memcpy(at, &challenge, sizeof(challenge));
	assert_int_equal(rh_ps_wire_flush(stranger), 0);
	assert_int_equal(rh_ps_call_attach(&worker.call, &(struct rh_ps_call_proof){&hello, SECRET, 5}), RH_COMM_EINVAL);
	assert_non_null(strstr(worker.err.text, "the other end has another secret"));
	caller_close(&worker);
	rh_ps_wire_free(stranger);
}

static void must_name_protocols(int32_t port, const struct rh_ps_hello *hello, size_t length, const char *words)
{
	struct rh_ps_challenge challenge;
	struct caller caller;

	caller_open(&caller, port);
	assert_int_equal(rh_ps_call_send(&caller.call, RH_PS_REC_HELLO, 0, hello, length), 0);
	assert_int_equal(rh_ps_call_receive(&caller.call, RH_PS_REC_CHALLENGE, &challenge, sizeof(challenge)),
	                 RH_COMM_EINVAL);
	if (!strstr(caller.err.text, words))
		fail_msg("\"%s\" is not in: %s", words, caller.err.text);
	caller_close(&caller);
}

static void *schedule(void *arg)
{
	(void)rh_ps_scheduler_run(arg, NULL);
	return NULL;
}

/* Whatever else a hello of another protocol holds, and however long it is. */
static void test_handshake__another_protocol_is_named(void **state)
{
	static const size_t lengths[] = {sizeof(uint32_t), sizeof(struct rh_ps_hello) - 8, sizeof(struct rh_ps_hello)};
	struct servers servers = {.options = {.workers = 1, .mode = RH_PS_ASYNC, .rule = RH_PS_SUM}};
	struct rh_ps_scheduler_options options = {
		.size = sizeof(options), .servers = 1, .workers = 1, .host = "127.0.0.1", .port = -1};
	struct rh_ps_hello hello = make_hello(RH_PS_ROLE_WORKS);
	struct rh_ps_scheduler *scheduler = NULL;
	pthread_t thread;

	(void)state;
	assert_int_equal(RH_PS_PROTOCOL, 4);
	servers_start(&servers, 1);
	assert_int_equal(rh_ps_scheduler_new(&options, &scheduler, NULL), 0);
	assert_int_equal(pthread_create(&thread, NULL, schedule, scheduler), 0);
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		hello.protocol = 3;
		must_name_protocols(servers.ports[0], &hello, lengths[i], "server 0 uses protocol 4 and worker 0 protocol 3");
		must_name_protocols(rh_ps_scheduler_port(scheduler), &hello, lengths[i],
		                    "the scheduler uses protocol 4 and this process protocol 3");
	}
	rh_ps_scheduler_stop(scheduler);
	assert_int_equal(pthread_join(thread, NULL), 0);
	rh_ps_scheduler_free(scheduler);
	servers_stop(&servers);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_handshake__a_second_connection_proves_the_secret),
		cmocka_unit_test(test_handshake__a_proof_holds_once),
		cmocka_unit_test(test_handshake__a_worker_does_not_attach_to_a_stranger),
		cmocka_unit_test(test_handshake__another_protocol_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
