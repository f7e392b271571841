/* SPDX-License-Identifier: Apache-2.0 */
#include "httpd/httpd.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/os/clock.h"
#include "base/os/file.h"
#include "base/support.h"

/* A server in this process, and a client in a child, which sends one text and hands back all that is answered. */
struct stage {
	struct rh_loop *loop;
	struct rh_httpd *httpd;
	struct rh_loop_watch *watch;
	int pipe;
	struct rh_str answer;
	int requests;
	char seen[256]; /* method, path, query, body */
	bool loopback;
};

static void on_request(void *arg, const struct rh_httpd_request *request, struct rh_httpd_reply *reply)
{
	struct stage *stage = arg;

	stage->requests++;
	stage->loopback = request->loopback;
	snprintf(stage->seen, sizeof(stage->seen), "%s %s [%s] %.40s:%zu", request->method, request->path, request->query,
	         request->body, request->body_length);
	if (strcmp(request->path, "/none") == 0)
		return;
	reply->status = 200;
	if (strcmp(request->path, "/oom") == 0)
		reply->body.failed = true;
	else
		rh_str_append(&reply->body, "hello");
}

static void on_answer(void *arg)
{
	struct stage *stage = arg;
	char bytes[4096];
	ssize_t n = read(stage->pipe, bytes, sizeof(bytes));

	if (n > 0)
		rh_str_append_bytes(&stage->answer, bytes, (size_t)n);
	else if (n == 0 || errno != EAGAIN)
		rh_loop_stop(stage->loop);
}

static void open_stage(struct stage *stage, size_t body_max)
{
	struct rh_error err = {0};

	assert_int_equal(rh_loop_new(&stage->loop, &err), 0);
	const struct rh_httpd_options options = {.loop = stage->loop,
	                                         .address = "127.0.0.1:0",
	                                         .handler = on_request,
	                                         .arg = stage,
	                                         .body_max = body_max,
	                                         .connections = 16};

	if (rh_httpd_new(&options, &stage->httpd, &err) < 0)
		fail_msg("%s", err.message);
}

static void close_stage(struct stage *stage)
{
	rh_httpd_free(stage->httpd);
	rh_loop_free(stage->loop);
	rh_str_deinit(&stage->answer);
}

/* The client: blocks, in a process of its own. */
static void talk(uint16_t port, const char *text, size_t length, int out)
{
	struct sockaddr_in place = {.sin_family = AF_INET, .sin_port = htons(port)};
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	char bytes[4096];
	ssize_t n;

	place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (connect(fd, (const struct sockaddr *)&place, sizeof(place)) < 0)
		_exit(1);
	/* what is not taken is the server's right; the answer counts */
	(void)send(fd, text, length, MSG_NOSIGNAL);
	(void)shutdown(fd, SHUT_WR);
	while ((n = read(fd, bytes, sizeof(bytes))) > 0)
		(void)rh_fd_write_all(out, bytes, (size_t)n, NULL);
	_exit(0);
}

static const char *exchange(struct stage *stage, const char *text, size_t length)
{
	struct rh_error err = {0};
	int ends[2];
	pid_t child;

	rh_str_clear(&stage->answer);
	assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
	child = fork();
	if (child == 0)
		talk(rh_httpd_port(stage->httpd), text, length, ends[1]);
	close(ends[1]);
	stage->pipe = ends[0];
	assert_int_equal(rh_loop_watch(stage->loop, ends[0], on_answer, stage, &stage->watch, &err), 0);
	rh_loop_run(stage->loop);
	rh_loop_unwatch(stage->watch);
	close(ends[0]);
	assert_int_equal(waitpid(child, NULL, 0), child);
	return rh_str_text(&stage->answer);
}

/* What is sent, and what comes of it; seen NULL: the handler is not asked. */
struct row {
	const char *name;
	const char *sent;
	const char *starts;
	const char *ends;
	const char *seen;
};

#define CLOSE "Host: x\r\nConnection: close\r\n"

