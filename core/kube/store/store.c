/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/store/store.h"

#include <stdio.h>
#include <string.h>

#include "base/os/clock.h"
#include "base/os/random.h"
#include "kube/store/call.h"
#include "kube/store/outcome.h"
#include "kube/store/path.h"
#include "kube/store/turns.h"
#include "kube/store/window.h"
#include "kube/watch/watch.h"

/* Timeout of a request. */
#define STORE_DEADLINE (30 * RH_SECOND)
/* The server has a log from the node, which may not answer; nothing waits longer for it. */
#define STORE_LOG_DEADLINE (10 * RH_SECOND)
/* Logs that are read at a time. What takes long is the node's part, so they have no place in the window. */
#define STORE_LOGS 8
/*
 * Limit of bytes of bodies and responses in flight: each is wholly in memory. The largest window of typical requests
 * stays below.
 */
#define STORE_BYTES ((size_t)4 << 20)
/* Upper limit of the weight of one request, so that every request fits eventually. */
#define STORE_WEIGHT_MAX (STORE_BYTES / 2)
/* Pause after a request could not be sent for lack of memory. */
#define STORE_PAUSE (RH_SECOND / 10)

/* A watch with its connection. */
struct store_watch {
	struct store_watch *next;
	struct rh_kube_store *store;
	uint64_t id;
	struct rh_kube_watch *watch;
	char *resource; /* for metrics */
	uint64_t http_id;
	int64_t sent_at;
	bool list; /* the request in progress is a list */
};

struct rh_kube_store {
	struct rh_store face;
	struct rh_kube_store_options options;
	char *namespace_;
	struct rh_window window;
	struct store_watch *watches;
	struct rh_turns waiting;
	struct rh_turns logs; /* of these, requests for logs */
	size_t logs_in_flight;
	struct rh_call_queue in_flight;
	size_t bytes_in_flight; /* weights of these */
	uint64_t last_id;       /* of requests and watches */
	uint64_t random;
	int64_t wake;       /* time of the next step */
	int64_t refused_at; /* when the credentials were last rejected, monotonic; 0: they are valid */
};

static int64_t store_now(const struct rh_kube_store *store)
{
	return store->options.clock ? store->options.clock(store->options.arg) : rh_clock_monotonic();
}

/* Run the step again in the next turn. */
static void store_stir(struct rh_kube_store *store)
{
	store->wake = 0;
}

static void store_observe(const struct rh_kube_store *store, const struct rh_kube_call *call)
{
	if (store->options.observe)
		store->options.observe(store->options.arg, call);
}

static void store_report_login(const struct rh_kube_store *store, int32_t status, const char *message)
{
	const struct rh_kube_problem problem = {NULL, "requests", "authenticate", "", status, message};

	if (store->options.problem)
		store->options.problem(store->options.arg, &problem);
}

/* Open watches stay open when credentials expire, so they do not show that writes fail. */
static void store_refuse_login(struct rh_kube_store *store, int64_t now, const char *message)
{
	bool first = store->refused_at == 0;

	store->refused_at = now;
	if (first)
		store_report_login(store, 401, message);
}

/* A request sent after the last rejection was accepted. */
static void store_accept_login(struct rh_kube_store *store, int32_t status, int64_t sent_at)
{
	if (store->refused_at == 0 || sent_at <= store->refused_at || status == 0 || status == 401)
		return;
	store->refused_at = 0;
	store_report_login(store, 200, "");
}

static int store_watch_on_chunk(void *arg, const char *data, size_t length)
{
	struct store_watch *watch = arg;

	store_stir(watch->store);
	return rh_kube_watch_feed(watch->watch, data, length, store_now(watch->store));
}

static void store_watch_on_done(void *arg, const struct rh_http_response *response)
{
	struct store_watch *watch = arg;
	struct rh_kube_store *store = watch->store;
	int64_t now = store_now(store);
	struct rh_kube_call call = {
		.verb = watch->list ? "list" : "watch",
		.resource = watch->resource,
		.status = response->status,
		.took = now - watch->sent_at,
	};

	watch->http_id = 0;
	store_stir(store);
	store_observe(store, &call);
	store_accept_login(store, response->status, watch->sent_at);
	rh_kube_watch_end(watch->watch, response, now);
}

