/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/http/http.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/os/clock.h"
#include "base/os/file.h"
#include "kube/https.h"

/* What the tests of this file share. */
struct fixture {
	struct https_server server;
	char *ca; /* cluster members that trust it */
};

static int set_up(void **state)
{
	struct fixture *fixture = rh_alloc(sizeof(*fixture));
	rh_auto_free char *ca = NULL;

	assert_non_null(fixture);
	https_start(&fixture->server, NULL, NULL);
	ca = https_file64(&fixture->server, "ca.crt");
	fixture->ca = rh_asprintf("certificate-authority-data: %s", ca);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	https_stop(&fixture->server);
	rh_free(fixture->ca);
	rh_free(fixture);
	return 0;
}

static void open_client(struct https_client *client, void **state)
{
	const struct fixture *fixture = *state;

	https_open(client, https_config(&fixture->server, fixture->ca, ""));
}

static void assert_has(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("\"%s\" is not in \"%s\"", part, text);
}

static void test_http__answers(void **state)
{
	static const struct {
		const char *path;
		int32_t status;
		const char *body;
		int64_t retry; /* seconds */
	} rows[] = {
		{"/bytes/3", 200, "xxx", 0},
		{"/bytes/0", 200, "", 0},
		{"/status/404", 404, "{\"kind\": \"Status\", \"code\": 404}", 0},
		{"/status/429?retry=7", 429, "{\"kind\": \"Status\", \"code\": 429}", 7},
		{"/status/503?retry=0", 503, "{\"kind\": \"Status\", \"code\": 503}", 0},
		{"/status/429?retry=soon", 429, "{\"kind\": \"Status\", \"code\": 429}", 0},
		{"/status/429?retry=99999999999999999999", 429, "{\"kind\": \"Status\", \"code\": 429}", 9999999},
		{"/status/429?retry=Sun,+06+Nov+1994+08:49:37+GMT", 429, "{\"kind\": \"Status\", \"code\": 429}", 0},
		{"/stream/2", 200, "{\"type\":\"BOOKMARK\"}\n{\"type\":\"BOOKMARK\"}\n", 0},
	};
	struct https_client client = {0};

	open_client(&client, state);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		auto_https_call call = {0};

		(void)support_row(rows[i].path);
		https_get(&client, rows[i].path, &call);
		assert_int_equal(call.status, rows[i].status);
		assert_string_equal(rh_str_text(&call.body), rows[i].body);
		assert_string_equal(call.message, "");
		assert_int_equal(call.retry_after, rows[i].retry * RH_SECOND);
		assert_int_equal(client.observed, i + 1);
	}
	https_close(&client);
}

static void test_http__retry_after_a_date(void **state)
{
	struct https_client client = {0};
	auto_https_call call = {0};

	open_client(&client, state);
	https_get(&client, "/status/503?retry=Fri,+01+Jan+2088+00:00:00+GMT", &call);
	assert_int_equal(call.status, 503);
	assert_true(call.retry_after > 365 * 24 * 3600 * RH_SECOND);
	https_close(&client);
}

