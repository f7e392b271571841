/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/watch/watch.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/os/clock.h"
#include "base/os/random.h"
#include "kube/store/outcome.h"
#include "kube/store/path.h"
#include "kube/watch/known.h"
#include "kube/watch/split.h"
#include "kube/watch/writers.h"

#define WATCH_PAGE "500"
/* A longer list is streamed. A server ends a streamed list up to 1.25 s late, with its next bookmark. */
#define WATCH_PAGES_MAX 4
/* The back-off of client-go's reflector: pauses double, each with jitter upwards. */
#define WATCH_PAUSE_FIRST (800 * RH_SECOND / 1000)
#define WATCH_PAUSE_MAX (30 * RH_SECOND)
/* A watch that ends sooner did not work. */
#define WATCH_SHORT RH_SECOND
/* A server sends a bookmark about every minute, but may omit it: silence is only suspicious. */
#define WATCH_IDLE (90 * RH_SECOND)
#define WATCH_IDLE_MAX (720 * RH_SECOND)
/* Longest silence in the middle of a list. */
#define WATCH_LIST_IDLE (60 * RH_SECOND)
/* timeoutSeconds of a watch: 5 to 10 minutes, so that watches spread over servers again. */
#define WATCH_SECONDS_MIN 300
#define WATCH_SECONDS_MAX 600
/* The first watch after a problem is short: a waiting watch does not show success, a normal end is. */
#define WATCH_SECONDS_TRIAL INT64_C(2)
/* Streamed lists in a row that may end early before paged lists are used. */
#define WATCH_STREAMS_MAX 3
/* Lists in a row whose pages may expire before an unpaged list is used. */
#define WATCH_PAGED_MAX 2
/* How the server marks the end of a streamed list. */
#define WATCH_END_MARK "metadata.annotations[\"k8s.io/initial-events-end\"]"

/* Purpose of the next request, or of the one in progress. */
enum watch_mode {
	WATCH_LIST,   /* a page of a list */
	WATCH_STREAM, /* a watch that begins with all that exists */
	WATCH_FOLLOW  /* a watch from a version that is known */
};

/* Why the watch ended its request, or the error in the server's stream. */
struct watch_fault {
	int32_t status; /* 0: malformed response */
	bool set;
	char message[512];
};

struct rh_kube_watch {
	struct rh_kube_watch_options options; /* strings are owned, resource points to the member below */
	struct rh_resource resource;
	struct rh_known *known;
	enum watch_mode mode;
	struct rh_split *split; /* of the request in progress; NULL: none */
	char *version;          /* last resource version; NULL: list */
	char *page;             /* token of the next page; NULL: the first */
	unsigned pages;         /* read of this listing */
	uint32_t listing;       /* number of this listing */
	int64_t due, sent_at, received_at;
	int64_t idle;            /* longest silence of this watch */
	unsigned failures;       /* in a row */
	unsigned expired;        /* lists in a row whose pages expired, or streams that ended too early */
	unsigned gone;           /* expired versions since a watch worked */
	bool whole;              /* list without pages */
	bool synced;             /* RH_WATCH_SYNCED was sent */
	bool answered;           /* the request in progress has a successful response */
	bool moved;              /* it delivered an object or bookmark */
	bool broken;             /* a problem is reported */
	int32_t reported_status; /* status of that problem */
	uint64_t reported_gist;
	const char *reported_verb;
	uint64_t random; /* state of the jitter */
	struct watch_fault fault;
};

/* @return a number of [0, @p below) */
static int64_t watch_draw(struct rh_kube_watch *watch, int64_t below)
{
	return (int64_t)rh_random_below(&watch->random, (uint64_t)below);
}