static void store_watch_send(struct store_watch *watch, int64_t now)
{
	struct rh_kube_watch_state state;
	struct rh_http_request request;
	rh_auto_str path = {0};

	if (rh_kube_watch_begin(watch->watch, now, &path, &request) < 0)
		return;
	watch->sent_at = now;
	rh_kube_watch_look(watch->watch, &state);
	watch->list = state.listing;
	request.chunk = store_watch_on_chunk;
	if (rh_http_send(watch->store->options.watch_http, &request, store_watch_on_done, watch, &watch->http_id, NULL) <
	    0) {
		struct rh_http_response response = {.message = "out of memory", .body = ""};

		rh_kube_watch_end(watch->watch, &response, now);
	}
}

static void store_watch_free(struct store_watch *watch)
{
	if (!watch)
		return;
	if (watch->http_id)
		rh_http_cancel(watch->store->options.watch_http, watch->http_id);
	rh_kube_watch_free(watch->watch);
	rh_free(watch->resource);
	rh_free(watch);
}

/* @param options the rest of them is the store's */
/* @param namespace_ NULL: of all, or of none */
static uint64_t store_add_watch(struct rh_kube_store *store, const char *namespace_,
                                struct rh_kube_watch_options *options)
{
	struct store_watch *watch = rh_alloc(sizeof(*watch));

	options->namespace_ = namespace_;
	options->problem = store->options.problem;
	options->problem_arg = store->options.arg;
	options->seed = rh_random_next(&store->random);
	options->pages = store->options.pages;
	if (!watch)
		return 0;
	watch->store = store;
	watch->watch = rh_kube_watch_new(options);
	watch->resource = rh_strdup(options->resource->plural);
	if (!watch->watch || !watch->resource) {
		store_watch_free(watch);
		return 0;
	}
	watch->id = ++store->last_id;
	watch->next = store->watches;
	store->watches = watch;
	store_stir(store);
	return watch->id;
}

static uint64_t store_watch(struct rh_store *face, const struct rh_resource *resource, const char *label,
                            rh_watch_fn *fn, void *arg)
{
	struct rh_kube_watch_options options = {.resource = resource, .label = label, .fn = fn, .arg = arg};
	struct rh_kube_store *store = (struct rh_kube_store *)face;

	return store_add_watch(store, store->namespace_, &options);
}

static uint64_t store_watch_writers(struct rh_store *face, const struct rh_resource *resource, rh_watch_fn *fn,
                                    void *arg)
{
	struct rh_kube_watch_options options = {.resource = resource, .fn = fn, .arg = arg, .writers = true};
	struct rh_kube_store *store = (struct rh_kube_store *)face;

	return store_add_watch(store, store->namespace_, &options);
}

static uint64_t store_watch_cluster(struct rh_store *face, const struct rh_resource *resource, rh_watch_fn *fn,
                                    void *arg)
{
	struct rh_kube_watch_options options = {.resource = resource, .fn = fn, .arg = arg};

	return store_add_watch((struct rh_kube_store *)face, NULL, &options);
}

static void store_unwatch(struct rh_store *face, uint64_t id)
{
	struct rh_kube_store *store = (struct rh_kube_store *)face;
	struct store_watch **at = &store->watches;
	struct store_watch *watch;

	while (*at && (*at)->id != id)
		at = &(*at)->next;
	watch = *at;
	if (!watch)
		return;
	*at = watch->next;
	rh_kube_watch_clear_problem(watch->watch);
	store_watch_free(watch);
}

static struct rh_turns *store_turns(struct rh_kube_store *store, const struct rh_call *call)
{
	return call->verb == RH_VERB_LOG ? &store->logs : &store->waiting;
}

static int store_submit(struct rh_store *face, struct rh_request *request, rh_done_fn *done, void *arg,
                        uint64_t *ret_id, struct rh_error *err)
{
	struct rh_kube_store *store = (struct rh_kube_store *)face;
	struct rh_call *call = rh_call_new(request);

	if (!call)
		return rh_fail_oom(err);
	call->owner = store;
	if (call->weight > STORE_WEIGHT_MAX)
		call->weight = STORE_WEIGHT_MAX;
	call->done = done;
	call->arg = arg;
	call->id = ++store->last_id;
	if (rh_turns_add(store_turns(store, call), call) < 0) {
		rh_call_free(call);
		return rh_fail_oom(err);
	}
	if (ret_id)
		*ret_id = call->id;
	store_stir(store);
	return 0;
}