static void test_http__what_is_sent(void **state)
{
	static const struct {
		const char *method, *content_type, *body, *expected_type, *encoding;
	} rows[] = {
		{"GET", NULL, NULL, NULL, "gzip"},
		{"POST", "application/json", "{\"a\":1}", "application/json", NULL},
		{"POST", NULL, "{}", "application/json", NULL},
		{"PUT", "application/json", "{}", "application/json", NULL},
		{"PATCH", "application/merge-patch+json", "{\"b\":2}", "application/merge-patch+json", NULL},
		{"DELETE", "application/json", "{\"c\":3}", "application/json", NULL},
		{"DELETE", NULL, NULL, NULL, NULL},
	};
	struct https_client client = {0};

	open_client(&client, state);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rh_http_request request = {.method = rows[i].method,
		                                  .path = "/echo/a%2Fb/../c?x=1&y=%20",
		                                  .content_type = rows[i].content_type,
		                                  .body = rows[i].body,
		                                  .body_length = rows[i].body ? strlen(rows[i].body) : 0};
		auto_https_call call = {0};
		rh_auto(json) reply = NULL;
		const struct rh_json *headers;

		(void)support_row(rows[i].method);
		https_send(&client, &request, false, &call);
		https_wait(&client);
		assert_int_equal(call.status, 200);
		assert_true(call.sent);
		reply = support_json(rh_str_text(&call.body));
		headers = rh_json_get(reply, "headers");
		assert_string_equal(rh_json_string_at(reply, "method"), rows[i].method);
		assert_string_equal(rh_json_string_at(reply, "path"), request.path);
		assert_string_equal(rh_json_string_at(reply, "body"), rows[i].body ? rows[i].body : "");
		assert_true(rh_text_equal(rh_json_string(rh_json_get(headers, "content-type")), rows[i].expected_type));
		assert_true(rh_text_equal(rh_json_string(rh_json_get(headers, "accept-encoding")), rows[i].encoding));
		assert_string_equal(rh_json_string(rh_json_get(headers, "accept")), "application/json");
		assert_true(rh_starts_with(rh_json_string(rh_json_get(headers, "user-agent")), "roundhouse/"));
		assert_null(rh_json_get(headers, "expect"));
		assert_null(rh_json_get(headers, "authorization"));
	}
	https_close(&client);
}

static void test_http__impersonation_and_basic(void **state)
{
	const struct fixture *fixture = *state;
	struct https_client client = {0};
	auto_https_call call = {0};
	rh_auto(json) reply = NULL;
	const struct rh_json *headers;

	https_open(&client,
	           https_config(&fixture->server, fixture->ca,
	                        "username: ann, password: 'a b', as: bob, as-groups: [g1], as-user-extra: {Sco/pe: [x]}"));
	https_get(&client, "/echo", &call);
	reply = support_json(rh_str_text(&call.body));
	headers = rh_json_get(reply, "headers");
	assert_string_equal(rh_json_string(rh_json_get(headers, "authorization")), "Basic YW5uOmEgYg==");
	assert_string_equal(rh_json_string(rh_json_get(headers, "impersonate-user")), "bob");
	assert_string_equal(rh_json_string(rh_json_get(headers, "impersonate-group")), "g1");
	assert_string_equal(rh_json_string(rh_json_get(headers, "impersonate-extra-sco%2fpe")), "x");
	https_close(&client);
}

static void test_http__compressed(void **state)
{
	const struct fixture *fixture = *state;
	rh_auto_free char *plain = rh_asprintf("%s, disable-compression: true", fixture->ca);
	const char *const clusters[] = {fixture->ca, plain};

	for (size_t i = 0; i < 2; i++) {
		struct https_client client = {0};
		auto_https_call call = {0};

		https_open(&client, https_config(&fixture->server, clusters[i], ""));
		https_get(&client, "/gzip/90000", &call);
		assert_int_equal(call.status, 200);
		assert_int_equal(call.body.length, 90000);
		https_close(&client);
	}
}

static void test_http__longest_body(void **state)
{
	struct https_client client = {0};
	auto_https_call fits = {0};
	auto_https_call large = {0};
	auto_https_call bomb = {0};

	open_client(&client, state);
	https_get(&client, "/bytes/100000", &fits);
	assert_int_equal(fits.status, 200);
	assert_int_equal(fits.body.length, 100000);
	https_get(&client, "/bytes/100001", &large);
	assert_int_equal(large.status, 0);
	assert_true(large.sent);
	assert_string_equal(large.message, "the answer has more than 100000 bytes");
	assert_int_equal(large.body.length, 0);
	https_get(&client, "/gzip/50000000", &bomb);
	assert_int_equal(bomb.status, 0);
	assert_int_equal(client.observed, 3);
	https_close(&client);
}

