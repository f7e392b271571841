/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests, handled as by an API server. Messages are those of Kubernetes, so that Events read the same in local mode.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/os/clock.h"
#include "job/pod.h"
#include "store/memory/parts.h"

/* Default of a pod's terminationGracePeriodSeconds. */
#define MEMORY_GRACE_SECONDS 30

__attribute__((format(printf, 3, 4))) static void memory_answer(struct rh_memory_request *request,
                                                                enum rh_outcome_code code, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	request->code = code;
	request->message = rh_vasprintf(fmt, args);
	va_end(args);
}

static void memory_answer_oom(struct rh_memory_request *request)
{
	request->code = RH_OUTCOME_UNKNOWN;
	request->message = NULL;
}

/* Kubernetes names an object "pods "x"", with the group after the plural where there is one. */
static void memory_print_name(const struct rh_memory_request *request, char *buffer, size_t size)
{
	const struct rh_resource *resource = &request->resource;
	const char *slash = strchr(resource->api_version, '/');
	int group = slash ? (int)(slash - resource->api_version) : 0;

	(void)snprintf(buffer, size, "%s%s%.*s \"%s\"", resource->plural, group > 0 ? "." : "", group,
	               resource->api_version, request->request.name);
}

static bool memory_is_pod(const struct rh_memory_object *object)
{
	return rh_starts_with(object->key, "v1/Pod/");
}

bool rh_memory_selects(const struct rh_memory_watch *watch, const struct rh_memory_object *object,
                       const struct rh_json *tree)
{
	if (!rh_starts_with(object->key, watch->prefix))
		return false;
	return !watch->label || rh_json_get(rh_json_get(rh_json_get(tree, "metadata"), "labels"), watch->label);
}

/* One change of one object. */
struct memory_change {
	struct rh_memory_object *object;
	const struct rh_json *before;      /* NULL: it is new */
	const struct rh_json *after;       /* NULL: it is deleted */
	struct rh_memory_version *version; /* of the events */
};

static struct rh_memory_event *memory_event(struct rh_memory_watch *watch, const struct memory_change *change,
                                            bool *failed)
{
	bool was = change->before && rh_memory_selects(watch, change->object, change->before);
	bool is = change->after && rh_memory_selects(watch, change->object, change->after);
	struct rh_memory_event *made;

	if (!was && !is)
		return NULL;
	if (!is) /* the last state that the watch has delivered */
		made = rh_memory_event_new(watch, RH_WATCH_DELETED, change->object->now);
	else
		made = rh_memory_event_new(watch, was ? RH_WATCH_MODIFIED : RH_WATCH_ADDED, change->version);
	if (!made)
		*failed = true;
	return made;
}

/* Queue events of all watches, or none when memory is out. */
static int memory_emit_all(struct rh_memory_store *store, const struct memory_change *change)
{
	struct rh_memory_event *list = NULL;
	struct rh_memory_event **end = &list;
	bool failed = false;

	for (struct rh_memory_watch *watch = store->watches; watch && !failed; watch = watch->next) {
		struct rh_memory_event *event = memory_event(watch, change, &failed);

		if (event) {
			*end = event;
			end = &event->next;
		}
	}
	while (list) {
		struct rh_memory_event *next = list->next;

		list->next = NULL;
		if (failed)
			rh_memory_event_free(list);
		else
			rh_memory_emit(store, list);
		list = next;
	}
	return failed ? RH_ENOMEM : 0;
}

static int memory_stamp(struct rh_memory_store *store, struct rh_json *tree)
{
	char text[24];

	(void)snprintf(text, sizeof(text), "%" PRIu64, store->objects.revision + 1);
	return rh_json_set_string(rh_json_get(tree, "metadata"), "resourceVersion", text);
}

