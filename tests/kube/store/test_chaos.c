/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small API server in memory, and faults at every call: whatever happens, the watch finally shows the state of the
 * server, and reports the events of each object in order.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/map.h"
#include "base/os/clock.h"
#include "base/os/random.h"
#include "base/support.h"
#include "kube/fake_http.h"
#include "kube/store/store.h"

#define OBJECTS 12
#define PAGE_SIZE 4
#define LOG_MAX 4096
#define STREAMS 4

/* One change: from this version on, the object is this one, or none. */
struct change {
	int64_t version;
	int object;
	int uid; /* 0: it does not exist */
};

/* An open watch. */
struct stream {
	uint64_t call; /* 0: none */
	int64_t version;
	struct rh_str text;
	size_t sent;
};

struct server {
	struct change log[LOG_MAX];
	size_t count;
	int64_t version;
	int64_t floor; /* older versions are compacted */
	int last_uid;
	struct stream streams[STREAMS];
	bool streams_lists;
};

/* The server, the store, and the events of the store. */
struct play {
	struct server server;
	struct rh_http *http;
	struct rh_kube_store *store;
	int64_t now;
	uint64_t random;
	bool faults;
	int seen[OBJECTS]; /* UID; 0: not there */
	int64_t seen_version[OBJECTS];
	int synced;
};

static uint64_t draw(struct play *play, uint64_t below)
{
	return rh_random_below(&play->random, below);
}

static int64_t clock_of(void *arg)
{
	return ((struct play *)arg)->now;
}

/* @return what the object was at @p version, or NULL when there was none yet */
static const struct change *server_at(const struct server *server, int object, int64_t version)
{
	for (size_t i = server->count; i-- > 0;) {
		if (server->log[i].object == object && server->log[i].version <= version)
			return &server->log[i];
	}
	return NULL;
}

static void server_set(struct server *server, int object, int uid)
{
	assert_true(server->count < LOG_MAX);
	server->log[server->count++] = (struct change){++server->version, object, uid};
}

static void server_change(struct play *play)
{
	struct server *server = &play->server;
	int object = (int)draw(play, OBJECTS);
	const struct change *now = server_at(server, object, server->version);
	bool exists = now && now->uid;

	if (!exists)
		server_set(server, object, ++server->last_uid);
	else
		server_set(server, object, draw(play, 3) == 0 ? 0 : now->uid);
	if (draw(play, 40) == 0)
		server->floor = server->version;
}

static void print_object(struct rh_str *out, int object, int uid, int64_t version)
{
	rh_str_appendf(out,
	               "{\"metadata\":{\"name\":\"o%d\",\"namespace\":\"d\",\"uid\":\"%d\",\"resourceVersion\":\"%" PRId64
	               "\",\"labels\":{\"app\":\"x\"},\"managedFields\":[{\"a\":\"}\"}]}}",
	               object, uid, version);
}

static void print_event(struct rh_str *out, const char *type, int object, int uid, int64_t version)
{
	rh_str_appendf(out, "{\"type\":\"%s\",\"object\":", type);
	print_object(out, object, uid, version);
	rh_str_append(out, "}\n");
}

/* A page of the list as it was at @p version, from object number @p first on. */
static void print_page(const struct server *server, int64_t version, int first, bool whole, struct rh_str *out)
{
	int end = whole || first + PAGE_SIZE > OBJECTS ? OBJECTS : first + PAGE_SIZE;
	bool any = false;

	rh_str_append(out, "{\"kind\":\"PodList\",\"items\":[");
	for (int i = first; i < end; i++) {
		const struct change *change = server_at(server, i, version);

		if (!change || !change->uid)
			continue;
		rh_str_append(out, any ? "," : "");
		print_object(out, i, change->uid, change->version);
		any = true;
	}
	rh_str_appendf(out, "],\"metadata\":{\"resourceVersion\":\"%" PRId64 "\"", version);
	if (end < OBJECTS)
		rh_str_appendf(out, ",\"continue\":\"%" PRId64 ".%d\"", version, end);
	rh_str_append(out, "}}");
}

