/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/subject.h"

#include <stdio.h>

#include "base/os/clock.h"
#include "base/support.h"

static void subject_on_event(void *arg, enum rh_watch_event event, const struct rh_json *object)
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

static void subject_on_problem(void *arg, const struct rh_kube_problem *problem)
{
	struct subject *s = arg;

	rh_str_appendf(&s->problems, "%s %s in '%s' %d %s\n", problem->verb, problem->resource, problem->namespace_,
	               (int)problem->status, problem->message);
}

struct subject *subject_new(const char *label, const char *namespace_, bool pages)
{
	struct subject *s = rh_alloc(sizeof(*s));
	struct rh_kube_watch_options options = {
		.resource = &rh_resource_pods,
		.namespace_ = namespace_,
		.label = label,
		.fn = subject_on_event,
		.arg = s,
		.problem = subject_on_problem,
		.problem_arg = s,
		.seed = 7,
		.pages = pages,
	};

	s->watch = rh_kube_watch_new(&options);
	assert_non_null(s->watch);
	return s;
}

int subject_setup(void **state)
{
	*state = subject_new(NULL, NULL, false);
	return 0;
}

int subject_teardown(void **state)
{
	struct subject *s = *state;

	rh_kube_watch_free(s->watch);
	rh_str_deinit(&s->log);
	rh_str_deinit(&s->problems);
	rh_str_deinit(&s->path);
	rh_free(s);
	return 0;
}

char *subject_quoted(const char *text)
{
	char *copy = rh_strdup(text);

	for (char *c = copy; *c; c++)
		*c = *c == '\'' ? '"' : *c;
	return copy;
}

int64_t subject_ask(struct subject *s, const char *part)
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

int subject_feed(struct subject *s, const char *text)
{
	rh_auto_free char *json = subject_quoted(text);

	return rh_kube_watch_feed(s->watch, json, strlen(json), s->now);
}

void subject_over(struct subject *s, int32_t status, const char *body)
{
	rh_auto_free char *json = subject_quoted(body);
	struct rh_http_response response = {
		.status = status, .sent = true, .message = status ? "" : "it broke", .body = json, .body_length = strlen(json)};

	rh_kube_watch_end(s->watch, &response, s->now);
}

void subject_reply(struct subject *s, const char *body)
{
	assert_int_equal(subject_feed(s, body), 0);
	subject_over(s, 200, "");
}

void subject_assert_log(struct subject *s, const char *expected)
{
	assert_string_equal(rh_str_text(&s->log), expected);
	rh_str_clear(&s->log);
}

void subject_assert_problems(struct subject *s, const char *expected)
{
	assert_string_equal(rh_str_text(&s->problems), expected);
	rh_str_clear(&s->problems);
}

void subject_start(struct subject *s)
{
	subject_ask(s, "/api/v1/pods?limit=500");
	subject_reply(s, SUBJECT_LIST("5", SUBJECT_POD("a", "1", "3") "," SUBJECT_POD("b", "2", "4")));
	subject_assert_log(s, "+a:1 +b:2 SYNCED ");
	assert_int_equal(subject_ask(s, "resourceVersion=5"), 0);
}

const char *subject_pod_event(const char *type, const char *name, const char *uid, const char *version)
{
	static char room[512];

	snprintf(room, sizeof(room),
	         "{'type':'%s','object':{'kind':'Pod','apiVersion':'v1','metadata':{'name':'%s','namespace':'d','uid':'%s',"
	         "'resourceVersion':'%s'}}}\n",
	         type, name, uid, version);
	return room;
}
