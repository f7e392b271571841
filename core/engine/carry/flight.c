/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes to children. What is under way is part of the world that is decided about, so nothing is asked for twice.
 */
#include <string.h>

#include "engine/carry/parts.h"

static void flight_count_create(const struct rh_flight *flight, bool begins)
{
	struct rh_engine *engine = flight->entry->engine;

	if (!rh_verb_creates(flight->verb))
		return;
	engine->creating += begins ? 1 : -1;
	flight->entry->share->creating += begins ? 1 : -1;
	engine->creating_bytes += begins ? flight->weight : -flight->weight;
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
		flight_count_create(flight, false);
	}
	if (flight->id)
		rh_engine_cancel(flight->entry->engine, flight->id);
	rh_free(flight->name);
	rh_free(flight->uid);
	rh_free(flight->job_uid);
	rh_free(flight->node);
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

int rh_flight_send(struct rh_flight *flight, struct rh_request *request)
{
	struct rh_engine_entry *entry = flight->entry;

	request->resource = flight->resource;
	request->namespace_ = entry->namespace_;
	request->name = flight->name;
	request->answer_size = rh_engine_answer_size(entry);
	return rh_engine_submit(entry->engine, request, rh_flight_on_done, flight, &flight->id);
}

/* Submit the first request of a flight, and list it. @p flight is taken. @return 0 or RH_ENOMEM */
static int flight_start(struct rh_flight *flight, struct rh_request *request)
{
	struct rh_engine_entry *entry = flight->entry;

	if (rh_flight_send(flight, request) < 0) {
		rh_flight_free(flight);
		return RH_ENOMEM;
	}
	flight->next = entry->flights;
	if (flight->next)
		flight->next->link = &flight->next;
	flight->link = &entry->flights;
	entry->flights = flight;
	entry->flight_count++;
	flight_count_create(flight, true);
	return 0;
}

struct rh_cached *rh_flight_target(const struct rh_flight *flight)
{
	const struct rh_engine_entry *entry = flight->entry;
	rh_auto_free char *key = NULL;
	struct rh_cached *cached;

	if (rh_verb_of_pod(flight->verb)) {
		cached = rh_map_get(entry->pods, flight->name);
	} else if (rh_verb_of_service(flight->verb)) {
		cached = rh_map_get(entry->services, flight->name);
	} else {
		key = rh_engine_object_key(flight->resource->api_version, flight->resource->kind, flight->name);
		cached = key ? rh_map_get(entry->objects, key) : NULL;
	}
	return cached && strcmp(rh_cached_uid(cached), flight->uid) == 0 ? cached : NULL;
}

/* V1's words for a job whose time is over differ from kind to kind: those with selectors have Pod (COMPAT B.2). */
static const char *flight_kind_word(const struct rh_flight *flight)
{
	if (flight->verb != RH_DELETE_JOB)
		return flight->resource->kind;
	return flight->entry->kind->kind->flags & RH_KIND_SELECTOR ? "Pod" : "Job";
}

static const char *flight_noun(const struct rh_flight *flight)
{
	if (rh_verb_of_pod(flight->verb))
		return "pod";
	if (rh_verb_of_service(flight->verb))
		return "service";
	return flight->verb == RH_DELETE_JOB ? "job" : flight->resource->kind;
}