static int watch_copy_options(struct rh_kube_watch *watch, const struct rh_kube_watch_options *options)
{
	watch->options = *options;
	watch->options.namespace_ = rh_strdup(options->namespace_);
	watch->options.label = rh_strdup(options->label);
	watch->resource.api_version = rh_strdup(options->resource->api_version);
	watch->resource.kind = rh_strdup(options->resource->kind);
	watch->resource.plural = rh_strdup(options->resource->plural);
	watch->options.resource = &watch->resource;
	watch->known = rh_known_new(options->resource);
	if ((options->namespace_ && !watch->options.namespace_) || (options->label && !watch->options.label) ||
	    !watch->resource.api_version || !watch->resource.kind || !watch->resource.plural || !watch->known)
		return RH_ENOMEM;
	return 0;
}

struct rh_kube_watch *rh_kube_watch_new(const struct rh_kube_watch_options *options)
{
	rh_auto(kube_watch) watch = rh_alloc(sizeof(*watch));

	if (!watch || watch_copy_options(watch, options) < 0)
		return NULL;
	watch->idle = WATCH_IDLE;
	watch->random = options->seed;
	return rh_take(watch);
}

void rh_kube_watch_free(struct rh_kube_watch *watch)
{
	if (!watch)
		return;
	rh_split_free(watch->split);
	rh_known_free(watch->known);
	rh_free(watch->version);
	rh_free(watch->page);
	rh_free((char *)watch->options.namespace_);
	rh_free((char *)watch->options.label);
	rh_free((char *)watch->resource.api_version);
	rh_free((char *)watch->resource.kind);
	rh_free((char *)watch->resource.plural);
	rh_free(watch);
}

void rh_kube_watch_look(const struct rh_kube_watch *watch, struct rh_kube_watch_state *ret_state)
{
	*ret_state = (struct rh_kube_watch_state){
		.synced = watch->synced,
		.listing = watch->mode == WATCH_LIST,
		.works = watch->synced && !watch->broken,
		.kept = rh_known_size(watch->known),
		.version = watch->version ? watch->version : "",
	};
}

int64_t rh_kube_watch_due(const struct rh_kube_watch *watch)
{
	return watch->split ? RH_NEVER : watch->due;
}

/* Report the problem of the watch, or with status 200 its end. */
static void watch_emit_problem(struct rh_kube_watch *watch, int32_t status, const char *message)
{
	rh_auto_str name = {0};
	struct rh_kube_problem problem = {
		.about = &watch->resource,
		.verb = watch->reported_verb,
		.namespace_ = watch->options.namespace_ ? watch->options.namespace_ : "",
		.status = status,
		.message = message,
	};

	watch->broken = status != 200;
	watch->reported_status = status;
	if (!watch->options.problem)
		return;
	rh_kube_path_resource(&name, &watch->resource);
	problem.resource = rh_str_text(&name);
	watch->options.problem(watch->options.problem_arg, &problem);
}

static void watch_emit(struct rh_kube_watch *watch, enum rh_watch_event event, const struct rh_json *object)
{
	watch->options.fn(watch->options.arg, event, object);
}

static void watch_emit_deleted(void *arg, const struct rh_json *identity)
{
	watch_emit(arg, RH_WATCH_DELETED, identity);
}

static void watch_emit_synced(struct rh_kube_watch *watch)
{
	if (watch->synced)
		return;
	watch->synced = true;
	watch_emit(watch, RH_WATCH_SYNCED, NULL);
}

/* Restart with a full list. */
static void watch_start_over(struct rh_kube_watch *watch)
{
	rh_free(rh_take(watch->page));
	rh_free(rh_take(watch->version));
	watch->mode = WATCH_LIST;
}

/* Process the current state of an object. */
static int watch_take(struct rh_kube_watch *watch, const struct rh_json *object)
{
	struct rh_known_object *known;
	enum rh_known_change change = rh_known_compare(watch->known, object, &known);

	if (change == RH_KNOWN_SAME) {
		rh_known_seen(known, watch->listing);
		return 0;
	}
	if (change == RH_KNOWN_OTHER) {
		if (rh_known_emit(watch->known, object, watch_emit_deleted, watch) < 0)
			return RH_ENOMEM;
		rh_known_remove(watch->known, object);
	}
	if (rh_known_put(watch->known, object, watch->listing) < 0)
		return RH_ENOMEM;
	watch_emit(watch, change == RH_KNOWN_CHANGED ? RH_WATCH_MODIFIED : RH_WATCH_ADDED, object);
	return 0;
}

