/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/support.h"
#include "kube/watch.h"

#define POD(name, uid, version) \
	"{'metadata':{'name':'" name "','namespace':'d','uid':'" uid "','resourceVersion':'" version "'}}"
#define EVENT(type, object) "{'type':'" type "','object':" object "}\n"
#define LIST(version, items) "{'metadata':{'resourceVersion':'" version "'},'items':[" items "]}"
#define PAGE(next, items) "{'metadata':{'resourceVersion':'5','continue':'" next "'},'items':[" items "]}"
#define BOOKMARK(version) EVENT("BOOKMARK", "{'metadata':{'resourceVersion':'" version "'}}")
#define END_OF_LIST(version) \
	EVENT("BOOKMARK",        \
	      "{'metadata':{'resourceVersion':'" version "','annotations':{'k8s.io/initial-events-end':'true'}}}")
#define EXPIRED "{'kind':'Status','code':410,'reason':'Expired','message':'too old'}"
#define JOB_LABEL "training.kubeflow.org/job-name"

/* A watch and what it said. */
struct subject {
	struct rh_kube_watch *watch;
	struct rh_str log;
	struct rh_str problems;
	struct rh_str path;
	struct rh_http_request request;
	int64_t now;
};

static void on_event(void *arg, enum rh_watch_event event, const struct rh_json *object)
{
	static const char *const names[] = {"+", "~", "-", "SYNCED"};
	struct subject *s = arg;
	const char *name = rh_json_string_at(object, "metadata.name");
	const char *uid = rh_json_string_at(object, "metadata.uid");

	assert_true(!object == (event == RH_WATCH_SYNCED));
	assert_true(!object || rh_text_equal(rh_json_string_at(object, "kind"), "Pod"));
	assert_true(!object || rh_text_equal(rh_json_string_at(object, "apiVersion"), "v1"));
	rh_str_appendf(&s->log, "%s%s%s%s ", names[event], name ? name : "", uid ? ":" : "", uid ? uid : "");
}

static void on_problem(void *arg, const struct rh_kube_problem *problem)
{
	struct subject *s = arg;

	rh_str_appendf(&s->problems, "%s %s in '%s' %d %s\n", problem->verb, problem->resource, problem->namespace_,
	               (int)problem->status, problem->words);
}

static struct subject *subject_new(const char *label, const char *namespace_, bool pages)
{
	struct subject *s = rh_alloc(sizeof(*s));
	struct rh_kube_watch_options options = {
		.resource = &rh_resource_pods,
		.namespace_ = namespace_,
		.label = label,
		.fn = on_event,
		.arg = s,
		.problem = on_problem,
		.problem_arg = s,
		.seed = 7,
		.pages = pages,
	};

	s->watch = rh_kube_watch_new(&options);
	assert_non_null(s->watch);
	return s;
}

static int setup(void **state)
{
	*state = subject_new(NULL, NULL, false);
	return 0;
}

static int teardown(void **state)
{
	struct subject *s = *state;

	rh_kube_watch_free(s->watch);
	rh_str_deinit(&s->log);
	rh_str_deinit(&s->problems);
	rh_str_deinit(&s->path);
	rh_free(s);
	return 0;
}

/* JSON in which ' stands for ". */
static char *quoted(const char *text)
{
	char *copy = rh_strdup(text);

	for (char *c = copy; *c; c++)
		*c = *c == '\'' ? '"' : *c;
	return copy;
}

/* Send what is due, waiting for it. @return how long that took */
static int64_t ask(struct subject *s, const char *part)
{
	int64_t due = rh_kube_watch_due(s->watch);
	int64_t waited = due > s->now ? due - s->now : 0;

	assert_true(due != RH_NEVER);
	s->now += waited;
	rh_str_clear(&s->path);
	assert_int_equal(rh_kube_watch_begin(s->watch, s->now, &s->path, &s->request), 0);
	assert_true(rh_kube_watch_due(s->watch) == RH_NEVER);
	assert_string_equal(s->request.method, "GET");
	if (!strstr(s->request.path, part))
		fail_msg("%s has no %s", s->request.path, part);
	return waited;
}

static int hear(struct subject *s, const char *text)
{
	rh_auto_free char *json = quoted(text);

	return rh_kube_watch_feed(s->watch, json, strlen(json), s->now);
}

