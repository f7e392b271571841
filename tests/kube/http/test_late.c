/* SPDX-License-Identifier: Apache-2.0 */
/* Requests of a process that was stopped, and goes on when it may not write any more. */
#include "kube/http/http.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/os/clock.h"
#include "kube/https.h"

#define CALLS 6
/* What libcurl hands over at once at most. */
#define PIECE 16384

/* May write until it was asked so often. */
struct writer {
	size_t asked, allowed;
	struct https_client *stops; /* whose loop stops then; NULL: nobody's */
};

static bool writer_may(void *arg)
{
	struct writer *writer = arg;
	bool may = ++writer->asked <= writer->allowed;

	if (!may && writer->stops)
		writer->stops->released = true;
	return may || writer->stops;
}

static struct rh_http_request writer_request(struct writer *writer, const char *method, const char *body)
{
	return (struct rh_http_request){.method = method,
	                                .path = "/echo",
	                                .body = body,
	                                .body_length = body ? strlen(body) : 0,
	                                .may = writer_may,
	                                .may_arg = writer};
}

static int set_up(void **state)
{
	struct https_server *server = rh_alloc(sizeof(*server));

	assert_non_null(server);
	https_start(server, NULL, NULL);
	*state = server;
	return 0;
}

static int tear_down(void **state)
{
	https_stop(*state);
	rh_free(*state);
	return 0;
}

static void open_client(struct https_client *client, void **state)
{
	const struct https_server *server = *state;
	rh_auto_free char *ca = https_file64(server, "ca.crt");
	rh_auto_free char *cluster = rh_asprintf("certificate-authority-data: %s", ca);

	https_open(client, https_config(server, cluster, ""));
}

/* @return how many requests came to the server whole, this one included */
static int64_t count_requests(struct https_client *client)
{
	auto_https_call call = {0};
	rh_auto(json) reply = NULL;
	int64_t value = -1;

	https_get(client, "/count", &call);
	reply = support_json(rh_str_text(&call.body));
	assert_true(rh_json_integer(rh_json_get(reply, "requests"), &value));
	return value;
}

/* Send some requests at once; none succeeds. @return of how many some bytes were sent */
static size_t send_late(struct https_client *client, const struct rh_http_request *request)
{
	struct https_call calls[CALLS] = {0};
	size_t sent = 0;

	for (size_t i = 0; i < CALLS; i++)
		https_send(client, request, false, &calls[i]);
	https_wait(client);
	for (size_t i = 0; i < CALLS; i++) {
		assert_int_equal(calls[i].status, 0);
		assert_non_null(strstr(calls[i].message, "the time in which this process may write is over"));
		sent += calls[i].sent;
		https_call_deinit(&calls[i]);
	}
	return sent;
}

/* However far a request has come by then, the server does not get it. */
static void test_late__is_not_sent(void **state)
{
	static const struct {
		const char *name;
		const char *method, *body;
		bool connected; /* there is a connection already */
		size_t allowed;
		size_t sent; /* of how many requests some bytes were */
	} rows[] = {
		{"libcurl has none", "POST", "{}", true, 0, 0},
		{"libcurl has some", "POST", "{}", true, CALLS / 2, 0},
		{"all are in libcurl", "POST", "{}", true, CALLS, 0},
		{"all wait for a connection", "POST", "{}", false, CALLS, 0},
		{"they have no body", "DELETE", NULL, true, CALLS, 0},
		{"the body of one is not sent yet", "POST", "{}", true, CALLS + 1, 1},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct writer writer = {.allowed = rows[i].allowed};
		const struct rh_http_request request = writer_request(&writer, rows[i].method, rows[i].body);
		struct https_client client = {0};
		struct https_client other = {0};
		int64_t before;

		(void)support_row(rows[i].name);
		open_client(&client, state);
		open_client(&other, state);
		before = count_requests(rows[i].connected ? &client : &other);
		assert_int_equal(send_late(&client, &request), rows[i].sent);
		assert_true(writer.asked > writer.allowed);
		assert_int_equal(count_requests(&client), before + 1);
		https_close(&other);
		https_close(&client);
	}
}

/* Who may write is asked for each piece, and the body comes whole. */
static void test_late__in_time(void **state)
{
	struct writer writer = {.allowed = SIZE_MAX};
	rh_auto_free char *body = rh_alloc(5 * PIECE);
	struct https_client client = {0};

	assert_non_null(body);
	open_client(&client, state);
	for (size_t length = 1; length < 5 * PIECE; length = length * 41 + 3) {
		struct rh_http_request request = writer_request(&writer, "POST", memset(body, 'b', length));
		auto_https_call call = {0};
		rh_auto(json) reply = NULL;

		writer.asked = 0;
		https_send(&client, &request, false, &call);
		https_wait(&client);
		assert_int_equal(call.status, 200);
		reply = support_json(rh_str_text(&call.body));
		assert_string_equal(rh_json_string_at(reply, "body"), body);
		assert_true(writer.asked >= 2 + (length + PIECE - 1) / PIECE);
	}
	https_close(&client);
}

/* A server of the system's that takes a connection and reads nothing. @return its socket */
static int open_listener(int *ret_port)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(address);
	const int room = 4096;
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room)), 0);
	assert_int_equal(bind(listener, (struct sockaddr *)&address, size), 0);
	assert_int_equal(listen(listener, 1), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &size), 0);
	*ret_port = ntohs(address.sin_port);
	return listener;
}

static struct rh_kubeconfig *plain_config(int port)
{
	rh_auto_free char *text = rh_asprintf("{current-context: c, contexts: [{name: c, context: {cluster: k}}], "
	                                      "clusters: [{name: k, cluster: {server: 'http://127.0.0.1:%d'}}]}",
	                                      port);
	struct rh_kubeconfig *config = NULL;

	assert_int_equal(rh_kubeconfig_parse("test", text, strlen(text), NULL, &config, NULL), 0);
	return config;
}

/* @return how many bytes came before the connection was reset */
static size_t read_until_reset(int listener)
{
	const struct timeval patience = {.tv_sec = 60};
	int peer = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	char room[PIECE];
	size_t total = 0;
	ssize_t got;

	assert_true(peer >= 0);
	assert_int_equal(setsockopt(peer, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)), 0);
	while ((got = recv(peer, room, sizeof(room), 0)) > 0)
		total += (size_t)got;
	assert_int_equal(got, -1);
	assert_int_equal(errno, ECONNRESET);
	(void)close(peer);
	return total;
}

/* What the kernel still has of a request never comes to the server. */
static void test_late__kernel_drops_what_it_has(void **state)
{
	enum { GIVEN = 16 };
	struct https_client client = {0};
	struct writer writer = {.allowed = GIVEN, .stops = &client};
	rh_auto_free char *body = rh_alloc(2 * GIVEN * PIECE);
	struct rh_http_request request;
	auto_https_call call = {0};
	int port, listener = open_listener(&port);

	(void)state;
	assert_non_null(body);
	(void)memset(body, 'b', 2 * GIVEN * PIECE - 1);
	request = writer_request(&writer, "POST", body);
	https_open(&client, plain_config(port));
	https_send(&client, &request, false, &call);
	https_wait(&client);
	assert_int_equal(call.status, -1);
	rh_http_reset(client.http);
	https_close(&client);
	assert_true(read_until_reset(listener) < (GIVEN - 2) * PIECE / 2);
	(void)close(listener);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_late__is_not_sent),
		cmocka_unit_test(test_late__in_time),
		cmocka_unit_test(test_late__kernel_drops_what_it_has),
	};

	return cmocka_run_group_tests_name("kube/http/late", tests, set_up, tear_down);
}
