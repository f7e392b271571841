/* SPDX-License-Identifier: Apache-2.0 */
/* One request: its libcurl options, its result and the error message. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/os/clock.h"
#include "kube/http/parts.h"
#include "kube/kubeconfig/hint.h"
#include "roundhouse/version.h"

/* Connect timeout in milliseconds. */
#define HTTP_CONNECT_TIMEOUT 15000L
/*
 * Sizes of libcurl's buffers for each call: the smallest upload buffer that it allows (the default is 64 KiB), and the
 * receive buffer: responses are lists or short.
 */
#define HTTP_BODY_BUFFER 16384L
#define HTTP_ANSWER_BUFFER 4096L
/* Seconds of silence before the first TCP keepalive probe. */
#define HTTP_KEEPALIVE 30L

int rh_http_call_new(const struct rh_http_request *request, struct rh_http_call **ret_call, struct rh_error *err)
{
	rh_auto(http_call) call = rh_alloc(sizeof(*call));

	if (!call)
		return rh_fail_oom(err);
	call->method = rh_strdup(request->method);
	call->path = rh_strdup(request->path);
	if (request->body) {
		call->body = rh_strndup(request->body, request->body_length);
		call->body_length = request->body_length;
		call->content_type =
			rh_asprintf("Content-Type: %s", request->content_type ? request->content_type : "application/json");
	}
	if (!call->method || !call->path || (request->body && (!call->body || !call->content_type)))
		return rh_fail_oom(err);
	call->accept = request->accept;
	call->secret = request->secret;
	call->timeout = request->timeout;
	call->idle_timeout = request->idle_timeout;
	call->may = request->may;
	call->may_arg = request->may_arg;
	call->began = rh_clock_monotonic();
	call->received_at = call->began;
	*ret_call = rh_take(call);
	return 0;
}

static void call_drop_easy(struct rh_http_call *call)
{
	curl_easy_cleanup(call->easy);
	call->easy = NULL;
	curl_slist_free_all(call->headers);
	call->headers = NULL;
}

void rh_http_call_free(struct rh_http_call *call)
{
	if (!call)
		return;
	call_drop_easy(call);
	rh_free(call->method);
	rh_free(call->path);
	rh_free(call->content_type);
	if (call->secret)
		rh_free_secret(call->body);
	else
		rh_free(call->body);
	rh_str_deinit(&call->answer);
	rh_free(call);
}

bool rh_http_call_may(struct rh_http_call *call)
{
	if (!call->may || call->may(call->may_arg))
		return true;
	call->cut = RH_HTTP_CUT_LATE;
	return false;
}

/* libcurl has a connection, and the request is what it sends next. */
static int call_on_connection(void *arg, char *ip, char *local_ip, int port, int local_port)
{
	(void)ip;
	(void)local_ip;
	(void)port;
	(void)local_port;
	return rh_http_call_may(arg) ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT;
}

/* The connection takes more of the body; a server that is slow lets it wait. */
static size_t call_on_room(char *room, size_t size, size_t count, void *arg)
{
	struct rh_http_call *call = arg;
	size_t length = call->body_length - call->body_at;

	if (!rh_http_call_may(call))
		return CURL_READFUNC_ABORT;
	if (length > size * count)
		length = size * count;
	memcpy(room, call->body + call->body_at, length);
	call->body_at += length;
	return length;
}

/* Sent once more, because the server had closed the connection meanwhile. */
static int call_on_seek(void *arg, curl_off_t offset, int origin)
{
	struct rh_http_call *call = arg;

	if (origin != SEEK_SET || offset < 0 || (size_t)offset > call->body_length)
		return CURL_SEEKFUNC_CANTSEEK;
	call->body_at = (size_t)offset;
	return CURL_SEEKFUNC_OK;
}

static int call_gather(struct rh_http_call *call, const char *data, size_t length)
{
	if (length > call->body_max - call->answer.length) {
		call->cut = RH_HTTP_CUT_SIZE;
		return -1;
	}
	rh_str_append_bytes(&call->answer, data, length);
	return call->answer.failed ? -1 : 0;
}

static size_t call_on_body(char *data, size_t size, size_t count, void *arg)
{
	struct rh_http_call *call = arg;
	size_t length = size * count;
	long status = 0;

	call->received_at = rh_clock_monotonic();
	(void)curl_easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &status);
	if (call->forgotten)
		return CURL_WRITEFUNC_ERROR;
	if (!call->chunk || status < 200 || status > 299)
		return call_gather(call, data, length) < 0 ? CURL_WRITEFUNC_ERROR : length;
	if (call->chunk(call->arg, data, length) == 0)
		return length;
	call->cut = RH_HTTP_CUT_CHUNK;
	return CURL_WRITEFUNC_ERROR;
}