static void over(struct subject *s, int32_t status, const char *body)
{
	rh_auto_free char *json = quoted(body);
	struct rh_http_response response = {
		.status = status, .sent = true, .words = status ? "" : "it broke", .body = json, .body_length = strlen(json)};

	rh_kube_watch_end(s->watch, &response, s->now);
}

/* Answer the request under way with a body. */
static void reply(struct subject *s, const char *body)
{
	assert_int_equal(hear(s, body), 0);
	over(s, 200, "");
}

static void assert_log(struct subject *s, const char *expected)
{
	assert_string_equal(rh_str_text(&s->log), expected);
	rh_str_clear(&s->log);
}

static void assert_problems(struct subject *s, const char *expected)
{
	assert_string_equal(rh_str_text(&s->problems), expected);
	rh_str_clear(&s->problems);
}

/* List a, b; then follow from version 5. */
static void start(struct subject *s)
{
	ask(s, "/api/v1/pods?limit=500");
	reply(s, LIST("5", POD("a", "1", "3") "," POD("b", "2", "4")));
	assert_log(s, "+a:1 +b:2 SYNCED ");
	assert_int_equal(ask(s, "resourceVersion=5"), 0);
}

static void test_watch__lists_then_follows(void **state)
{
	struct subject *s = *state;
	struct rh_kube_watch_state look;

	start(s);
	assert_non_null(strstr(s->request.path, "watch=true&allowWatchBookmarks=true&timeoutSeconds="));
	hear(s, EVENT("ADDED", "{'kind':'Pod','apiVersion':'v1','metadata':{'name':'c','namespace':'d','uid':'3',"
	                       "'resourceVersion':'6'}}"));
	assert_log(s, "+c:3 ");
	rh_kube_watch_look(s->watch, &look);
	assert_true(look.synced && look.works);
	assert_int_equal(look.kept, 3);
	assert_string_equal(look.version, "6");
	assert_problems(s, "");
}

static const char *pod_event(const char *type, const char *name, const char *uid, const char *version)
{
	static char room[512];

	snprintf(room, sizeof(room),
	         "{'type':'%s','object':{'kind':'Pod','apiVersion':'v1','metadata':{'name':'%s','namespace':'d','uid':'%s',"
	         "'resourceVersion':'%s'}}}\n",
	         type, name, uid, version);
	return room;
}

static void test_watch__tells_each_change_once(void **state)
{
	static const struct {
		const char *type, *name, *uid, *version, *told;
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

	start(s);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		support_row(rows[i].type);
		assert_int_equal(hear(s, pod_event(rows[i].type, rows[i].name, rows[i].uid, rows[i].version)), 0);
		assert_log(s, rows[i].told);
	}
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

		ask(s, rows[i].path);
		assert_string_equal(((struct subject *)s)->request.path, rows[i].path);
		(void)teardown(&s);
	}
}

static void test_watch__timeouts_of_watches_are_spread(void **state)
{
	struct subject *s = *state;
	long first = 0;
	bool differ = false;

	start(s);
	for (int i = 0; i < 10; i++) {
		const char *at = strstr(s->request.path, "timeoutSeconds=");
		long seconds = strtol(at + strlen("timeoutSeconds="), NULL, 10);

		assert_in_range(seconds, 300, 599);
		differ = differ || (first && seconds != first);
		first = seconds;
		s->now += 300 * RH_SECOND;
		over(s, 200, "");
		assert_int_equal(ask(s, "resourceVersion=5"), 0);
	}
	assert_true(differ);
}

static void test_watch__follows_on_from_what_it_heard_last(void **state)
{
	struct subject *s = *state;

	start(s);
	s->now += 5 * RH_SECOND;
	hear(s, pod_event("MODIFIED", "a", "1", "6"));
	hear(s, BOOKMARK("9"));
	hear(s, "{'type':'MODI");
	over(s, 0, "");
	assert_int_equal(ask(s, "resourceVersion=9"), 0);
	s->now += 5 * RH_SECOND;
	hear(s, pod_event("MODIFIED", "a", "1", "10"));
	over(s, 200, "");
	assert_int_equal(ask(s, "resourceVersion=10"), 0);
	assert_log(s, "~a:1 ~a:1 ");
	assert_problems(s, "");
}