static void test_http__faults(void **state)
{
	static const struct {
		const char *path;
		int64_t timeout, idle;
		const char *message;
	} rows[] = {
		{"/cut/10", 0, 0, "https://127.0.0.1:"},
		{"/cut/0", 0, 0, "https://127.0.0.1:"},
		{"/close", 0, 0, "https://127.0.0.1:"},
		{"/silent", RH_SECOND / 5, 0, "no complete answer within 0.2s"},
		{"/silent", 0, RH_SECOND / 5, "not a byte for 0.2s"},
		{"/hang/3", RH_SECOND / 5, 0, "no complete answer within 0.2s"},
		{"/hang/3", RH_SECOND * 60, RH_SECOND / 5, "not a byte for 0.2s"},
	};
	struct https_client client = {0};

	open_client(&client, state);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct rh_http_request request = {
			.method = "GET", .path = rows[i].path, .timeout = rows[i].timeout, .idle_timeout = rows[i].idle};
		auto_https_call call = {0};

		(void)support_row(rows[i].path);
		https_send(&client, &request, false, &call);
		https_wait(&client);
		assert_int_equal(call.status, 0);
		assert_true(call.sent);
		assert_has(call.message, rows[i].message);
		assert_string_equal(rh_str_text(&call.body), "");
	}
	https_close(&client);
}

static void test_http__chunks(void **state)
{
	struct rh_http_request stream = {.method = "GET", .path = "/stream/50"};
	struct rh_http_request refused = {.method = "GET", .path = "/status/410"};
	struct https_client client = {0};
	auto_https_call good = {0};
	auto_https_call bad = {0};

	open_client(&client, state);
	https_send(&client, &stream, true, &good);
	https_send(&client, &refused, true, &bad);
	https_wait(&client);
	assert_int_equal(good.status, 200);
	assert_true(good.chunks > 0);
	assert_int_equal(good.body.length, 50 * strlen("{\"type\":\"BOOKMARK\"}\n"));
	assert_int_equal(bad.status, 410);
	assert_int_equal(bad.chunks, 0);
	assert_has(rh_str_text(&bad.body), "410");
	https_close(&client);
}

static void test_http__chunk_function_ends_it(void **state)
{
	struct rh_http_request request = {.method = "GET", .path = "/hang/3"};
	struct https_client client = {0};
	auto_https_call call = {.stop_after = 1};

	open_client(&client, state);
	https_send(&client, &request, true, &call);
	https_wait(&client);
	assert_int_equal(call.status, 0);
	assert_int_equal(call.chunks, 1);
	assert_string_equal(call.message, "malformed response");
	https_close(&client);
}

static void test_http__cancel_anywhere(void **state)
{
	struct rh_http_request hang = {.method = "GET", .path = "/hang/1"};
	struct rh_http_request ends = {.method = "GET", .path = "/stream/3"};
	struct https_client client = {0};
	auto_https_call early = {0};
	auto_https_call inside = {.cancel_after = 1};
	auto_https_call late = {.release_after = 1};
	auto_https_call after = {0};

	open_client(&client, state);
	https_send(&client, &hang, true, &early);
	rh_http_cancel(client.http, early.id);
	client.open--;
	https_send(&client, &ends, true, &inside);
	https_wait(&client);
	https_send(&client, &hang, true, &late);
	https_wait(&client);
	rh_http_cancel(client.http, late.id);
	client.open--;
	rh_http_cancel(client.http, late.id);
	rh_http_cancel(client.http, 12345);
	https_get(&client, "/bytes/1", &after);
	assert_int_equal(after.status, 200);
	assert_int_equal(early.status, -1);
	assert_int_equal(inside.status, -1);
	assert_int_equal(inside.chunks, 1);
	assert_int_equal(late.status, -1);
	assert_int_equal(client.observed, 1);
	https_close(&client);
}