static size_t call_on_header(char *data, size_t size, size_t count, void *arg)
{
	struct rh_http_call *call = arg;

	(void)data;
	call->received_at = rh_clock_monotonic();
	(void)curl_easy_getinfo(call->easy, CURLINFO_HTTP_VERSION, call->ret_version);
	return size * count;
}

/* @return 0 or RH_ENOMEM */
static int call_add_header(struct rh_http_call *call, const char *header)
{
	struct curl_slist *list;

	if (!header)
		return 0;
	list = curl_slist_append(call->headers, header);
	if (!list)
		return RH_ENOMEM;
	call->headers = list;
	return 0;
}

static int call_add_headers(struct rh_http_call *call, const struct rh_http_target *target,
                            const struct rh_auth_credential *credential)
{
	const struct rh_json *header = rh_json_first(target->config->headers);
	rh_auto_free char *accept = rh_asprintf("Accept: %s", call->accept ? call->accept : "application/json");
	int r = accept ? call_add_header(call, accept) : RH_ENOMEM;

	r |= call_add_header(call, "Expect:"); /* otherwise libcurl waits a second for "100 Continue" */
	r |= call_add_header(call, call->content_type);
	r |= call_add_header(call, target->host_header);
	r |= call_add_header(call, credential->authorization);
	for (; header; header = rh_json_next(header))
		r |= call_add_header(call, rh_json_string(header));
	return r;
}

static int call_set_blob(CURL *easy, CURLoption option, const char *text)
{
	/* libcurl only reads */
	struct curl_blob blob = {.data = (void *)(uintptr_t)text, .flags = CURL_BLOB_COPY};

	if (!text)
		return 0;
	blob.len = strlen(text);
	return (int)curl_easy_setopt(easy, option, &blob);
}

static int call_set_tls(CURL *easy, const struct rh_kubeconfig *config, const struct rh_auth_credential *credential)
{
	int bad = (int)curl_easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);

	bad |= (int)curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, config->insecure ? 0L : 1L);
	bad |= (int)curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, config->insecure ? 0L : 2L);
	bad |= call_set_blob(easy, CURLOPT_CAINFO_BLOB, credential->authority);
	if (credential->authority) /* else the system's authorities would be trusted as well */
		bad |= (int)curl_easy_setopt(easy, CURLOPT_CAPATH, NULL);
	bad |= call_set_blob(easy, CURLOPT_SSLCERT_BLOB, credential->certificate);
	bad |= call_set_blob(easy, CURLOPT_SSLKEY_BLOB, credential->key);
	return bad;
}

static int call_set_way(CURL *easy, const struct rh_http_target *target)
{
	int bad = (int)curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");

	bad |= (int)curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	bad |= (int)curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
	bad |= (int)curl_easy_setopt(easy, CURLOPT_PIPEWAIT, 1L);
	bad |= (int)curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, HTTP_CONNECT_TIMEOUT);
	bad |= (int)curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
	bad |= (int)curl_easy_setopt(easy, CURLOPT_TCP_KEEPIDLE, HTTP_KEEPALIVE);
	bad |= (int)curl_easy_setopt(easy, CURLOPT_TCP_KEEPINTVL, HTTP_KEEPALIVE);
	if (target->connect_to)
		bad |= (int)curl_easy_setopt(easy, CURLOPT_CONNECT_TO, target->connect_to);
	if (target->config->proxy_url) {
		bad |= (int)curl_easy_setopt(easy, CURLOPT_PROXY, target->config->proxy_url);
		bad |= (int)curl_easy_setopt(easy, CURLOPT_NOPROXY, "");
	} else if (target->local) {
		bad |= (int)curl_easy_setopt(easy, CURLOPT_NOPROXY, "*");
	}
	return bad;
}

/* The body is asked for in pieces, so that none is sent too late. */
static int call_set_body(struct rh_http_call *call)
{
	int bad = (int)curl_easy_setopt(call->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)call->body_length);

	if (call->body_length == 0)
		return bad | (int)curl_easy_setopt(call->easy, CURLOPT_POSTFIELDS, "");
	call->body_at = 0;
	bad |= (int)curl_easy_setopt(call->easy, CURLOPT_POST, 1L);
	bad |= (int)curl_easy_setopt(call->easy, CURLOPT_READFUNCTION, call_on_room);
	bad |= (int)curl_easy_setopt(call->easy, CURLOPT_READDATA, call);
	bad |= (int)curl_easy_setopt(call->easy, CURLOPT_SEEKFUNCTION, call_on_seek);
	return bad | (int)curl_easy_setopt(call->easy, CURLOPT_SEEKDATA, call);
}

