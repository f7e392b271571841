/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes to children. What is under way is part of the world that is decided about, so nothing is asked for twice; what was refused waits, longer each time,
 * and holds up nothing else.
 */
#include <string.h>

#include "base/clock.h"
#include "engine/engine_parts.h"
#include "job/names.h"

static bool flight_creates(enum rh_action_verb verb)
{
	return verb == RH_CREATE_POD || verb == RH_CREATE_SERVICE || verb == RH_CREATE_OBJECT;
}

static bool flight_deletes(enum rh_action_verb verb)
{
	return verb == RH_DELETE_POD || verb == RH_DELETE_SERVICE || verb == RH_DELETE_OBJECT || verb == RH_DELETE_JOB;
}

static bool flight_of_pod(enum rh_action_verb verb)
{
	return verb == RH_CREATE_POD || verb == RH_DELETE_POD;
}

static bool flight_of_service(enum rh_action_verb verb)
{
	return verb == RH_CREATE_SERVICE || verb == RH_DELETE_SERVICE;
}

void rh_flight_free(struct rh_flight *flight)
{
	if (!flight)
		return;
	if (flight->link) {
		*flight->link = flight->next;
		if (flight->next)
			flight->next->link = flight->link;
		flight->entry->flight_count--;
	}
	if (flight->id)
		rh_engine_cancel(flight->entry->engine, flight->id);
	rh_free(flight->name);
	rh_free(flight->uid);
	rh_free(flight->job_uid);
	rh_pod_free(flight->pod);
	rh_child_free(flight->child);
	rh_json_free(flight->body);
	rh_str_deinit(&flight->buried);
	rh_free(flight);
}

static struct rh_flight *flight_new(struct rh_engine_entry *entry, enum rh_action_verb verb,
                                    const struct rh_resource *resource, const char *name, const char *uid)
{
	struct rh_flight *flight = rh_alloc(sizeof(*flight));

	if (!flight)
		return NULL;
	flight->entry = entry;
	flight->verb = verb;
	flight->resource = resource;
	flight->index = -1;
	flight->name = rh_strdup(name);
	flight->uid = rh_strdup(uid ? uid : "");
	flight->job_uid = rh_strdup(entry->uid);
	if (flight->name && flight->uid && flight->job_uid && resource)
		return flight;
	rh_flight_free(flight);
	return NULL;
}

static void flight_on_done(void *arg, const struct rh_outcome *outcome);

static int flight_send(struct rh_flight *flight, struct rh_request *request)
{
	struct rh_engine_entry *entry = flight->entry;

	request->resource = flight->resource;
	request->namespace_ = entry->namespace_;
	request->name = flight->name;
	return rh_engine_submit(entry->engine, request, flight_on_done, flight, &flight->id);
}

/* Submit the first request of a flight, and list it. @p flight is taken. @return 0 or RH_ENOMEM */
static int flight_start(struct rh_flight *flight, struct rh_request *request)
{
	struct rh_engine_entry *entry = flight->entry;

	if (flight_send(flight, request) < 0) {
		rh_flight_free(flight);
		return RH_ENOMEM;
	}
	flight->next = entry->flights;
	if (flight->next)
		flight->next->link = &flight->next;
	flight->link = &entry->flights;
	entry->flights = flight;
	entry->flight_count++;
	return 0;
}

/* Decide again when that may have something to do: what waits for the lead replica, or what the window held back. */
static void flight_end(struct rh_flight *flight)
{
	struct rh_engine_entry *entry = flight->entry;
	struct rh_engine *engine = entry->engine;
	bool leads = flight->index == 0;

	rh_flight_free(flight);
	if (entry->job && (leads || 2 * entry->flight_count <= engine->options.window))
		rh_queue_add(&engine->queue, &entry->item, RH_QUEUE_NOW);
	rh_engine_reap(entry);
}

static char *flight_hold_key(enum rh_action_verb verb, const char *kind, const char *name)
{
	return rh_asprintf("%d/%s/%s", (int)verb, kind, name);
}