/* Make @p tree (taken) the newest version of @p object. On failure nothing has changed. */
static int memory_store_version(struct rh_memory_store *store, struct rh_memory_object *object,
                                const struct rh_json *before, struct rh_json *tree)
{
	rh_auto(json) guard = tree;
	struct memory_change change = {.object = object, .before = before};

	if (memory_stamp(store, tree) < 0)
		return RH_ENOMEM;
	change.version = rh_memory_version_new(store->objects.trees, rh_take(guard));
	if (change.version)
		change.after = rh_memory_version_look(store->objects.trees, change.version);
	if (!change.after || memory_emit_all(store, &change) < 0) {
		rh_memory_version_unref(change.version);
		return RH_ENOMEM;
	}
	store->objects.revision++;
	rh_memory_objects_count(&store->objects, change.after, 1);
	if (before)
		rh_memory_objects_count(&store->objects, before, -1);
	rh_memory_version_unref(object->now);
	object->now = change.version;
	return 0;
}

static int memory_remove(struct rh_memory_store *store, struct rh_memory_object *object)
{
	struct memory_change change = {.object = object, .version = object->now};

	change.before = rh_memory_version_look(store->objects.trees, object->now);
	if (!change.before || memory_emit_all(store, &change) < 0)
		return RH_ENOMEM;
	rh_memory_objects_count(&store->objects, change.before, -1);
	rh_memory_objects_remove(&store->objects, object);
	return 0;
}

/* @return the grace period of a deleted object: 0 unless it is a pod that a kubelet stops */
static int64_t memory_grace(const struct rh_memory_store *store, const struct rh_memory_object *object,
                            const struct rh_json *tree, int64_t asked)
{
	const char *phase = rh_json_string(rh_json_get(rh_json_get(tree, "status"), "phase"));
	int64_t seconds = MEMORY_GRACE_SECONDS;

	if (!store->graceful || !memory_is_pod(object))
		return 0;
	if (phase && (strcmp(phase, "Succeeded") == 0 || strcmp(phase, "Failed") == 0))
		return 0;
	if (asked >= 0)
		return asked;
	(void)rh_pod_grace(rh_json_get(tree, "spec"), &seconds);
	return seconds;
}

/* A second delete may shorten the grace period, never extend it. */
static int memory_terminate(struct rh_memory_store *store, struct rh_memory_object *object, const struct rh_json *tree,
                            int64_t grace)
{
	rh_auto(json) next = NULL;
	struct rh_json *metadata;
	char when[RH_TIME_SIZE];
	int64_t left;

	if (rh_json_integer(rh_json_get(rh_json_get(tree, "metadata"), "deletionGracePeriodSeconds"), &left) &&
	    left <= grace)
		return 0;
	next = rh_json_copy(tree);
	metadata = rh_json_get(next, "metadata");
	if (!next || rh_json_set_integer(metadata, "deletionGracePeriodSeconds", grace) < 0 ||
	    rh_json_set_string(metadata, "deletionTimestamp", rh_time_format(store->now + grace * RH_SECOND, when)) < 0)
		return RH_ENOMEM;
	return memory_store_version(store, object, tree, rh_take(next));
}

static bool memory_has_finalizers(const struct rh_json *tree)
{
	return rh_json_size(rh_json_get(rh_json_get(tree, "metadata"), "finalizers")) > 0;
}

/* @return whether the last finalizer of an object that is being deleted has been removed */
static bool memory_is_let_go(const struct rh_json *tree)
{
	const struct rh_json *metadata = rh_json_get(tree, "metadata");
	int64_t grace = 0;

	(void)rh_json_integer(rh_json_get(metadata, "deletionGracePeriodSeconds"), &grace);
	return rh_json_get(metadata, "deletionTimestamp") && grace == 0 && !memory_has_finalizers(tree);
}

static int memory_delete(struct rh_memory_store *store, struct rh_memory_object *object, int64_t asked)
{
	const struct rh_json *tree = rh_memory_version_look(store->objects.trees, object->now);
	int64_t grace;

	if (!tree)
		return RH_ENOMEM;
	grace = memory_grace(store, object, tree, asked);
	if (grace > 0 || memory_has_finalizers(tree))
		return memory_terminate(store, object, tree, grace);
	return memory_remove(store, object);
}

