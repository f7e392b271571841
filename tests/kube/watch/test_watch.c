/* SPDX-License-Identifier: Apache-2.0 */
/* Requests of a watch, and its events. */
#include <stdlib.h>

#include "base/os/clock.h"
#include "base/support.h"
#include "kube/subject.h"

#define JOB_LABEL "training.kubeflow.org/job-name"

/* What of an object is known when it has vanished unseen. */
static void on_vanished(void *arg, enum rh_watch_event event, const struct rh_json *object)
{
	if (event == RH_WATCH_DELETED)
		rh_json_print(object, false, arg);
}

static void test_watch__lists_then_follows(void **state)
{
	struct subject *s = *state;
	struct rh_kube_watch_state look;

	subject_start(s);
	assert_non_null(strstr(s->request.path, "watch=true&allowWatchBookmarks=true&timeoutSeconds="));
	subject_feed(s, SUBJECT_EVENT("ADDED",
	                              "{'kind':'Pod','apiVersion':'v1','metadata':{'name':'c','namespace':'d','uid':'3',"
	                              "'resourceVersion':'6'}}"));
	subject_assert_log(s, "+c:3 ");
	rh_kube_watch_look(s->watch, &look);
	assert_true(look.synced && look.works);
	assert_int_equal(look.kept, 3);
	assert_string_equal(look.version, "6");
	subject_assert_problems(s, "");
}

static void test_watch__reports_each_change_once(void **state)
{
	static const struct {
		const char *type, *name, *uid, *version, *reported;
	} rows[] = {
		{"ADDED", "a", "1", "3", ""},           {"MODIFIED", "a", "1", "6", "~a:1 "},
		{"MODIFIED", "a", "1", "6", ""},        {"ADDED", "a", "1", "7", "~a:1 "},
		{"MODIFIED", "n", "9", "8", "+n:9 "},   {"MODIFIED", "a", "5", "9", "-a:1 +a:5 "},
		{"DELETED", "a", "1", "10", ""},        {"DELETED", "a", "5", "11", "-a:5 "},
		{"DELETED", "a", "5", "12", ""},        {"ADDED", "a", "6", "odd", "+a:6 "},
		{"MODIFIED", "a", "6", "odd", "~a:6 "}, {"BOOKMARK", "a", "77", "13", ""},
		{"DELETED", "b", "2", "14", "-b:2 "},
	};
	struct subject *s = *state;

	subject_start(s);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		support_row(rows[i].type);
		assert_int_equal(subject_feed(s, subject_pod_event(rows[i].type, rows[i].name, rows[i].uid, rows[i].version)),
		                 0);
		subject_assert_log(s, rows[i].reported);
	}
}

static void print_object(void *arg, enum rh_watch_event event, const struct rh_json *object)
{
	if (event == RH_WATCH_ADDED || event == RH_WATCH_MODIFIED)
		rh_json_print(rh_json_at(object, "metadata.managedFields"), false, arg);
}

/* Whatever else wrote to the object, and whatever was written below spec. */
static void test_watch__says_who_wrote_spec(void **state)
{
	static const char list[] =
		"{\"metadata\":{\"resourceVersion\":\"5\"},\"items\":[{\"metadata\":{\"name\":\"a\",\"uid\":\"1\","
		"\"resourceVersion\":\"1\",\"managedFields\":[{\"manager\":\"m\",\"apiVersion\":\"g/v2\",\"time\":"
		"\"2026-01-01T00:00:00Z\",\"fieldsV1\":{\"f:metadata\":{},\"f:spec\":{\"f:x\":{}}}},{\"apiVersion\":"
		"\"g/v1\",\"fieldsV1\":{\"f:status\":{}}}]}},{\"metadata\":{\"name\":\"b\",\"uid\":\"2\","
		"\"resourceVersion\":\"1\"}}]}";
	rh_auto_str out = {0}, path = {0};
	const struct rh_kube_watch_options options = {
		.resource = &rh_resource_pods, .fn = print_object, .arg = &out, .pages = true, .writers = true};
	rh_auto(kube_watch) watch = rh_kube_watch_new(&options);
	struct rh_http_request request;

	(void)state;
	assert_int_equal(rh_kube_watch_begin(watch, 0, &path, &request), 0);
	assert_int_equal(rh_kube_watch_feed(watch, "", 0, 0), 0);
	assert_int_equal(rh_kube_watch_feed(watch, list, sizeof(list) - 1, 0), 0);
	assert_string_equal(rh_str_text(&out),
	                    "[{\"fieldsV1\":{\"f:spec\":{}},\"apiVersion\":\"g/v2\",\"time\":\"2026-01-01T00:00:00Z\"}][]");
}