static void test_http__free_cancels(void **state)
{
	struct rh_http_request hang = {.method = "GET", .path = "/hang/1"};
	struct https_client client = {0};
	auto_https_call in_flight = {.release_after = 1};
	auto_https_call waiting = {0};

	open_client(&client, state);
	https_send(&client, &hang, true, &in_flight);
	https_wait(&client);
	https_send(&client, &hang, true, &waiting);
	https_close(&client);
	assert_int_equal(in_flight.status, -1);
	assert_int_equal(waiting.status, -1);
	rh_http_free(NULL);
}

/* A call that, when it is done, sends the next one, until there are none left. */
struct relay {
	struct https_call call;
	int left;
};

static void relay_on_done(void *arg, const struct rh_http_response *response)
{
	struct rh_http_request request = {.method = "GET", .path = "/bytes/1"};
	struct relay *relay = arg;

	assert_int_equal(response->status, 200);
	if (--relay->left == 0)
		relay->call.client->open--;
	else
		assert_int_equal(rh_http_send(relay->call.client->http, &request, relay_on_done, relay, NULL, NULL), 0);
}

static void test_http__callbacks_may_send(void **state)
{
	struct rh_http_request request = {.method = "GET", .path = "/bytes/1"};
	struct https_client client = {0};
	struct relay relay = {.call.client = &client, .left = 20};
	auto_https_call count = {0};

	open_client(&client, state);
	client.open = 1;
	assert_int_equal(rh_http_send(client.http, &request, relay_on_done, &relay, NULL, NULL), 0);
	https_wait(&client);
	assert_int_equal(relay.left, 0);
	assert_int_equal(client.observed, 20);
	https_close(&client);
}

static int64_t count_of(struct https_client *client, const char *what)
{
	auto_https_call call = {0};
	rh_auto(json) reply = NULL;
	int64_t value = -1;

	https_get(client, "/count", &call);
	reply = support_json(rh_str_text(&call.body));
	assert_true(rh_json_integer(rh_json_get(reply, what), &value));
	return value;
}

static void test_http__connections_are_kept(void **state)
{
	struct https_client client = {0};
	int64_t before;

	open_client(&client, state);
	before = count_of(&client, "connections");
	for (int i = 0; i < 20; i++) {
		auto_https_call call = {0};

		https_get(&client, "/bytes/10", &call);
		assert_int_equal(call.status, 200);
	}
	assert_int_equal(count_of(&client, "connections"), before);
	https_close(&client);
}

static void test_http__many_at_once(void **state)
{
	struct rh_http_request request = {.method = "POST", .path = "/echo", .body = "{}", .body_length = 2};
	struct https_client client = {0};
	struct https_call calls[60] = {0};

	open_client(&client, state);
	for (size_t i = 0; i < 60; i++)
		https_send(&client, &request, false, &calls[i]);
	https_wait(&client);
	for (size_t i = 0; i < 60; i++) {
		assert_int_equal(calls[i].status, 200);
		https_call_deinit(&calls[i]);
	}
	https_close(&client);
}

/* The loop sleeps while a stream is silent. */
static void test_http__silence_costs_nothing(void **state)
{
	struct rh_http_request hang = {.method = "GET", .path = "/hang/1", .idle_timeout = RH_SECOND * 3 / 2};
	struct https_client client = {0};
	auto_https_call call = {.release_after = 1};
	size_t turns;

	open_client(&client, state);
	https_send(&client, &hang, true, &call);
	https_wait(&client);
	turns = client.turns;
	https_wait(&client);
	assert_int_equal(call.status, 0);
	assert_true(client.turns - turns < 20);
	https_close(&client);
}

