/* SPDX-License-Identifier: Apache-2.0 */
#include "base/os/clock.h"
#include "base/support.h"
#include "kube/fake_http.h"
#include "kube/store/store.h"

#define POD_BODY "{\"metadata\":{\"name\":\"p\",\"uid\":\"mine\",\"resourceVersion\":\"7\"},\"spec\":{}}"

static const struct rh_resource jobs = {"kubeflow.org/v1", "PyTorchJob", "pytorchjobs"};

/* A store, its client, and its callbacks. */
struct subject {
	struct rh_http *http;
	struct rh_kube_store *store;
	struct rh_store *face;
	struct rh_str log;
	int64_t now;
};

static int64_t clock_of(void *arg)
{
	struct subject *s = arg;

	return s->now;
}

static void on_problem(void *arg, const struct rh_kube_problem *problem)
{
	struct subject *s = arg;

	rh_str_appendf(&s->log, "problem %s %s %d\n", problem->verb, problem->resource, (int)problem->status);
}

static void on_call(void *arg, const struct rh_kube_call *call)
{
	struct subject *s = arg;

	rh_str_appendf(&s->log, "call %s %s %d %d\n", call->verb, call->resource, (int)call->status, (int)call->took);
}

static void on_done(void *arg, const struct rh_outcome *outcome)
{
	struct subject *s = arg;

	rh_str_appendf(&s->log, "done %d %s\n", (int)outcome->code, outcome->message);
}

static void on_watch(void *arg, enum rh_watch_event event, const struct rh_json *object)
{
	struct subject *s = arg;
	const char *name = rh_json_string_at(object, "metadata.name");

	rh_str_appendf(&s->log, "reported %d %s\n", (int)event, name ? name : "");
}

static struct subject *subject_new(struct rh_kube_store_options options)
{
	struct subject *s = rh_alloc(sizeof(*s));

	s->http = fake_http_new();
	s->now = 1000;
	options.http = s->http;
	options.problem = on_problem;
	options.arg = s;
	options.seed = 3;
	options.clock = clock_of;
	assert_int_equal(rh_kube_store_new(&options, &s->store, NULL), 0);
	s->face = rh_kube_store_face(s->store);
	return s;
}

static int setup(void **state)
{
	*state = subject_new((struct rh_kube_store_options){.window = 2});
	return 0;
}

static int teardown(void **state)
{
	struct subject *s = *state;

	rh_kube_store_free(s->store);
	assert_int_equal(fake_http_count(s->http), 0);
	rh_http_free(s->http);
	rh_str_deinit(&s->log);
	rh_free(s);
	return 0;
}

static void step(struct subject *s)
{
	rh_kube_store_step(s->store, s->now);
}

static uint64_t submit(struct subject *s, struct rh_request request, const char *body)
{
	uint64_t id = 0;

	if (!request.resource)
		request.resource = &rh_resource_pods;
	request.namespace_ = "d";
	if (body)
		request.body = support_json(body);
	assert_int_equal(s->face->submit(s->face, &request, on_done, s, &id, NULL), 0);
	assert_true(id != 0);
	return id;
}

static uint64_t create(struct subject *s)
{
	return submit(s, (struct rh_request){.verb = RH_VERB_CREATE}, POD_BODY);
}

static void assert_log(struct subject *s, const char *expected)
{
	assert_string_equal(rh_str_text(&s->log), expected);
	rh_str_clear(&s->log);
}

