/* SPDX-License-Identifier: Apache-2.0 */
/* The client: libcurl's multi handle on the event loop, and the completion of each call. */
#include "kube/http/http.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/os/clock.h"
#include "kube/http/parts.h"

#define HTTP_BODY_MAX (64u << 20)
/* The server announces its limit of streams on a connection; this must not be smaller. */
#define HTTP_STREAMS_MAX 1000L
/*
 * Most connections to a server that multiplexes. Without the limit libcurl opens a new one for each call when the first
 * is full; a call can wait for the end of another instead.
 */
#define HTTP_CONNECTIONS_MAX 4L
/* Concurrent calls until it is known whether the server multiplexes. */
#define HTTP_FLIGHTS_AT_FIRST 50
/* Pause before watching a socket again after a failure for lack of memory. */
#define HTTP_WATCH_AGAIN (RH_SECOND / 20)
/* A call on an idle connection gets its socket slightly later than it begins. */
#define HTTP_SLACK (RH_SECOND / 2)

/* A socket that libcurl waits for. */
struct http_socket {
	struct http_socket *next;
	struct rh_http *http;
	curl_socket_t fd;
	unsigned events;             /* what libcurl waits for */
	struct rh_loop_watch *watch; /* NULL: no memory for it */
	unsigned ready;              /* events since the last rh_http_step() */
	int64_t received_at;         /* when it was last readable, or opened */
};

struct rh_http {
	struct rh_http_options options;
	struct rh_http_target target;
	struct rh_auth *auth; /* owned, unless options.credentials_of has it */
	CURLM *multi;
	struct http_socket *sockets;
	struct rh_http_call *first, *last; /* all calls, oldest first */
	uint64_t ids;
	size_t flights; /* calls in progress in libcurl */
	long version;   /* HTTP version of the last response; 0: none yet */
	long limited;   /* the version for which libcurl's limits are set */
	int64_t timer;  /* libcurl's timer; RH_NEVER: none */
	bool inside;    /* inside a libcurl function: it is not reentrant */
	bool fresh;     /* there are new calls */
	bool sweep;     /* there are forgotten calls */
	bool unarmed;   /* there are sockets without a watch */
	bool ready;     /* there are sockets that are ready */
};

static void http_link(struct rh_http *http, struct rh_http_call *call)
{
	call->prev = http->last;
	call->next = NULL;
	if (http->last)
		http->last->next = call;
	else
		http->first = call;
	http->last = call;
}

static void http_unlink(struct rh_http *http, struct rh_http_call *call)
{
	if (call->prev)
		call->prev->next = call->next;
	else
		http->first = call->next;
	if (call->next)
		call->next->prev = call->prev;
	else
		http->last = call->prev;
}

/* Remove a call from libcurl. */
static void http_ground(struct rh_http *http, struct rh_http_call *call)
{
	if (call->state != RH_HTTP_FLYING)
		return;
	http->inside = true;
	(void)curl_multi_remove_handle(http->multi, call->easy);
	http->inside = false;
	call->state = RH_HTTP_OVER;
	http->flights--;
}

static void http_drop(struct rh_http *http, struct rh_http_call *call)
{
	http_ground(http, call);
	http->fresh = true;
	http_unlink(http, call);
	rh_http_call_free(call);
}

static void http_observe(const struct rh_http *http, const struct rh_http_call *call)
{
	rh_auto_free char *path = NULL;

	if (!http->options.observe)
		return;
	path = rh_strndup(call->path, strcspn(call->path, "?"));
	http->options.observe(http->options.arg, call->method, path ? path : "", call->status,
	                      (double)(rh_clock_monotonic() - call->began) / (double)RH_SECOND);
}

/* Complete the ended calls. A callback may send and cancel, so the scan of the list restarts after each. */
static void http_complete(struct rh_http *http)
{
	struct rh_http_call *call = http->first;

	while (call) {
		if (call->state != RH_HTTP_OVER) {
			call = call->next;
			continue;
		}
		http_unlink(http, call);
		http_observe(http, call);
		rh_http_call_complete(call);
		rh_http_call_free(call);
		call = http->first;
	}
}

/* Free what was cancelled while libcurl ran. */
static void http_clean(struct rh_http *http)
{
	struct rh_http_call *next;

	if (!http->sweep)
		return;
	http->sweep = false;
	for (struct rh_http_call *call = http->first; call; call = next) {
		next = call->next;
		if (call->forgotten)
			http_drop(http, call);
	}
}