static void test_watch__asks_for_what_it_is_to_watch(void **state)
{
	static const struct {
		const char *label, *namespace_, *path;
	} rows[] = {
		{NULL, NULL, "/api/v1/pods?limit=500"},
		{NULL, "team a", "/api/v1/namespaces/team%20a/pods?limit=500"},
		{JOB_LABEL, NULL, "/api/v1/pods?labelSelector=training.kubeflow.org%2Fjob-name&limit=500"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		void *s = subject_new(rows[i].label, rows[i].namespace_, true);

		subject_ask(s, rows[i].path);
		assert_string_equal(((struct subject *)s)->request.path, rows[i].path);
		(void)subject_teardown(&s);
	}
}

static void test_watch__timeouts_of_watches_are_spread(void **state)
{
	struct subject *s = *state;
	long first = 0;
	bool differ = false;

	subject_start(s);
	for (int i = 0; i < 10; i++) {
		const char *at = strstr(s->request.path, "timeoutSeconds=");
		long seconds = strtol(at + strlen("timeoutSeconds="), NULL, 10);

		assert_in_range(seconds, 300, 599);
		differ = differ || (first && seconds != first);
		first = seconds;
		s->now += 300 * RH_SECOND;
		subject_over(s, 200, "");
		assert_int_equal(subject_ask(s, "resourceVersion=5"), 0);
	}
	assert_true(differ);
}

static void test_watch__continues_after_its_last_version(void **state)
{
	struct subject *s = *state;

	subject_start(s);
	s->now += 5 * RH_SECOND;
	subject_feed(s, subject_pod_event("MODIFIED", "a", "1", "6"));
	subject_feed(s, SUBJECT_BOOKMARK("9"));
	subject_feed(s, "{'type':'MODI");
	subject_over(s, 0, "");
	assert_int_equal(subject_ask(s, "resourceVersion=9"), 0);
	s->now += 5 * RH_SECOND;
	subject_feed(s, subject_pod_event("MODIFIED", "a", "1", "10"));
	subject_over(s, 200, "");
	assert_int_equal(subject_ask(s, "resourceVersion=10"), 0);
	subject_assert_log(s, "~a:1 ~a:1 ");
	subject_assert_problems(s, "");
}

static void test_watch__pages_are_read_one_by_one(void **state)
{
	void *subject = subject_new(NULL, NULL, true);
	struct subject *s = subject;

	(void)state;
	subject_ask(s, "?limit=500");
	subject_reply(s, SUBJECT_PAGE("n/1", SUBJECT_POD("a", "1", "3")));
	assert_int_equal(subject_ask(s, "?limit=500&continue=n%2F1"), 0);
	subject_reply(s, SUBJECT_PAGE("n2", SUBJECT_POD("b", "2", "4")));
	subject_ask(s, "continue=n2");
	subject_assert_log(s, "+a:1 +b:2 ");
	subject_reply(s, SUBJECT_LIST("5", ""));
	subject_assert_log(s, "SYNCED ");
	subject_ask(s, "resourceVersion=5");
	(void)subject_teardown(&subject);
}

static void test_watch__pages_that_expire_are_read_anew(void **state)
{
	void *subject = subject_new(NULL, NULL, true);
	struct subject *s = subject;

	(void)state;
	for (int i = 0; i < 2; i++) {
		subject_ask(s, "?limit=500");
		subject_reply(s, SUBJECT_PAGE("n1", SUBJECT_POD("a", "1", "3") "," SUBJECT_POD("b", "2", "3")));
		subject_ask(s, "continue=n1");
		subject_over(s, 410, SUBJECT_EXPIRED);
	}
	subject_ask(s, "/api/v1/pods");
	assert_null(strstr(s->request.path, "limit"));
	subject_reply(s, SUBJECT_LIST("9", SUBJECT_POD("b", "2", "3") "," SUBJECT_POD("c", "3", "8")));
	subject_assert_log(s, "+a:1 +b:2 +c:3 -a:1 SYNCED ");
	(void)subject_teardown(&subject);
}

/* Read the pages after which a list counts as long: in each are the same @p items. */
static void read_pages(struct subject *s, const char *items)
{
	rh_auto_free char *page = rh_asprintf("{'metadata':{'resourceVersion':'5','continue':'n1'},'items':[%s]}", items);

	subject_ask(s, "?limit=500");
	assert_null(strstr(s->request.path, "continue"));
	subject_reply(s, page);
	for (int i = 1; i < 4; i++) {
		assert_int_equal(subject_ask(s, "limit=500&continue=n1"), 0);
		subject_reply(s, page);
	}
}

static void test_watch__a_list_of_a_few_pages_is_not_streamed(void **state)
{
	struct subject *s = *state;

	for (int i = 0; i < 2; i++) {
		subject_ask(s, "?limit=500");
		subject_reply(s, SUBJECT_PAGE("n1", SUBJECT_POD("a", "1", "3")));
		assert_int_equal(subject_ask(s, "?limit=500&continue=n1"), 0);
		subject_reply(s, SUBJECT_PAGE("n2", SUBJECT_POD("b", "2", "4")));
		subject_ask(s, "continue=n2");
		subject_reply(s, SUBJECT_PAGE("n3", SUBJECT_POD("c", "3", "4")));
		subject_ask(s, "continue=n3");
		subject_reply(s, SUBJECT_LIST("5", ""));
		subject_assert_log(s, i == 0 ? "+a:1 +b:2 +c:3 SYNCED " : "");
		subject_ask(s, "resourceVersion=5");
		subject_over(s, 410, SUBJECT_EXPIRED);
	}
}

static void test_watch__a_long_list_is_streamed(void **state)
{
	struct subject *s = *state;

	read_pages(s, SUBJECT_POD("a", "1", "3") "," SUBJECT_POD("b", "2", "3"));
	assert_int_equal(subject_ask(s, "sendInitialEvents=true&resourceVersionMatch=NotOlderThan"), 0);
	assert_null(strstr(s->request.path, "resourceVersion="));
	subject_feed(s, subject_pod_event("ADDED", "a", "1", "3"));
	subject_feed(s, subject_pod_event("ADDED", "c", "3", "4"));
	subject_feed(s, SUBJECT_BOOKMARK("4"));
	subject_assert_log(s, "+a:1 +b:2 +c:3 ");
	subject_feed(s, SUBJECT_END_OF_LIST("8"));
	subject_assert_log(s, "-b:2 SYNCED ");
	subject_feed(s, subject_pod_event("MODIFIED", "a", "1", "9"));
	s->now += 400 * RH_SECOND;
	subject_over(s, 200, "");
	subject_ask(s, "resourceVersion=9");
}

static void test_watch__a_server_that_cannot_stream_is_asked_for_pages(void **state)
{
	static const int32_t statuses[] = {400, 422};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		void *subject = subject_new(NULL, NULL, false);
		struct subject *s = subject;

		read_pages(s, SUBJECT_POD("a", "1", "3"));
		subject_ask(s, "sendInitialEvents");
		subject_over(s, statuses[i], "{'kind':'Status','message':'sendInitialEvents is forbidden'}");
		assert_int_equal(subject_ask(s, "?limit=500"), 0);
		subject_reply(s, SUBJECT_PAGE("n1", SUBJECT_POD("a", "1", "3")));
		subject_ask(s, "limit=500&continue=n1");
		subject_reply(s, SUBJECT_LIST("5", ""));
		subject_assert_log(s, "+a:1 SYNCED ");
		subject_assert_problems(s, "");
		(void)subject_teardown(&subject);
	}
}

