/* SPDX-License-Identifier: Apache-2.0 */
/* A watch and a server that refuses, breaks off, or says what cannot be read. */
#include "base/os/clock.h"
#include "base/support.h"
#include "kube/subject.h"

static void test_faults__after_an_expired_version_the_difference_is_reported(void **state)
{
	static const char *const how[] = {"stream", "answer"};

	for (size_t i = 0; i < 2; i++) {
		void *subject = subject_new(NULL, NULL, false);
		struct subject *s = subject;

		(void)state;
		support_row(how[i]);
		subject_start(s);
		if (i == 0)
			assert_true(subject_feed(s, SUBJECT_EVENT("ERROR", SUBJECT_EXPIRED)) < 0);
		subject_over(s, i == 0 ? 0 : 410, i == 0 ? "" : SUBJECT_EXPIRED);
		assert_int_equal(subject_ask(s, "?limit=500"), 0);
		subject_reply(s, SUBJECT_LIST("90", SUBJECT_POD("b", "7", "50") "," SUBJECT_POD("c", "3", "60")));
		subject_assert_log(s, "-b:2 +b:7 +c:3 -a:1 ");
		subject_assert_problems(s, "");
		assert_int_equal(subject_ask(s, "resourceVersion=90"), 0);
		(void)subject_teardown(&subject);
	}
}

static void test_faults__versions_that_always_expire_are_no_busy_loop(void **state)
{
	struct subject *s = *state;
	int64_t waited = 0;

	subject_start(s);
	for (int i = 0; i < 10; i++) {
		subject_over(s, 410, SUBJECT_EXPIRED);
		waited += subject_ask(s, "?limit=500");
		subject_reply(s, SUBJECT_LIST("5", SUBJECT_POD("a", "1", "3") "," SUBJECT_POD("b", "2", "4")));
		waited += subject_ask(s, "resourceVersion=5");
	}
	assert_true(waited > 7 * RH_SECOND);
	subject_assert_log(s, "");
}

static void test_faults__pauses_grow_and_end(void **state)
{
	struct subject *s = *state;
	int64_t least = 800000;
	int64_t waited;

	subject_ask(s, "limit");
	for (int i = 0; i < 8; i++) {
		subject_over(s, 500, "");
		waited = subject_ask(s, "limit");
		assert_true(waited >= least && waited <= 30 * RH_SECOND && waited <= 2 * least);
		least = 2 * least > 30 * RH_SECOND ? 30 * RH_SECOND : 2 * least;
	}
	subject_reply(s, SUBJECT_LIST("5", ""));
	subject_ask(s, "resourceVersion=5");
	subject_over(s, 500, "");
	waited = subject_ask(s, "resourceVersion=5");
	assert_true(waited <= 2 * 800000);
}

static void test_faults__retry_after_is_obeyed(void **state)
{
	struct subject *s = *state;
	struct rh_http_response response = {.status = 429, .message = "", .body = "", .retry_after = 17 * RH_SECOND};

	subject_ask(s, "limit");
	rh_kube_watch_end(s->watch, &response, s->now);
	assert_int_equal(subject_ask(s, "limit"), 17 * RH_SECOND);
	subject_assert_problems(s, "list pods in '' 429 too many requests (429)\n");
}

static void test_faults__problems_are_reported_when_they_change(void **state)
{
	static const struct {
		int32_t status;
		const char *body, *expected;
	} rows[] = {
		{403, "{'kind':'Status','message':'pods is forbidden'}", "list pods in 'd' 403 pods is forbidden\n"},
		{403, "{'kind':'Status','message':'pods is forbidden'}", ""},
		{401, "", "list pods in 'd' 401 unauthorized (401)\n"},
		{0, "", "list pods in 'd' 0 it broke\n"},
		{0, "", ""},
		{500, "", "list pods in 'd' 500 internal error (500)\n"},
		{500, "{'kind':'Status','message':'stream 7 broke'}", "list pods in 'd' 500 stream 7 broke\n"},
		{500, "{'kind':'Status','message':'stream 12 broke'}", ""},
		{500, "{'kind':'Status','message':'stream 12 ended'}", "list pods in 'd' 500 stream 12 ended\n"},
	};
	void *subject = subject_new(NULL, "d", false);
	struct subject *s = subject;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		subject_ask(s, "limit");
		subject_over(s, rows[i].status, rows[i].body);
		subject_assert_problems(s, rows[i].expected);
	}
	subject_ask(s, "limit");
	subject_reply(s, SUBJECT_LIST("5", ""));
	subject_assert_problems(s, "list pods in 'd' 200 \n");
	(void)subject_teardown(&subject);
}