/* A request in progress continues, because the window counts its response; a queued one is dropped. */
static void store_cancel(struct rh_store *face, uint64_t id)
{
	struct rh_kube_store *store = (struct rh_kube_store *)face;
	struct rh_call *sent = rh_call_find(&store->in_flight, id);
	struct rh_call *waiting = sent ? NULL : rh_turns_find(&store->waiting, id);

	if (!sent && !waiting)
		waiting = rh_turns_find(&store->logs, id);
	if (sent)
		sent->done = NULL;
	if (waiting) {
		rh_turns_take(store_turns(store, waiting), waiting);
		rh_call_free(waiting);
	}
}

/* The response may show an object to listeners before their watch does. */
static void store_learn(const struct rh_kube_store *store, const struct rh_call *call, const struct rh_outcome *outcome)
{
	bool shows = outcome->code == RH_OUTCOME_OK && outcome->object && call->verb != RH_VERB_DELETE &&
	             call->verb != RH_VERB_EVICT;

	for (struct store_watch *watch = store->watches; watch && shows; watch = watch->next)
		rh_kube_watch_learn(watch->watch, outcome->object);
}

/* The network may also drop the packets of the watches: those that were silent as long are restarted. */
static void store_doubt_watches(const struct rh_kube_store *store, const struct rh_call *call, int64_t now)
{
	if (store->options.watch_http != store->options.http && now - call->sent_at >= STORE_DEADLINE)
		rh_http_close_silent(store->options.watch_http, call->sent_at);
}

/* An answer about a log says nothing of how the server keeps up: only the node may be slow, or away. */
static void store_note_answer(struct rh_kube_store *store, const struct rh_call *call,
                              const struct rh_window_answer *answer, int64_t now)
{
	if (call->verb == RH_VERB_LOG)
		store->logs_in_flight--;
	else
		rh_window_end(&store->window, answer, now);
	if (call->verb != RH_VERB_LOG && answer->status == 0)
		store_doubt_watches(store, call, now);
}

static void store_on_done(void *arg, const struct rh_http_response *response)
{
	struct rh_call *call = arg;
	struct rh_kube_store *store = call->owner;
	int64_t now = store_now(store);
	rh_auto_kube_outcome outcome = {0};
	struct rh_window_answer answer = {.status = response->status, .sent_at = call->sent_at, .spare = call->spare};

	rh_kube_outcome_read(call->verb, response, &outcome);
	if (call->kind)
		rh_kube_outcome_name(&outcome, call->api_version, call->kind);
	/* a budget says nothing of how the server keeps up */
	if (outcome.outcome.budget)
		answer.status = 200;
	answer.retry_after = answer.status == 429 ? outcome.outcome.retry_after : response->retry_after;
	store_note_answer(store, call, &answer, now);
	rh_call_remove(&store->in_flight, call);
	rh_turns_end(store_turns(store, call), call);
	store->bytes_in_flight -= call->weight;
	store_stir(store);
	store_observe(store,
	              &(struct rh_kube_call){rh_call_verb(call), call->resource, response->status, now - call->sent_at});
	if (response->status == 401)
		store_refuse_login(store, now, outcome.outcome.message);
	store_accept_login(store, response->status, call->sent_at);
	store_learn(store, call, &outcome.outcome);
	if (call->done)
		call->done(call->arg, &outcome.outcome);
	rh_call_free(call);
}

/* @return 0 or RH_ENOMEM, then it stays queued */
static int store_send(struct rh_kube_store *store, struct rh_call *call, int64_t now)
{
	struct rh_http_request request = {
		.method = call->method,
		.path = call->path,
		.content_type = call->content_type,
		.accept = rh_call_accept(call),
		.secret = call->secret,
		.body = call->body,
		.body_length = call->body ? strlen(call->body) : 0,
		.timeout = call->verb == RH_VERB_LOG ? STORE_LOG_DEADLINE : STORE_DEADLINE,
		.may = strcmp(call->method, "GET") == 0 ? NULL : store->options.may_write,
		.may_arg = store->options.arg,
	};
	int r = rh_http_send(store->options.http, &request, store_on_done, call, &call->http_id, NULL);

	if (r < 0)
		return r;
	rh_turns_send(store_turns(store, call), call);
	rh_call_append(&store->in_flight, call);
	store->bytes_in_flight += call->weight;
	call->sent_at = now;
	if (call->secret)
		rh_free_secret(rh_take(call->body));
	rh_free(rh_take(call->body));
	if (call->verb == RH_VERB_LOG)
		store->logs_in_flight++;
	else
		call->spare = rh_window_send(&store->window, now);
	return 0;
}