static struct rh_hold *flight_find_hold(const struct rh_engine_entry *entry, enum rh_action_verb verb,
                                        const char *kind, const char *name)
{
	rh_auto_free char *key = flight_hold_key(verb, kind, name);

	return key ? rh_map_get(entry->holds, key) : NULL;
}

static void flight_drop_hold(struct rh_engine_entry *entry, enum rh_action_verb verb, const char *kind,
                             const char *name)
{
	rh_auto_free char *key = rh_map_size(entry->holds) > 0 ? flight_hold_key(verb, kind, name) : NULL;

	if (key)
		rh_free(rh_map_remove(entry->holds, key));
}

void rh_engine_release(struct rh_engine_entry *entry, enum rh_action_verb verb, const char *name)
{
	flight_drop_hold(entry, verb, flight_of_pod(verb) ? "Pod" : "Service", name);
}

void rh_engine_release_all(struct rh_engine_entry *entry)
{
	const char *key;
	size_t cursor = 0;
	void *hold;

	while (rh_map_next(entry->holds, &cursor, &key, &hold)) {
		(void)rh_map_remove(entry->holds, key);
		rh_free(hold);
	}
}

/* Let the write wait: for @p delay, or, when that is negative, longer each time. */
static void flight_hold(const struct rh_flight *flight, int64_t delay)
{
	struct rh_engine_entry *entry = flight->entry;
	const struct rh_engine *engine = entry->engine;
	struct rh_hold *hold = flight_find_hold(entry, flight->verb, flight->resource->kind, flight->name);
	rh_auto_free char *key = NULL;

	if (!hold) {
		key = flight_hold_key(flight->verb, flight->resource->kind, flight->name);
		hold = key ? rh_alloc(sizeof(*hold)) : NULL;
		if (!hold)
			return;
		if (rh_map_set(entry->holds, key, hold, NULL) < 0) {
			rh_free(hold);
			return;
		}
	}
	if (delay < 0)
		delay = rh_queue_wait(&engine->queue, hold->failures++);
	hold->until = engine->now + delay;
}

static bool flight_is_held(struct rh_engine_entry *entry, enum rh_action_verb verb, const char *kind, const char *name)
{
	const struct rh_hold *hold = NULL;

	if (rh_map_size(entry->holds) > 0)
		hold = flight_find_hold(entry, verb, kind, name);
	if (!hold || hold->until <= entry->engine->now)
		return false;
	rh_queue_add(&entry->engine->queue, &entry->item, hold->until);
	return true;
}

static bool flight_is_under_way(const struct rh_engine_entry *entry, enum rh_action_verb verb, const char *kind,
                                const char *name)
{
	for (const struct rh_flight *flight = entry->flights; flight; flight = flight->next) {
		if (!flight->old && flight->verb == verb && strcmp(flight->resource->kind, kind) == 0 &&
		    strcmp(flight->name, name) == 0)
			return true;
	}
	return false;
}

/* V1's words: "SuccessfulCreatePod", "Created pod: x"; "FailedDeleteService", "Error deleting: …" (COMPAT F.1). */
static void flight_tell(const struct rh_flight *flight, bool failed, const char *detail)
{
	const char *verb = flight_creates(flight->verb) ? "Create" : flight_deletes(flight->verb) ? "Delete" : "Update";
	const char *participle = flight_creates(flight->verb) ? "creating" : flight_deletes(flight->verb) ? "deleting" : "updating";
	const char *kind = flight->verb == RH_DELETE_JOB ? "Pod" : flight->resource->kind; /* as V1 says of a PyTorchJob, COMPAT B.2 */
	const char *noun = flight_of_pod(flight->verb) ? "pod" : flight->verb == RH_DELETE_JOB ? "job" : "service";
	rh_auto_free char *reason = rh_asprintf("%s%s%s", failed ? "Failed" : "Successful", verb, kind);
	rh_auto_free char *message =
		failed ? rh_asprintf("Error %s: %s", participle, detail) : rh_asprintf("%sd %s: %s", verb, noun, flight->name);

	if (reason && message)
		rh_engine_tell(flight->entry, &(struct rh_engine_news){flight->job_uid, failed, reason, message});
}

