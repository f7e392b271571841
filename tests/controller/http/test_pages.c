/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/http/pages.h"

#include <string.h>

#include "base/support.h"

/* A request for a health page "readyz", and the answer; status 0: it is not for this page. */
struct row {
	const char *name;
	const char *method;
	const char *path;
	const char *query;
	bool good;
	unsigned int status;
	const char *body;
};

#define FAILED "[-]readyz failed: reason withheld\nreadyz check failed\n"

static const struct row rows[] = {
	{"good", "GET", "/readyz", "", true, 200, "ok"},
	{"good, head", "HEAD", "/readyz", "", true, 200, "ok"},
	{"good, slash", "GET", "/readyz/", "", true, 200, "ok"},
	{"good, its check", "GET", "/readyz/readyz", "", true, 200, "ok"},
	{"good, verbose", "GET", "/readyz", "verbose", true, 200, "[+]readyz ok\nreadyz check passed\n"},
	{"good, verbose with a value", "GET", "/readyz", "a=b&verbose=1", true, 200, "[+]readyz ok\nreadyz check passed\n"},
	{"good, a longer word", "GET", "/readyz", "verbosely", true, 200, "ok"},
	{"bad", "GET", "/readyz", "", false, 500, FAILED},
	{"bad, verbose", "GET", "/readyz", "verbose", false, 500, FAILED},
	{"bad, its check", "GET", "/readyz/readyz", "", false, 500, "internal server error: reason withheld\n"},
	{"bad, excluded", "GET", "/readyz", "exclude=readyz", false, 200, "ok"},
	{"bad, excluded and verbose", "GET", "/readyz", "verbose&exclude=readyz", false, 200,
     "[+]readyz excluded: ok\nreadyz check passed\n"},
	{"bad, another excluded", "GET", "/readyz", "exclude=ping", false, 500, FAILED},
	{"unknown check", "GET", "/readyz/ping", "", true, 404, ""},
	{"not to be written", "POST", "/readyz", "", true, 405, "method not allowed\n"},
	{"another page", "GET", "/healthz", "", true, 0, ""},
	{"a longer page", "GET", "/readyzz", "", true, 0, ""},
	{"the start", "GET", "/", "", true, 0, ""},
};

static struct rh_httpd_reply answer(void)
{
	return (struct rh_httpd_reply){.status = 404, .content_type = "text/plain"};
}

static void test_pages__health(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row *row = &rows[i];
		const struct rh_httpd_request request = {.method = row->method, .path = row->path, .query = row->query};
		struct rh_httpd_reply reply = answer();

		support_row(row->name);
		assert_int_equal(rh_pages_health(&(struct rh_pages_check){"readyz", row->good}, &request, &reply),
		                 row->status != 0);
		if (row->status)
			assert_int_equal(reply.status, row->status);
		assert_string_equal(rh_str_text(&reply.body), row->body);
		rh_str_deinit(&reply.body);
	}
}

static void test_pages__metrics(void **state)
{
	const struct rh_httpd_request request = {.method = "GET", .path = "/metrics", .query = ""};
	const struct rh_httpd_request other = {.method = "GET", .path = "/metricsz", .query = ""};
	struct rh_httpd_reply reply = answer();
	rh_auto(metrics) metrics = rh_metrics_new();

	(void)state;
	rh_metrics_set(metrics, RH_METRIC_JOBS, NULL, 1);
	assert_false(rh_pages_metrics(metrics, &other, &reply));
	assert_true(rh_pages_metrics(metrics, &request, &reply));
	assert_int_equal(reply.status, 200);
	assert_string_equal(reply.content_type, "text/plain; version=0.0.4; charset=utf-8");
	assert_non_null(strstr(rh_str_text(&reply.body), "\nroundhouse_jobs 1\n"));
	rh_str_deinit(&reply.body);
}

static void test_pages__state_is_for_this_machine(void **state)
{
	struct rh_httpd_request request = {.method = "GET", .path = "/debug/state", .query = "", .host = "localhost:8081"};
	struct rh_httpd_reply reply = answer();

	(void)state;
	assert_true(rh_pages_is_state(&request, &reply));
	assert_int_equal(reply.status, 403);
	assert_non_null(strstr(rh_str_text(&reply.body), "port-forward"));
	rh_str_deinit(&reply.body);
	reply = answer();
	request.loopback = true;
	assert_true(rh_pages_is_state(&request, &reply));
	assert_int_equal(reply.status, 200);
	/* A name that leads to this machine is not this machine's */
	request.host = "localhost.example:8081";
	assert_true(rh_pages_is_state(&request, &reply));
	assert_int_equal(reply.status, 403);
	assert_non_null(strstr(rh_str_text(&reply.body), "Host"));
	request.path = "/debug/pprof";
	assert_false(rh_pages_is_state(&request, &reply));
	rh_str_deinit(&reply.body);
}

static void test_pages__json(void **state)
{
	struct rh_httpd_reply reply = answer();
	rh_auto(json) json = rh_json_new_object();

	(void)state;
	assert_int_equal(rh_json_set_integer(json, "a", 1), 0);
	rh_pages_json(json, &reply);
	assert_int_equal(reply.status, 200);
	assert_string_equal(rh_str_text(&reply.body), "{\n  \"a\": 1\n}\n");
	rh_str_clear(&reply.body);
	rh_pages_json(NULL, &reply);
	assert_int_equal(reply.status, 500);
	rh_str_deinit(&reply.body);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pages__health),
		cmocka_unit_test(test_pages__metrics),
		cmocka_unit_test(test_pages__state_is_for_this_machine),
		cmocka_unit_test(test_pages__json),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