static void test_watch__pages_are_read_one_by_one(void **state)
{
	void *subject = subject_new(NULL, NULL, true);
	struct subject *s = subject;

	(void)state;
	ask(s, "?limit=500");
	reply(s, PAGE("n/1", POD("a", "1", "3")));
	assert_int_equal(ask(s, "?limit=500&continue=n%2F1"), 0);
	reply(s, PAGE("n2", POD("b", "2", "4")));
	ask(s, "continue=n2");
	assert_log(s, "+a:1 +b:2 ");
	reply(s, LIST("5", ""));
	assert_log(s, "SYNCED ");
	ask(s, "resourceVersion=5");
	(void)teardown(&subject);
}

static void test_watch__pages_that_expire_are_read_anew(void **state)
{
	void *subject = subject_new(NULL, NULL, true);
	struct subject *s = subject;

	(void)state;
	for (int i = 0; i < 2; i++) {
		ask(s, "?limit=500");
		reply(s, PAGE("n1", POD("a", "1", "3") "," POD("b", "2", "3")));
		ask(s, "continue=n1");
		over(s, 410, EXPIRED);
	}
	ask(s, "/api/v1/pods");
	assert_null(strstr(s->request.path, "limit"));
	reply(s, LIST("9", POD("b", "2", "3") "," POD("c", "3", "8")));
	assert_log(s, "+a:1 +b:2 +c:3 -a:1 SYNCED ");
	(void)teardown(&subject);
}

/* Read the pages after which a list counts as long: in each are the same @p items. */
static void read_pages(struct subject *s, const char *items)
{
	rh_auto_free char *page = rh_asprintf("{'metadata':{'resourceVersion':'5','continue':'n1'},'items':[%s]}", items);

	ask(s, "?limit=500");
	assert_null(strstr(s->request.path, "continue"));
	reply(s, page);
	for (int i = 1; i < 4; i++) {
		assert_int_equal(ask(s, "limit=500&continue=n1"), 0);
		reply(s, page);
	}
}

static void test_watch__a_list_of_a_few_pages_is_not_streamed(void **state)
{
	struct subject *s = *state;

	for (int i = 0; i < 2; i++) {
		ask(s, "?limit=500");
		reply(s, PAGE("n1", POD("a", "1", "3")));
		assert_int_equal(ask(s, "?limit=500&continue=n1"), 0);
		reply(s, PAGE("n2", POD("b", "2", "4")));
		ask(s, "continue=n2");
		reply(s, PAGE("n3", POD("c", "3", "4")));
		ask(s, "continue=n3");
		reply(s, LIST("5", ""));
		assert_log(s, i == 0 ? "+a:1 +b:2 +c:3 SYNCED " : "");
		ask(s, "resourceVersion=5");
		over(s, 410, EXPIRED);
	}
}

static void test_watch__a_long_list_is_streamed(void **state)
{
	struct subject *s = *state;

	read_pages(s, POD("a", "1", "3") "," POD("b", "2", "3"));
	assert_int_equal(ask(s, "sendInitialEvents=true&resourceVersionMatch=NotOlderThan"), 0);
	assert_null(strstr(s->request.path, "resourceVersion="));
	hear(s, pod_event("ADDED", "a", "1", "3"));
	hear(s, pod_event("ADDED", "c", "3", "4"));
	hear(s, BOOKMARK("4"));
	assert_log(s, "+a:1 +b:2 +c:3 ");
	hear(s, END_OF_LIST("8"));
	assert_log(s, "-b:2 SYNCED ");
	hear(s, pod_event("MODIFIED", "a", "1", "9"));
	s->now += 400 * RH_SECOND;
	over(s, 200, "");
	ask(s, "resourceVersion=9");
}

static void test_watch__a_server_that_cannot_stream_is_asked_for_pages(void **state)
{
	static const int32_t statuses[] = {400, 422};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		void *subject = subject_new(NULL, NULL, false);
		struct subject *s = subject;

		read_pages(s, POD("a", "1", "3"));
		ask(s, "sendInitialEvents");
		over(s, statuses[i], "{'kind':'Status','message':'sendInitialEvents is forbidden'}");
		assert_int_equal(ask(s, "?limit=500"), 0);
		reply(s, PAGE("n1", POD("a", "1", "3")));
		ask(s, "limit=500&continue=n1");
		reply(s, LIST("5", ""));
		assert_log(s, "+a:1 SYNCED ");
		assert_problems(s, "");
		(void)teardown(&subject);
	}
}