/* V1 tells nothing of further objects that went well. */
static void flight_tell_success(const struct rh_flight *flight)
{
	if (flight_of_pod(flight->verb) || flight_of_service(flight->verb) || flight->verb == RH_DELETE_JOB)
		flight_tell(flight, false, "");
}

static void flight_refused(struct rh_flight *flight, const struct rh_outcome *outcome)
{
	if (outcome->code == RH_OUTCOME_THROTTLED) {
		flight_hold(flight, outcome->retry_after);
	} else {
		if (outcome->code != RH_OUTCOME_UNKNOWN)
			flight_tell(flight, true, outcome->message);
		flight_hold(flight, -1);
	}
	flight_end(flight);
}

static void flight_ask(struct rh_flight *flight)
{
	struct rh_request request = {.verb = RH_VERB_GET};

	flight->asking = true;
	if (flight_send(flight, &request) == 0)
		return;
	flight_hold(flight, -1);
	flight_end(flight);
}

static bool flight_is_ours(const struct rh_flight *flight, const struct rh_json *object)
{
	rh_auto(child) child = NULL;

	if (rh_child_parse(object, &child) < 0)
		return false;
	return strcmp(child->owner_uid, flight->job_uid) == 0;
}

/* A further object that was written by somebody else under our name, or by us before a start, counts by its content. */
static int flight_keep_found(const struct rh_flight *flight, const struct rh_json *object)
{
	uint64_t hash = 0;

	if (flight->body && rh_engine_covers(object, flight->body) && rh_object_hash(flight->body, &hash) < 0)
		return RH_ENOMEM;
	return rh_engine_keep_object(flight->entry, object, hash);
}

static void flight_arrived(struct rh_flight *flight, const struct rh_json *object, bool tell)
{
	struct rh_engine_entry *entry = flight->entry;
	int r = flight->verb == RH_CREATE_OBJECT ? flight_keep_found(flight, object) : rh_engine_take_child(flight, object);

	if (r < 0)
		entry->engine->lost = true;
	if (tell)
		flight_tell_success(flight);
	flight_drop_hold(entry, flight->verb, flight->resource->kind, flight->name);
	flight_end(flight);
}

/* The name is taken by something that is not ours: say by whom. */
static void flight_foreign(struct rh_flight *flight, const struct rh_json *object)
{
	const struct rh_json *owner = rh_json_item(rh_json_at(object, "metadata.ownerReferences"), 0);
	const char *kind = rh_json_string(rh_json_get(owner, "kind"));
	const char *name = rh_json_string(rh_json_get(owner, "name"));
	const char *uid = rh_json_string(rh_json_get(owner, "uid"));
	rh_auto_free char *detail = NULL;

	if (kind && name)
		detail = rh_asprintf("%s \"%s\" already exists, and belongs to %s \"%s\" (UID %s)", flight->resource->plural,
		                     flight->name, kind, name, uid ? uid : "unknown");
	else
		detail = rh_asprintf("%s \"%s\" already exists, and belongs to nobody: delete or rename it",
		                     flight->resource->plural, flight->name);
	if (detail)
		flight_tell(flight, true, detail);
	flight_hold(flight, -1);
	flight_end(flight);
}

static void flight_created(struct rh_flight *flight, const struct rh_outcome *outcome)
{
	if (flight->asking && outcome->code == RH_OUTCOME_OK && outcome->object) {
		if (flight_is_ours(flight, outcome->object))
			flight_arrived(flight, outcome->object, flight->unknown);
		else
			flight_foreign(flight, outcome->object);
	} else if (flight->asking) {
		if (flight->unknown || outcome->code != RH_OUTCOME_GONE)
			flight_hold(flight, -1);
		flight_end(flight);
	} else if (outcome->code == RH_OUTCOME_OK && outcome->object) {
		flight_arrived(flight, outcome->object, true);
	} else if (outcome->code == RH_OUTCOME_OK || outcome->code == RH_OUTCOME_EXISTS ||
	           outcome->code == RH_OUTCOME_UNKNOWN) {
		flight->unknown = outcome->code != RH_OUTCOME_EXISTS;
		flight_ask(flight);
	} else {
		flight_refused(flight, outcome);
	}
}

