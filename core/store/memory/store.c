/* SPDX-License-Identifier: Apache-2.0 */
#include "store/memory.h"

#include <stdio.h>
#include <string.h>

#include "store/memory/parts.h"

static void memory_free_request(struct rh_memory_request *request)
{
	if (!request)
		return;
	for (size_t i = 0; i < request->text_count; i++)
		rh_free(request->texts[i]);
	if (request->request.secret)
		rh_json_free_secret(request->request.body);
	else
		rh_json_free(request->request.body);
	rh_free(request->message);
	rh_free(request->text);
	rh_memory_version_unref(request->version);
	rh_free(request);
}

static void memory_free_watch(struct rh_memory_watch *watch)
{
	rh_free(watch->prefix);
	rh_free(watch->label);
	rh_free(watch);
}

/* @return the tree, when the watch needs it for its label */
static const struct rh_json *memory_labelled(const struct rh_memory_store *store, const struct rh_memory_watch *watch,
                                             const struct rh_memory_object *object)
{
	return watch->label && rh_starts_with(object->key, watch->prefix)
	           ? rh_memory_version_look(store->objects.trees, object->now)
	           : NULL;
}

/* Queue events for the existing objects. On failure none is queued. */
static int memory_list(struct rh_memory_store *store, struct rh_memory_watch *watch)
{
	struct rh_memory_event *list = NULL;
	struct rh_memory_event **end = &list;
	struct rh_memory_event *event = NULL;
	size_t cursor = 0;
	void *value;
	bool more = true;

	while (more) {
		const struct rh_memory_object *object = NULL;

		more = rh_map_next(store->objects.by_key, &cursor, NULL, &value);
		if (more)
			object = value;
		if (object && !rh_memory_selects(watch, object, memory_labelled(store, watch, object)))
			continue;
		event = rh_memory_event_new(watch, object ? RH_WATCH_ADDED : RH_WATCH_SYNCED, object ? object->now : NULL);
		if (!event)
			break;
		*end = event;
		end = &event->next;
	}
	while (list) {
		struct rh_memory_event *next = list->next;

		list->next = NULL;
		if (event)
			rh_memory_emit(store, list);
		else
			rh_memory_event_free(list);
		list = next;
	}
	return event ? 0 : RH_ENOMEM;
}

static uint64_t memory_watch(struct rh_store *face, const struct rh_resource *resource, const char *label,
                             rh_watch_fn *fn, void *arg)
{
	struct rh_memory_store *store = (struct rh_memory_store *)face;
	struct rh_memory_watch *watch = rh_alloc(sizeof(*watch));
	char prefix[RH_MEMORY_KEY_SIZE];

	if (!watch)
		return 0;
	(void)rh_memory_key(resource, NULL, NULL, prefix);
	*watch = (struct rh_memory_watch){.prefix = rh_strdup(prefix), .label = rh_strdup(label), .fn = fn, .arg = arg};
	if (!watch->prefix || (label && !watch->label) || memory_list(store, watch) < 0) {
		memory_free_watch(watch);
		return 0;
	}
	watch->id = ++store->ids;
	*store->watches_end = watch;
	store->watches_end = &watch->next;
	return watch->id;
}

/* Undelivered events of the watch are dropped. */
static void memory_drop_events(struct rh_memory_store *store, struct rh_memory_watch *watch)
{
	store->heads -= watch->first ? 1 : 0;
	while (watch->first) {
		struct rh_memory_event *event = watch->first;

		watch->first = event->next;
		rh_memory_unlink(store, &event->item);
		rh_memory_event_free(event);
	}
}

static void memory_unwatch(struct rh_store *face, uint64_t id)
{
	struct rh_memory_store *store = (struct rh_memory_store *)face;
	struct rh_memory_watch **at = &store->watches;
	struct rh_memory_watch *watch;

	while (*at && (*at)->id != id)
		at = &(*at)->next;
	watch = *at;
	if (!watch)
		return;
	*at = watch->next;
	if (!*at)
		store->watches_end = at;
	memory_drop_events(store, watch);
	memory_free_watch(watch);
}

/* @return a copy that lives as long as the request; NULL for NULL, and when memory is out: then *failed is set */
static const char *memory_keep(struct rh_memory_request *request, const char *text, bool *failed)
{
	char *copy = rh_strdup(text);

	if (copy)
		request->texts[request->text_count++] = copy;
	else if (text)
		*failed = true;
	return copy;
}