/* Delete objects whose last owner is gone, repeatedly. Without memory an object stays until the next collection. */
static void memory_collect(struct rh_memory_store *store)
{
	bool more = true;

	while (more) {
		size_t cursor = 0;
		size_t before = rh_map_size(store->objects.by_key);
		void *value;

		while (rh_map_next(store->objects.by_key, &cursor, NULL, &value)) {
			struct rh_memory_object *object = value;

			if (object->now->has_owners && rh_memory_objects_orphaned(&store->objects, object))
				(void)memory_delete(store, object, -1);
			rh_memory_trees_trim(store->objects.trees, RH_MEMORY_TREES_KEPT);
		}
		more = rh_map_size(store->objects.by_key) < before;
	}
}

/* @return whether the preconditions hold; if not, the outcome is set */
static bool memory_precondition_holds(struct rh_memory_request *request, const struct rh_memory_object *object,
                                      const struct rh_json *tree)
{
	const struct rh_request *r = &request->request;
	const char *version = rh_json_string(rh_json_get(rh_json_get(tree, "metadata"), "resourceVersion"));
	char name[RH_MEMORY_KEY_SIZE];

	memory_print_name(request, name, sizeof(name));
	if (r->uid && strcmp(r->uid, object->uid) != 0) {
		memory_answer(request, RH_OUTCOME_CONFLICT,
		              "Operation cannot be fulfilled on %s: Precondition failed: UID in precondition: %s, UID in "
		              "object meta: %s",
		              name, r->uid, object->uid);
		return false;
	}
	if (r->resource_version && !rh_text_equal(r->resource_version, version)) {
		memory_answer(request, RH_OUTCOME_CONFLICT,
		              "Operation cannot be fulfilled on %s: the object has been modified; please apply your changes to "
		              "the latest version and try again",
		              name);
		return false;
	}
	return true;
}

/* @return whether the body can be written; if not, the outcome is set */
static bool memory_check_body(struct rh_memory_request *request)
{
	const struct rh_request *r = &request->request;

	if (rh_json_type(r->body) != RH_JSON_OBJECT) {
		memory_answer(request, RH_OUTCOME_DENIED, "a body must be an object");
		return false;
	}
	if (r->verb == RH_VERB_REPLACE && !r->resource_version) {
		memory_answer(
			request, RH_OUTCOME_DENIED,
			"%s \"%s\" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update",
			request->resource.kind, r->name);
		return false;
	}
	return true;
}

static int memory_change(struct rh_memory_store *store, struct rh_memory_request *request,
                         struct rh_memory_object *object)
{
	const struct rh_json *before = rh_memory_version_look(store->objects.trees, object->now);
	rh_auto(json) next = NULL;
	bool gone;

	if (!before)
		return RH_ENOMEM;
	if (!memory_check_body(request) || !memory_precondition_holds(request, object, before))
		return 0;
	if (rh_memory_changed(request, before, &next) < 0)
		return RH_ENOMEM;
	gone = memory_is_let_go(next);
	if (!rh_json_equal(before, next) && memory_store_version(store, object, before, rh_take(next)) < 0)
		return RH_ENOMEM;
	request->version = rh_memory_version_ref(object->now);
	if (gone && memory_remove(store, object) == 0 && store->collects)
		memory_collect(store);
	return 0;
}

static int memory_request_delete(struct rh_memory_store *store, struct rh_memory_request *request,
                                 struct rh_memory_object *object)
{
	const struct rh_json *tree = rh_memory_version_look(store->objects.trees, object->now);
	char key[RH_MEMORY_KEY_SIZE];