static void test_watch__streams_that_never_end_their_list_give_way_to_pages(void **state)
{
	struct subject *s = *state;

	read_pages(s, POD("a", "1", "3"));
	for (int i = 0; i < 3; i++) {
		ask(s, "sendInitialEvents");
		s->now += 2 * RH_SECOND;
		hear(s, pod_event("ADDED", "a", "1", "3"));
		over(s, i == 1 ? 200 : 0, "");
	}
	ask(s, "?limit=500");
	reply(s, PAGE("n1", POD("a", "1", "3")));
	ask(s, "continue=n1");
}

static void test_watch__after_an_expired_version_the_difference_is_told(void **state)
{
	static const char *const how[] = {"stream", "answer"};

	for (size_t i = 0; i < 2; i++) {
		void *subject = subject_new(NULL, NULL, false);
		struct subject *s = subject;

		(void)state;
		support_row(how[i]);
		start(s);
		if (i == 0)
			assert_true(hear(s, EVENT("ERROR", EXPIRED)) < 0);
		over(s, i == 0 ? 0 : 410, i == 0 ? "" : EXPIRED);
		assert_int_equal(ask(s, "?limit=500"), 0);
		reply(s, LIST("90", POD("b", "7", "50") "," POD("c", "3", "60")));
		assert_log(s, "-b:2 +b:7 +c:3 -a:1 ");
		assert_problems(s, "");
		assert_int_equal(ask(s, "resourceVersion=90"), 0);
		(void)teardown(&subject);
	}
}

static void test_watch__versions_that_always_expire_are_no_busy_loop(void **state)
{
	struct subject *s = *state;
	int64_t waited = 0;

	start(s);
	for (int i = 0; i < 10; i++) {
		over(s, 410, EXPIRED);
		waited += ask(s, "?limit=500");
		reply(s, LIST("5", POD("a", "1", "3") "," POD("b", "2", "4")));
		waited += ask(s, "resourceVersion=5");
	}
	assert_true(waited > 7 * RH_SECOND);
	assert_log(s, "");
}

/* What of an object is known when it has vanished unseen. */
static void on_vanished(void *arg, enum rh_watch_event event, const struct rh_json *object)
{
	if (event == RH_WATCH_DELETED)
		rh_json_print(object, false, arg);
}

static void test_watch__what_vanished_is_told_with_its_identity(void **state)
{
	static const char pod[] =
		"{'metadata':{'name':'a','namespace':'d','uid':'1','resourceVersion':'3','labels':{'x':'y',"
		"'training.kubeflow.org/job-name':'j','training.kubeflow.org/replica-index':'0'}},'spec':{'a':1}}";
	struct subject *s = *state;
	rh_auto_str told = {0};
	rh_auto_free char *expected =
		quoted("{'apiVersion':'v1','kind':'Pod','metadata':{'name':'a','uid':'1','namespace':'d','resourceVersion':'3',"
	           "'labels':{'training.kubeflow.org/job-name':'j','training.kubeflow.org/replica-index':'0'}}}");
	struct rh_kube_watch_options options = {
		.resource = &rh_resource_pods, .label = JOB_LABEL, .fn = on_vanished, .arg = &told};
	rh_auto_free char *list = rh_asprintf("{'metadata':{'resourceVersion':'5'},'items':[%s]}", pod);

	rh_kube_watch_free(s->watch);
	s->watch = rh_kube_watch_new(&options);
	ask(s, "limit");
	reply(s, list);
	ask(s, "resourceVersion=5");
	over(s, 410, EXPIRED);
	ask(s, "limit");
	reply(s, LIST("9", ""));
	assert_string_equal(rh_str_text(&told), expected);
}

static void test_watch__pauses_grow_and_end(void **state)
{
	struct subject *s = *state;
	int64_t least = 800000;
	int64_t waited;

	ask(s, "limit");
	for (int i = 0; i < 8; i++) {
		over(s, 500, "");
		waited = ask(s, "limit");
		assert_true(waited >= least && waited <= 30 * RH_SECOND && waited <= 2 * least);
		least = 2 * least > 30 * RH_SECOND ? 30 * RH_SECOND : 2 * least;
	}
	reply(s, LIST("5", ""));
	ask(s, "resourceVersion=5");
	over(s, 500, "");
	waited = ask(s, "resourceVersion=5");
	assert_true(waited <= 2 * 800000);
}