static void watch_lose(struct rh_kube_watch *watch, const struct rh_json *object)
{
	struct rh_known_object *known;
	enum rh_known_change change = rh_known_compare(watch->known, object, &known);

	if (change == RH_KNOWN_NEW || change == RH_KNOWN_OTHER)
		return;
	rh_known_remove(watch->known, object);
	watch_emit(watch, RH_WATCH_DELETED, object);
}

void rh_kube_watch_learn(struct rh_kube_watch *watch, const struct rh_json *object)
{
	rh_known_learn(watch->known, object, watch_emit_deleted, watch);
}

/* The listing is complete. */
static int watch_finish_list(struct rh_kube_watch *watch)
{
	if (rh_known_sweep(watch->known, watch->listing, watch->version, watch_emit_deleted, watch) < 0)
		return RH_ENOMEM;
	watch->mode = WATCH_FOLLOW;
	watch->expired = 0;
	watch->whole = false;
	watch_emit_synced(watch);
	return 0;
}

static int watch_set_version(struct rh_kube_watch *watch, const char *text)
{
	char *version = text ? rh_strdup(text) : NULL;

	if (!version)
		return text ? RH_ENOMEM : RH_EINVAL;
	rh_free(watch->version);
	watch->version = version;
	return 0;
}

/* Some servers omit kind and apiVersion of list items, since the list has them. */
static int watch_on_item(void *arg, struct rh_json *item, struct rh_error *err)
{
	struct rh_kube_watch *watch = arg;
	int r = 0;

	if (!rh_json_get(item, "apiVersion"))
		r = rh_json_set_string(item, "apiVersion", watch->resource.api_version);
	if (r == 0 && !rh_json_get(item, "kind"))
		r = rh_json_set_string(item, "kind", watch->resource.kind);
	if (r == 0)
		r = watch->options.writers ? rh_writers_trim(item) : 0;
	if (r == 0)
		r = watch_take(watch, item);
	watch->moved = true;
	return r < 0 ? rh_fail_oom(err) : 0;
}

/* The server ends the stream with a Status. */
static int watch_on_error(struct rh_kube_watch *watch, const struct rh_json *status, struct rh_error *err)
{
	const char *message = rh_json_string(rh_json_get(status, "message"));
	int64_t code = 500;

	(void)rh_json_integer(rh_json_get(status, "code"), &code);
	watch->fault.set = true;
	watch->fault.status = code >= 400 && code < 600 ? (int32_t)code : 500;
	rh_copy(watch->fault.message, sizeof(watch->fault.message), message ? message : "the server ended the watch");
	return rh_fail(err, RH_EIO, "%s", watch->fault.message);
}

static int watch_on_bookmark(struct rh_kube_watch *watch, const struct rh_json *object)
{
	int r;

	if (watch->mode != WATCH_STREAM || !rh_text_equal(rh_json_string_at(object, WATCH_END_MARK), "true"))
		return 0;
	r = watch_set_version(watch, rh_json_string_at(object, "metadata.resourceVersion"));
	return r == 0 ? watch_finish_list(watch) : r;
}

static int watch_on_change(struct rh_kube_watch *watch, const char *type, const struct rh_json *object)
{
	if (strcmp(type, "BOOKMARK") == 0)
		return watch_on_bookmark(watch, object);
	if (strcmp(type, "DELETED") == 0)
		watch_lose(watch, object);
	else
		return watch_take(watch, object);
	return 0;
}