/* @return whether a newer credential, or newer CAs, may let the call succeed */
static bool http_renewed(struct rh_http *http, const struct rh_http_call *call, CURLcode code)
{
	if (code == CURLE_PEER_FAILED_VERIFICATION)
		return rh_auth_distrusted(http->auth, rh_clock_monotonic(), call->generation);
	return call->status == 401 && rh_auth_refused(http->auth, rh_clock_monotonic(), call->generation);
}

/* libcurl finished a call. It gets a second attempt if newer credentials exist. */
static void http_land(struct rh_http *http, struct rh_http_call *call, CURLcode code)
{
	http_ground(http, call);
	http->fresh = true; /* another call may wait for its place */
	rh_http_call_conclude(call, &http->target, code);
	if (call->again || !http_renewed(http, call, code))
		return;
	call->again = true;
	call->state = RH_HTTP_WAITING;
}

static void http_collect(struct rh_http *http)
{
	const CURLMsg *message;
	int left;

	while ((message = curl_multi_info_read(http->multi, &left))) {
		CURL *easy = message->easy_handle;
		CURLcode code = message->data.result; /* the message is gone with its handle */
		char *private = NULL;

		if (message->msg != CURLMSG_DONE)
			continue;
		(void)curl_easy_getinfo(easy, CURLINFO_PRIVATE, &private);
		http_land(http, (struct rh_http_call *)(void *)private, code);
	}
}

/* The first response, and each one of another version, sets the connection limits. */
static void http_limit(struct rh_http *http)
{
	bool multiplexed = http->version >= CURL_HTTP_VERSION_2_0;

	if (http->version == http->limited)
		return;
	http->limited = http->version;
	http->fresh = true; /* calls may wait for this */
	(void)curl_multi_setopt(http->multi, CURLMOPT_MAX_HOST_CONNECTIONS, multiplexed ? HTTP_CONNECTIONS_MAX : 0L);
}

/* Run libcurl, then take its results. */
static void http_act(struct rh_http *http, curl_socket_t fd, int events)
{
	int running;

	http->inside = true;
	(void)curl_multi_socket_action(http->multi, fd, events, &running);
	http->inside = false;
	http_limit(http);
	http_clean(http);
	http_collect(http);
	http_complete(http);
}

/* Only rh_http_step() moves bytes: a leader that was suspended must find that out before it writes anything. */
static void http_on_ready(void *arg)
{
	struct http_socket *sock = arg;

	sock->ready |= rh_loop_ready(sock->watch);
	if (sock->ready & RH_LOOP_READ)
		sock->received_at = rh_clock_monotonic();
	sock->http->ready = true;
}

static void http_act_ready(struct rh_http *http)
{
	struct http_socket *sock = http->sockets;

	http->ready = false;
	while (sock) {
		int events =
			(sock->ready & RH_LOOP_READ ? CURL_CSELECT_IN : 0) | (sock->ready & RH_LOOP_WRITE ? CURL_CSELECT_OUT : 0);

		sock->ready = 0;
		if (events)
			http_act(http, sock->fd, events);
		/* any socket may be gone now */
		sock = events ? http->sockets : sock->next;
	}
}

/* Watch a socket for the events that libcurl waits for; after a failure for lack of memory try again soon. */
static void http_arm(struct http_socket *sock)
{
	int r = 0;

	if (!sock->watch)
		r = rh_loop_watch(sock->http->options.loop, sock->fd, http_on_ready, sock, &sock->watch, NULL);
	if (r == 0)
		r = rh_loop_watch_for(sock->watch, sock->events, NULL);
	if (r < 0)
		sock->http->unarmed = true;
}

static void http_socket_end(struct rh_http *http, struct http_socket *sock)
{
	struct http_socket **at = &http->sockets;

	while (*at && *at != sock)
		at = &(*at)->next;
	if (*at)
		*at = sock->next;
	rh_loop_unwatch(sock->watch);
	rh_free(sock);
}

static int http_on_socket(CURL *easy, curl_socket_t fd, int what, void *arg, void *socket_arg)
{
	struct rh_http *http = arg;
	struct http_socket *sock = socket_arg;

	(void)easy;
	if (what == CURL_POLL_REMOVE) {
		if (sock)
			http_socket_end(http, sock);
		return 0;
	}
	if (!sock) {
		sock = rh_alloc(sizeof(*sock));
		if (!sock)
			return 0; /* -1 would end every transfer; this call times out instead */
		*sock =
			(struct http_socket){.next = http->sockets, .http = http, .fd = fd, .received_at = rh_clock_monotonic()};
		http->sockets = sock;
		(void)curl_multi_assign(http->multi, fd, sock);
	}
	sock->events = (what & CURL_POLL_IN ? RH_LOOP_READ : 0u) | (what & CURL_POLL_OUT ? RH_LOOP_WRITE : 0u);
	http_arm(sock);
	return 0;
}