static void test_store__requests_as_the_server_wants_them(void **state)
{
	static const struct {
		struct rh_request request;
		const char *body;
		const char *method, *path, *type, *sent;
	} rows[] = {
		{{.verb = RH_VERB_GET, .name = "p"}, NULL, "GET", "/api/v1/namespaces/d/pods/p", NULL, NULL},
		{{.verb = RH_VERB_CREATE},
	     POD_BODY,
	     "POST",
	     "/api/v1/namespaces/d/pods",
	     "application/json",
	     "{\"metadata\":{\"name\":\"p\"},\"spec\":{}}"},
		{{.verb = RH_VERB_PATCH, .name = "p"},
	     "{\"spec\":{}}",
	     "PATCH",
	     "/api/v1/namespaces/d/pods/p",
	     "application/merge-patch+json",
	     "{\"spec\":{}}"},
		{{.verb = RH_VERB_PATCH_STATUS, .resource = &jobs, .name = "j", .uid = "u", .resource_version = "7"},
	     "{\"status\":{}}",
	     "PATCH",
	     "/apis/kubeflow.org/v1/namespaces/d/pytorchjobs/j/status",
	     "application/merge-patch+json",
	     "{\"status\":{},\"metadata\":{\"uid\":\"u\",\"resourceVersion\":\"7\"}}"},
		{{.verb = RH_VERB_PATCH, .name = "p", .resource_version = "7"},
	     "{\"metadata\":{\"labels\":{}}}",
	     "PATCH",
	     "/api/v1/namespaces/d/pods/p",
	     "application/merge-patch+json",
	     "{\"metadata\":{\"labels\":{},\"resourceVersion\":\"7\"}}"},
		{{.verb = RH_VERB_FIND, .name = "p"},
	     NULL,
	     "GET",
	     "/api/v1/namespaces/d/pods?fieldSelector=metadata.name%3Dp",
	     NULL,
	     NULL},
		{{.verb = RH_VERB_REPLACE, .name = "p", .uid = "u", .resource_version = "7"},
	     "{\"metadata\":{\"name\":\"p\",\"resourceVersion\":\"3\"},\"spec\":{}}",
	     "PUT",
	     "/api/v1/namespaces/d/pods/p",
	     "application/json",
	     "{\"metadata\":{\"name\":\"p\",\"resourceVersion\":\"7\",\"uid\":\"u\"},\"spec\":{}}"},
		{{.verb = RH_VERB_DELETE, .name = "p", .grace_seconds = -1},
	     NULL,
	     "DELETE",
	     "/api/v1/namespaces/d/pods/p",
	     "application/json",
	     "{\"kind\":\"DeleteOptions\",\"apiVersion\":\"v1\",\"propagationPolicy\":\"Background\"}"},
		{{.verb = RH_VERB_DELETE, .name = "p", .uid = "u", .grace_seconds = 0},
	     NULL,
	     "DELETE",
	     "/api/v1/namespaces/d/pods/p",
	     "application/json",
	     "{\"kind\":\"DeleteOptions\",\"apiVersion\":\"v1\",\"propagationPolicy\":\"Background\",\"preconditions\":"
	     "{\"uid\":\"u\"},\"gracePeriodSeconds\":0}"},
	};
	struct subject *s = *state;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct fake_call *call;

		submit(s, rows[i].request, rows[i].body);
		assert_int_equal(fake_http_count(s->http), 0);
		step(s);
		call = fake_http_call(s->http, 0);
		assert_string_equal(call->method, rows[i].method);
		assert_string_equal(call->path, rows[i].path);
		assert_true(rh_text_equal(call->content_type, rows[i].type));
		assert_true(rh_text_equal(call->body, rows[i].sent));
		assert_int_equal(call->timeout, 30 * RH_SECOND);
		fake_http_answer(s->http, call, 200, "{\"items\":[{}]}");
		assert_log(s, "done 0 \n");
	}
}

static bool may_not(void *arg)
{
	(void)arg;
	return false;
}