/* @return the next request that may be sent, or NULL: then *@p ret_when is when to try again without a response */
static struct rh_call *store_next(struct rh_kube_store *store, int64_t now, int64_t *ret_when)
{
	size_t room = store->bytes_in_flight < STORE_BYTES ? STORE_BYTES - store->bytes_in_flight : 0;
	bool spare = !rh_window_open(&store->window, false, now, ret_when);

	if (spare && !rh_window_open(&store->window, true, now, ret_when))
		return NULL;
	return rh_turns_next(&store->waiting, room, spare);
}

/* @return the next request for a log, when it may be sent; NULL: none */
static struct rh_call *store_next_log(struct rh_kube_store *store, int64_t now)
{
	if (store->logs_in_flight >= STORE_LOGS || now < store->window.blocked_until)
		return NULL;
	return rh_turns_next(&store->logs, STORE_BYTES, false);
}

/* Send the requests that the window admits. @return when to try again */
static int64_t store_send_waiting(struct rh_kube_store *store, int64_t now)
{
	int64_t when = RH_NEVER;
	struct rh_call *call;

	while (store->logs.count > 0 && (call = store_next_log(store, now))) {
		if (store_send(store, call, now) < 0)
			return now + STORE_PAUSE;
	}
	if (store->logs.count > 0 && now < store->window.blocked_until)
		when = store->window.blocked_until;

	while (store->waiting.count > 0 && (call = store_next(store, now, &when))) {
		if (store_send(store, call, now) < 0)
			return now + STORE_PAUSE;
	}
	return when;
}

void rh_kube_store_step(struct rh_kube_store *store, int64_t now)
{
	int64_t wake = store_send_waiting(store, now);

	for (struct store_watch *watch = store->watches; watch; watch = watch->next) {
		int64_t due = rh_kube_watch_due(watch->watch);

		if (due <= now) {
			store_watch_send(watch, now);
			due = rh_kube_watch_due(watch->watch);
		}
		wake = due < wake ? due : wake;
	}
	store->wake = wake;
}

int64_t rh_kube_store_deadline(const struct rh_kube_store *store)
{
	return store->wake;
}

void rh_kube_store_load(const struct rh_kube_store *store, struct rh_kube_store_load *ret_load)
{
	*ret_load = (struct rh_kube_store_load){
		.waiting = store->waiting.count + store->logs.count,
		.in_flight = store->window.in_flight,
		.window = (size_t)store->window.size,
	};
	for (const struct store_watch *watch = store->watches; watch; watch = watch->next) {
		struct rh_kube_watch_state state;

		rh_kube_watch_look(watch->watch, &state);
		ret_load->watches += state.works;
		ret_load->kept += state.kept;
	}
}

int rh_kube_store_new(const struct rh_kube_store_options *options, struct rh_kube_store **ret_store,
                      struct rh_error *err)
{
	rh_auto(kube_store) store = rh_alloc(sizeof(*store));

	if (!store)
		return rh_fail_oom(err);
	store->face = (struct rh_store){.watch = store_watch,
	                                .watch_writers = store_watch_writers,
	                                .watch_cluster = store_watch_cluster,
	                                .unwatch = store_unwatch,
	                                .submit = store_submit,
	                                .cancel = store_cancel};
	store->options = *options;
	if (!store->options.watch_http)
		store->options.watch_http = options->http;
	store->namespace_ = rh_strdup(options->namespace_);
	if (options->namespace_ && !store->namespace_)
		return rh_fail_oom(err);
	store->random = options->seed ? options->seed : rh_random_seed();
	rh_window_init(&store->window, options->window, options->qps, options->burst);
	store->wake = RH_NEVER;
	*ret_store = rh_take(store);
	return 0;
}

void rh_kube_store_free(struct rh_kube_store *store)
{
	if (!store)
		return;
	while (store->watches) {
		struct store_watch *watch = store->watches;

		store->watches = watch->next;
		store_watch_free(watch);
	}
	rh_turns_deinit(&store->waiting);
	rh_turns_deinit(&store->logs);
	rh_call_clear(&store->in_flight, store->options.http);
	rh_free(store->namespace_);
	rh_free(store);
}

struct rh_store *rh_kube_store_face(struct rh_kube_store *store)
{
	return &store->face;
}