/* The texts of @p from are copied, its body is taken. */
static int memory_copy_request(struct rh_memory_request *to, struct rh_request *from)
{
	bool failed = false;

	to->resource.api_version = memory_keep(to, from->resource->api_version, &failed);
	to->resource.kind = memory_keep(to, from->resource->kind, &failed);
	to->resource.plural = memory_keep(to, from->resource->plural, &failed);
	to->request = (struct rh_request){
		.verb = from->verb,
		.resource = &to->resource,
		.namespace_ = memory_keep(to, from->namespace_ ? from->namespace_ : "", &failed),
		.name = memory_keep(to, from->name ? from->name : "", &failed),
		.uid = memory_keep(to, from->uid, &failed),
		.resource_version = memory_keep(to, from->resource_version, &failed),
		.body = rh_take(from->body),
		.grace_seconds = from->grace_seconds,
		.metadata = from->metadata,
		.secret = from->secret,
	};
	if (from->log) {
		to->log = *from->log;
		to->log.container = memory_keep(to, from->log->container, &failed);
		to->request.log = &to->log;
	}
	return failed ? RH_ENOMEM : 0;
}

static int memory_submit(struct rh_store *face, struct rh_request *request, rh_done_fn *done, void *arg,
                         uint64_t *ret_id, struct rh_error *err)
{
	struct rh_memory_store *store = (struct rh_memory_store *)face;
	struct rh_memory_request *made = rh_alloc(sizeof(*made));

	if (!made || memory_copy_request(made, request) < 0) {
		memory_free_request(made);
		rh_json_free(rh_take(request->body));
		return rh_fail_oom(err);
	}
	made->item.kind = RH_MEMORY_REQUEST;
	made->done = done;
	made->arg = arg;
	made->id = ++store->ids;
	store->heads++;
	if (ret_id)
		*ret_id = made->id;
	rh_memory_push(store, &made->item);
	return 0;
}

static void memory_cancel(struct rh_store *face, uint64_t id)
{
	const struct rh_memory_store *store = (struct rh_memory_store *)face;

	for (struct rh_memory_item *item = store->first; item; item = item->next) {
		struct rh_memory_request *request = (struct rh_memory_request *)item;

		if (item->kind != RH_MEMORY_EVENT && request->id == id) {
			request->done = NULL;
			return;
		}
	}
}

int rh_memory_store_new(bool graceful_pods, void (*ready)(void *arg), void *arg, struct rh_memory_store **ret_store)
{
	struct rh_memory_store *store = rh_alloc(sizeof(*store));

	if (!store)
		return RH_ENOMEM;
	if (rh_memory_objects_init(&store->objects) < 0) {
		rh_free(store);
		return RH_ENOMEM;
	}
	store->face = (struct rh_store){
		.watch = memory_watch, .unwatch = memory_unwatch, .submit = memory_submit, .cancel = memory_cancel};
	store->graceful = graceful_pods;
	store->collects = true;
	store->watches_end = &store->watches;
	store->ready = ready;
	store->arg = arg;
	*ret_store = store;
	return 0;
}

void rh_memory_store_disconnect(struct rh_memory_store *store)
{
	struct rh_memory_item *item;
	struct rh_memory_watch *watch;

	while ((item = store->first)) {
		rh_memory_unlink(store, item);
		if (item->kind == RH_MEMORY_EVENT)
			rh_memory_event_free((struct rh_memory_event *)item);
		else
			memory_free_request((struct rh_memory_request *)item);
	}
	while ((watch = store->watches)) {
		store->watches = watch->next;
		memory_free_watch(watch);
	}
	store->watches_end = &store->watches;
	store->heads = 0;
}

void rh_memory_store_free(struct rh_memory_store *store)
{
	if (!store)
		return;
	rh_memory_store_disconnect(store);
	rh_memory_objects_deinit(&store->objects);
	rh_free(store);
}

struct rh_store *rh_memory_store_face(struct rh_memory_store *store)
{
	return &store->face;
}

void rh_memory_store_set_time(struct rh_memory_store *store, int64_t now)
{
	store->now = now;
}

void rh_memory_store_set_gate(struct rh_memory_store *store, rh_memory_gate_fn *gate, void *arg)
{
	store->gate = gate;
	store->gate_arg = arg;
}

void rh_memory_store_set_logs(struct rh_memory_store *store, rh_memory_log_fn *logs, void *arg)
{
	store->logs = logs;
	store->logs_arg = arg;
}

void rh_memory_store_set_collector(struct rh_memory_store *store, bool on)
{
	store->collects = on;
}

size_t rh_memory_store_pending(const struct rh_memory_store *store)
{
	return store->heads;
}

static struct rh_memory_item *memory_head(const struct rh_memory_store *store, size_t choice)
{
	for (struct rh_memory_item *item = store->first; item; item = item->next) {
		const struct rh_memory_event *event = (const struct rh_memory_event *)item;

		if (item->kind == RH_MEMORY_EVENT && event->watch->first != event)
			continue;
		if (choice-- == 0)
			return item;
	}
	return NULL;
}