/* Who may not write any more may still read. */
static void test_store__writes_are_asked_for(void **state)
{
	static const struct {
		enum rh_verb verb;
		const char *name, *body;
		bool asked;
	} rows[] = {
		{RH_VERB_GET, "p", NULL, false},   {RH_VERB_CREATE, NULL, POD_BODY, true}, {RH_VERB_PATCH, "p", "{}", true},
		{RH_VERB_DELETE, "p", NULL, true}, {RH_VERB_FIND, "p", NULL, false},
	};
	void *subject = subject_new((struct rh_kube_store_options){.may_write = may_not});
	struct subject *s = subject;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		(void)submit(s, (struct rh_request){.verb = rows[i].verb, .name = rows[i].name}, rows[i].body);
		step(s);
		assert_int_equal(fake_http_count(s->http), 1);
		assert_true(fake_http_call(s->http, 0)->may == (rows[i].asked ? may_not : NULL));
		fake_http_answer(s->http, fake_http_call(s->http, 0), 200, "{}");
	}
	assert_int_equal(teardown(&subject), 0);
}

static void test_store__answers_are_reported_once(void **state)
{
	struct subject *s = *state;

	create(s);
	step(s);
	fake_http_answer(s->http, fake_http_call(s->http, 0), 409,
	                 "{\"kind\":\"Status\",\"reason\":\"AlreadyExists\",\"message\":\"taken\"}");
	assert_log(s, "done 2 taken\n");
	create(s);
	step(s);
	fake_http_cut(s->http, fake_http_call(s->http, 0), true);
	assert_log(s, "done 6 the connection broke\n");
}

static void on_log(void *arg, const struct rh_outcome *outcome)
{
	struct subject *s = arg;

	rh_str_appendf(&s->log, "log %d %s%s\n", (int)outcome->code, outcome->forbidden ? "forbidden" : "",
	               outcome->text ? outcome->text : "");
}

static uint64_t read_log(struct subject *s, bool previous)
{
	const struct rh_log_query query = {.container = "c d", .previous = previous, .lines = 200, .bytes = 65536};
	struct rh_request request = {.verb = RH_VERB_LOG,
	                             .resource = &rh_resource_pods,
	                             .namespace_ = "d",
	                             .name = "p",
	                             .log = &query,
	                             .answer_size = 65536};
	uint64_t id = 0;

	assert_int_equal(s->face->submit(s->face, &request, on_log, s, &id, NULL), 0);
	return id;
}

static void test_store__a_log_is_a_text(void **state)
{
	void *subject = subject_new((struct rh_kube_store_options){.observe = on_call});
	struct subject *s = subject;
	struct fake_call *call;

	(void)state;
	(void)read_log(s, false);
	(void)read_log(s, true);
	step(s);
	call = fake_http_call(s->http, 0);
	assert_string_equal(call->method, "GET");
	assert_string_equal(call->path, "/api/v1/namespaces/d/pods/p/log?container=c%20d&tailLines=200&limitBytes=65536");
	assert_int_equal(call->timeout, 10 * RH_SECOND);
	fake_http_answer(s->http, call, 200, "{} is no object here");
	assert_log(s, "call get pods/log 200 0\nlog 0 {} is no object here\n");
	call = fake_http_call(s->http, 0);
	assert_string_equal(call->path,
	                    "/api/v1/namespaces/d/pods/p/log?container=c%20d&previous=true&tailLines=200&limitBytes=65536");
	fake_http_answer(s->http, call, 403, "{\"kind\":\"Status\",\"message\":\"no\"}");
	assert_log(s, "call get pods/log 403 0\nlog 4 forbidden\n");
	(void)teardown(&subject);
}

/* Nodes that do not answer take no places of other requests, and say nothing of the server. */
static void test_store__logs_have_places_of_their_own(void **state)
{
	struct subject *s = *state;
	struct rh_kube_store_load load;
	uint64_t ids[10];

	for (int i = 0; i < 10; i++)
		ids[i] = read_log(s, false);
	step(s);
	assert_int_equal(fake_http_count(s->http), 8);
	for (int i = 0; i < 2; i++)
		(void)create(s);
	step(s);
	assert_int_equal(fake_http_count(s->http), 10);
	rh_kube_store_load(s->store, &load);
	assert_int_equal(load.waiting, 2);
	assert_int_equal(load.in_flight, 2);
	/* one in flight, and one that waits, are not wanted any more */
	s->face->cancel(s->face, ids[0]);
	s->face->cancel(s->face, ids[9]);
	s->now += 10 * RH_SECOND;
	fake_http_answer(s->http, fake_http_call(s->http, 0), 0, "");
	assert_log(s, "");
	step(s);
	assert_int_equal(fake_http_count(s->http), 10);
	rh_kube_store_load(s->store, &load);
	assert_int_equal(load.waiting, 0);
	assert_int_equal(load.window, 2);
}