/* @return what the flight deletes or updates, if it is still what is known under its name */
static struct rh_cached *flight_target(const struct rh_flight *flight)
{
	const struct rh_engine_entry *entry = flight->entry;
	rh_auto_free char *key = NULL;
	struct rh_cached *cached;

	if (flight_of_pod(flight->verb)) {
		cached = rh_map_get(entry->pods, flight->name);
	} else if (flight_of_service(flight->verb)) {
		cached = rh_map_get(entry->services, flight->name);
	} else {
		key = rh_engine_object_key(flight->resource->api_version, flight->resource->kind, flight->name);
		cached = key ? rh_map_get(entry->objects, key) : NULL;
	}
	return cached && strcmp(rh_cached_uid(cached), flight->uid) == 0 ? cached : NULL;
}

static void flight_drop_object(const struct rh_flight *flight)
{
	rh_auto_free char *key =
		rh_engine_object_key(flight->resource->api_version, flight->resource->kind, flight->name);

	if (key && flight_target(flight))
		rh_cached_free(rh_map_remove(flight->entry->objects, key));
}

/* A job that is gone, or going, is not decided about any more. */
static void flight_deleted_job(struct rh_flight *flight, const struct rh_outcome *outcome)
{
	struct rh_engine_entry *entry = flight->entry;
	bool is_it = entry->uid && strcmp(entry->uid, flight->job_uid) == 0;

	if (is_it && outcome->object)
		(void)rh_engine_take_job(entry, outcome->object);
	else if (is_it)
		rh_engine_forget_job(entry);
	flight_tell_success(flight);
	flight_end(flight);
}

static void flight_deleted(struct rh_flight *flight, const struct rh_outcome *outcome)
{
	struct rh_cached *cached;
	bool gone = outcome->code == RH_OUTCOME_GONE || outcome->code == RH_OUTCOME_CONFLICT;

	if (flight->verb == RH_DELETE_JOB && outcome->code == RH_OUTCOME_OK) {
		flight_deleted_job(flight, outcome);
		return;
	}
	if (outcome->code == RH_OUTCOME_OK || gone) {
		if (!gone)
			flight_tell_success(flight);
		if (flight->verb == RH_DELETE_OBJECT)
			flight_drop_object(flight);
		flight_drop_hold(flight->entry, flight->verb, flight->resource->kind, flight->name);
		flight_end(flight);
		return;
	}
	cached = flight_target(flight);
	if (cached)
		rh_cached_set_stopping(cached, false);
	flight_refused(flight, outcome);
}

/* What a server filled in goes with the rest: it fills it in again. Of metadata only labels and annotations are ours. */
static struct rh_json *flight_update_patch(const struct rh_json *actual, const struct rh_json *wanted)
{
	static const char *const kept[] = {"labels", "annotations"};
	rh_auto(json) patch = rh_engine_diff(actual, wanted);
	rh_auto(json) metadata = rh_json_new_object();

	if (!patch || !metadata)
		return NULL;
	for (size_t i = 0; i < 2; i++) {
		const struct rh_json *value = rh_json_at(rh_json_get(wanted, "metadata"), kept[i]);

		if (value && rh_json_add(metadata, kept[i], rh_json_copy(value)) < 0)
			return NULL;
	}
	rh_json_remove(patch, "status");
	if (rh_json_set(patch, "metadata", rh_take(metadata)) < 0)
		return NULL;
	return rh_take(patch);
}

static void flight_update(struct rh_flight *flight, const struct rh_json *actual)
{
	struct rh_request request = {
		.verb = RH_VERB_PATCH,
		.uid = flight->uid,
		.resource_version = rh_json_string_at(actual, "metadata.resourceVersion"),
		.body = flight_update_patch(actual, flight->body),
	};

	flight->asking = false;
	if (request.body && flight_send(flight, &request) == 0)
		return;
	flight_hold(flight, -1);
	flight_end(flight);
}