static bool memory_pump_event(struct rh_memory_store *store, struct rh_memory_event *event)
{
	struct rh_memory_watch *watch = event->watch;
	const struct rh_json *tree = event->version ? rh_memory_version_look(store->objects.trees, event->version) : NULL;

	if (event->version && !tree)
		return false;
	rh_memory_unlink(store, &event->item);
	watch->first = event->next;
	if (!watch->first) {
		watch->last = NULL;
		store->heads--;
	}
	watch->fn(watch->arg, event->event, tree);
	rh_memory_event_free(event);
	return true;
}

/* @return @p object without its content, owned by the caller; NULL when memory is out */
static struct rh_json *memory_metadata(const struct rh_json *object)
{
	static const char *const members[] = {"apiVersion", "kind", "metadata"};
	rh_auto(json) bare = rh_json_new_object();

	for (size_t i = 0; bare && i < sizeof(members) / sizeof(members[0]); i++) {
		if (rh_json_set(bare, members[i], rh_json_copy(rh_json_get(object, members[i]))) < 0)
			return NULL;
	}
	return rh_take(bare);
}

static bool memory_pump_outcome(struct rh_memory_store *store, struct rh_memory_request *request)
{
	struct rh_outcome outcome = {.code = request->code,
	                             .retry_after = request->retry_after,
	                             .forbidden = request->forbidden,
	                             .budget = request->budget,
	                             .text = request->text};
	rh_auto(json) bare = NULL;

	outcome.message = request->message ? request->message : request->code == RH_OUTCOME_OK ? "" : "out of memory";
	if (request->done && request->version) {
		outcome.object = rh_memory_version_look(store->objects.trees, request->version);
		if (outcome.object && request->request.metadata)
			outcome.object = bare = memory_metadata(outcome.object);
		if (!outcome.object)
			return false;
	}
	rh_memory_unlink(store, &request->item);
	store->heads--;
	if (request->done)
		request->done(request->arg, &outcome);
	memory_free_request(request);
	return true;
}

/* An outcome is delivered no earlier than the watch events of its change. */
static void memory_pump_request(struct rh_memory_store *store, struct rh_memory_request *request)
{
	rh_memory_unlink(store, &request->item);
	rh_memory_apply(store, request);
	request->item.kind = RH_MEMORY_OUTCOME;
	rh_memory_push(store, &request->item);
}

bool rh_memory_store_pump(struct rh_memory_store *store, size_t choice)
{
	struct rh_memory_item *item = memory_head(store, choice);

	if (!item)
		return false;
	rh_memory_trees_trim(store->objects.trees, RH_MEMORY_TREES_KEPT);
	switch (item->kind) {
	case RH_MEMORY_EVENT:
		return memory_pump_event(store, (struct rh_memory_event *)item);
	case RH_MEMORY_OUTCOME:
		return memory_pump_outcome(store, (struct rh_memory_request *)item);
	case RH_MEMORY_REQUEST:
	default:
		memory_pump_request(store, (struct rh_memory_request *)item);
		return true;
	}
}

void rh_memory_store_drain(struct rh_memory_store *store)
{
	while (rh_memory_store_pump(store, 0))
		continue;
}

const struct rh_json *rh_memory_store_find(const struct rh_memory_store *store, const struct rh_resource *resource,
                                           const char *namespace_, const char *name)
{
	char key[RH_MEMORY_KEY_SIZE];
	const struct rh_memory_object *object = NULL;

	if (rh_memory_key(resource, namespace_, name, key))
		object = rh_memory_objects_find(&store->objects, key);
	return object ? rh_memory_version_look(store->objects.trees, object->now) : NULL;
}

void rh_memory_store_each(const struct rh_memory_store *store, const struct rh_resource *resource,
                          void (*fn)(void *arg, const struct rh_json *object), void *arg)
{
	char prefix[RH_MEMORY_KEY_SIZE];
	size_t cursor = 0;
	void *value;

	(void)rh_memory_key(resource, NULL, NULL, prefix);
	while (rh_map_next(store->objects.by_key, &cursor, NULL, &value)) {
		const struct rh_memory_object *object = value;
		bool kept = object->now->tree;
		const struct rh_json *tree = NULL;

		if (rh_starts_with(object->key, prefix))
			tree = rh_memory_version_look(store->objects.trees, object->now);
		if (!tree)
			continue;
		fn(arg, tree);
		if (!kept)
			rh_memory_trees_drop(store->objects.trees, object->now);
	}
}