static void test_store__the_window_holds_back(void **state)
{
	struct subject *s = *state;
	struct rh_kube_store_load load;

	for (int i = 0; i < 5; i++)
		create(s);
	assert_true(rh_kube_store_deadline(s->store) <= s->now);
	step(s);
	assert_int_equal(fake_http_count(s->http), 2);
	assert_true(rh_kube_store_deadline(s->store) == RH_NEVER);
	rh_kube_store_load(s->store, &load);
	assert_int_equal(load.waiting, 3);
	assert_int_equal(load.in_flight, 2);
	assert_int_equal(load.window, 2);
	fake_http_answer(s->http, fake_http_call(s->http, 0), 201, "{}");
	assert_true(rh_kube_store_deadline(s->store) <= s->now);
	step(s);
	assert_int_equal(fake_http_count(s->http), 2);
}

static void test_store__throttling_holds_everything_back(void **state)
{
	struct subject *s = *state;

	create(s);
	step(s);
	fake_http_answer(s->http, fake_http_call(s->http, 0), 429,
	                 "{\"kind\":\"Status\",\"message\":\"slow\",\"details\":{\"retryAfterSeconds\":5}}");
	assert_log(s, "done 5 slow\n");
	create(s);
	step(s);
	assert_int_equal(fake_http_count(s->http), 0);
	assert_int_equal(rh_kube_store_deadline(s->store), 1000 + 5 * RH_SECOND);
	s->now = 1000 + 5 * RH_SECOND;
	step(s);
	assert_int_equal(fake_http_count(s->http), 1);
}

static void test_store__a_rate_spreads_requests(void **state)
{
	void *subject = subject_new((struct rh_kube_store_options){.qps = 2, .burst = 1});
	struct subject *s = subject;

	(void)state;
	create(s);
	create(s);
	step(s);
	assert_int_equal(fake_http_count(s->http), 1);
	assert_int_equal(rh_kube_store_deadline(s->store), 1000 + RH_SECOND / 2);
	s->now += RH_SECOND / 2;
	step(s);
	assert_int_equal(fake_http_count(s->http), 2);
	(void)teardown(&subject);
}

static void test_store__state_goes_before_objects_and_events(void **state)
{
	struct subject *s = *state;

	submit(s, (struct rh_request){.verb = RH_VERB_CREATE, .resource = &rh_resource_events}, "{}");
	create(s);
	submit(s, (struct rh_request){.verb = RH_VERB_PATCH_STATUS, .name = "j", .resource = &jobs}, "{}");
	step(s);
	assert_string_equal(fake_http_call(s->http, 0)->method, "PATCH");
	assert_non_null(strstr(fake_http_call(s->http, 1)->path, "pods"));
	fake_http_answer(s->http, fake_http_call(s->http, 0), 200, "{}");
	step(s);
	assert_non_null(strstr(fake_http_call(s->http, 1)->path, "/api/v1/namespaces/d/events"));
}

static void submit_in(struct subject *s, const char *namespace_, enum rh_verb verb, const char *name,
                      size_t answer_size)
{
	struct rh_request request = {
		.verb = verb,
		.resource = verb == RH_VERB_CREATE ? &rh_resource_pods : &jobs,
		.namespace_ = namespace_,
		.name = name,
		.answer_size = answer_size,
		.body = support_json(POD_BODY),
	};

	assert_int_equal(s->face->submit(s->face, &request, on_done, s, NULL, NULL), 0);
}