static void test_faults__a_short_watch_with_events_continues_at_once(void **state)
{
	static const struct {
		const char *events;
		int64_t lasted, least;
		const char *problem;
	} rows[] = {
		{SUBJECT_EVENT("DELETED", SUBJECT_POD("gone", "1", "6")), 1000, 0, ""},
		{"", 1000, 800000, "watch pods in '' 0 the server ends the watch at once\n"},
		{"", 2 * RH_SECOND, 0, ""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		void *subject = subject_new(NULL, NULL, false);
		struct subject *s = subject;
		int64_t waited;

		subject_start(s);
		assert_int_equal(subject_feed(s, rows[i].events), 0);
		s->now += rows[i].lasted;
		subject_over(s, 200, "");
		subject_assert_problems(s, rows[i].problem);
		waited = subject_ask(s, *rows[i].events ? "resourceVersion=6" : "resourceVersion=5");
		assert_true(rows[i].least == 0 ? waited == 0 : waited >= rows[i].least);
		(void)subject_teardown(&subject);
	}
}

static void test_faults__works_again_is_found_out_by_a_short_watch(void **state)
{
	struct subject *s = *state;
	struct rh_kube_watch_state look;

	subject_start(s);
	subject_over(s, 0, "");
	subject_assert_problems(s, "watch pods in '' 0 it broke\n");
	subject_ask(s, "timeoutSeconds=2");
	rh_kube_watch_look(s->watch, &look);
	assert_false(look.works);
	s->now += 2 * RH_SECOND;
	subject_over(s, 200, "");
	subject_assert_problems(s, "watch pods in '' 200 \n");
	assert_int_equal(subject_ask(s, "resourceVersion=5"), 0);
	assert_null(strstr(s->request.path, "timeoutSeconds=2&"));
	rh_kube_watch_look(s->watch, &look);
	assert_true(look.works);
}

static void test_faults__the_head_of_a_good_answer_says_that_it_works(void **state)
{
	struct subject *s = *state;

	subject_start(s);
	subject_over(s, 503, "");
	subject_ask(s, "resourceVersion=5");
	rh_str_clear(&s->problems);
	assert_int_equal(rh_kube_watch_feed(s->watch, "", 0, s->now), 0);
	subject_assert_problems(s, "watch pods in '' 200 \n");
}

static void test_faults__a_missing_resource_holds_up_nobody(void **state)
{
	struct subject *s = *state;

	subject_ask(s, "limit");
	subject_over(s, 404, "404 page not found\n");
	subject_assert_log(s, "SYNCED ");
	subject_assert_problems(s, "list pods in '' 404 not found (404): 404 page not found\n");
	assert_true(subject_ask(s, "limit") > 0);
	subject_over(s, 404, "404 page not found\n");
	subject_ask(s, "limit");
	subject_reply(s, SUBJECT_LIST("5", SUBJECT_POD("a", "1", "3")));
	subject_assert_log(s, "+a:1 ");
	subject_assert_problems(s, "list pods in '' 200 \n");
	subject_ask(s, "resourceVersion=5");
	subject_over(s, 404, "404 page not found\n");
	subject_assert_log(s, "");
	subject_ask(s, "limit");
}

static void test_faults__silence_is_met_with_doubt(void **state)
{
	struct subject *s = *state;
	int64_t idle;

	subject_start(s);
	idle = s->request.idle_timeout;
	assert_int_equal(idle, 90 * RH_SECOND);
	s->now += idle;
	subject_over(s, 0, "");
	assert_int_equal(subject_ask(s, "resourceVersion=5"), 0);
	assert_int_equal(s->request.idle_timeout, 2 * idle);
	s->now += 60 * RH_SECOND;
	subject_feed(s, SUBJECT_BOOKMARK("6"));
	s->now += 2 * idle;
	subject_over(s, 0, "");
	assert_int_equal(subject_ask(s, "resourceVersion=6"), 0);
	assert_int_equal(s->request.idle_timeout, 2 * idle);
	subject_assert_problems(s, "");
}

static void test_faults__what_cannot_be_read_is_tried_again(void **state)
{
	static const struct {
		const char *body, *message;
	} rows[] = {
		{"<html>", "the server's answer is not a list: unexpected byte 0x3c"},
		{"{}", "the server's answer is not a list: it has no items"},
		{"{'metadata':{},'items':[]}", "the server's list has no metadata.resourceVersion"},
		{"{'items':[]", "the server's answer ends in the middle"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		void *subject = subject_new(NULL, NULL, false);
		struct subject *s = subject;
		rh_auto_free char *reported = rh_asprintf("list pods in '' 0 %s\n", rows[i].message);

		subject_ask(s, "limit");
		subject_over(s, subject_feed(s, rows[i].body) < 0 ? 0 : 200, "");
		subject_assert_problems(s, reported);
		subject_assert_log(s, "");
		assert_true(subject_ask(s, "limit") > 0);
		(void)subject_teardown(&subject);
	}
}

static void test_faults__odd_events_end_the_watch(void **state)
{
	static const struct {
		const char *event, *expected;
	} rows[] = {
		{"{}", "watch pods in '' 0 the server sent an event without a type or an object\n"},
		{"{'type':'ADDED','object':7}", "watch pods in '' 0 the server sent an event without a type or an object\n"},
		{"{'type':'BOOKMARK','object':{}}",
	     "watch pods in '' 0 the server sent an event without metadata.resourceVersion\n"},
		{"{'type':'ERROR','object':{}}", "watch pods in '' 500 the server ended the watch\n"},
		{"{'type':'ERROR','object':{'code':429,'message':'busy'}}", "watch pods in '' 429 busy\n"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		void *subject = subject_new(NULL, NULL, false);
		struct subject *s = subject;

		subject_start(s);
		assert_true(subject_feed(s, rows[i].event) < 0);
		subject_over(s, 0, "");
		subject_assert_problems(s, rows[i].expected);
		assert_true(subject_ask(s, "resourceVersion=5") > 0);
		(void)subject_teardown(&subject);
	}
}

#define CASE(name) cmocka_unit_test_setup_teardown(test_faults__##name, subject_setup, subject_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(after_an_expired_version_the_difference_is_reported),
		CASE(versions_that_always_expire_are_no_busy_loop),
		CASE(pauses_grow_and_end),
		CASE(retry_after_is_obeyed),
		CASE(problems_are_reported_when_they_change),
		CASE(a_short_watch_with_events_continues_at_once),
		CASE(works_again_is_found_out_by_a_short_watch),
		CASE(the_head_of_a_good_answer_says_that_it_works),
		CASE(a_missing_resource_holds_up_nobody),
		CASE(silence_is_met_with_doubt),
		CASE(what_cannot_be_read_is_tried_again),
		CASE(odd_events_end_the_watch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