static const struct row rows[] = {
	{"get", "GET /a HTTP/1.1\r\n" CLOSE "\r\n", "HTTP/1.1 200 ", "\r\n\r\nhello", "GET /a [] :0"},
	{"query", "GET /a?b=c&d HTTP/1.1\r\n" CLOSE "\r\n", "HTTP/1.1 200 ", "hello", "GET /a [b=c&d] :0"},
	{"escapes", "GET /a%20b?c%20d HTTP/1.1\r\n" CLOSE "\r\n", "HTTP/1.1 200 ", "hello", "GET /a b [c%20d] :0"},
	{"head", "HEAD /a HTTP/1.1\r\n" CLOSE "\r\n", "HTTP/1.1 200 ", "\r\n\r\n", "HEAD /a [] :0"},
	{"post", "POST /a HTTP/1.1\r\n" CLOSE "Content-Length: 5\r\n\r\nworld", "HTTP/1.1 200 ", "hello",
     "POST /a [] world:5"},
	{"post in chunks",
     "POST /a HTTP/1.1\r\n" CLOSE "Transfer-Encoding: chunked\r\n\r\n2\r\nwo\r\n3\r\nrld\r\n0\r\n\r\n", "HTTP/1.1 200 ",
     "hello", "POST /a [] world:5"},
	{"not there", "GET /none HTTP/1.1\r\n" CLOSE "\r\n", "HTTP/1.1 404 ", "\r\n\r\n", "GET /none [] :0"},
	{"no memory", "GET /oom HTTP/1.1\r\n" CLOSE "\r\n", "HTTP/1.1 500 ", "out of memory\n", "GET /oom [] :0"},
	{"method", "DELETE /a HTTP/1.1\r\n" CLOSE "\r\n", "HTTP/1.1 405 ", "method not allowed\n", NULL},
	{"too long", "POST /a HTTP/1.1\r\n" CLOSE "Content-Length: 33\r\n\r\n", "HTTP/1.1 413 ", "too long\n", NULL},
	{"far too long", "POST /a HTTP/1.1\r\n" CLOSE "Content-Length: 99999999999999999\r\n\r\n", "HTTP/1.1 413 ",
     "too long\n", NULL},
	{"too long in chunks",
     "POST /a HTTP/1.1\r\n" CLOSE
     "Transfer-Encoding: chunked\r\n\r\n22\r\n0123456789012345678901234567890123\r\n0\r\n\r\n",
     "", "", NULL},
	{"no HTTP", "hello\r\n\r\n", "", "", NULL},
	{"nothing", "", "", "", NULL},
};

static void test_httpd__exchange(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct stage stage = {0};
		const char *answer;

		support_row(rows[i].name);
		open_stage(&stage, 32);
		answer = exchange(&stage, rows[i].sent, strlen(rows[i].sent));
		assert_memory_equal(answer, rows[i].starts, strlen(rows[i].starts));
		assert_true(strlen(answer) >= strlen(rows[i].ends));
		assert_string_equal(answer + strlen(answer) - strlen(rows[i].ends), rows[i].ends);
		assert_string_equal(stage.seen, rows[i].seen ? rows[i].seen : "");
		close_stage(&stage);
	}
}

/* One connection after the other, and a large body. */
static void test_httpd__goes_on(void **state)
{
	struct stage stage = {0};
	rh_auto_str text = {0};

	(void)state;
	open_stage(&stage, 2000000);
	rh_str_append(&text, "POST /big HTTP/1.1\r\n" CLOSE "Content-Length: 1000000\r\n\r\n");
	for (int i = 0; i < 100000; i++)
		rh_str_append(&text, "0123456789");
	for (int i = 1; i <= 5; i++) {
		assert_non_null(strstr(exchange(&stage, text.data, text.length), "hello"));
		assert_int_equal(stage.requests, i);
		assert_non_null(strstr(stage.seen, ":1000000"));
		assert_true(stage.loopback);
	}
	close_stage(&stage);
}

/* @return a connection that has sent @p text and stays open */
static int linger(const struct stage *stage, const char *text)
{
	struct sockaddr_in place = {.sin_family = AF_INET, .sin_port = htons(rh_httpd_port(stage->httpd))};
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(connect(fd, (const struct sockaddr *)&place, sizeof(place)), 0);
	assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
	return fd;
}