/* Answer the oldest call. @return whether it was of the namespace */
static bool answer_oldest(struct subject *s, const char *namespace_)
{
	struct fake_call *call = fake_http_call(s->http, 0);
	rh_auto_free char *part = rh_asprintf("/namespaces/%s/", namespace_);
	bool is_of = strstr(call->path, part) != NULL;

	fake_http_answer(s->http, call, 200, "{}");
	step(s);
	return is_of;
}

/* Whatever waits of one namespace, and of whatever class, a request of another waits for few of them. */
static void test_store__namespaces_have_fair_turns(void **state)
{
	struct subject *s = *state;
	struct rh_kube_store_load load;
	int before = 0;

	for (int i = 0; i < 500; i++) {
		submit_in(s, "flood", RH_VERB_PATCH_STATUS, "j", 0);
		submit_in(s, "flood", RH_VERB_CREATE, NULL, 0);
	}
	step(s);
	for (int i = 0; i < 50; i++)
		(void)answer_oldest(s, "flood");
	for (int i = 0; i < 10; i++)
		submit_in(s, "calm", RH_VERB_CREATE, NULL, 0);
	rh_kube_store_load(s->store, &load);
	for (int calm = 0; calm < 10; before++)
		calm += answer_oldest(s, "calm");
	assert_in_range(before, 10, (int)load.in_flight + 2 * 10 + 1);
}

/* Events of watches do not wait behind the responses of a flood of requests; when those time out, the watches restart,
 * too. */
static void test_store__watches_have_connections_of_their_own(void **state)
{
	struct rh_http *watches = fake_http_new();
	void *subject = subject_new((struct rh_kube_store_options){.window = 2, .watch_http = watches});
	struct subject *s = subject;

	(void)state;
	assert_true(s->face->watch(s->face, &jobs, NULL, on_watch, s) > 0);
	submit_in(s, "flood", RH_VERB_CREATE, NULL, 0);
	step(s);
	assert_int_equal(fake_http_count(watches), 1);
	assert_int_equal(fake_http_count(s->http), 1);
	s->now += RH_SECOND;
	fake_http_cut(s->http, fake_http_call(s->http, 0), false);
	assert_int_equal(fake_http_silent_since(watches), 0);
	submit_in(s, "flood", RH_VERB_CREATE, NULL, 0);
	s->now += 2 * RH_SECOND;
	step(s);
	s->now += 30 * RH_SECOND;
	fake_http_cut(s->http, fake_http_call(s->http, 0), false);
	assert_int_equal(fake_http_silent_since(watches), s->now - 30 * RH_SECOND);
	(void)teardown(&subject);
	rh_http_free(watches);
}

/* A full window, even one that has shrunk, is not what a namespace with few requests waits for. */
static void test_store__a_full_window_has_spare_places(void **state)
{
	void *subject = subject_new((struct rh_kube_store_options){.window = 16});
	struct subject *s = subject;

	(void)state;
	for (int i = 0; i < 50; i++)
		submit_in(s, "flood", RH_VERB_CREATE, NULL, 0);
	step(s);
	assert_int_equal(fake_http_count(s->http), 16);
	for (int i = 0; i < 6; i++)
		submit_in(s, "calm", RH_VERB_CREATE, NULL, 0);
	step(s);
	assert_int_equal(fake_http_count(s->http), 16 + 16 / 4);
	while (fake_http_count(s->http) > 0)
		(void)answer_oldest(s, "calm");
	(void)teardown(&subject);
}

/* Three namespaces with much to do have as many turns each. */
static void test_store__turns_are_even(void **state)
{
	static const char *const names[] = {"a", "b", "c"};
	struct subject *s = *state;
	int counts[3] = {0};

	for (size_t n = 0; n < 3; n++) {
		for (int i = 0; i < 40; i++)
			submit_in(s, names[n], RH_VERB_CREATE, NULL, 0);
	}
	step(s);
	for (int i = 0; i < 60; i++) {
		struct fake_call *call = fake_http_call(s->http, 0);

		for (size_t n = 0; n < 3; n++) {
			rh_auto_free char *part = rh_asprintf("/namespaces/%s/", names[n]);

			counts[n] += strstr(call->path, part) != NULL;
		}
		(void)answer_oldest(s, "a");
	}
	for (size_t n = 0; n < 3; n++)
		assert_in_range(counts[n], 19, 21);
}

