/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/store/call.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "kube/store/path.h"

#define CALL_JSON "application/json"
/* RFC 7386 */
#define CALL_MERGE "application/merge-patch+json"

/* HTTP form of each verb. */
struct call_form {
	const char *method;
	const char *content_type;
	const char *name; /* for metrics */
	enum rh_window_class class;
};

static const struct call_form *call_form(enum rh_verb verb)
{
	static const struct call_form forms[] = {
		[RH_VERB_GET] = {"GET", NULL, "get", RH_WINDOW_STATE},
		[RH_VERB_FIND] = {"GET", NULL, "list", RH_WINDOW_STATE},
		[RH_VERB_CREATE] = {"POST", CALL_JSON, "create", RH_WINDOW_OBJECTS},
		[RH_VERB_PATCH] = {"PATCH", CALL_MERGE, "patch", RH_WINDOW_STATE},
		[RH_VERB_PATCH_STATUS] = {"PATCH", CALL_MERGE, "patch", RH_WINDOW_STATE},
		[RH_VERB_REPLACE] = {"PUT", CALL_JSON, "update", RH_WINDOW_STATE},
		[RH_VERB_DELETE] = {"DELETE", CALL_JSON, "delete", RH_WINDOW_OBJECTS},
		[RH_VERB_EVICT] = {"POST", CALL_JSON, "create", RH_WINDOW_OBJECTS},
		[RH_VERB_LOG] = {"GET", NULL, "get", RH_WINDOW_OBJECTS},
	};

	return &forms[verb];
}

const char *rh_call_accept(const struct rh_call *call)
{
	if (!call->kind)
		return NULL;
	return call->verb == RH_VERB_FIND ? "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
	                                  : "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
}

const char *rh_call_verb(const struct rh_call *call)
{
	return call_form(call->verb)->name;
}

/* Set the precondition on the object's identity at @p key of @p body. */
static int call_add_preconditions(const struct rh_request *request, struct rh_json *body, const char *key)
{
	struct rh_json *at;

	if (!request->uid && !request->resource_version)
		return 0;
	at = rh_json_ensure_object(body, key);
	if (!at || (request->uid && rh_json_set_string(at, "uid", request->uid) < 0) ||
	    (request->resource_version && rh_json_set_string(at, "resourceVersion", request->resource_version) < 0))
		return RH_ENOMEM;
	return 0;
}

/* @return DeleteOptions, owned by the caller; NULL: out of memory */
static struct rh_json *call_delete_options(const struct rh_request *request)
{
	rh_auto(json) options = rh_json_new_object();

	if (!options || rh_json_set_string(options, "kind", "DeleteOptions") < 0 ||
	    rh_json_set_string(options, "apiVersion", "v1") < 0 ||
	    rh_json_set_string(options, "propagationPolicy", "Background") < 0 ||
	    call_add_preconditions(request, options, "preconditions") < 0)
		return NULL;
	if (request->grace_seconds >= 0 && rh_json_set_integer(options, "gracePeriodSeconds", request->grace_seconds) < 0)
		return NULL;
	return rh_take(options);
}

/* @return an Eviction, owned by the caller; NULL: out of memory */
static struct rh_json *call_eviction(const struct rh_request *request)
{
	rh_auto(json) eviction = rh_json_new_object();
	struct rh_json *metadata = eviction ? rh_json_ensure_object(eviction, "metadata") : NULL;
	struct rh_json *options = metadata ? rh_json_ensure_object(eviction, "deleteOptions") : NULL;

	if (!options || rh_json_set_string(eviction, "kind", "Eviction") < 0 ||
	    rh_json_set_string(eviction, "apiVersion", "policy/v1") < 0 ||
	    rh_json_set_string(metadata, "name", request->name) < 0 ||
	    rh_json_set_string(metadata, "namespace", request->namespace_) < 0 ||
	    call_add_preconditions(request, options, "preconditions") < 0)
		return NULL;
	return rh_take(eviction);
}

/* Remove the fields that only the server sets; it rejects a create that has them. */
static void call_trim_create(struct rh_json *body)
{
	struct rh_json *metadata = rh_json_get(body, "metadata");

	rh_json_remove(metadata, "uid");
	rh_json_remove(metadata, "resourceVersion");
}

/* @param[out] ret_text NULL for a request without a body */
static int call_print_body(const struct rh_request *request, struct rh_json *body, char **ret_text)
{
	int r = 0;

	if (request->verb == RH_VERB_CREATE)
		call_trim_create(body);
	else if (request->verb != RH_VERB_DELETE && request->verb != RH_VERB_EVICT)
		r = body ? call_add_preconditions(request, body, "metadata") : 0;
	if (r == 0 && body)
		*ret_text = rh_json_text(body);
	return *ret_text ? 0 : RH_ENOMEM;
}