static int call_set_question(struct rh_http_call *call, const struct rh_http_target *target)
{
	rh_auto_free char *url = rh_asprintf("%s%s", target->base, call->path);
	bool get = strcmp(call->method, "GET") == 0;
	int bad = url ? 0 : 1;

	bad |= (int)curl_easy_setopt(call->easy, CURLOPT_URL, url);
	bad |= (int)curl_easy_setopt(call->easy, CURLOPT_PATH_AS_IS, 1L);
	bad |= (int)curl_easy_setopt(call->easy, CURLOPT_USERAGENT, "roundhouse/" RH_VERSION);
	bad |= (int)curl_easy_setopt(call->easy, CURLOPT_HTTPHEADER, call->headers);
	if (get && !target->config->no_compression)
		bad |= (int)curl_easy_setopt(call->easy, CURLOPT_ACCEPT_ENCODING, "gzip");
	if (call->body || (!get && strcmp(call->method, "DELETE") != 0))
		bad |= call_set_body(call);
	bad |= (int)curl_easy_setopt(call->easy, CURLOPT_PREREQFUNCTION, call_on_connection);
	bad |= (int)curl_easy_setopt(call->easy, CURLOPT_PREREQDATA, call);
	bad |= (int)curl_easy_setopt(call->easy, CURLOPT_CUSTOMREQUEST, call->method);
	return bad;
}

static int call_set_answer(struct rh_http_call *call)
{
	int bad = (int)curl_easy_setopt(call->easy, CURLOPT_PRIVATE, call);

	bad |= (int)curl_easy_setopt(call->easy, CURLOPT_ERRORBUFFER, call->curl_message);
	bad |= (int)curl_easy_setopt(call->easy, CURLOPT_WRITEFUNCTION, call_on_body);
	bad |= (int)curl_easy_setopt(call->easy, CURLOPT_WRITEDATA, call);
	bad |= (int)curl_easy_setopt(call->easy, CURLOPT_HEADERFUNCTION, call_on_header);
	bad |= (int)curl_easy_setopt(call->easy, CURLOPT_HEADERDATA, call);
	bad |= (int)curl_easy_setopt(call->easy, CURLOPT_UPLOAD_BUFFERSIZE, HTTP_BODY_BUFFER);
	if (!call->chunk)
		bad |= (int)curl_easy_setopt(call->easy, CURLOPT_BUFFERSIZE, HTTP_ANSWER_BUFFER);
	return bad;
}

int rh_http_call_prepare(struct rh_http_call *call, const struct rh_http_target *target,
                         const struct rh_auth_credential *credential, struct rh_error *err)
{
	call_drop_easy(call);
	rh_str_clear(&call->answer);
	call->curl_message[0] = '\0';
	call->generation = credential->generation;
	call->easy = curl_easy_init();
	if (!call->easy || call_add_headers(call, target, credential) < 0)
		return rh_fail_oom(err);
	/* the library supports all options, so the only cause left is memory */
	if (call_set_question(call, target) || call_set_answer(call) || call_set_way(call->easy, target) ||
	    call_set_tls(call->easy, target->config, credential))
		return rh_fail_oom(err);
	return 0;
}

int64_t rh_http_call_deadline(const struct rh_http_call *call)
{
	int64_t whole = call->timeout > 0 ? call->began + call->timeout : RH_NEVER;
	int64_t idle = call->idle_timeout > 0 ? call->received_at + call->idle_timeout : RH_NEVER;

	if (call->state == RH_HTTP_OVER)
		return RH_NEVER;
	return whole < idle ? whole : idle;
}

/* RFC 9110 section 10.2.3: seconds, or a date. */
static int64_t call_retry_after(CURL *easy)
{
	struct curl_header *header;
	int64_t seconds = 0;
	time_t date;

	if (curl_easy_header(easy, "Retry-After", 0, CURLH_HEADER, -1, &header) != CURLHE_OK)
		return 0;
	if (header->value[0] && strspn(header->value, "0123456789") == strlen(header->value)) {
		for (const char *digit = header->value; *digit && seconds < 1000000; digit++)
			seconds = seconds * 10 + (*digit - '0');
		return seconds * RH_SECOND;
	}
	date = curl_getdate(header->value, NULL);
	if (date == (time_t)-1 || (int64_t)date * RH_SECOND <= rh_clock_wall())
		return 0;
	return (int64_t)date * RH_SECOND - rh_clock_wall();
}