/* Of requests whose answers are large few are under way, and those of others pass them meanwhile. */
static void test_store__large_answers_come_a_few_at_a_time(void **state)
{
	void *subject = subject_new((struct rh_kube_store_options){.window = 32});
	struct subject *s = subject;
	size_t large = 0;

	(void)state;
	for (int i = 0; i < 20; i++)
		submit_in(s, "flood", RH_VERB_PATCH, "j", (size_t)26 << 20);
	for (int i = 0; i < 4; i++)
		submit_in(s, "calm", RH_VERB_CREATE, NULL, 0);
	step(s);
	for (size_t i = 0; i < fake_http_count(s->http); i++)
		large += strstr(fake_http_call(s->http, i)->path, "/flood/") != NULL;
	assert_in_range(large, 1, 2);
	assert_int_equal(fake_http_count(s->http), large + 4);
	assert_true(rh_kube_store_deadline(s->store) == RH_NEVER);
	for (int i = 0; i < 24; i++)
		(void)answer_oldest(s, "flood");
	assert_int_equal(fake_http_count(s->http), 0);
	(void)teardown(&subject);
}

static void test_store__cancelled_requests_are_not_answered(void **state)
{
	struct subject *s = *state;
	uint64_t waits;
	uint64_t flies = create(s);
	struct rh_kube_store_load load;

	step(s);
	waits = create(s);
	s->face->cancel(s->face, waits);
	s->face->cancel(s->face, waits);
	s->face->cancel(s->face, 999);
	s->face->cancel(s->face, flies);
	step(s);
	assert_int_equal(fake_http_count(s->http), 1);
	fake_http_answer(s->http, fake_http_call(s->http, 0), 201, "{}");
	assert_log(s, "");
	rh_kube_store_load(s->store, &load);
	assert_int_equal(load.waiting + load.in_flight, 0);
	s->face->cancel(s->face, flies);
}

static void test_store__a_watch_lists_and_follows(void **state)
{
	struct subject *s = *state;
	struct rh_kube_store_load load;
	struct fake_call *call;

	assert_true(s->face->watch(s->face, &rh_resource_pods, "app", on_watch, s));
	step(s);
	call = fake_http_find(s->http, "GET", "/api/v1/pods?labelSelector=app&limit=500");
	assert_int_equal(call->timeout, 0);
	assert_true(call->idle_timeout > 0);
	fake_http_answer(s->http, call, 200,
	                 "{\"metadata\":{\"resourceVersion\":\"5\"},\"items\":[{\"metadata\":{\"name\":\"a\"}}]}");
	assert_log(s, "reported 0 a\nreported 3 \n");
	step(s);
	call = fake_http_find(s->http, "GET", "resourceVersion=5");
	assert_true(rh_kube_store_deadline(s->store) == RH_NEVER);
	fake_http_feed(s->http, call,
	               "{\"type\":\"DELETED\",\"object\":{\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"6\"}}}", 70);
	rh_kube_store_load(s->store, &load);
	assert_int_equal(load.watches, 1);
	assert_int_equal(load.kept, 1);
	assert_log(s, "");
}

static void test_store__a_namespace_is_all_that_is_watched(void **state)
{
	void *subject = subject_new((struct rh_kube_store_options){.namespace_ = "team"});
	struct subject *s = subject;

	(void)state;
	assert_true(s->face->watch(s->face, &jobs, NULL, on_watch, s));
	step(s);
	assert_non_null(fake_http_find(s->http, "GET", "/apis/kubeflow.org/v1/namespaces/team/pytorchjobs?limit"));
	(void)teardown(&subject);
}