/* V1's words: "SuccessfulCreatePod", "Created pod: x"; "FailedDeleteService", "Error deleting: …" (COMPAT F.1). */
void rh_flight_tell(const struct rh_flight *flight, bool failed, const char *detail)
{
	static const struct {
		const char *verb;
		const char *doing;
	} words[] = {{"Create", "creating"}, {"Read", "reading"}, {"Update", "updating"}, {"Delete", "deleting"}};
	enum rh_refused what = rh_flight_refused(flight);
	bool adopts = rh_verb_adopts(flight->verb);
	const char *verb = adopts ? "Adopt" : words[what].verb;
	const char *doing = adopts ? "adopting" : words[what].doing;
	rh_auto_free char *reason = rh_asprintf("%s%s%s", failed ? "Failed" : "Successful", verb, flight_kind_word(flight));
	rh_auto_free char *message =
		failed ? rh_asprintf("Error %s: %s", doing, detail)
			   : rh_asprintf("%s%s %s: %s", verb, adopts ? "ed" : "d", flight_noun(flight), flight->name);

	if (reason && message)
		rh_engine_tell(flight->entry, &(struct rh_engine_news){flight->job_uid, failed, reason, message});
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

int rh_engine_check_object(struct rh_engine_entry *entry, const struct rh_json *object)
{
	const char *api_version = rh_json_string_at(object, "apiVersion");
	const char *kind = rh_json_string_at(object, "kind");
	const struct rh_resource *resource = rh_engine_resource(entry->engine, api_version, kind);
	struct rh_request request = {.verb = RH_VERB_FIND};
	struct rh_flight *flight = NULL;

	if (resource)
		flight = flight_new(entry, RH_CREATE_OBJECT, resource, rh_json_string_at(object, "metadata.name"), NULL);
	if (!flight)
		return RH_ENOMEM;
	flight->checking = true;
	flight->body = rh_json_copy(object);
	if (!flight->body || rh_object_hash(object, &flight->hash) < 0) {
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
	if (rh_child_parse(flight->entry->kind->kind, body, &flight->child) < 0)
		return RH_ENOMEM;
	if (flight->verb == RH_CREATE_SERVICE)
		return 0;
	flight->body = rh_json_copy(body);
	if (!flight->body || rh_object_hash(body, &flight->hash) < 0)
		return RH_ENOMEM;
	flight->child->hash = flight->hash;
	return 0;
}

static const struct rh_resource *flight_resource(struct rh_engine_entry *entry, const struct rh_action *action)
{
	if (rh_verb_of_pod(action->verb))
		return &rh_resource_pods;
	if (rh_verb_of_service(action->verb))
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
		flight->probe = rh_engine_is_refused(entry, resource->kind);
		flight->weight = rh_json_weight(body);
		request.body = rh_take(body);
		return flight_start(flight, &request);
	}
	if (r != RH_ENOMEM && rh_engine_blame(entry, r, &err)) {
		r = 0;
	} else if (r != RH_ENOMEM) {
		rh_flight_tell(flight, true, err.message);
		rh_engine_hold(flight, -1);
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
	struct rh_flight *flight =
		flight_new(entry, action->verb, resource, action->name ? action->name : entry->name, action->uid);
	struct rh_cached *cached;

	if (!flight)
		return RH_ENOMEM;
	request.uid = *flight->uid ? flight->uid : NULL;
	cached = action->verb == RH_DELETE_JOB ? NULL : rh_flight_target(flight);
	if (action->force && cached)
		flight->node = rh_strdup(cached->pod->node);
	if (flight_start(flight, &request) < 0)
		return RH_ENOMEM;
	if (cached)
		rh_cached_set_stopping(cached, true);
	return 0;
}

static int flight_act_update(struct rh_engine_entry *entry, const struct rh_action *action,
                             const struct rh_resource *resource)
{
	struct rh_request request = {.verb = RH_VERB_FIND};
	rh_auto_free char *key = rh_engine_object_key(action->api_version, action->kind, action->name);
	const struct rh_cached *cached = key ? rh_map_get(entry->objects, key) : NULL;
	struct rh_flight *flight =
		flight_new(entry, action->verb, resource, action->name, cached ? rh_cached_uid(cached) : "");

	if (flight)
		flight->body = rh_json_copy(rh_json_item(entry->wanted, (size_t)action->index));
	if (!flight || !flight->body || rh_object_hash(flight->body, &flight->hash) < 0) {
		rh_flight_free(flight);
		return RH_ENOMEM;
	}
	flight->asking = true;
	return flight_start(flight, &request);
}

/* What owners it has already is known only by looking. */
static int flight_act_adopt(struct rh_engine_entry *entry, const struct rh_action *action,
                            const struct rh_resource *resource)
{
	struct rh_request request = {.verb = RH_VERB_GET};
	struct rh_flight *flight = flight_new(entry, action->verb, resource, action->name, action->uid);

	if (!flight)
		return RH_ENOMEM;
	flight->asking = true;
	return flight_start(flight, &request);
}

/* So many may begin when they begin that each job has a few, and that the store never runs out of them. */
bool rh_engine_may_feed(const struct rh_engine *engine)
{
	return engine->starved.count > 0 && 4 * engine->creating <= 3 * engine->options.creates &&
	       (engine->creating == 0 || engine->creating_bytes < RH_ENGINE_CREATE_BYTES);
}

void rh_engine_feed(struct rh_engine *engine)
{
	size_t room = engine->options.creates - engine->creating;
	struct rh_queue_item *item;

	if (!rh_engine_may_feed(engine))
		return;
	while (room-- > 0 && (item = rh_queue_take(&engine->starved, RH_QUEUE_NOW)))
		rh_engine_touch((struct rh_engine_entry *)((char *)item - offsetof(struct rh_engine_entry, starved)));
}

static bool flight_must_wait(struct rh_engine_entry *entry, bool creates)
{
	struct rh_engine *engine = entry->engine;

	if (entry->flight_count >= engine->options.window)
		return true;
	if (!creates || rh_engine_may_create(engine, entry->share))
		return false;
	rh_queue_add(&engine->starved, &entry->starved, RH_QUEUE_NOW);
	return true;
}

int rh_engine_act(struct rh_engine_entry *entry, const struct rh_action *action)
{
	const struct rh_resource *resource = flight_resource(entry, action);
	const char *name = action->name ? action->name : entry->name;
	bool looks = action->verb == RH_LOOK_OBJECT; /* it stands for the create that comes to nothing meanwhile */
	enum rh_action_verb verb = looks ? RH_CREATE_OBJECT : action->verb;

	if (!resource)
		return RH_ENOMEM;
	if (flight_is_under_way(entry, verb, resource->kind, name) || rh_engine_is_held(entry, verb, resource->kind, name))
		return 0;
	if (flight_must_wait(entry, rh_verb_creates(action->verb)))
		return RH_EAGAIN;
	if (looks)
		return rh_engine_check_object(entry, rh_json_item(entry->wanted, (size_t)action->index));
	if (rh_verb_creates(action->verb))
		return flight_act_create(entry, action, resource);
	if (rh_verb_deletes(action->verb))
		return flight_act_delete(entry, action, resource);
	if (rh_verb_adopts(action->verb))
		return flight_act_adopt(entry, action, resource);
	return flight_act_update(entry, action, resource);
}
