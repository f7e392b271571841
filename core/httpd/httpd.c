/* SPDX-License-Identifier: Apache-2.0 */
#include "httpd/httpd.h"

#include <microhttpd.h>

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/os/clock.h"
#include "httpd/connections.h"
#include "httpd/listen.h"
#include "httpd/tls.h"

/* Connections that are accepted before those that there are get their turn. */
#define HTTPD_BATCH 32
/* How long a client may take for the TLS handshake and its first request line, for the rest of a request, and to take
 * the answer. */
#define HTTPD_REQUEST (10 * RH_SECOND)
/* How long a connection may wait for its next request: longer than an API server keeps one open (90 s), or else it is
 * closed at the moment that a call is sent. */
#define HTTPD_IDLE (120 * RH_SECOND)
/* How long no connection is accepted when the process has no descriptor left. */
#define HTTPD_PAUSE (RH_SECOND / 10)
/* Memory of one connection, bytes: request line, headers and what is being read or written. */
#define HTTPD_MEMORY ((size_t)16 * 1024)
/* Bodies that are coming in, together, in longest bodies. */
#define HTTPD_BODIES 4

struct rh_httpd {
	struct rh_loop *loop;
	struct rh_loop_entry *source;
	struct rh_loop_watch *listen_watch;
	struct rh_loop_watch *watch; /* of the daemon */
	struct MHD_Daemon *daemon;
	struct rh_connections *connections;
	struct rh_connection *arriving; /* the one that the daemon is given now */
	struct rh_httpd_tls *tls;       /* for new connections; NULL: no TLS */
	rh_httpd_fn *handler;
	void *arg;
	size_t body_max;
	size_t held;    /* bytes of bodies that are coming in */
	int64_t resume; /* monotonic microseconds when to accept again; RH_NEVER: it accepts */
	int fd;         /* listens */
	uint16_t port;
};

/* One request while it comes in. */
struct httpd_exchange {
	struct rh_str body;
	char *query;
	bool begun;
};

static struct rh_connection *httpd_connection(struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	return info ? info->socket_context : NULL;
}

/* What a request has sent so far is not needed any more. */
static void httpd_drop_body(struct rh_httpd *httpd, struct rh_connection *connection)
{
	struct httpd_exchange *exchange = connection->owner;

	if (!exchange)
		return;
	httpd->held -= exchange->body.length;
	rh_str_deinit(&exchange->body);
}

/* The daemon closes it at its next run: this end hangs up. */
static void httpd_drop(struct rh_httpd *httpd, struct rh_connection *connection)
{
	httpd_drop_body(httpd, connection);
	rh_connections_drop(httpd->connections, connection);
	(void)shutdown(connection->fd, SHUT_RDWR);
}

/* The request line has come. */
static void *httpd_on_uri(void *arg, const char *uri, struct MHD_Connection *connection)
{
	const struct rh_httpd *httpd = arg;
	struct httpd_exchange *exchange = rh_alloc(sizeof(*exchange));
	struct rh_connection *own = httpd_connection(connection);
	const char *mark = strchr(uri, '?');

	if (exchange)
		exchange->query = rh_strdup(mark ? mark + 1 : "");
	if (own) {
		own->owner = exchange;
		rh_connections_touch(httpd->connections, own, rh_clock_monotonic() + HTTPD_REQUEST);
	}
	return exchange;
}

static void httpd_on_end(void *arg, struct MHD_Connection *connection, void **con_cls,
                         enum MHD_RequestTerminationCode code)
{
	struct rh_httpd *httpd = arg;
	struct httpd_exchange *exchange = *con_cls;
	struct rh_connection *own = httpd_connection(connection);

	(void)code;
	*con_cls = NULL;
	if (own) {
		httpd_drop_body(httpd, own);
		own->owner = NULL;
		rh_connections_touch(httpd->connections, own, rh_clock_monotonic() + HTTPD_IDLE);
	}
	if (!exchange)
		return;
	rh_str_deinit(&exchange->body);
	rh_free(exchange->query);
	rh_free(exchange);
}

/* A session shows the certificate that counts when its connection comes, and keeps it. */
static void httpd_set_certificate(const struct rh_httpd *httpd, struct rh_connection *own,
                                  struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);

	if (info && info->tls_session && rh_httpd_tls_use(httpd->tls, info->tls_session) == 0)
		own->tls = rh_httpd_tls_keep(httpd->tls);
}

static void httpd_on_connection(void *arg, struct MHD_Connection *connection, void **socket_context,
                                enum MHD_ConnectionNotificationCode code)
{
	struct rh_httpd *httpd = arg;
	struct rh_connection *own = *socket_context;