/* Far more clients than places hold half a request each; who asks is answered, and the oldest are closed. */
static void test_httpd__slow_clients(void **state)
{
	static const char *const halves[] = {"", "GET /a HT", "GET /a HTTP/1.1\r\nHost: x\r\nX-Slow: y",
	                                     "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nabc"};
	struct stage stage = {0};
	int slow[100];
	char byte;

	(void)state;
	open_stage(&stage, 32);
	for (size_t i = 0; i < 100; i++)
		slow[i] = linger(&stage, halves[i % 4]);
	assert_non_null(strstr(exchange(&stage, rows[0].sent, strlen(rows[0].sent)), "hello"));
	assert_int_equal(read(slow[0], &byte, 1), 0);
	for (size_t i = 0; i < 100; i++)
		close(slow[i]);
	assert_non_null(strstr(exchange(&stage, rows[0].sent, strlen(rows[0].sent)), "hello"));
	assert_int_equal(stage.requests, 2);
	close_stage(&stage);
}

/* Bodies that never end take a bounded room. The fifth of the longest makes the first go. */
static void test_httpd__bodies_together(void **state)
{
	struct stage stage = {0};
	rh_auto_str half = {0};
	int slow[5];
	char byte;

	(void)state;
	open_stage(&stage, 1000);
	rh_str_append(&half, "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n");
	for (int i = 0; i < 999; i++)
		rh_str_append(&half, "x");
	for (size_t i = 0; i < 5; i++) {
		slow[i] = linger(&stage, rh_str_text(&half));
		assert_non_null(strstr(exchange(&stage, rows[0].sent, strlen(rows[0].sent)), "hello"));
	}
	assert_int_equal(read(slow[0], &byte, 1), 0);
	assert_int_equal(recv(slow[1], &byte, 1, MSG_DONTWAIT), -1);
	for (size_t i = 0; i < 5; i++)
		close(slow[i]);
	close_stage(&stage);
}

static void test_httpd__certificate_is_no_good(void **state)
{
	struct stage stage = {0};
	struct rh_error err = {0};
	struct rh_httpd_options options = {
		.address = "127.0.0.1:0", .handler = on_request, .arg = &stage, .connections = 16};

	(void)state;
	assert_int_equal(rh_loop_new(&stage.loop, &err), 0);
	options.loop = stage.loop;
	options.certificate = "-----BEGIN CERTIFICATE-----\nnonsense\n-----END CERTIFICATE-----\n";
	options.key = "nonsense";
	assert_int_equal(rh_httpd_new(&options, &stage.httpd, &err), RH_EINVAL);
	assert_null(stage.httpd);
	assert_non_null(strstr(err.message, "certificate"));
	options.address = "nowhere";
	assert_int_equal(rh_httpd_new(&options, &stage.httpd, &err), RH_EINVAL);
	close_stage(&stage);
}

static void test_httpd__memory_is_out(void **state)
{
	struct stage stage = {0};
	struct rh_error err = {0};
	struct rh_httpd_options options = {
		.address = "127.0.0.1:0", .handler = on_request, .arg = &stage, .connections = 16};

	(void)state;
	assert_int_equal(rh_loop_new(&stage.loop, &err), 0);
	options.loop = stage.loop;
	for (long n = 0; !stage.httpd; n++) {
		assert_true(n < 100);
		rh_mem_fail_after(n);
		if (rh_httpd_new(&options, &stage.httpd, &err) < 0)
			assert_int_equal(err.code, RH_ENOMEM);
		rh_mem_fail_after(-1);
	}
	close_stage(&stage);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_httpd__exchange),
		cmocka_unit_test(test_httpd__goes_on),
		cmocka_unit_test(test_httpd__slow_clients),
		cmocka_unit_test(test_httpd__bodies_together),
		cmocka_unit_test(test_httpd__certificate_is_no_good),
		cmocka_unit_test(test_httpd__memory_is_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
