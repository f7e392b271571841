/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/certificate/object_watch.h"

#include <string.h>

#include "base/os/clock.h"
#include "base/support.h"
#include "kube/fake_http.h"

#define PATH "/api/v1/namespaces/a/secrets?watch=true&fieldSelector=metadata.name%3Dcert&timeoutSeconds=290"
#define AT (1000 * RH_SECOND)

/* A watch, and how often it reported a change. */
struct stage {
	struct rh_loop *loop;
	struct rh_http *http;
	struct rh_object_watch *watch;
	int changes;
};

static void on_change(void *arg)
{
	((struct stage *)arg)->changes++;
}

static void open_stage(struct stage *stage)
{
	struct rh_object_watch_options options = {
		.collection = "/api/v1/namespaces/a/secrets", .name = "cert", .changed = on_change, .arg = stage};

	*stage = (struct stage){.http = fake_http_new()};
	assert_int_equal(rh_loop_new(&stage->loop, NULL), 0);
	options.loop = stage->loop;
	options.http = stage->http;
	assert_int_equal(rh_object_watch_new(&options, &stage->watch, NULL), 0);
}

static void close_stage(struct stage *stage)
{
	rh_object_watch_free(stage->watch);
	assert_int_equal(fake_http_count(stage->http), 0);
	rh_http_free(stage->http);
	assert_true(rh_loop_turn(stage->loop, AT) == RH_NEVER); /* its source has ended */
	rh_loop_free(stage->loop);
}

static struct fake_call *begin(struct stage *stage, int64_t now)
{
	struct fake_call *call;

	/* there is no deadline while a request is in progress */
	assert_true(rh_loop_turn(stage->loop, now) == RH_NEVER);
	call = fake_http_call(stage->http, 0);
	assert_non_null(call);
	assert_string_equal(call->path, PATH);
	return call;
}

/* What comes, piece by piece, with version 7 known, and how many changes that is. */
struct row {
	const char *name;
	const char *events;
	int changes;
};

static const struct row rows[] = {
	{"as it is", "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"resourceVersion\":\"7\"}}}\n", 0},
	{"it was changed", "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"resourceVersion\":\"8\"}}}\n", 1},
	{"half an event", "{\"type\":\"ADDED\",\"object\":{\"metadata\":{", 0},
	{"it is deleted", "{\"type\":\"DELETED\",\"object\":{\"metadata\":{\"resourceVersion\":\"7\"}}}\n", 1},
	{"two events",
     "{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"resourceVersion\":\"7\"}}}\n"
     "{\"type\":\"MODIFIED\",\"object\":{\"metadata\":{\"resourceVersion\":\"9\"}}}\n",
     1},
	{"no JSON", "<html>\n", 1},
	{"an error", "{\"type\":\"ERROR\",\"object\":{\"code\":410}}\n", 1},
};

static void test_object_watch__events(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct stage stage;
		struct fake_call *call;

		support_row(rows[i].name);
		open_stage(&stage);
		rh_object_watch_know(stage.watch, "7");
		call = begin(&stage, AT);
		for (const char *at = rows[i].events; *at; at++)
			assert_true(fake_http_feed(stage.http, call, at, 1));
		assert_int_equal(stage.changes, rows[i].changes);
		close_stage(&stage);
	}
}

/* Nothing is watched before something is known; what ends begins again, what is refused much later. */
static void test_object_watch__begins_again(void **state)
{
	struct stage stage;

	(void)state;
	open_stage(&stage);
	assert_true(rh_loop_turn(stage.loop, AT) == RH_NEVER);
	assert_int_equal(fake_http_count(stage.http), 0);
	rh_object_watch_know(stage.watch, "");
	fake_http_answer(stage.http, begin(&stage, AT), 200, "");
	assert_true(rh_loop_turn(stage.loop, AT + 1) > AT + 1);
	assert_int_equal(fake_http_count(stage.http), 0);
	assert_false(rh_object_watch_is_refused(stage.watch));
	fake_http_answer(stage.http, begin(&stage, AT + 60 * RH_SECOND), 403, "{}");
	assert_true(rh_object_watch_is_refused(stage.watch));
	assert_true(rh_loop_turn(stage.loop, AT + 61 * RH_SECOND) > AT + 120 * RH_SECOND);
	fake_http_cut(stage.http, begin(&stage, AT + 3600 * RH_SECOND), true);
	assert_false(rh_object_watch_is_refused(stage.watch));
	assert_int_equal(stage.changes, 0);
	close_stage(&stage);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_object_watch__events),
		cmocka_unit_test(test_object_watch__begins_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