static void test_http__tls(void **state)
{
	static const struct {
		const char *name, *cluster;
		bool trusts;         /* the right authority is added */
		const char *message; /* NULL: it works */
	} rows[] = {
		{"the right authority", "", true, NULL},
		{"the system's authorities", "", false, "check test: clusters[0].cluster.certificate-authority"},
		{"no check", "insecure-skip-tls-verify: true", false, NULL},
		{"a name that it has", "tls-server-name: api.test", true, NULL},
		{"a name that it has not", "tls-server-name: other.test", true,
	     "check test: clusters[0].cluster.tls-server-name"},
	};
	const struct fixture *fixture = *state;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		rh_auto_free char *cluster =
			rh_asprintf("%s, %s", rows[i].trusts ? fixture->ca : "extensions: []", rows[i].cluster);
		struct https_client client = {0};
		auto_https_call call = {0};

		(void)support_row(rows[i].name);
		https_open(&client, https_config(&fixture->server, cluster, ""));
		https_get(&client, "/echo", &call);
		assert_int_equal(call.status, rows[i].message ? 0 : 200);
		assert_int_equal(call.sent, rows[i].message == NULL);
		assert_has(call.message, rows[i].message ? rows[i].message : "");
		if (!rows[i].message)
			assert_has(rh_str_text(&call.body), "\"host\": \"127.0.0.1:");
		https_close(&client);
	}
}

static void test_http__another_authority_is_refused(void **state)
{
	const struct fixture *fixture = *state;
	rh_auto_free char *other = https_file64(&fixture->server, "other.crt");
	rh_auto_free char *cluster = rh_asprintf("certificate-authority-data: %s", other);
	struct https_client client = {0};
	auto_https_call call = {0};

	https_open(&client, https_config(&fixture->server, cluster, "token: abc"));
	https_get(&client, "/token/abc", &call);
	assert_int_equal(call.status, 0);
	assert_false(call.sent);
	assert_null(strstr(call.message, "abc"));
	https_close(&client);
}

static void test_http__client_certificate(void **state)
{
	const struct fixture *fixture = *state;
	rh_auto_free char *certificate = https_file64(&fixture->server, "client.crt");
	rh_auto_free char *key = https_file64(&fixture->server, "client.key");
	rh_auto_free char *wrong = https_file64(&fixture->server, "other.key");
	const char *const keys[] = {key, wrong};

	for (size_t i = 0; i < 2; i++) {
		rh_auto_free char *user = rh_asprintf("client-certificate-data: %s, client-key-data: %s", certificate, keys[i]);
		struct https_client client = {0};
		auto_https_call call = {0};

		https_open(&client, https_config(&fixture->server, fixture->ca, user));
		https_get(&client, "/certificate", &call);
		assert_int_equal(call.status, i == 0 ? 200 : 0);
		assert_string_equal(rh_str_text(&call.body), i == 0 ? "commonName=client" : "");
		assert_has(call.message, i == 0 ? "" : "check test: users[0].user.client-certificate");
		https_close(&client);
	}
}

