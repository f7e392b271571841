/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/httpd.h"

#include <microhttpd.h>

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "controller/listen.h"

/* Connections at a time: probes, a scraper or two, API servers. */
#define HTTPD_CONNECTIONS 64
/* Seconds after which a silent connection is closed. */
#define HTTPD_TIMEOUT 30
/* Memory of one connection, bytes: request line, headers and what is being read or written. */
#define HTTPD_MEMORY ((size_t)16 * 1024)

struct rh_httpd {
	struct rh_loop_watch *watch;
	struct MHD_Daemon *daemon;
	char *certificate;
	char *key;
	rh_httpd_fn *handler;
	void *arg;
	size_t body_max;
	int fd; /* listens; the daemon's once it was started */
	uint16_t port;
};

/* One request while it comes in. */
struct httpd_exchange {
	struct rh_str body;
	char *query;
	bool begun;
};

static void *httpd_on_uri(void *arg, const char *uri, struct MHD_Connection *connection)
{
	struct httpd_exchange *exchange = rh_alloc(sizeof(*exchange));
	const char *mark = strchr(uri, '?');

	(void)arg;
	(void)connection;
	if (exchange)
		exchange->query = rh_strdup(mark ? mark + 1 : "");
	return exchange;
}

static void httpd_on_end(void *arg, struct MHD_Connection *connection, void **con_cls,
                         enum MHD_RequestTerminationCode code)
{
	struct httpd_exchange *exchange = *con_cls;

	(void)arg;
	(void)connection;
	(void)code;
	*con_cls = NULL;
	if (!exchange)
		return;
	rh_str_deinit(&exchange->body);
	rh_free(exchange->query);
	rh_free(exchange);
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

static enum MHD_Result httpd_refuse(struct MHD_Connection *connection, unsigned int status, const char *words)
{
	rh_auto_str body = {0};

	rh_str_append(&body, words);
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
	const struct rh_httpd_request request = {
		.method = method,
		.path = path,
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

/* Called once for the head, once for each piece of the body, and once at the end. */
static enum MHD_Result httpd_on_access(void *arg, struct MHD_Connection *connection, const char *url,
                                       const char *method, const char *version, const char *upload, size_t *upload_size,
                                       void **con_cls)
{
	const struct rh_httpd *httpd = arg;
	struct httpd_exchange *exchange = *con_cls;

	(void)version;
	if (!exchange)
		return MHD_NO;
	if (!exchange->begun) {
		exchange->begun = true;
		return httpd_begin(httpd, connection, method);
	}
	if (*upload_size == 0)
		return httpd_answer(httpd, connection, method, url, exchange);
	if (*upload_size > httpd->body_max - exchange->body.length)
		return MHD_NO; /* it was sent without a length: there is no place for an answer any more */
	rh_str_append_bytes(&exchange->body, upload, *upload_size);
	*upload_size = 0;
	return exchange->body.failed ? MHD_NO : MHD_YES;
}

static void httpd_on_ready(void *arg)
{
	const struct rh_httpd *httpd = arg;

	(void)MHD_run(httpd->daemon);
}

static int httpd_start(struct rh_httpd *httpd, struct rh_error *err)
{
	unsigned int flags = MHD_USE_EPOLL | (httpd->certificate ? MHD_USE_TLS : 0);
	struct MHD_OptionItem tls[] = {
		{MHD_OPTION_HTTPS_MEM_CERT, 0, httpd->certificate},
		{MHD_OPTION_HTTPS_MEM_KEY, 0, httpd->key},
		/* V1 served TLS 1.2 and above, as Go does. */
		{MHD_OPTION_HTTPS_PRIORITIES, 0, (char[]){"NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"}},
		{MHD_OPTION_END, 0, NULL},
	};

	if (!httpd->certificate)
		tls[0] = tls[3];
	httpd->daemon = MHD_start_daemon(
		flags, 0, NULL, NULL, httpd_on_access, httpd, MHD_OPTION_LISTEN_SOCKET, httpd->fd, MHD_OPTION_CONNECTION_LIMIT,
		(unsigned int)HTTPD_CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT, (unsigned int)HTTPD_TIMEOUT,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, HTTPD_MEMORY, MHD_OPTION_URI_LOG_CALLBACK, httpd_on_uri, NULL,
		MHD_OPTION_NOTIFY_COMPLETED, httpd_on_end, NULL, MHD_OPTION_ARRAY, tls, MHD_OPTION_END);
	if (!httpd->daemon && httpd->certificate)
		return rh_fail(err, RH_EINVAL, "certificate and key cannot be used: they must be PEM, and belong together");
	if (!httpd->daemon)
		return rh_fail(err, RH_EIO, "HTTP server: it cannot be started");
	httpd->fd = -1; /* the daemon closes it */
	return 0;
}

static int httpd_attach(struct rh_httpd *httpd, struct rh_loop *loop, struct rh_error *err)
{
	const union MHD_DaemonInfo *info = MHD_get_daemon_info(httpd->daemon, MHD_DAEMON_INFO_EPOLL_FD);

	if (!info)
		return rh_fail(err, RH_EIO, "HTTP server: it has no descriptor to wait for");
	return rh_loop_watch(loop, info->epoll_fd, httpd_on_ready, httpd, &httpd->watch, err);
}

int rh_httpd_new(const struct rh_httpd_options *options, struct rh_httpd **ret_httpd, struct rh_error *err)
{
	rh_auto(httpd) httpd = rh_alloc(sizeof(*httpd));
	int r;

	if (!httpd)
		return rh_fail_oom(err);
	httpd->fd = -1;
	httpd->handler = options->handler;
	httpd->arg = options->arg;
	httpd->body_max = options->body_max;
	httpd->certificate = rh_strdup(options->certificate);
	httpd->key = rh_strdup(options->key);
	if (options->certificate && (!httpd->certificate || !httpd->key))
		return rh_fail_oom(err);
	r = rh_listen_open(options->address, &httpd->fd, err);
	if (r < 0)
		return r;
	httpd->port = rh_listen_port(httpd->fd);
	r = httpd_start(httpd, err);
	if (r == 0)
		r = httpd_attach(httpd, options->loop, err);
	if (r == 0)
		*ret_httpd = rh_take(httpd);
	return r;
}

void rh_httpd_free(struct rh_httpd *httpd)
{
	if (!httpd)
		return;
	rh_loop_unwatch(httpd->watch);
	if (httpd->daemon)
		MHD_stop_daemon(httpd->daemon);
	if (httpd->fd >= 0)
		(void)close(httpd->fd);
	rh_free(httpd->certificate);
	if (httpd->key)
		explicit_bzero(httpd->key, strlen(httpd->key));
	rh_free(httpd->key);
	rh_free(httpd);
}

uint16_t rh_httpd_port(const struct rh_httpd *httpd)
{
	return httpd->port;
}

int64_t rh_httpd_turn(struct rh_httpd *httpd)
{
	MHD_UNSIGNED_LONG_LONG wait;

	if (MHD_get_timeout(httpd->daemon, &wait) == MHD_YES && wait == 0)
		(void)MHD_run(httpd->daemon);
	if (MHD_get_timeout(httpd->daemon, &wait) != MHD_YES)
		return RH_NEVER;
	return wait > INT32_MAX ? RH_NEVER : (int64_t)wait * 1000;
}