static int call_write_body(struct rh_request *request, char **ret_text)
{
	struct rh_json *body = rh_take(request->body);
	int r = 0;

	if (request->verb == RH_VERB_DELETE || request->verb == RH_VERB_EVICT) {
		rh_json_free(body);
		body = request->verb == RH_VERB_DELETE ? call_delete_options(request) : call_eviction(request);
	}
	if (request->verb != RH_VERB_GET && request->verb != RH_VERB_FIND && request->verb != RH_VERB_LOG)
		r = call_print_body(request, body, ret_text);
	if (request->secret)
		rh_json_free_secret(body);
	else
		rh_json_free(body);
	return r;
}

static void call_add_log(const struct rh_log_query *log, struct rh_str *query)
{
	char number[16];

	rh_kube_query_add(query, "container", log->container);
	if (log->previous)
		rh_kube_query_add(query, "previous", "true");
	snprintf(number, sizeof(number), "%" PRId32, log->lines);
	rh_kube_query_add(query, "tailLines", number);
	snprintf(number, sizeof(number), "%" PRId32, log->bytes);
	rh_kube_query_add(query, "limitBytes", number);
}

/* @return the subresource of a request, or NULL */
static const char *call_subresource(enum rh_verb verb)
{
	if (verb == RH_VERB_LOG)
		return "log";
	if (verb == RH_VERB_EVICT)
		return "eviction";
	return verb == RH_VERB_PATCH_STATUS ? "status" : NULL;
}

static int call_write_path(const struct rh_request *request, struct rh_call *call)
{
	const char *part = call_subresource(request->verb);
	bool named = request->verb != RH_VERB_CREATE && request->verb != RH_VERB_FIND;
	struct rh_kube_target target = {
		.resource = request->resource,
		.namespace_ = request->namespace_,
		.name = named ? request->name : NULL,
		.subresource = part,
	};
	rh_auto_str path = {0}, query = {0};

	rh_kube_path_append(&path, &target);
	if (request->verb == RH_VERB_FIND) {
		rh_auto_free char *only = rh_asprintf("metadata.name=%s", request->name);

		if (!only)
			return RH_ENOMEM;
		rh_kube_query_add(&query, "fieldSelector", only);
	}
	if (request->log)
		call_add_log(request->log, &query);
	rh_kube_path_query(&path, &query);
	call->path = rh_str_take(&path);
	call->resource = rh_asprintf("%s%s%s", request->resource->plural, part ? "/" : "", part ? part : "");
	call->namespace_ = rh_strdup(request->namespace_);
	return call->path && call->resource && (call->namespace_ || !request->namespace_) ? 0 : RH_ENOMEM;
}

static int call_note_kind(const struct rh_request *request, struct rh_call *call)
{
	if (!request->metadata)
		return 0;
	call->api_version = rh_strdup(request->resource->api_version);
	call->kind = rh_strdup(request->resource->kind);
	return call->api_version && call->kind ? 0 : RH_ENOMEM;
}

struct rh_call *rh_call_new(struct rh_request *request)
{
	const struct call_form *form = call_form(request->verb);
	rh_auto(call) call = rh_alloc(sizeof(*call));
	rh_auto(json) body = rh_take(request->body);

	if (!call)
		return NULL;
	request->body = rh_take(body);
	call->verb = request->verb;
	call->method = form->method;
	call->content_type = form->content_type;
	call->class = strcmp(request->resource->plural, "events") == 0 ? RH_WINDOW_EVENTS : form->class;
	call->secret = request->secret;
	if (call_write_body(request, &call->body) < 0 || call_write_path(request, call) < 0 ||
	    call_note_kind(request, call) < 0)
		return NULL;
	call->weight = (call->body ? strlen(call->body) : 0) + request->answer_size;
	return rh_take(call);
}

void rh_call_free(struct rh_call *call)
{
	if (!call)
		return;
	rh_free(call->path);
	rh_free(call->namespace_);
	if (call->secret)
		rh_free_secret(call->body);
	else
		rh_free(call->body);
	rh_free(call->resource);
	rh_free(call->api_version);
	rh_free(call->kind);
	rh_free(call);
}

void rh_call_append(struct rh_call_queue *queue, struct rh_call *call)
{
	call->next = NULL;
	call->previous = queue->last;
	if (queue->last)
		queue->last->next = call;
	else
		queue->first = call;
	queue->last = call;
	queue->count++;
}

void rh_call_remove(struct rh_call_queue *queue, struct rh_call *call)
{
	if (call->previous)
		call->previous->next = call->next;
	else
		queue->first = call->next;
	if (call->next)
		call->next->previous = call->previous;
	else
		queue->last = call->previous;
	call->next = call->previous = NULL;
	queue->count--;
}

struct rh_call *rh_call_find(const struct rh_call_queue *queue, uint64_t id)
{
	struct rh_call *call = queue->first;

	while (call && call->id != id)
		call = call->next;
	return call;
}

void rh_call_clear(struct rh_call_queue *queue, struct rh_http *http)
{
	while (queue->first) {
		struct rh_call *call = queue->first;

		rh_call_remove(queue, call);
		if (http)
			rh_http_cancel(http, call->http_id);
		rh_call_free(call);
	}
}