static int64_t parameter(const char *path, const char *name, int *ret_second)
{
	const char *at = strstr(path, name);
	char *end;
	int64_t value;

	if (!at)
		return -1;
	value = strtoll(at + strlen(name), &end, 10);
	if (ret_second && *end == '.')
		*ret_second = (int)strtol(end + 1, NULL, 10);
	return value;
}

static void answer_list(struct play *play, struct fake_call *call)
{
	int first = 0;
	int64_t version = parameter(call->path, "continue=", &first);
	rh_auto_str body = {0};

	if (version >= 0 && version < play->server.floor) {
		fake_http_answer(play->http, call, 410, "{\"kind\":\"Status\",\"code\":410}");
		return;
	}
	version = version < 0 ? play->server.version : version;
	print_page(&play->server, version, first, !strstr(call->path, "limit="), &body);
	if (play->faults && draw(play, 6) == 0) {
		if (fake_http_feed(play->http, call, rh_str_text(&body), draw(play, body.length)))
			fake_http_cut(play->http, call, true);
		return;
	}
	fake_http_answer(play->http, call, 200, rh_str_text(&body));
}

static struct stream *stream_of(struct server *server, uint64_t call)
{
	for (size_t i = 0; i < STREAMS; i++) {
		if (server->streams[i].call == call)
			return &server->streams[i];
	}
	return NULL;
}

static void stream_close(struct stream *stream)
{
	rh_str_deinit(&stream->text);
	*stream = (struct stream){0};
}

static void stream_print_list(struct server *server, struct stream *stream)
{
	for (int i = 0; i < OBJECTS; i++) {
		const struct change *change = server_at(server, i, server->version);

		if (change && change->uid)
			print_event(&stream->text, "ADDED", i, change->uid, change->version);
	}
	rh_str_appendf(&stream->text,
	               "{\"type\":\"BOOKMARK\",\"object\":{\"metadata\":{\"resourceVersion\":\"%" PRId64
	               "\",\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}}}}\n",
	               server->version);
	stream->version = server->version;
}

/* Open a watch. @return NULL when the call was answered otherwise */
static struct stream *stream_open(struct play *play, struct fake_call *call)
{
	struct server *server = &play->server;
	struct stream *stream = stream_of(server, 0);

	assert_non_null(stream);
	if (strstr(call->path, "sendInitialEvents") && !server->streams_lists) {
		fake_http_answer(play->http, call, 422, "{}");
		return NULL;
	}
	if (strstr(call->path, "sendInitialEvents")) {
		stream_print_list(server, stream);
	} else {
		stream->version = parameter(call->path, "resourceVersion=", NULL);
		if (stream->version < server->floor && draw(play, 2) == 0) {
			fake_http_answer(play->http, call, 410, "{}");
			return NULL;
		}
		if (stream->version < server->floor)
			rh_str_append(&stream->text, "{\"type\":\"ERROR\",\"object\":{\"code\":410,\"message\":\"too old\"}}\n");
	}
	stream->call = call->id;
	return stream;
}

/* Write what has happened since. */
static void stream_catch_up(const struct server *server, struct stream *stream)
{
	for (size_t i = 0; i < server->count; i++) {
		const struct change *change = &server->log[i];
		const struct change *before = server_at(server, change->object, change->version - 1);
		bool existed = before && before->uid;

		if (change->version <= stream->version)
			continue;
		if (change->uid)
			print_event(&stream->text, existed ? "MODIFIED" : "ADDED", change->object, change->uid, change->version);
		else
			print_event(&stream->text, "DELETED", change->object, before->uid, change->version);
		stream->version = change->version;
	}
}

static void serve_watch(struct play *play, struct fake_call *call)
{
	struct stream *stream = stream_of(&play->server, call->id);
	size_t piece;

	if (!stream)
		stream = stream_open(play, call);
	if (!stream)
		return;
	stream_catch_up(&play->server, stream);
	piece = stream->text.length - stream->sent;
	if (play->faults && piece > 0)
		piece = draw(play, piece + 1);
	if (!fake_http_feed(play->http, call, stream->text.data ? stream->text.data + stream->sent : "", piece)) {
		stream_close(stream);
		return;
	}
	stream->sent += piece;
	if (!play->faults || draw(play, 8) > 0)
		return;
	stream_close(stream);
	if (draw(play, 2) == 0)
		fake_http_cut(play->http, call, true);
	else
		fake_http_answer(play->http, call, 200, "");
}