static int http_on_timer(CURLM *multi, long milliseconds, void *arg)
{
	struct rh_http *http = arg;

	(void)multi;
	http->timer = milliseconds < 0 ? RH_NEVER : rh_clock_monotonic() + (int64_t)milliseconds * 1000;
	return 0;
}

static int http_open(struct rh_http *http, struct rh_error *err)
{
	int bad;

	http->multi = curl_multi_init();
	if (!http->multi)
		return rh_fail_oom(err);
	bad = (int)curl_multi_setopt(http->multi, CURLMOPT_PIPELINING, (long)CURLPIPE_MULTIPLEX);
	bad |= (int)curl_multi_setopt(http->multi, CURLMOPT_MAX_CONCURRENT_STREAMS, HTTP_STREAMS_MAX);
	bad |= (int)curl_multi_setopt(http->multi, CURLMOPT_SOCKETFUNCTION, http_on_socket);
	bad |= (int)curl_multi_setopt(http->multi, CURLMOPT_SOCKETDATA, http);
	bad |= (int)curl_multi_setopt(http->multi, CURLMOPT_TIMERFUNCTION, http_on_timer);
	bad |= (int)curl_multi_setopt(http->multi, CURLMOPT_TIMERDATA, http);
	return bad ? rh_fail(err, RH_EIO, "libcurl does not know an option of its multi interface") : 0;
}

int rh_http_new(const struct rh_http_options *options, struct rh_http **ret_http, struct rh_error *err)
{
	rh_auto(http) http = NULL;
	int r;

	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		return rh_fail(err, RH_EIO, "libcurl does not start");
	http = rh_alloc(sizeof(*http));
	if (!http) {
		curl_global_cleanup();
		return rh_fail_oom(err);
	}
	http->options = *options;
	http->timer = RH_NEVER;
	if (http->options.body_max == 0)
		http->options.body_max = HTTP_BODY_MAX;
	r = http_open(http, err);
	if (r == 0)
		r = rh_http_target_init(&http->target, options->config, err);
	if (options->credentials_of)
		http->auth = options->credentials_of->auth;
	else if (r == 0)
		r = rh_auth_new(options->loop, options->config, &http->auth, err);
	if (r == 0)
		*ret_http = rh_take(http);
	return r;
}

void rh_http_free(struct rh_http *http)
{
	if (!http)
		return;
	while (http->first)
		http_drop(http, http->first);
	/* it closes the connections and calls http_on_socket() */
	(void)curl_multi_cleanup(http->multi);
	while (http->sockets)
		http_socket_end(http, http->sockets);
	if (!http->options.credentials_of)
		rh_auth_free(http->auth);
	rh_http_target_deinit(&http->target);
	rh_free(http);
	curl_global_cleanup();
}

int rh_http_send(struct rh_http *http, const struct rh_http_request *request, rh_http_done_fn *done, void *arg,
                 uint64_t *ret_id, struct rh_error *err)
{
	struct rh_http_call *call;
	int r = rh_http_call_new(request, &call, err);

	if (r < 0)
		return r;
	call->id = ++http->ids;
	call->ret_version = &http->version;
	call->body_max = http->options.body_max;
	call->chunk = request->chunk;
	call->done = done;
	call->arg = arg;
	http_link(http, call);
	http->fresh = true;
	if (ret_id)
		*ret_id = call->id;
	return 0;
}

void rh_http_cancel(struct rh_http *http, uint64_t id)
{
	struct rh_http_call *call = http->first;

	while (call && call->id != id)
		call = call->next;
	if (!call)
		return;
	if (!http->inside) {
		http_drop(http, call);
		return;
	}
	call->forgotten = true;
	http->sweep = true;
}

/* Fail a call that cannot start. */
static void http_refuse(struct rh_http_call *call, const struct rh_error *err)
{
	call->status = 0;
	call->sent = false;
	rh_copy(call->message, sizeof(call->message), err->message);
	call->state = RH_HTTP_OVER;
}