/* A resource version is valid only after the initial events: a stream cut before must restart. */
static int watch_on_event(void *arg, struct rh_json *event, struct rh_error *err)
{
	struct rh_kube_watch *watch = arg;
	const char *type = rh_json_string(rh_json_get(event, "type"));
	struct rh_json *object = rh_json_get(event, "object");
	int r;

	if (!type || rh_json_type(object) != RH_JSON_OBJECT)
		return rh_fail(err, RH_EINVAL, "the server sent an event without a type or an object");
	if (strcmp(type, "ERROR") == 0)
		return watch_on_error(watch, object, err);
	r = watch->options.writers ? rh_writers_trim(object) : 0;
	if (r == 0)
		r = watch_on_change(watch, type, object);
	if (r == 0 && watch->mode == WATCH_FOLLOW)
		r = watch_set_version(watch, rh_json_string_at(object, "metadata.resourceVersion"));
	watch->moved = true;
	if (r == RH_EINVAL)
		return rh_fail(err, r, "the server sent an event without metadata.resourceVersion");
	return r < 0 ? rh_fail_oom(err) : 0;
}

static void watch_query_seconds(struct rh_kube_watch *watch, struct rh_str *query)
{
	int64_t duration = WATCH_SECONDS_MIN + watch_draw(watch, WATCH_SECONDS_MAX - WATCH_SECONDS_MIN);
	char seconds[24];

	snprintf(seconds, sizeof(seconds), "%" PRId64, watch->broken ? WATCH_SECONDS_TRIAL : duration);
	rh_kube_query_add(query, "watch", "true");
	rh_kube_query_add(query, "allowWatchBookmarks", "true");
	rh_kube_query_add(query, "timeoutSeconds", seconds);
}

static void watch_query(struct rh_kube_watch *watch, struct rh_str *query)
{
	if (watch->options.label)
		rh_kube_query_add(query, "labelSelector", watch->options.label);
	if (watch->mode != WATCH_LIST)
		watch_query_seconds(watch, query);
	if (watch->mode == WATCH_FOLLOW) {
		rh_kube_query_add(query, "resourceVersion", watch->version);
	} else if (watch->mode == WATCH_STREAM) {
		rh_kube_query_add(query, "sendInitialEvents", "true");
		rh_kube_query_add(query, "resourceVersionMatch", "NotOlderThan");
	} else if (!watch->whole) {
		rh_kube_query_add(query, "limit", WATCH_PAGE);
	}
	if (watch->mode == WATCH_LIST && watch->page)
		rh_kube_query_add(query, "continue", watch->page);
}

int rh_kube_watch_begin(struct rh_kube_watch *watch, int64_t now, struct rh_str *path,
                        struct rh_http_request *ret_request)
{
	struct rh_kube_target target = {.resource = &watch->resource, .namespace_ = watch->options.namespace_};
	bool list = watch->mode == WATCH_LIST;
	rh_auto_str query = {0};

	rh_kube_path_append(path, &target);
	watch_query(watch, &query);
	rh_kube_path_query(path, &query);
	watch->split = path->failed ? NULL
	               : list       ? rh_split_new(RH_SPLIT_LIST, 0, watch_on_item, watch)
	                            : rh_split_new(RH_SPLIT_EVENTS, 0, watch_on_event, watch);
	if (watch->split && watch->options.writers)
		rh_split_keep_managed(watch->split);
	if (!watch->split) {
		watch->due = now + WATCH_PAUSE_FIRST;
		return RH_ENOMEM;
	}
	if (watch->mode == WATCH_STREAM || (list && !watch->page)) {
		watch->listing++;
		watch->pages = 0;
	}
	watch->sent_at = watch->received_at = now;
	watch->answered = watch->moved = false;
	watch->fault = (struct watch_fault){0};
	*ret_request = (struct rh_http_request){
		.method = "GET",
		.path = rh_str_text(path),
		.idle_timeout = list ? WATCH_LIST_IDLE : watch->idle,
	};
	return 0;
}