static bool is_watch(const struct fake_call *call)
{
	return strstr(call->path, "watch=true") != NULL;
}

/* Refuse a call that was not answered yet. */
static void fail_call(struct play *play, struct fake_call *call)
{
	static const int32_t statuses[] = {429, 500, 503, 401, 403, 504, 404};
	uint64_t choice = draw(play, 9);

	if (choice < 7)
		fake_http_answer(play->http, call, statuses[choice], "{}");
	else
		fake_http_cut(play->http, call, choice == 8);
}

static void serve(struct play *play)
{
	size_t open = fake_http_count(play->http);
	struct fake_call *call = open ? fake_http_call(play->http, draw(play, open)) : NULL;

	if (!call)
		return;
	if (play->faults && !stream_of(&play->server, call->id) && draw(play, 4) == 0)
		fail_call(play, call);
	else if (is_watch(call))
		serve_watch(play, call);
	else
		answer_list(play, call);
}

static void on_watch(void *arg, enum rh_watch_event event, const struct rh_json *object)
{
	struct play *play = arg;
	const char *name = rh_json_string_at(object, "metadata.name");
	const char *uid = rh_json_string_at(object, "metadata.uid");
	int index = name ? (int)strtol(name + 1, NULL, 10) : 0;
	int number = uid ? (int)strtol(uid, NULL, 10) : 0;
	int64_t version;

	if (event == RH_WATCH_SYNCED) {
		play->synced++;
		return;
	}
	if (event != RH_WATCH_DELETED)
		assert_string_equal(rh_json_string_at(object, "metadata.labels.app"), "x");
	version = strtoll(rh_json_string_at(object, "metadata.resourceVersion"), NULL, 10);
	assert_int_equal(play->seen[index], event == RH_WATCH_ADDED ? 0 : number);
	assert_true(version >= play->seen_version[index]);
	play->seen[index] = event == RH_WATCH_DELETED ? 0 : number;
	play->seen_version[index] = event == RH_WATCH_DELETED ? 0 : version;
}

static bool play_agrees(const struct play *play)
{
	for (int i = 0; i < OBJECTS; i++) {
		const struct change *change = server_at(&play->server, i, play->server.version);
		int uid = change ? change->uid : 0;

		if (play->seen[i] != uid || (uid && play->seen_version[i] != change->version))
			return false;
	}
	return play->synced == 1;
}

static void play_steps(struct play *play, int count)
{
	for (int i = 0; i < count; i++) {
		play->now += (int64_t)draw(play, 4 * RH_SECOND);
		rh_kube_store_step(play->store, play->now);
		if (play->faults && play->server.count < LOG_MAX && draw(play, 2) == 0)
			server_change(play);
		serve(play);
	}
}

static void play_seed(uint64_t seed)
{
	struct play *play = rh_alloc(sizeof(*play));
	struct rh_kube_store_options options = {.clock = clock_of, .arg = play, .seed = seed, .pages = seed % 3 == 0};
	struct rh_store *face;

	play->random = seed;
	play->http = options.http = fake_http_new();
	play->server.streams_lists = seed % 2 == 0;
	play->server.version = 10;
	assert_int_equal(rh_kube_store_new(&options, &play->store, NULL), 0);
	face = rh_kube_store_face(play->store);
	for (int i = 0; i < 20; i++)
		server_change(play);
	assert_true(face->watch(face, &rh_resource_pods, "app", on_watch, play));
	play->faults = true;
	play_steps(play, 400);
	play->faults = false;
	for (int i = 0; i < 100 && !play_agrees(play); i++)
		play_steps(play, 1);
	if (!play_agrees(play))
		fail_msg("seed %" PRIu64 ": the watch does not find out what the server has", seed);
	rh_kube_store_free(play->store);
	rh_http_free(play->http);
	for (size_t i = 0; i < STREAMS; i++)
		stream_close(&play->server.streams[i]);
	rh_free(play);
}

static void test_chaos__ends_with_what_the_server_has(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 120; seed++)
		play_seed(seed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_chaos__ends_with_what_the_server_has),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