	if (!tree)
		return RH_ENOMEM;
	if (!memory_precondition_holds(request, object, tree))
		return 0;
	rh_copy(key, sizeof(key), object->key);
	if (memory_delete(store, object, request->request.grace_seconds) < 0)
		return RH_ENOMEM;
	object = rh_memory_objects_find(&store->objects, key);
	if (object)
		request->version = rh_memory_version_ref(object->now);
	else if (store->collects)
		memory_collect(store);
	return 0;
}

static int memory_fill_metadata(struct rh_memory_store *store, const struct rh_request *request,
                                struct rh_json *metadata, const char *uid)
{
	char when[RH_TIME_SIZE];

	rh_memory_strip(metadata);
	if (rh_json_set_string(metadata, "name", request->name) < 0 ||
	    rh_json_set_string(metadata, "namespace", request->namespace_) < 0 ||
	    rh_json_set_string(metadata, "uid", uid) < 0 ||
	    rh_json_set_string(metadata, "creationTimestamp", rh_time_format(store->now, when)) < 0)
		return RH_ENOMEM;
	return 0;
}

/* Set the members that an API server sets in the body of a create. */
static int memory_fill(struct rh_memory_store *store, struct rh_memory_request *request, struct rh_json *tree,
                       const char *uid)
{
	struct rh_json *metadata = rh_json_ensure_object(tree, "metadata");

	if (!metadata || memory_fill_metadata(store, &request->request, metadata, uid) < 0)
		return RH_ENOMEM;
	if (rh_json_set_string(tree, "apiVersion", request->resource.api_version) < 0 ||
	    rh_json_set_string(tree, "kind", request->resource.kind) < 0)
		return RH_ENOMEM;
	if (rh_json_get(tree, "spec") && rh_json_set_integer(metadata, "generation", 1) < 0)
		return RH_ENOMEM;
	rh_json_remove(tree, "status");
	if (strcmp(request->resource.kind, "Pod") != 0)
		return 0;
	return rh_json_set_string(rh_json_ensure_object(tree, "status"), "phase", "Pending");
}

/* @return whether the body can be created under the request's names; if not, the outcome is set */
static bool memory_check_create(struct rh_memory_request *request, char key[RH_MEMORY_KEY_SIZE])
{
	const struct rh_json *metadata = rh_json_get(request->request.body, "metadata");
	const char *name = rh_json_string(rh_json_get(metadata, "name"));
	const char *namespace_ = rh_json_string(rh_json_get(metadata, "namespace"));

	if (!name || !*name) {
		memory_answer(request, RH_OUTCOME_DENIED, "%s is invalid: metadata.name: Required value: name is required",
		              request->resource.kind);
		return false;
	}
	request->request.name = name;
	if (namespace_ && strcmp(namespace_, request->request.namespace_) != 0) {
		memory_answer(request, RH_OUTCOME_DENIED,
		              "the namespace of the provided object does not match the namespace sent on the request");
		return false;
	}
	if (!rh_memory_key(&request->resource, request->request.namespace_, name, key)) {
		memory_answer(request, RH_OUTCOME_DENIED, "%s is invalid: metadata.name: Invalid value: too long",
		              request->resource.kind);
		return false;
	}
	return true;
}

/* The request's name is in the body: it must outlive the transfer of the body. */
static int memory_keep_name(struct rh_memory_request *request)
{
	char *name = rh_strdup(request->request.name);

	if (!name)
		return RH_ENOMEM;
	request->texts[request->text_count++] = name;
	request->request.name = name;
	return 0;
}

static int memory_add(struct rh_memory_store *store, struct rh_memory_request *request, const char *key)
{
	rh_auto(json) tree = NULL;
	struct rh_memory_object *object;
	char uid[RH_MEMORY_UID_SIZE];

	if (memory_keep_name(request) < 0)
		return RH_ENOMEM;
	tree = rh_take(request->request.body);
	rh_memory_objects_next_uid(&store->objects, uid);
	object = rh_memory_objects_add(&store->objects, key, uid);
	if (!object)
		return RH_ENOMEM;
	if (memory_fill(store, request, tree, uid) < 0 || memory_store_version(store, object, NULL, rh_take(tree)) < 0) {
		rh_memory_objects_remove(&store->objects, object);
		return RH_ENOMEM;
	}
	request->version = rh_memory_version_ref(object->now);
	if (store->collects && rh_memory_objects_orphaned(&store->objects, object))
		(void)memory_delete(store, object, -1);
	return 0;
}