static void test_watch__retry_after_is_obeyed(void **state)
{
	struct subject *s = *state;
	struct rh_http_response response = {.status = 429, .words = "", .body = "", .retry_after = 17 * RH_SECOND};

	ask(s, "limit");
	rh_kube_watch_end(s->watch, &response, s->now);
	assert_int_equal(ask(s, "limit"), 17 * RH_SECOND);
	assert_problems(s, "list pods in '' 429 too many requests (429)\n");
}

static void test_watch__problems_are_told_when_they_change(void **state)
{
	static const struct {
		int32_t status;
		const char *body, *told;
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
		ask(s, "limit");
		over(s, rows[i].status, rows[i].body);
		assert_problems(s, rows[i].told);
	}
	ask(s, "limit");
	reply(s, LIST("5", ""));
	assert_problems(s, "list pods in 'd' 200 \n");
	(void)teardown(&subject);
}

/* A server drops a watcher that does not keep up with a burst, whenever that is. */
static void test_watch__a_short_watch_that_told_something_goes_on_at_once(void **state)
{
	static const struct {
		const char *told;
		int64_t lasted, least;
		const char *problem;
	} rows[] = {
		{EVENT("DELETED", POD("gone", "1", "6")), 1000, 0, ""},
		{"", 1000, 800000, "watch pods in '' 0 the server ends the watch at once\n"},
		{"", 2 * RH_SECOND, 0, ""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		void *subject = subject_new(NULL, NULL, false);
		struct subject *s = subject;
		int64_t waited;

		start(s);
		assert_int_equal(hear(s, rows[i].told), 0);
		s->now += rows[i].lasted;
		over(s, 200, "");
		assert_problems(s, rows[i].problem);
		waited = ask(s, *rows[i].told ? "resourceVersion=6" : "resourceVersion=5");
		assert_true(rows[i].least == 0 ? waited == 0 : waited >= rows[i].least);
		(void)teardown(&subject);
	}
}

static void test_watch__works_again_is_found_out_by_a_short_watch(void **state)
{
	struct subject *s = *state;
	struct rh_kube_watch_state look;

	start(s);
	over(s, 0, "");
	assert_problems(s, "watch pods in '' 0 it broke\n");
	ask(s, "timeoutSeconds=2");
	rh_kube_watch_look(s->watch, &look);
	assert_false(look.works);
	s->now += 2 * RH_SECOND;
	over(s, 200, "");
	assert_problems(s, "watch pods in '' 200 \n");
	assert_int_equal(ask(s, "resourceVersion=5"), 0);
	assert_null(strstr(s->request.path, "timeoutSeconds=2&"));
	rh_kube_watch_look(s->watch, &look);
	assert_true(look.works);
}

static void test_watch__the_head_of_a_good_answer_says_that_it_works(void **state)
{
	struct subject *s = *state;

	start(s);
	over(s, 503, "");
	ask(s, "resourceVersion=5");
	rh_str_clear(&s->problems);
	assert_int_equal(rh_kube_watch_feed(s->watch, "", 0, s->now), 0);
	assert_problems(s, "watch pods in '' 200 \n");
}

static void test_watch__a_missing_resource_holds_up_nobody(void **state)
{
	struct subject *s = *state;

	ask(s, "limit");
	over(s, 404, "404 page not found\n");
	assert_log(s, "SYNCED ");
	assert_problems(s, "list pods in '' 404 not found (404): 404 page not found\n");
	assert_true(ask(s, "limit") > 0);
	over(s, 404, "404 page not found\n");
	ask(s, "limit");
	reply(s, LIST("5", POD("a", "1", "3")));
	assert_log(s, "+a:1 ");
	assert_problems(s, "list pods in '' 200 \n");
	ask(s, "resourceVersion=5");
	over(s, 404, "404 page not found\n");
	assert_log(s, "");
	ask(s, "limit");
}

static void test_watch__silence_is_met_with_doubt(void **state)
{
	struct subject *s = *state;
	int64_t idle;

	start(s);
	idle = s->request.idle_timeout;
	assert_int_equal(idle, 90 * RH_SECOND);
	s->now += idle;
	over(s, 0, "");
	assert_int_equal(ask(s, "resourceVersion=5"), 0);
	assert_int_equal(s->request.idle_timeout, 2 * idle);
	s->now += 60 * RH_SECOND;
	hear(s, BOOKMARK("6"));
	s->now += 2 * idle;
	over(s, 0, "");
	assert_int_equal(ask(s, "resourceVersion=6"), 0);
	assert_int_equal(s->request.idle_timeout, 2 * idle);
	assert_problems(s, "");
}

static void test_watch__what_cannot_be_read_is_tried_again(void **state)
{
	static const struct {
		const char *body, *words;
	} rows[] = {
		{"<html>", "the server's answer is no list: byte 0x3c stands where it must not"},
		{"{}", "the server's answer is no list: it has no items"},
		{"{'metadata':{},'items':[]}", "the server's list has no metadata.resourceVersion"},
		{"{'items':[]", "the server's answer ends in the middle"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		void *subject = subject_new(NULL, NULL, false);
		struct subject *s = subject;
		rh_auto_free char *told = rh_asprintf("list pods in '' 0 %s\n", rows[i].words);

		ask(s, "limit");
		over(s, hear(s, rows[i].body) < 0 ? 0 : 200, "");
		assert_problems(s, told);
		assert_log(s, "");
		assert_true(ask(s, "limit") > 0);
		(void)teardown(&subject);
	}
}

static void test_watch__odd_events_end_the_watch(void **state)
{
	static const struct {
		const char *event, *told;
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

		start(s);
		assert_true(hear(s, rows[i].event) < 0);
		over(s, 0, "");
		assert_problems(s, rows[i].told);
		assert_true(ask(s, "resourceVersion=5") > 0);
		(void)teardown(&subject);
	}
}

/* Watch pieces of a recorded list and stream, cut at @p cut; the connection breaks there, and all is asked again. */
static void play_cut(size_t cut, const char *expected)
{
	static const char list[] = LIST("5", POD("a", "1", "3") "," POD("b", "2", "4"));
	static const char stream[] = EVENT("MODIFIED", "{'kind':'Pod','apiVersion':'v1','metadata':{'name':'a','namespace':"
	                                               "'d','uid':'1','resourceVersion':'6'}}")
		EVENT("DELETED", "{'kind':'Pod','apiVersion':'v1','metadata':{'name':'b','namespace':'d','uid':'2',"
	                     "'resourceVersion':'7'}}");
	void *subject = subject_new(NULL, NULL, false);
	struct subject *s = subject;
	rh_auto_free char *piece =
		rh_strndup(cut < strlen(list) ? list : stream, cut < strlen(list) ? cut : cut - strlen(list));

	ask(s, "limit");
	if (cut < strlen(list)) {
		hear(s, piece);
		over(s, 0, "");
		ask(s, "limit");
	}
	reply(s, list);
	ask(s, "resourceVersion=5");
	if (cut >= strlen(list)) {
		hear(s, piece);
		over(s, 0, "");
		ask(s, "resourceVersion=");
		if (strstr(s->request.path, "resourceVersion=5"))
			hear(s, stream);
		else if (strstr(s->request.path, "resourceVersion=6"))
			hear(s, strchr(stream, '\n') + 1);
	} else {
		hear(s, stream);
	}
	assert_log(s, expected);
	(void)teardown(&subject);
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
	struct rh_http_response good = {.status = 200, .words = "", .body = ""};
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

#define CASE(name) cmocka_unit_test_setup_teardown(test_watch__##name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(lists_then_follows),
		CASE(tells_each_change_once),
		CASE(asks_for_what_it_is_to_watch),
		CASE(timeouts_of_watches_are_spread),
		CASE(follows_on_from_what_it_heard_last),
		CASE(pages_are_read_one_by_one),
		CASE(pages_that_expire_are_read_anew),
		CASE(a_list_of_a_few_pages_is_not_streamed),
		CASE(a_long_list_is_streamed),
		CASE(a_server_that_cannot_stream_is_asked_for_pages),
		CASE(streams_that_never_end_their_list_give_way_to_pages),
		CASE(after_an_expired_version_the_difference_is_told),
		CASE(versions_that_always_expire_are_no_busy_loop),
		CASE(what_vanished_is_told_with_its_identity),
		CASE(pauses_grow_and_end),
		CASE(retry_after_is_obeyed),
		CASE(problems_are_told_when_they_change),
		CASE(a_short_watch_that_told_something_goes_on_at_once),
		CASE(works_again_is_found_out_by_a_short_watch),
		CASE(the_head_of_a_good_answer_says_that_it_works),
		CASE(a_missing_resource_holds_up_nobody),
		CASE(silence_is_met_with_doubt),
		CASE(what_cannot_be_read_is_tried_again),
		CASE(odd_events_end_the_watch),
		CASE(cut_at_every_byte),
		CASE(survives_out_of_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