static void test_watch__streams_that_never_end_their_list_give_way_to_pages(void **state)
{
	struct subject *s = *state;

	read_pages(s, SUBJECT_POD("a", "1", "3"));
	for (int i = 0; i < 3; i++) {
		subject_ask(s, "sendInitialEvents");
		s->now += 2 * RH_SECOND;
		subject_feed(s, subject_pod_event("ADDED", "a", "1", "3"));
		subject_over(s, i == 1 ? 200 : 0, "");
	}
	subject_ask(s, "?limit=500");
	subject_reply(s, SUBJECT_PAGE("n1", SUBJECT_POD("a", "1", "3")));
	subject_ask(s, "continue=n1");
}

static void test_watch__vanished_objects_are_reported_with_their_identity(void **state)
{
	static const char pod[] =
		"{'metadata':{'name':'a','namespace':'d','uid':'1','resourceVersion':'3','labels':{'x':'y',"
		"'training.kubeflow.org/job-name':'j','training.kubeflow.org/replica-index':'0'}},'spec':{'a':1}}";
	struct subject *s = *state;
	rh_auto_str reported = {0};
	rh_auto_free char *expected = subject_quoted(
		"{'apiVersion':'v1','kind':'Pod','metadata':{'name':'a','uid':'1','namespace':'d','resourceVersion':'3'}}");
	struct rh_kube_watch_options options = {
		.resource = &rh_resource_pods, .label = JOB_LABEL, .fn = on_vanished, .arg = &reported};
	rh_auto_free char *list = rh_asprintf("{'metadata':{'resourceVersion':'5'},'items':[%s]}", pod);

	rh_kube_watch_free(s->watch);
	s->watch = rh_kube_watch_new(&options);
	subject_ask(s, "limit");
	subject_reply(s, list);
	subject_ask(s, "resourceVersion=5");
	subject_over(s, 410, SUBJECT_EXPIRED);
	subject_ask(s, "limit");
	subject_reply(s, SUBJECT_LIST("9", ""));
	assert_string_equal(rh_str_text(&reported), expected);
}