/* libcurl has one code for an untrusted certificate and a certificate for another name; only the message differs.
 */
static const char *call_suspect_certificate(const struct rh_kubeconfig *config, const char *message)
{
	if (!strstr(message, "does not match") && !strstr(message, "subject name"))
		return "certificate-authority";
	return config->tls_server_name ? "tls-server-name" : "server";
}

/* The kubeconfig field to check, for faults that the configuration causes. */
static const char *call_suspect(CURLcode code, const struct rh_http_target *target, const char *message, char *buffer,
                                size_t size)
{
	const struct rh_kubeconfig *config = target->config;
	const char *at = config->cluster_at;
	const char *field = NULL;

	switch ((int)code) {
	case CURLE_PEER_FAILED_VERIFICATION:
	case CURLE_SSL_CACERT_BADFILE:
		field = call_suspect_certificate(config, message);
		break;
	case CURLE_SSL_CERTPROBLEM:
		at = config->user_at;
		field = "client-certificate";
		break;
	case CURLE_COULDNT_RESOLVE_HOST:
		field = "server";
		break;
	case CURLE_COULDNT_CONNECT:
		field = config->proxy_url ? "proxy-url" : "server";
		break;
	case CURLE_COULDNT_RESOLVE_PROXY:
	case CURLE_PROXY:
		field = "proxy-url";
		break;
	default:
		return "";
	}
	(void)snprintf(buffer, size, "; check %s.%s", at, field);
	return buffer;
}

static void call_set_message(struct rh_http_call *call, const struct rh_http_target *target, CURLcode code)
{
	char buffer[256];
	char time[RH_TIME_SIZE];
	const char *message = call->curl_message[0] ? call->curl_message : curl_easy_strerror(code);
	rh_auto_str scheme = {0};

	switch (call->cut) {
	case RH_HTTP_CUT_TIME:
		(void)snprintf(call->message, sizeof(call->message), "no complete answer within %s",
		               rh_duration_format(call->timeout, time));
		return;
	case RH_HTTP_CUT_IDLE:
		(void)snprintf(call->message, sizeof(call->message), "not a byte for %s",
		               rh_duration_format(call->idle_timeout, time));
		return;
	case RH_HTTP_CUT_SIZE:
		(void)snprintf(call->message, sizeof(call->message), "the answer has more than %zu bytes", call->body_max);
		return;
	case RH_HTTP_CUT_CHUNK:
		rh_copy(call->message, sizeof(call->message), "malformed response");
		return;
	case RH_HTTP_CUT_LATE:
		rh_copy(call->message, sizeof(call->message), RH_HTTP_LATE);
		return;
	case RH_HTTP_NOT_CUT:
		break;
	}
	if (rh_kube_hint_is_scheme(target->config, message)) {
		rh_kube_hint_scheme(target->config, &scheme);
		(void)snprintf(call->message, sizeof(call->message), "%s: %s", target->config->server, rh_str_text(&scheme));
		return;
	}
	(void)snprintf(call->message, sizeof(call->message), "%s: %s%s", target->config->server,
	               call->answer.failed ? "out of memory" : message,
	               call_suspect(code, target, message, buffer, sizeof(buffer)));
}

void rh_http_call_conclude(struct rh_http_call *call, const struct rh_http_target *target, CURLcode code)
{
	long status = 0;
	long bytes = 0;

	(void)curl_easy_getinfo(call->easy, CURLINFO_REQUEST_SIZE, &bytes);
	(void)curl_easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &status);
	call->sent = bytes > 0;
	call->message[0] = '\0';
	call->retry_after = call_retry_after(call->easy);
	call->status = (int32_t)status;
	if (code != CURLE_OK || call->cut != RH_HTTP_NOT_CUT || status == 0) {
		call->status = 0;
		call_set_message(call, target, code);
	}
	call_drop_easy(call);
}

void rh_http_call_complete(const struct rh_http_call *call)
{
	struct rh_http_response response = {.status = call->status,
	                                    .sent = call->sent,
	                                    .message = call->message,
	                                    .retry_after = call->status ? call->retry_after : 0,
	                                    .body = call->status ? rh_str_text(&call->answer) : ""};

	response.body_length = call->status ? call->answer.length : 0;
	call->done(call->arg, &response);
}