static void test_store__problems_of_a_watch_are_reported(void **state)
{
	struct subject *s = *state;

	assert_true(s->face->watch(s->face, &jobs, NULL, on_watch, s));
	step(s);
	fake_http_answer(s->http, fake_http_call(s->http, 0), 403, "{}");
	assert_log(s, "problem list pytorchjobs.kubeflow.org 403\n");
	assert_true(rh_kube_store_deadline(s->store) <= s->now);
	step(s);
	assert_in_range(rh_kube_store_deadline(s->store), 800000, 1601000);
}

static void answer_create(struct subject *s, int32_t status)
{
	fake_http_answer(s->http, fake_http_find(s->http, "POST", "/api/v1/"), status, "{}");
}

/* Watches that were let in stay open when a token is good no more: only requests are refused then. */
static void test_store__refused_credentials_are_a_problem(void **state)
{
	struct subject *s = *state;

	for (int i = 0; i < 2; i++)
		create(s);
	step(s);
	answer_create(s, 401);
	assert_log(s, "problem authenticate requests 401\ndone 5 unauthorized (401)\n");
	answer_create(s, 201); /* it was let in before */
	assert_log(s, "done 0 \n");
	s->now += RH_SECOND;
	create(s);
	step(s);
	answer_create(s, 401);
	assert_log(s, "done 5 unauthorized (401)\n");
	s->now += RH_SECOND;
	create(s);
	step(s);
	answer_create(s, 403);
	assert_log(s, "problem authenticate requests 200\ndone 4 forbidden (403)\n");
}

/* Nothing may be left to be written for long. */
static void test_store__a_list_says_that_credentials_are_good_again(void **state)
{
	struct subject *s = *state;

	create(s);
	step(s);
	answer_create(s, 401);
	rh_str_clear(&s->log);
	s->now += RH_SECOND;
	assert_true(s->face->watch(s->face, &jobs, NULL, on_watch, s));
	step(s);
	fake_http_answer(s->http, fake_http_call(s->http, 0), 200,
	                 "{\"metadata\":{\"resourceVersion\":\"5\"},\"items\":[]}");
	assert_log(s, "problem authenticate requests 200\nreported 3 \n");
}

/* Its request is cancelled, wherever it stands, and its problem is nobody's any more. */
static void test_store__a_watch_can_be_ended(void **state)
{
	struct subject *s = *state;
	struct rh_kube_store_load load;

	for (int stage = 0; stage < 4; stage++) {
		uint64_t watch = s->face->watch(s->face, &jobs, NULL, on_watch, s);

		if (stage > 0)
			step(s);
		if (stage > 1)
			fake_http_answer(s->http, fake_http_call(s->http, 0), stage == 2 ? 200 : 403,
			                 "{\"metadata\":{\"resourceVersion\":\"5\"},\"items\":[]}");
		if (stage == 2)
			step(s);
		assert_int_equal(fake_http_count(s->http), stage == 1 || stage == 2);
		s->face->unwatch(s->face, watch);
		assert_int_equal(fake_http_count(s->http), 0);
		step(s);
		assert_true(rh_kube_store_deadline(s->store) == RH_NEVER);
		rh_kube_store_load(s->store, &load);
		assert_int_equal(load.watches + load.kept, 0);
	}
	assert_log(s, "reported 3 \nproblem list pytorchjobs.kubeflow.org 403\n"
	              "problem list pytorchjobs.kubeflow.org 200\n");
}

static void test_store__an_odd_answer_ends_the_watch_and_is_tried_again(void **state)
{
	struct subject *s = *state;

	assert_true(s->face->watch(s->face, &rh_resource_pods, NULL, on_watch, s));
	step(s);
	assert_false(fake_http_feed(s->http, fake_http_call(s->http, 0), "<", 1));
	assert_log(s, "problem list pods 0\n");
	s->now += 5 * RH_SECOND;
	step(s);
	assert_non_null(fake_http_find(s->http, "GET", "/api/v1/pods?limit=500"));
}