/* A server drops a watcher that does not keep up with a burst, whenever that is. */
/* Watch pieces of a recorded list and stream, cut at @p cut; the connection breaks there, and all is asked again. */
static void play_cut(size_t cut, const char *expected)
{
	static const char list[] = SUBJECT_LIST("5", SUBJECT_POD("a", "1", "3") "," SUBJECT_POD("b", "2", "4"));
	static const char stream[] =
		SUBJECT_EVENT("MODIFIED", "{'kind':'Pod','apiVersion':'v1','metadata':{'name':'a','namespace':"
	                              "'d','uid':'1','resourceVersion':'6'}}")
			SUBJECT_EVENT("DELETED", "{'kind':'Pod','apiVersion':'v1','metadata':{'name':'b','namespace':'d','uid':'2',"
	                                 "'resourceVersion':'7'}}");
	void *subject = subject_new(NULL, NULL, false);
	struct subject *s = subject;
	rh_auto_free char *piece =
		rh_strndup(cut < strlen(list) ? list : stream, cut < strlen(list) ? cut : cut - strlen(list));

	subject_ask(s, "limit");
	if (cut < strlen(list)) {
		subject_feed(s, piece);
		subject_over(s, 0, "");
		subject_ask(s, "limit");
	}
	subject_reply(s, list);
	subject_ask(s, "resourceVersion=5");
	if (cut >= strlen(list)) {
		subject_feed(s, piece);
		subject_over(s, 0, "");
		subject_ask(s, "resourceVersion=");
		if (strstr(s->request.path, "resourceVersion=5"))
			subject_feed(s, stream);
		else if (strstr(s->request.path, "resourceVersion=6"))
			subject_feed(s, strchr(stream, '\n') + 1);
	} else {
		subject_feed(s, stream);
	}
	subject_assert_log(s, expected);
	(void)subject_teardown(&subject);
}

static void test_watch__cut_at_every_byte(void **state)
{
	(void)state;
	for (size_t cut = 0; cut < 420; cut++)
		play_cut(cut, "+a:1 +b:2 SYNCED ~a:1 -b:2 ");
}

static int play_without_memory(void *arg)
{
	struct subject *s = arg;
	struct rh_kube_watch_options options = {
		.resource = &rh_resource_pods, .label = JOB_LABEL, .fn = on_vanished, .arg = &s->log};
	rh_auto_str path = {0};
	struct rh_http_response good = {.status = 200, .message = "", .body = ""};
	struct rh_kube_watch_state look = {0};
	static const char text[] = "{\"metadata\":{\"resourceVersion\":\"5\"},\"items\":[{\"metadata\":{\"name\":\"a\","
							   "\"uid\":\"1\",\"labels\":{\"training.kubeflow.org/job-name\":\"j\"}}}]}";
	rh_auto(kube_watch) watch = rh_kube_watch_new(&options);

	if (!watch || rh_kube_watch_begin(watch, 0, &path, &s->request) < 0)
		return RH_ENOMEM;
	if (rh_kube_watch_feed(watch, text, sizeof(text) - 1, 0) < 0)
		good.status = 0;
	rh_kube_watch_end(watch, &good, 0);
	rh_kube_watch_look(watch, &look);
	return look.synced ? 0 : RH_ENOMEM;
}

static void test_watch__survives_out_of_memory(void **state)
{
	support_fail_each(play_without_memory, *state);
}

#define CASE(name) cmocka_unit_test_setup_teardown(test_watch__##name, subject_setup, subject_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(lists_then_follows),
		CASE(reports_each_change_once),
		CASE(says_who_wrote_spec),
		CASE(asks_for_what_it_is_to_watch),
		CASE(timeouts_of_watches_are_spread),
		CASE(continues_after_its_last_version),
		CASE(pages_are_read_one_by_one),
		CASE(pages_that_expire_are_read_anew),
		CASE(a_list_of_a_few_pages_is_not_streamed),
		CASE(a_long_list_is_streamed),
		CASE(a_server_that_cannot_stream_is_asked_for_pages),
		CASE(streams_that_never_end_their_list_give_way_to_pages),
		CASE(vanished_objects_are_reported_with_their_identity),
		CASE(cut_at_every_byte),
		CASE(survives_out_of_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