void rh_kube_watch_clear_problem(struct rh_kube_watch *watch)
{
	if (watch->broken)
		watch_emit_problem(watch, 200, "");
}

int rh_kube_watch_feed(struct rh_kube_watch *watch, const char *data, size_t length, int64_t now)
{
	struct rh_error err = {0};
	int r;

	watch->received_at = now;
	watch->answered = true;
	r = rh_split_feed(watch->split, data, length, &err);
	if (r < 0 && !watch->fault.set) {
		watch->fault.set = true;
		rh_copy(watch->fault.message, sizeof(watch->fault.message), err.message);
	}
	if (r < 0 || watch->mode != WATCH_FOLLOW)
		return r;
	rh_kube_watch_clear_problem(watch);
	if (watch->moved && now - watch->sent_at >= WATCH_SHORT)
		watch->failures = watch->gone = 0;
	return 0;
}

static int64_t watch_pause(struct rh_kube_watch *watch)
{
	int64_t pause = WATCH_PAUSE_FIRST;

	for (unsigned i = 1; i < watch->failures && pause < WATCH_PAUSE_MAX; i++)
		pause *= 2;
	pause += watch_draw(watch, pause);
	return pause < WATCH_PAUSE_MAX ? pause : WATCH_PAUSE_MAX;
}

static void watch_fail(struct rh_kube_watch *watch, int32_t status, const struct rh_http_response *response,
                       int64_t now)
{
	char room[512];
	const char *message = room;
	uint64_t gist;
	int64_t pause;

	watch->failures++;
	pause = watch_pause(watch);
	watch->due = now + (response->retry_after > pause ? response->retry_after : pause);
	if (watch->fault.set)
		message = watch->fault.message;
	else if (response->status == 0)
		message = response->message;
	else
		rh_kube_outcome_message(response->status, response->body, room, sizeof(room));
	/* another problem may have the same status, as an invalid certificate after a lost connection */
	gist = rh_kube_outcome_gist(message);
	if (watch->broken && watch->reported_status == status && watch->reported_gist == gist)
		return;
	watch->reported_gist = gist;
	watch->reported_verb = watch->mode == WATCH_LIST ? "list" : "watch";
	watch_emit_problem(watch, status, message);
}

/* The requested version or page has expired on the server. */
static void watch_expire(struct rh_kube_watch *watch, const struct rh_http_response *response, int64_t now)
{
	if (watch->mode == WATCH_LIST && ++watch->expired >= WATCH_PAGED_MAX)
		watch->whole = true;
	watch_start_over(watch);
	watch->due = now;
	if (watch->gone++ > 0)
		watch_fail(watch, 410, response, now);
}

/* The resource does not exist, so the listing is empty: other kinds need not wait for it. The watch keeps trying. */
static void watch_miss(struct rh_kube_watch *watch, const struct rh_http_response *response, int64_t now)
{
	watch_fail(watch, 404, response, now);
	watch_start_over(watch);
	watch_emit_synced(watch);
}

/*
 * A page is complete: get the next one, or watch from here. A short list is faster in pages, because a stream waits for
 * the server's next bookmark; a long list is streamed where the server can, because a stream cannot expire.
 * @return 0 or a negative status
 */
static int watch_turn_page(struct rh_kube_watch *watch, struct rh_error *err)
{
	const struct rh_json *metadata = rh_split_metadata(watch->split);
	const char *next = rh_json_string(rh_json_get(metadata, "continue"));
	const char *version = rh_json_string(rh_json_get(metadata, "resourceVersion"));
	bool more = next && *next;
	bool paged = more && (++watch->pages < WATCH_PAGES_MAX || watch->options.pages);
	char *page = paged ? rh_strdup(next) : NULL;

	if (paged && !page)
		return rh_fail_oom(err);
	rh_free(watch->page);
	watch->page = page;
	if (more)
		watch->mode = page ? WATCH_LIST : WATCH_STREAM;
	if (more)
		return 0;
	if (!version || !*version)
		return rh_fail(err, RH_EINVAL, "the server's list has no metadata.resourceVersion");
	return watch_set_version(watch, version) < 0 || watch_finish_list(watch) < 0 ? rh_fail_oom(err) : 0;
}