static void test_store__calls_are_observed(void **state)
{
	void *subject = subject_new((struct rh_kube_store_options){.observe = on_call});
	struct subject *s = subject;

	(void)state;
	submit(s, (struct rh_request){.verb = RH_VERB_PATCH_STATUS, .name = "j", .resource = &jobs}, "{}");
	step(s);
	s->now += 250;
	fake_http_answer(s->http, fake_http_call(s->http, 0), 200, "{}");
	assert_log(s, "call patch pytorchjobs/status 200 250\ndone 0 \n");
	assert_true(s->face->watch(s->face, &rh_resource_pods, NULL, on_watch, s));
	step(s);
	fake_http_answer(s->http, fake_http_call(s->http, 0), 200,
	                 "{\"metadata\":{\"resourceVersion\":\"5\"},\"items\":[]}");
	step(s);
	s->now += 2 * RH_SECOND;
	fake_http_answer(s->http, fake_http_call(s->http, 0), 200, "");
	assert_log(s, "call list pods 200 0\nreported 3 \ncall watch pods 200 2000000\n");
	(void)teardown(&subject);
}

/* A store with a watch and a request; the watch's list has come. */
static int play(void *arg)
{
	struct subject *s = arg;
	struct rh_request request = {.verb = RH_VERB_PATCH, .resource = &jobs, .namespace_ = "d", .name = "j", .uid = "u"};
	struct rh_kube_store_options options = {.http = s->http, .seed = 1, .arg = s, .clock = clock_of};
	rh_auto(kube_store) store = NULL;
	struct rh_store *face;

	if (rh_kube_store_new(&options, &store, NULL) < 0)
		return RH_ENOMEM;
	face = rh_kube_store_face(store);
	if (!face->watch(face, &rh_resource_pods, "app", on_watch, s))
		return RH_ENOMEM;
	request.body = rh_json_new_object();
	if (!request.body || face->submit(face, &request, on_done, s, NULL, NULL) < 0)
		return RH_ENOMEM;
	rh_kube_store_step(store, s->now);
	return fake_http_count(s->http) == 2 ? 0 : RH_ENOMEM;
}

static void test_store__survives_out_of_memory(void **state)
{
	support_fail_each(play, *state);
}

static void test_store__without_memory_to_send_it_tries_again(void **state)
{
	struct subject *s = *state;

	create(s);
	rh_mem_fail_after(0);
	step(s);
	rh_mem_fail_after(-1);
	assert_int_equal(fake_http_count(s->http), 0);
	assert_in_range(rh_kube_store_deadline(s->store), s->now + 1, s->now + RH_SECOND);
	s->now = rh_kube_store_deadline(s->store);
	step(s);
	assert_int_equal(fake_http_count(s->http), 1);
}

#define CASE(name) cmocka_unit_test_setup_teardown(test_store__##name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(requests_as_the_server_wants_them),
		cmocka_unit_test(test_store__writes_are_asked_for),
		CASE(answers_are_reported_once),
		CASE(a_log_is_a_text),
		CASE(logs_have_places_of_their_own),
		CASE(the_window_holds_back),
		CASE(throttling_holds_everything_back),
		CASE(a_rate_spreads_requests),
		CASE(state_goes_before_objects_and_events),
		CASE(namespaces_have_fair_turns),
		CASE(watches_have_connections_of_their_own),
		CASE(a_full_window_has_spare_places),
		CASE(turns_are_even),
		CASE(large_answers_come_a_few_at_a_time),
		CASE(cancelled_requests_are_not_answered),
		CASE(a_watch_lists_and_follows),
		CASE(a_namespace_is_all_that_is_watched),
		CASE(problems_of_a_watch_are_reported),
		CASE(refused_credentials_are_a_problem),
		CASE(a_list_says_that_credentials_are_good_again),
		CASE(a_watch_can_be_ended),
		CASE(an_odd_answer_ends_the_watch_and_is_tried_again),
		CASE(calls_are_observed),
		CASE(survives_out_of_memory),
		CASE(without_memory_to_send_it_tries_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