static void test_http__nobody_listens(void **state)
{
	static const struct {
		const char *server, *message;
	} rows[] = {
		{"https://127.0.0.1:1", "https://127.0.0.1:1: "},
		{"https://127.0.0.1:1", "check test: clusters[0].cluster.server"},
		{"https://127.0.0.1:1', proxy-url: 'http://127.0.0.1:1", "check test: clusters[0].cluster.proxy-url"},
		{"https://no-such-host.invalid:6443", "check test: clusters[0].cluster.server"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		rh_auto_free char *text =
			rh_asprintf("{current-context: c, contexts: [{name: c, context: {cluster: k}}], clusters: [{name: k, "
		                "cluster: {server: '%s'}}]}",
		                rows[i].server);
		struct rh_kubeconfig *config = NULL;
		struct https_client client = {0};
		auto_https_call call = {0};

		(void)support_row(rows[i].server);
		assert_int_equal(rh_kubeconfig_parse("test", text, strlen(text), NULL, &config, NULL), 0);
		https_open(&client, config);
		https_get(&client, "/echo", &call);
		assert_int_equal(call.status, 0);
		assert_false(call.sent);
		assert_has(call.message, rows[i].message);
		https_close(&client);
	}
}

static void test_http__a_server_that_is_no_address(void **state)
{
	static const char text[] =
		"{current-context: c, contexts: [{name: c, context: {cluster: k}}], clusters: [{name: k, "
		"cluster: {server: 'https://a:99999'}}]}";
	struct rh_http_options options = {0};
	rh_auto(kubeconfig) config = NULL;
	struct rh_http *http = NULL;
	struct rh_error err = {0};

	(void)state;
	assert_int_equal(rh_kubeconfig_parse("test", text, strlen(text), NULL, &config, NULL), 0);
	options.config = config;
	assert_int_equal(rh_http_new(&options, &http, &err), RH_EINVAL);
	assert_has(err.message, "test: clusters[0].cluster.server: \"https://a:99999\"");
	assert_null(http);
}

static void test_http__through_a_proxy(void **state)
{
	const struct fixture *fixture = *state;
	struct https_server proxy = {0};
	struct https_client client = {0};
	auto_https_call call = {0};
	rh_auto_free char *cluster = NULL;
	rh_auto_free char *path = NULL;
	rh_auto_free char *log = NULL;

	https_start(&proxy, "--plain", NULL);
	cluster = rh_asprintf("%s, proxy-url: 'http://127.0.0.1:%d'", fixture->ca, proxy.port);
	https_open(&client, https_config(&fixture->server, cluster, ""));
	https_get(&client, "/bytes/5", &call);
	assert_int_equal(call.status, 200);
	https_close(&client);
	path = rh_path_join(proxy.dir, "proxy.log");
	assert_int_equal(rh_file_read(path, 1000, &log, NULL, NULL), 0);
	assert_has(log, "127.0.0.1:");
	https_stop(&proxy);
}

static void test_http__environment_proxy_is_not_for_loopback(void **state)
{
	struct https_client client = {0};
	auto_https_call call = {0};

	assert_int_equal(setenv("https_proxy", "http://127.0.0.1:1", 1), 0);
	open_client(&client, state);
	https_get(&client, "/bytes/5", &call);
	assert_int_equal(unsetenv("https_proxy"), 0);
	assert_int_equal(call.status, 200);
	https_close(&client);
}

static void write_file(const char *dir, const char *name, const char *text)
{
	rh_auto_free char *path = rh_path_join(dir, name);

	assert_int_equal(rh_file_write_atomic(path, text, strlen(text), 0600, NULL), 0);
}

static void test_http__token_file_is_read_again_when_refused(void **state)
{
	const struct fixture *fixture = *state;
	rh_auto_free char *user = rh_asprintf("tokenFile: %s/token", fixture->server.dir);
	struct https_client client = {0};
	auto_https_call first = {0};
	auto_https_call second = {0};
	auto_https_call third = {0};

	write_file(fixture->server.dir, "token", "one\n");
	https_open(&client, https_config(&fixture->server, fixture->ca, user));
	https_get(&client, "/token/one", &first);
	assert_int_equal(first.status, 200);
	write_file(fixture->server.dir, "token", "two\n");
	(void)usleep(1100000); /* a refusal right after the file was read does not count */
	https_get(&client, "/token/two", &second);
	assert_int_equal(second.status, 200);
	assert_int_equal(client.observed, 2);
	https_get(&client, "/token/three", &third);
	assert_int_equal(third.status, 401);
	assert_string_equal(rh_str_text(&third.body), "bad");
	https_close(&client);
}

static void test_http__exec_plugin(void **state)
{
	static const char user[] =
		"exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, command: sh, "
		"args: [-c, 'echo \"$A\" >&2; echo \"{\\\"kind\\\":\\\"ExecCredential\\\",\\\"apiVersion\\\":"
		"\\\"client.authentication.k8s.io/v1\\\",\\\"status\\\":{\\\"token\\\":\\\"$T\\\"}}\"'], "
		"env: [{name: T, value: abc}]}";
	const struct fixture *fixture = *state;
	struct rh_http_request request = {.method = "GET", .path = "/token/abc"};
	struct https_client client = {0};
	struct https_call calls[5] = {0};

	https_open(&client, https_config(&fixture->server, fixture->ca, user));
	for (size_t i = 0; i < 5; i++)
		https_send(&client, &request, false, &calls[i]);
	https_wait(&client);
	for (size_t i = 0; i < 5; i++) {
		assert_int_equal(calls[i].status, 200);
		https_call_deinit(&calls[i]);
	}
	https_close(&client);
}

static void test_http__exec_plugin_that_fails(void **state)
{
	static const char user[] =
		"exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: sh, args: [-c, exit 3]}";
	const struct fixture *fixture = *state;
	struct https_client client = {0};
	auto_https_call call = {0};

	https_open(&client, https_config(&fixture->server, fixture->ca, user));
	https_get(&client, "/token/abc", &call);
	assert_int_equal(call.status, 0);
	assert_false(call.sent);
	assert_string_equal(call.message, "test: users[0].user.exec: the plugin: it ended with status 3");
	https_close(&client);
}

static void test_http__without_memory(void **state)
{
	const struct fixture *fixture = *state;
	struct rh_http_request request = {.method = "POST", .path = "/echo", .body = "{}", .body_length = 2};
	struct https_client client = {0};
	auto_https_call call = {0};
	long n = 0;

	open_client(&client, state);
	for (int r = RH_ENOMEM; r < 0; n++) {
		struct rh_http_options options = {.loop = client.loop, .config = client.config};
		struct rh_http *http = NULL;

		(void)rh_mem_fail_after(n);
		r = rh_http_new(&options, &http, NULL);
		(void)rh_mem_fail_after(-1);
		assert_true(r == 0 || r == RH_ENOMEM);
		rh_http_free(http);
	}
	assert_true(n > 3);
	(void)rh_mem_fail_after(2);
	assert_int_equal(rh_http_send(client.http, &request, NULL, NULL, NULL, NULL), RH_ENOMEM);
	(void)rh_mem_fail_after(-1);
	https_get(&client, "/echo", &call);
	assert_int_equal(call.status, 200);
	https_close(&client);
	(void)fixture;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_http__answers),
		cmocka_unit_test(test_http__retry_after_a_date),
		cmocka_unit_test(test_http__what_is_sent),
		cmocka_unit_test(test_http__impersonation_and_basic),
		cmocka_unit_test(test_http__compressed),
		cmocka_unit_test(test_http__longest_body),
		cmocka_unit_test(test_http__faults),
		cmocka_unit_test(test_http__chunks),
		cmocka_unit_test(test_http__chunk_function_ends_it),
		cmocka_unit_test(test_http__cancel_anywhere),
		cmocka_unit_test(test_http__free_cancels),
		cmocka_unit_test(test_http__callbacks_may_send),
		cmocka_unit_test(test_http__connections_are_kept),
		cmocka_unit_test(test_http__many_at_once),
		cmocka_unit_test(test_http__silence_costs_nothing),
		cmocka_unit_test(test_http__tls),
		cmocka_unit_test(test_http__another_authority_is_refused),
		cmocka_unit_test(test_http__client_certificate),
		cmocka_unit_test(test_http__nobody_listens),
		cmocka_unit_test(test_http__a_server_that_is_no_address),
		cmocka_unit_test(test_http__through_a_proxy),
		cmocka_unit_test(test_http__environment_proxy_is_not_for_loopback),
		cmocka_unit_test(test_http__token_file_is_read_again_when_refused),
		cmocka_unit_test(test_http__exec_plugin),
		cmocka_unit_test(test_http__exec_plugin_that_fails),
		cmocka_unit_test(test_http__without_memory),
	};

	return cmocka_run_group_tests_name("kube/http/http", tests, set_up, tear_down);
}