static int memory_create(struct rh_memory_store *store, struct rh_memory_request *request)
{
	char key[RH_MEMORY_KEY_SIZE];
	char name[RH_MEMORY_KEY_SIZE];

	if (!memory_check_create(request, key))
		return 0;
	if (!rh_memory_objects_find(&store->objects, key))
		return memory_add(store, request, key);
	memory_print_name(request, name, sizeof(name));
	memory_answer(request, RH_OUTCOME_EXISTS, "%s already exists", name);
	return 0;
}

/* @return where the last @p lines of the text begin */
static const char *memory_tail(const char *text, int32_t lines)
{
	const char *at = text + strlen(text);

	while (at > text && (at[-1] != '\n' || at[0] == '\0' || --lines > 0))
		at--;
	return at;
}

/* As a kubelet: the last lines, and of these the first bytes. */
static int memory_log(struct rh_memory_store *store, struct rh_memory_request *request)
{
	const struct rh_request *r = &request->request;
	const char *text = store->logs ? store->logs(store->logs_arg, r) : NULL;
	const char *tail = text ? memory_tail(text, r->log->lines) : NULL;

	if (!text) {
		memory_answer(request, RH_OUTCOME_GONE, "the log of container \"%s\" of pods \"%s\" not found",
		              r->log->container, r->name);
		return 0;
	}
	request->text = rh_strndup(tail, strnlen(tail, (size_t)r->log->bytes));
	return request->text ? 0 : RH_ENOMEM;
}

static int memory_do(struct rh_memory_store *store, struct rh_memory_request *request)
{
	const struct rh_request *r = &request->request;
	struct rh_memory_object *object = NULL;
	char key[RH_MEMORY_KEY_SIZE];

	if (r->verb == RH_VERB_CREATE)
		return memory_create(store, request);
	if (rh_memory_key(&request->resource, r->namespace_, r->name, key))
		object = rh_memory_objects_find(&store->objects, key);
	if (!object) {
		memory_print_name(request, key, sizeof(key));
		memory_answer(request, RH_OUTCOME_GONE, "%s not found", key);
		return 0;
	}
	/* without a default, so that the compiler names a verb that is missing */
	switch (r->verb) {
	case RH_VERB_DELETE:
	case RH_VERB_EVICT:
		return memory_request_delete(store, request, object);
	case RH_VERB_PATCH:
	case RH_VERB_PATCH_STATUS:
	case RH_VERB_REPLACE:
		return memory_change(store, request, object);
	case RH_VERB_LOG:
		return memory_log(store, request);
	case RH_VERB_GET:
	case RH_VERB_FIND:
	case RH_VERB_CREATE: /* done above */
		break;
	}
	request->version = rh_memory_version_ref(object->now);
	return 0;
}

void rh_memory_apply(struct rh_memory_store *store, struct rh_memory_request *request)
{
	struct rh_outcome gated = {.message = ""};
	bool apply = false;
	bool settled = store->gate && store->gate(store->gate_arg, &request->request, &gated, &apply);

	request->code = RH_OUTCOME_OK;
	if ((!settled || apply) && memory_do(store, request) < 0)
		memory_answer_oom(request);
	if (!settled)
		return;
	rh_free(rh_take(request->message));
	rh_free(rh_take(request->text));
	rh_memory_version_unref(rh_take(request->version));
	memory_answer(request, gated.code, "%s", gated.message);
	request->retry_after = gated.retry_after;
	request->forbidden = gated.forbidden;
	request->budget = gated.budget;
}
