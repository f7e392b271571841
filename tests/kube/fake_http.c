/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/fake_http.h"

#include <stdbool.h>
#include <string.h>

struct rh_http {
	struct fake_call *calls;
	uint64_t last_id;
	int64_t silent_since;
};

struct rh_http *fake_http_new(void)
{
	return rh_alloc(sizeof(struct rh_http));
}

static void fake_call_free(struct fake_call *call)
{
	if (!call)
		return;
	rh_free(call->method);
	rh_free(call->path);
	rh_free(call->content_type);
	rh_free(call->body);
	rh_free(call);
}

/* @return the call @p id, no longer among the open ones, or NULL */
static struct fake_call *fake_take(struct rh_http *http, uint64_t id)
{
	struct fake_call **at = &http->calls;
	struct fake_call *call;

	while (*at && (*at)->id != id)
		at = &(*at)->next;
	call = *at;
	if (call)
		*at = call->next;
	return call;
}

void rh_http_free(struct rh_http *http)
{
	while (http && http->calls)
		fake_call_free(fake_take(http, http->calls->id));
	rh_free(http);
}

int rh_http_send(struct rh_http *http, const struct rh_http_request *request, rh_http_done_fn *done, void *arg,
                 uint64_t *ret_id, struct rh_error *err)
{
	struct fake_call *call = rh_alloc(sizeof(*call));
	struct fake_call **last = &http->calls;

	if (!call)
		return rh_fail_oom(err);
	*call = (struct fake_call){.id = ++http->last_id, .chunk = request->chunk, .done = done, .arg = arg};
	call->method = rh_strdup(request->method);
	call->path = rh_strdup(request->path);
	call->content_type = rh_strdup(request->content_type);
	call->body = request->body ? rh_strndup(request->body, request->body_length) : NULL;
	call->may = request->may;
	call->timeout = request->timeout;
	call->idle_timeout = request->idle_timeout;
	if (!call->method || !call->path || (request->content_type && !call->content_type) ||
	    (request->body && !call->body)) {
		fake_call_free(call);
		return rh_fail_oom(err);
	}
	while (*last)
		last = &(*last)->next;
	*last = call;
	if (ret_id)
		*ret_id = call->id;
	return 0;
}

void rh_http_cancel(struct rh_http *http, uint64_t id)
{
	fake_call_free(fake_take(http, id));
}

void rh_http_close_silent(struct rh_http *http, int64_t since)
{
	http->silent_since = since;
}

int64_t fake_http_silent_since(const struct rh_http *http)
{
	return http->silent_since;
}

size_t fake_http_count(const struct rh_http *http)
{
	size_t count = 0;

	for (const struct fake_call *call = http->calls; call; call = call->next)
		count++;
	return count;
}

struct fake_call *fake_http_call(struct rh_http *http, size_t index)
{
	struct fake_call *call = http->calls;

	while (call && index-- > 0)
		call = call->next;
	return call;
}

struct fake_call *fake_http_find(struct rh_http *http, const char *method, const char *part)
{
	struct fake_call *call = http->calls;

	while (call && (strcmp(call->method, method) != 0 || !strstr(call->path, part)))
		call = call->next;
	return call;
}

void fake_http_end(struct rh_http *http, struct fake_call *call, const struct rh_http_response *response)
{
	(void)fake_take(http, call->id);
	call->done(call->arg, response);
	fake_call_free(call);
}

bool fake_http_feed(struct rh_http *http, struct fake_call *call, const char *text, size_t length)
{
	struct rh_http_response response = {.sent = true, .message = "ended by the listener", .body = ""};

	if (!call->chunk || call->chunk(call->arg, text, length) == 0)
		return true;
	fake_http_end(http, call, &response);
	return false;
}

void fake_http_answer(struct rh_http *http, struct fake_call *call, int32_t status, const char *body)
{
	bool streamed = call->chunk && status >= 200 && status < 300;
	const char *rest = streamed ? "" : body;
	struct rh_http_response response = {
		.status = status, .sent = true, .message = "", .body = rest, .body_length = strlen(rest)};

	if (!streamed || fake_http_feed(http, call, body, strlen(body)))
		fake_http_end(http, call, &response);
}

void fake_http_cut(struct rh_http *http, struct fake_call *call, bool sent)
{
	struct rh_http_response response = {.sent = sent, .message = "the connection broke", .body = ""};

	fake_http_end(http, call, &response);
}