static void flight_updated(struct rh_flight *flight, const struct rh_outcome *outcome)
{
	uint64_t hash = 0;

	if (outcome->code == RH_OUTCOME_OK && flight->asking) {
		flight_update(flight, outcome->object);
	} else if (outcome->code == RH_OUTCOME_OK) {
		if (rh_object_hash(flight->body, &hash) < 0 ||
		    rh_engine_keep_object(flight->entry, outcome->object, hash) < 0)
			flight_hold(flight, -1);
		else
			flight_drop_hold(flight->entry, flight->verb, flight->resource->kind, flight->name);
		flight_end(flight);
	} else if (outcome->code == RH_OUTCOME_GONE) {
		flight_drop_object(flight);
		flight_end(flight);
	} else if (outcome->code == RH_OUTCOME_CONFLICT) {
		flight_hold(flight, -1);
		flight_end(flight);
	} else {
		flight_refused(flight, outcome);
	}
}

/* After a start. What cannot be found out now is asked again. */
static void flight_checked(struct rh_flight *flight, const struct rh_outcome *outcome)
{
	struct rh_engine_entry *entry = flight->entry;
	bool known = outcome->code == RH_OUTCOME_GONE;

	if (outcome->code == RH_OUTCOME_OK && outcome->object)
		known = !flight_is_ours(flight, outcome->object) || flight_keep_found(flight, outcome->object) == 0;
	entry->checks--;
	if (!known) {
		entry->checked = false;
		rh_queue_fail(&entry->engine->queue, &entry->item, entry->engine->now);
	}
	rh_flight_free(flight);
	if (entry->checks == 0 && entry->checked)
		rh_queue_add(&entry->engine->queue, &entry->item, RH_QUEUE_NOW);
}

static void flight_on_done(void *arg, const struct rh_outcome *outcome)
{
	struct rh_flight *flight = arg;

	flight->entry->engine->requests--;
	flight->id = 0;
	if (flight->old && flight->verb != RH_DELETE_JOB)
		flight_end(flight);
	else if (flight->checking)
		flight_checked(flight, outcome);
	else if (flight_creates(flight->verb))
		flight_created(flight, outcome);
	else if (flight_deletes(flight->verb))
		flight_deleted(flight, outcome);
	else
		flight_updated(flight, outcome);
}

int rh_engine_check_object(struct rh_engine_entry *entry, const struct rh_json *object)
{
	const char *api_version = rh_json_string_at(object, "apiVersion");
	const char *kind = rh_json_string_at(object, "kind");
	const struct rh_resource *resource = rh_engine_resource(entry->engine, api_version, kind);
	struct rh_request request = {.verb = RH_VERB_GET};
	struct rh_flight *flight = NULL;

	if (resource)
		flight = flight_new(entry, RH_CREATE_OBJECT, resource, rh_json_string_at(object, "metadata.name"), NULL);
	if (!flight)
		return RH_ENOMEM;
	flight->checking = true;
	flight->body = rh_json_copy(object);
	if (!flight->body) {
		rh_flight_free(flight);
		return RH_ENOMEM;
	}
	if (flight_start(flight, &request) < 0)
		return RH_ENOMEM;
	entry->checks++;
	return 0;
}

static int flight_build(struct rh_engine_entry *entry, const struct rh_action *action, struct rh_json **ret_body,
                        struct rh_error *err)
{
	int r = 0;
	struct rh_builder *builder = NULL;

	if (action->verb == RH_CREATE_OBJECT) {
		*ret_body = rh_json_copy(rh_json_item(entry->wanted, (size_t)action->index));
		return *ret_body ? 0 : RH_ENOMEM;
	}
	builder = rh_engine_builder(entry, &r, err);
	if (!builder)
		return r;
	return action->verb == RH_CREATE_POD ? rh_build_pod(builder, action->type, action->index, ret_body, err)
	                                     : rh_build_service(builder, action->type, action->index, ret_body, err);
}