	if (code == MHD_CONNECTION_NOTIFY_STARTED) {
		own = rh_take(httpd->arriving);
		*socket_context = own;
		if (httpd->tls)
			httpd_set_certificate(httpd, own, connection);
		return;
	}
	rh_httpd_tls_free(own->tls);
	rh_connections_remove(httpd->connections, own);
}

static bool httpd_is_loopback(struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
	const struct sockaddr *place = info ? info->client_addr : NULL;
	const struct in6_addr *v6;

	if (!place)
		return false;
	if (place->sa_family == AF_INET)
		return ntohl(((const struct sockaddr_in *)(const void *)place)->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
	if (place->sa_family != AF_INET6)
		return false;
	v6 = &((const struct sockaddr_in6 *)(const void *)place)->sin6_addr;
	return IN6_IS_ADDR_LOOPBACK(v6) || (IN6_IS_ADDR_V4MAPPED(v6) && v6->s6_addr[12] == IN_LOOPBACKNET);
}

/* Takes the text of @p body. */
static enum MHD_Result httpd_send(struct MHD_Connection *connection, unsigned int status, const char *type,
                                  struct rh_str *body)
{
	size_t length = body->length;
	char *text = rh_str_take(body);
	struct MHD_Response *response;
	enum MHD_Result result = MHD_NO;

	if (!text)
		return MHD_NO;
	response = MHD_create_response_from_buffer_with_free_callback(length, text, rh_free);
	if (!response) {
		rh_free(text);
		return MHD_NO;
	}
	if (MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type) == MHD_YES)
		result = MHD_queue_response(connection, status, response);
	MHD_destroy_response(response);
	return result;
}

static enum MHD_Result httpd_refuse(struct MHD_Connection *connection, unsigned int status, const char *message)
{
	rh_auto_str body = {0};

	rh_str_append(&body, message);
	return httpd_send(connection, status, "text/plain; charset=utf-8", &body);
}

static bool httpd_is_known_method(const char *method)
{
	return strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0 || strcmp(method, "POST") == 0;
}

/* The head has come in. */
static enum MHD_Result httpd_begin(const struct rh_httpd *httpd, struct MHD_Connection *connection, const char *method)
{
	const char *length = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_CONTENT_LENGTH);

	if (!httpd_is_known_method(method))
		return httpd_refuse(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "method not allowed\n");
	/* a longer number than any limit has is too long as well */
	if (length && (strlen(length) > 15 || strtoull(length, NULL, 10) > httpd->body_max))
		return httpd_refuse(connection, MHD_HTTP_CONTENT_TOO_LARGE, "the body is too long\n");
	return MHD_YES;
}

static enum MHD_Result httpd_answer(const struct rh_httpd *httpd, struct MHD_Connection *connection, const char *method,
                                    const char *path, const struct httpd_exchange *exchange)
{
	const char *host = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_HOST);
	const char *authorization = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_AUTHORIZATION);
	const struct rh_httpd_request request = {
		.method = method,
		.path = path,
		.host = host ? host : "",
		.authorization = authorization ? authorization : "",
		.query = exchange->query ? exchange->query : "",
		.body = rh_str_text(&exchange->body),
		.body_length = exchange->body.length,
		.loopback = httpd_is_loopback(connection),
	};
	struct rh_httpd_reply reply = {.status = MHD_HTTP_NOT_FOUND, .content_type = "text/plain; charset=utf-8"};
	enum MHD_Result result;

	httpd->handler(httpd->arg, &request, &reply);
	if (reply.body.failed)
		result = httpd_refuse(connection, MHD_HTTP_INTERNAL_SERVER_ERROR, "out of memory\n");
	else
		result = httpd_send(connection, reply.status, reply.content_type, &reply.body);
	rh_str_deinit(&reply.body);
	return result;
}

static bool httpd_holds_body(const struct rh_connection *connection)
{
	const struct httpd_exchange *exchange = connection->owner;

	return exchange && exchange->body.length > 0;
}

/* Who sends a body slowly must not take the memory of all: the oldest goes when there are too many. */
static bool httpd_take(struct rh_httpd *httpd, struct rh_connection *own, const char *bytes, size_t length)
{
	struct httpd_exchange *exchange = own->owner;
	size_t before;

	while (httpd->held + length > HTTPD_BODIES * httpd->body_max)
		httpd_drop(httpd, rh_connections_find(httpd->connections, httpd_holds_body));
	if (own->closing)
		return false;
	before = exchange->body.length;
	rh_str_append_bytes(&exchange->body, bytes, length);
	httpd->held += exchange->body.length - before; /* what fails may also lose what there was */
	return !exchange->body.failed;
}

