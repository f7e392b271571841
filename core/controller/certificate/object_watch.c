/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/certificate/object_watch.h"

#include <string.h>

#include "base/json.h"
#include "base/os/clock.h"
#include "base/str.h"
#include "kube/store/path.h"

/* How long the server keeps the watch open, and how long it may take: the connection may have died unseen. */
#define OBJECT_WATCH_SECONDS "290"
#define OBJECT_WATCH_TIMEOUT (300 * RH_SECOND)
/* Between the begins of two watches, and after one that was refused. */
#define OBJECT_WATCH_PAUSE (5 * RH_SECOND)
#define OBJECT_WATCH_REFUSED (600 * RH_SECOND)
/* Longest event, bytes: an object as large as etcd takes, and what stands around it. */
#define OBJECT_WATCH_EVENT_MAX ((size_t)4 * 1024 * 1024)

struct rh_object_watch {
	struct rh_object_watch_options options; /* without the texts */
	struct rh_loop_entry *source;
	char *path;
	char *version;      /* that is known; NULL: nothing is */
	struct rh_str line; /* of the event that is coming in */
	uint64_t id;        /* of the request under way; 0: none */
	int64_t due;
	int64_t begun_at;
	bool refused;
};

static char *object_watch_path(const struct rh_object_watch_options *options)
{
	rh_auto_str path = {0}, query = {0};
	rh_auto_free char *selector = rh_asprintf("metadata.name=%s", options->name);

	if (!selector)
		return NULL;
	rh_str_append(&path, options->collection);
	rh_kube_query_add(&query, "watch", "true");
	rh_kube_query_add(&query, "fieldSelector", selector);
	rh_kube_query_add(&query, "timeoutSeconds", OBJECT_WATCH_SECONDS);
	rh_kube_path_query(&path, &query);
	return rh_str_take(&path);
}

void rh_object_watch_free(struct rh_object_watch *watch)
{
	if (!watch)
		return;
	rh_loop_remove(watch->options.loop, watch->source);
	if (watch->id)
		rh_http_cancel(watch->options.http, watch->id);
	rh_str_deinit(&watch->line);
	rh_free(watch->path);
	rh_free(watch->version);
	rh_free(watch);
}

void rh_object_watch_know(struct rh_object_watch *watch, const char *version)
{
	char *copy = rh_strdup(version ? version : "");

	if (!copy)
		return; /* the next event is taken for a change then */
	rh_free(watch->version);
	watch->version = copy;
}

bool rh_object_watch_is_refused(const struct rh_object_watch *watch)
{
	return watch->refused;
}

/* An event of the known version changes nothing; a malformed event may be one. */
static void object_watch_take_event(struct rh_object_watch *watch)
{
	rh_auto(json) event = NULL;
	const char *version;

	if (watch->line.failed || rh_json_parse_lenient(watch->line.data, watch->line.length, &event, NULL) < 0) {
		watch->options.changed(watch->options.arg);
		return;
	}
	version = rh_json_string_at(event, "object.metadata.resourceVersion");
	if (rh_text_equal(rh_json_string_at(event, "type"), "DELETED") || !rh_text_equal(version, watch->version))
		watch->options.changed(watch->options.arg);
}

static int object_watch_on_chunk(void *arg, const char *data, size_t length)
{
	struct rh_object_watch *watch = arg;

	for (const char *end; (end = memchr(data, '\n', length)); length -= (size_t)(end + 1 - data), data = end + 1) {
		rh_str_append_bytes(&watch->line, data, (size_t)(end - data));
		object_watch_take_event(watch);
		rh_str_deinit(&watch->line);
	}
	rh_str_append_bytes(&watch->line, data, length);
	return watch->line.failed || watch->line.length > OBJECT_WATCH_EVENT_MAX ? RH_EINVAL : 0;
}

static void object_watch_on_end(void *arg, const struct rh_http_response *response)
{
	struct rh_object_watch *watch = arg;

	watch->id = 0;
	rh_str_deinit(&watch->line);
	watch->refused = response->status == 403 || response->status == 404 || response->status == 405;
	watch->due = watch->begun_at + (watch->refused ? OBJECT_WATCH_REFUSED : OBJECT_WATCH_PAUSE);
}

static void object_watch_step(void *arg, int64_t now)
{
	struct rh_object_watch *watch = arg;
	const struct rh_http_request request = {
		.method = "GET",
		.path = watch->path,
		.timeout = OBJECT_WATCH_TIMEOUT,
		.chunk = object_watch_on_chunk,
	};

	if (watch->id || !watch->version || now < watch->due)
		return;
	watch->begun_at = now;
	if (rh_http_send(watch->options.http, &request, object_watch_on_end, watch, &watch->id, NULL) < 0)
		watch->due = now + OBJECT_WATCH_PAUSE;
}

static int64_t object_watch_deadline(void *arg)
{
	const struct rh_object_watch *watch = arg;

	return watch->id || !watch->version ? RH_NEVER : watch->due;
}

int rh_object_watch_new(const struct rh_object_watch_options *options, struct rh_object_watch **ret_watch,
                        struct rh_error *err)
{
	rh_auto(object_watch) watch = rh_alloc(sizeof(*watch));
	int r;

	if (!watch)
		return rh_fail_oom(err);
	watch->options = *options;
	watch->options.collection = NULL;
	watch->options.name = NULL;
	watch->path = object_watch_path(options);
	if (!watch->path)
		return rh_fail_oom(err);
	r = rh_loop_add(options->loop,
	                &(struct rh_loop_source){object_watch_step, object_watch_deadline, watch, options->order},
	                &watch->source, err);
	if (r == 0)
		*ret_watch = rh_take(watch);
	return r;
}