/* What the world shows until the store has made it. */
static int flight_foresee(struct rh_flight *flight, const struct rh_json *body)
{
	if (flight->verb == RH_CREATE_POD)
		return rh_pod_parse(flight->entry->kind->kind, body, &flight->pod);
	if (rh_child_parse(body, &flight->child) < 0)
		return RH_ENOMEM;
	if (flight->verb == RH_CREATE_SERVICE)
		return 0;
	flight->body = rh_json_copy(body);
	return flight->body ? rh_object_hash(body, &flight->child->hash) : RH_ENOMEM;
}

static const struct rh_resource *flight_resource(struct rh_engine_entry *entry, const struct rh_action *action)
{
	if (flight_of_pod(action->verb))
		return &rh_resource_pods;
	if (flight_of_service(action->verb))
		return &rh_resource_services;
	if (action->verb == RH_DELETE_JOB)
		return &entry->kind->resource;
	return rh_engine_resource(entry->engine, action->api_version, action->kind);
}

static int flight_act_create(struct rh_engine_entry *entry, const struct rh_action *action,
                             const struct rh_resource *resource)
{
	struct rh_request request = {.verb = RH_VERB_CREATE};
	struct rh_error err = {0};
	rh_auto(json) body = NULL;
	struct rh_flight *flight = flight_new(entry, action->verb, resource, action->name, NULL);
	int r = flight ? flight_build(entry, action, &body, &err) : RH_ENOMEM;

	if (r == 0 && flight_foresee(flight, body) < 0)
		r = RH_ENOMEM;
	if (r == 0) {
		flight->index = action->verb == RH_CREATE_OBJECT ? -1 : action->index;
		request.body = rh_take(body);
		return flight_start(flight, &request);
	}
	if (r != RH_ENOMEM) {
		flight_tell(flight, true, err.message);
		flight_hold(flight, -1);
		rh_queue_add(&entry->engine->queue, &entry->item, RH_QUEUE_NOW);
		r = 0;
	}
	rh_flight_free(flight);
	return r;
}

static int flight_act_delete(struct rh_engine_entry *entry, const struct rh_action *action,
                             const struct rh_resource *resource)
{
	struct rh_request request = {.verb = RH_VERB_DELETE, .grace_seconds = action->force ? 0 : -1};
	struct rh_flight *flight = flight_new(entry, action->verb, resource, action->name ? action->name : entry->name,
	                                      action->uid);
	struct rh_cached *cached;

	if (!flight)
		return RH_ENOMEM;
	request.uid = *flight->uid ? flight->uid : NULL;
	if (flight_start(flight, &request) < 0)
		return RH_ENOMEM;
	cached = action->verb == RH_DELETE_JOB ? NULL : flight_target(flight);
	if (cached)
		rh_cached_set_stopping(cached, true);
	return 0;
}

static int flight_act_update(struct rh_engine_entry *entry, const struct rh_action *action,
                             const struct rh_resource *resource)
{
	struct rh_request request = {.verb = RH_VERB_GET};
	rh_auto_free char *key = rh_engine_object_key(action->api_version, action->kind, action->name);
	const struct rh_cached *cached = key ? rh_map_get(entry->objects, key) : NULL;
	struct rh_flight *flight =
		flight_new(entry, action->verb, resource, action->name, cached ? rh_cached_uid(cached) : "");

	if (flight)
		flight->body = rh_json_copy(rh_json_item(entry->wanted, (size_t)action->index));
	if (!flight || !flight->body) {
		rh_flight_free(flight);
		return RH_ENOMEM;
	}
	flight->asking = true;
	return flight_start(flight, &request);
}

int rh_engine_act(struct rh_engine_entry *entry, const struct rh_action *action)
{
	const struct rh_resource *resource = flight_resource(entry, action);
	const char *name = action->name ? action->name : entry->name;

	if (!resource)
		return RH_ENOMEM;
	if (flight_is_under_way(entry, action->verb, resource->kind, name) ||
	    flight_is_held(entry, action->verb, resource->kind, name))
		return 0;
	if (entry->flight_count >= entry->engine->options.window)
		return RH_EAGAIN;
	if (flight_creates(action->verb))
		return flight_act_create(entry, action, resource);
	if (flight_deletes(action->verb))
		return flight_act_delete(entry, action, resource);
	return flight_act_update(entry, action, resource);
}