/* Called once for the head, once for each piece of the body, and once at the end. */
static enum MHD_Result httpd_on_access(void *arg, struct MHD_Connection *connection, const char *url,
                                       const char *method, const char *version, const char *upload, size_t *upload_size,
                                       void **con_cls)
{
	struct rh_httpd *httpd = arg;
	struct httpd_exchange *exchange = *con_cls;
	struct rh_connection *own = httpd_connection(connection);

	(void)version;
	if (!exchange || !own || own->closing)
		return MHD_NO;
	if (!exchange->begun) {
		exchange->begun = true;
		return httpd_begin(httpd, connection, method);
	}
	if (*upload_size == 0) {
		rh_connections_touch(httpd->connections, own, rh_clock_monotonic() + HTTPD_REQUEST);
		return httpd_answer(httpd, connection, method, url, exchange);
	}
	if (*upload_size > httpd->body_max - exchange->body.length)
		return MHD_NO; /* it was sent without a length: there is no place for an answer any more */
	if (!httpd_take(httpd, own, upload, *upload_size))
		return MHD_NO;
	*upload_size = 0;
	return MHD_YES;
}

static void httpd_on_ready(void *arg)
{
	const struct rh_httpd *httpd = arg;

	(void)MHD_run(httpd->daemon);
}

/* Whatever becomes of it, the descriptor is the daemon's then, which reports its end to httpd_on_connection(). */
static void httpd_add(struct rh_httpd *httpd, int fd, const struct sockaddr *peer, socklen_t length)
{
	if (rh_connections_are_full(httpd->connections))
		httpd_drop(httpd, rh_connections_dispensable(httpd->connections));
	httpd->arriving = rh_connections_add(httpd->connections, fd, peer, rh_clock_monotonic() + HTTPD_REQUEST);
	if (!httpd->arriving) {
		(void)close(fd);
		return;
	}
	(void)MHD_add_connection(httpd->daemon, fd, peer, length);
	if (httpd->arriving)
		rh_connections_remove(httpd->connections, rh_take(httpd->arriving));
}

/* There is no descriptor left: one of ours is given up, and who waits is accepted a little later. */
static void httpd_pause(struct rh_httpd *httpd)
{
	struct rh_connection *oldest = rh_connections_dispensable(httpd->connections);

	if (oldest)
		httpd_drop(httpd, oldest);
	httpd->resume = rh_clock_monotonic() + HTTPD_PAUSE;
	(void)rh_loop_watch_for(httpd->listen_watch, 0, NULL);
}

/* @return whether another may wait */
static bool httpd_accept(struct rh_httpd *httpd)
{
	struct sockaddr_storage peer;
	socklen_t length = sizeof(peer);
	int fd = accept4(httpd->fd, (struct sockaddr *)&peer, &length, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd >= 0)
		httpd_add(httpd, fd, (const struct sockaddr *)&peer, length);
	else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
		httpd_pause(httpd);
	else
		return errno != EAGAIN && errno != EBADF && errno != EINVAL; /* this one is gone already */
	return fd >= 0;
}

/* Who waits is accepted whatever there is: libmicrohttpd would stop to listen at its limit, and begin again only when
 * something else happens. */
static void httpd_on_listen(void *arg)
{
	struct rh_httpd *httpd = arg;
	int left = HTTPD_BATCH;

	while (left > 0 && httpd_accept(httpd))
		left--;
	(void)MHD_run(httpd->daemon); /* also closes those that were dropped */
}

static int httpd_start(struct rh_httpd *httpd, const struct rh_httpd_options *options, struct rh_error *err)
{
	unsigned int flags = MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET | (httpd->tls ? MHD_USE_TLS : 0);
	struct MHD_OptionItem tls[] = {
		/* a daemon does not start without; each connection is given the pair that counts then */
		{MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)(uintptr_t)options->certificate},
		{MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)(uintptr_t)options->key},
		{MHD_OPTION_HTTPS_PRIORITIES, 0, (char[]){RH_HTTPD_TLS_PRIORITIES}},
		{MHD_OPTION_END, 0, NULL},
	};

	httpd->daemon =
		MHD_start_daemon(flags, 0, NULL, NULL, httpd_on_access, httpd, MHD_OPTION_CONNECTION_LIMIT,
	                     (unsigned int)(options->connections + HTTPD_BATCH), MHD_OPTION_CONNECTION_MEMORY_LIMIT,
	                     HTTPD_MEMORY, MHD_OPTION_URI_LOG_CALLBACK, httpd_on_uri, httpd, MHD_OPTION_NOTIFY_COMPLETED,
	                     httpd_on_end, httpd, MHD_OPTION_NOTIFY_CONNECTION, httpd_on_connection, httpd,
	                     MHD_OPTION_ARRAY, httpd->tls ? tls : tls + 3, MHD_OPTION_END);
	return httpd->daemon ? 0 : rh_fail(err, RH_EIO, "HTTP server: it cannot be started");
}