/* @return 0, RH_AUTH_WAIT, or negative when the call cannot start */
static int http_begin(struct rh_http *http, struct rh_http_call *call, int64_t now, struct rh_error *err)
{
	struct rh_auth_credential credential = {0};
	CURLMcode code;
	int r = rh_http_call_may(call) ? 0 : rh_fail(err, RH_EAGAIN, RH_HTTP_LATE);

	if (r == 0)
		r = rh_auth_get(http->auth, now, &credential, err);
	if (r != 0)
		return r;
	r = rh_http_call_prepare(call, &http->target, &credential, err);
	if (r < 0)
		return r;
	http->inside = true;
	code = curl_multi_add_handle(http->multi, call->easy);
	http->inside = false;
	if (code != CURLM_OK)
		return rh_fail(err, RH_EIO, "libcurl: %s", curl_multi_strerror(code));
	call->state = RH_HTTP_FLYING;
	http->flights++;
	call->received_at = now;
	return 0;
}

static void http_begin_all(struct rh_http *http, int64_t now)
{
	struct rh_error err = {0};
	int r;

	http->fresh = false;
	for (struct rh_http_call *call = http->first; call; call = call->next) {
		if (call->state != RH_HTTP_WAITING)
			continue;
		if (http->version == 0 && http->flights >= HTTP_FLIGHTS_AT_FIRST)
			return;
		r = http_begin(http, call, now, &err);
		if (r < 0)
			http_refuse(call, &err);
		if (r > 0)
			return; /* they all wait for the same credential */
	}
}

/*
 * A call timed out. On a network that drops packets a dead connection gives no error, and later calls would use it too.
 * So connections that have been silent since the call began are closed. Closing an idle one does no harm.
 */
void rh_http_close_silent(struct rh_http *http, int64_t since)
{
	for (const struct http_socket *sock = http->sockets; sock; sock = sock->next) {
		if (sock->received_at <= since + HTTP_SLACK)
			(void)shutdown(sock->fd, SHUT_RDWR);
	}
}

/* Closed first, so that libcurl, which drops its calls one by one, cannot send what others have left in its buffers. */
void rh_http_reset(struct rh_http *http)
{
	const struct linger at_once = {.l_onoff = 1};

	for (const struct http_socket *sock = http->sockets; sock; sock = sock->next) {
		(void)setsockopt(sock->fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
		(void)shutdown(sock->fd, SHUT_RDWR);
	}
}

static void http_cut(struct rh_http *http, struct rh_http_call *call, int64_t now)
{
	bool whole = call->timeout > 0 && call->began + call->timeout <= now;

	call->cut = whole ? RH_HTTP_CUT_TIME : RH_HTTP_CUT_IDLE;
	if (call->state == RH_HTTP_FLYING) /* libcurl reports its sockets only while a call uses them */
		rh_http_close_silent(http, call->received_at);
	http_ground(http, call);
	rh_http_call_conclude(call, &http->target, CURLE_OPERATION_TIMEDOUT);
	call->state = RH_HTTP_OVER;
	http->fresh = true;
}

static void http_cut_late(struct rh_http *http, int64_t now)
{
	for (struct rh_http_call *call = http->first; call; call = call->next) {
		if (rh_http_call_deadline(call) <= now)
			http_cut(http, call, now);
	}
}

static void http_arm_all(struct rh_http *http)
{
	if (!http->unarmed)
		return;
	http->unarmed = false;
	for (struct http_socket *sock = http->sockets; sock; sock = sock->next) {
		if (!sock->watch)
			http_arm(sock);
	}
}

void rh_http_step(struct rh_http *http, int64_t now)
{
	http_arm_all(http);
	if (http->ready)
		http_act_ready(http);
	rh_auth_step(http->auth, now);
	http_begin_all(http, now);
	if (http->timer <= now) {
		http->timer = RH_NEVER;
		http_act(http, CURL_SOCKET_TIMEOUT, 0);
	}
	http_cut_late(http, now);
	http_complete(http);
}

int64_t rh_http_deadline(const struct rh_http *http)
{
	int64_t due = http->timer;
	int64_t other = rh_auth_deadline(http->auth);

	if (http->fresh || http->ready)
		return 0;
	if (http->unarmed && rh_clock_monotonic() + HTTP_WATCH_AGAIN < due)
		due = rh_clock_monotonic() + HTTP_WATCH_AGAIN;
	if (other < due)
		due = other;
	for (const struct rh_http_call *call = http->first; call; call = call->next) {
		other = rh_http_call_deadline(call);
		if (other < due)
			due = other;
	}
	return due;
}

static void http_step(void *arg, int64_t now)
{
	rh_http_step(arg, now);
}

static int64_t http_deadline(void *arg)
{
	return rh_http_deadline(arg);
}

struct rh_loop_source rh_http_source(struct rh_http *http, int order)
{
	return (struct rh_loop_source){.step = http_step, .deadline = http_deadline, .arg = http, .order = order};
}