static void watch_end_list(struct rh_kube_watch *watch, const struct rh_http_response *response, int64_t now)
{
	struct rh_error err = {0};
	int r = rh_split_end(watch->split, &err);

	if (r == 0)
		r = watch_turn_page(watch, &err);
	if (r < 0) {
		watch->fault.set = true;
		rh_copy(watch->fault.message, sizeof(watch->fault.message), err.message);
		watch_fail(watch, 0, response, now);
		return;
	}
	watch->failures = 0;
	watch->due = now;
	rh_kube_watch_clear_problem(watch);
}

/* A streamed list ended early: after a few of them, pages are used. */
static void watch_count_early(struct rh_kube_watch *watch)
{
	if (watch->mode != WATCH_STREAM || ++watch->expired < WATCH_STREAMS_MAX)
		return;
	watch->options.pages = true;
	watch->expired = 0;
	watch_start_over(watch);
}

/* A watch ended without a fault, as servers end them all after some time. */
static void watch_end_stream(struct rh_kube_watch *watch, const struct rh_http_response *response, int64_t now)
{
	bool early = watch->mode == WATCH_STREAM;

	watch_count_early(watch);
	watch->due = now;
	/* a server ends a watch that is too slow for a burst; it continues after the last reported event */
	if (early || (!watch->moved && now - watch->sent_at < WATCH_SHORT)) {
		rh_copy(watch->fault.message, sizeof(watch->fault.message), "the server ends the watch at once");
		watch->fault.set = true;
		watch_fail(watch, 0, response, now);
	} else {
		watch->failures = watch->gone = 0;
		rh_kube_watch_clear_problem(watch);
	}
}

/* The connection broke, or was silent for too long. */
static void watch_end_cut(struct rh_kube_watch *watch, const struct rh_http_response *response, int64_t now)
{
	bool silent = watch->mode != WATCH_LIST && now - watch->received_at >= watch->idle;

	if (silent && !watch->moved && watch->idle < WATCH_IDLE_MAX)
		watch->idle *= 2;
	if (watch->answered)
		watch_count_early(watch);
	if (silent || (watch->answered && watch->failures == 0 && now - watch->sent_at >= WATCH_SHORT))
		watch->due = now;
	else
		watch_fail(watch, 0, response, now);
}

/* The server does not support streamed lists. */
static void watch_stop_streaming(struct rh_kube_watch *watch, int64_t now)
{
	watch->options.pages = true;
	watch_start_over(watch);
	watch->due = now;
}

static void watch_end_refused(struct rh_kube_watch *watch, int32_t status, const struct rh_http_response *response,
                              int64_t now)
{
	bool odd = status == 400 || status == 422;

	if (odd && watch->mode == WATCH_STREAM)
		watch_stop_streaming(watch, now);
	else if (status == 410 || (odd && watch->mode == WATCH_LIST && watch->page))
		watch_expire(watch, response, now);
	else if (status == 404)
		watch_miss(watch, response, now);
	else
		watch_fail(watch, status, response, now);
}

void rh_kube_watch_end(struct rh_kube_watch *watch, const struct rh_http_response *response, int64_t now)
{
	int32_t status = watch->fault.set ? watch->fault.status : response->status;

	if (watch->fault.set && watch->fault.status == 0)
		watch_fail(watch, 0, response, now);
	else if (status == 0)
		watch_end_cut(watch, response, now);
	else if (status >= 300 || status < 200)
		watch_end_refused(watch, status, response, now);
	else if (watch->mode == WATCH_LIST)
		watch_end_list(watch, response, now);
	else
		watch_end_stream(watch, response, now);
	rh_split_free(rh_take(watch->split));
}