static void httpd_drop_overdue(struct rh_httpd *httpd, int64_t now)
{
	struct rh_connection *connection = rh_connections_overdue(httpd->connections, now);

	if (!connection)
		return;
	for (; connection; connection = rh_connections_overdue(httpd->connections, now))
		httpd_drop(httpd, connection);
	(void)MHD_run(httpd->daemon);
}

static bool httpd_is_busy(const struct rh_httpd *httpd)
{
	MHD_UNSIGNED_LONG_LONG wait;

	return MHD_get_timeout(httpd->daemon, &wait) == MHD_YES && wait == 0;
}

static void httpd_step(void *arg, int64_t now)
{
	struct rh_httpd *httpd = arg;

	if (httpd->resume <= now && rh_loop_watch_for(httpd->listen_watch, RH_LOOP_READ, NULL) == 0)
		httpd->resume = RH_NEVER;
	httpd_drop_overdue(httpd, now);
	if (httpd_is_busy(httpd))
		(void)MHD_run(httpd->daemon);
}

static int64_t httpd_deadline(void *arg)
{
	const struct rh_httpd *httpd = arg;
	int64_t next = rh_connections_deadline(httpd->connections);

	if (httpd_is_busy(httpd))
		return rh_clock_monotonic();
	return httpd->resume < next ? httpd->resume : next;
}

static int httpd_attach(struct rh_httpd *httpd, struct rh_loop *loop, int order, struct rh_error *err)
{
	const union MHD_DaemonInfo *info = MHD_get_daemon_info(httpd->daemon, MHD_DAEMON_INFO_EPOLL_FD);
	const struct rh_loop_source source = {.step = httpd_step, .deadline = httpd_deadline, .arg = httpd, .order = order};
	int r;

	if (!info)
		return rh_fail(err, RH_EIO, "HTTP server: it has no descriptor to wait for");
	r = rh_loop_watch(loop, info->epoll_fd, httpd_on_ready, httpd, &httpd->watch, err);
	if (r == 0)
		r = rh_loop_watch(loop, httpd->fd, httpd_on_listen, httpd, &httpd->listen_watch, err);
	return r < 0 ? r : rh_loop_add(loop, &source, &httpd->source, err);
}

int rh_httpd_new(const struct rh_httpd_options *options, struct rh_httpd **ret_httpd, struct rh_error *err)
{
	rh_auto(httpd) httpd = rh_alloc(sizeof(*httpd));
	int r;

	if (!httpd)
		return rh_fail_oom(err);
	httpd->loop = options->loop;
	httpd->fd = -1;
	httpd->resume = RH_NEVER;
	httpd->handler = options->handler;
	httpd->arg = options->arg;
	httpd->body_max = options->body_max;
	r = rh_connections_new(options->connections, &httpd->connections, err);
	if (r == 0 && options->certificate)
		r = rh_httpd_tls_new(options->certificate, options->key, &httpd->tls, err);
	if (r == 0)
		r = rh_listen_open(options->address, &httpd->fd, err);
	if (r < 0)
		return r;
	httpd->port = rh_listen_port(httpd->fd);
	r = httpd_start(httpd, options, err);
	if (r == 0)
		r = httpd_attach(httpd, options->loop, options->order, err);
	if (r == 0)
		*ret_httpd = rh_take(httpd);
	return r;
}

void rh_httpd_free(struct rh_httpd *httpd)
{
	if (!httpd)
		return;
	rh_loop_remove(httpd->loop, httpd->source);
	rh_loop_unwatch(httpd->watch);
	rh_loop_unwatch(httpd->listen_watch);
	if (httpd->daemon)
		MHD_stop_daemon(httpd->daemon);
	if (httpd->fd >= 0)
		(void)close(httpd->fd);
	rh_connections_free(httpd->connections);
	rh_httpd_tls_free(httpd->tls);
	rh_free(httpd);
}

uint16_t rh_httpd_port(const struct rh_httpd *httpd)
{
	return httpd->port;
}

int rh_httpd_exchange(struct rh_httpd *httpd, const char *certificate, const char *key, struct rh_error *err)
{
	struct rh_httpd_tls *tls = NULL;
	int r = rh_httpd_tls_new(certificate, key, &tls, err);

	if (r < 0)
		return r;
	rh_httpd_tls_free(httpd->tls);
	httpd->tls = tls;
	return 0;
}
