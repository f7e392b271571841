/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes to children. What is under way is part of the world that is decided about, so nothing is asked for twice.
 */
#include <string.h>

#include "engine/carry/parts.h"

static void flight_count_create(const struct rh_inflight *inflight, bool begins)
{
	struct rh_engine *engine = inflight->entry->engine;

	if (!rh_verb_creates(inflight->verb))
		return;
	engine->creating += begins ? 1 : -1;
	inflight->entry->share->creating += begins ? 1 : -1;
	engine->creating_bytes += begins ? inflight->weight : -inflight->weight;
}

void rh_inflight_free(struct rh_inflight *inflight)
{
	if (!inflight)
		return;
	if (inflight->link) {
		*inflight->link = inflight->next;
		if (inflight->next)
			inflight->next->link = inflight->link;
		inflight->entry->inflight_count--;
		flight_count_create(inflight, false);
	}
	if (inflight->id)
		rh_engine_cancel(inflight->entry->engine, inflight->id);
	rh_free(inflight->name);
	rh_free(inflight->uid);
	rh_free(inflight->job_uid);
	rh_free(inflight->node);
	rh_pod_free(inflight->pod);
	rh_child_free(inflight->child);
	rh_json_free(inflight->body);
	rh_str_deinit(&inflight->tombstones);
	rh_free(inflight);
}

static struct rh_inflight *inflight_new(struct rh_engine_entry *entry, enum rh_action_verb verb,
                                        const struct rh_resource *resource, const char *name, const char *uid)
{
	struct rh_inflight *inflight = rh_alloc(sizeof(*inflight));

	if (!inflight)
		return NULL;
	inflight->entry = entry;
	inflight->verb = verb;
	inflight->resource = resource;
	inflight->index = -1;
	inflight->name = rh_strdup(name);
	inflight->uid = rh_strdup(uid ? uid : "");
	inflight->job_uid = rh_strdup(entry->uid);
	if (inflight->name && inflight->uid && inflight->job_uid && resource)
		return inflight;
	rh_inflight_free(inflight);
	return NULL;
}

int rh_inflight_send(struct rh_inflight *inflight, struct rh_request *request)
{
	struct rh_engine_entry *entry = inflight->entry;

	request->resource = inflight->resource;
	request->namespace_ = entry->namespace_;
	request->name = inflight->name;
	request->answer_size = rh_engine_answer_size(entry);
	return rh_engine_submit(entry->engine, request, rh_inflight_on_done, inflight, &inflight->id);
}

/* Submit the first request of a flight, and list it. @p flight is taken. @return 0 or RH_ENOMEM */
static int inflight_start(struct rh_inflight *inflight, struct rh_request *request)
{
	struct rh_engine_entry *entry = inflight->entry;

	if (rh_inflight_send(inflight, request) < 0) {
		rh_inflight_free(inflight);
		return RH_ENOMEM;
	}
	inflight->next = entry->inflight_list;
	if (inflight->next)
		inflight->next->link = &inflight->next;
	inflight->link = &entry->inflight_list;
	entry->inflight_list = inflight;
	entry->inflight_count++;
	flight_count_create(inflight, true);
	return 0;
}

struct rh_cached *rh_inflight_target(const struct rh_inflight *inflight)
{
	const struct rh_engine_entry *entry = inflight->entry;
	rh_auto_free char *key = NULL;
	struct rh_cached *cached;

	if (rh_verb_of_pod(inflight->verb)) {
		cached = rh_map_get(entry->pods, inflight->name);
	} else if (rh_verb_of_service(inflight->verb)) {
		cached = rh_map_get(entry->services, inflight->name);
	} else {
		key = rh_engine_object_key(inflight->resource->api_version, inflight->resource->kind, inflight->name);
		cached = key ? rh_map_get(entry->objects, key) : NULL;
	}
	return cached && strcmp(rh_cached_uid(cached), inflight->uid) == 0 ? cached : NULL;
}

/* V1's words for a job whose time is over differ from kind to kind: those with selectors have Pod (COMPAT B.2). */
static const char *inflight_kind_word(const struct rh_inflight *inflight)
{
	if (inflight->verb != RH_DELETE_JOB)
		return inflight->resource->kind;
	return inflight->entry->kind->kind->flags & RH_KIND_SELECTOR ? "Pod" : "Job";
}

static const char *inflight_noun(const struct rh_inflight *inflight)
{
	if (rh_verb_of_pod(inflight->verb))
		return "pod";
	if (rh_verb_of_service(inflight->verb))
		return "service";
	return inflight->verb == RH_DELETE_JOB ? "job" : inflight->resource->kind;
}

/* V1's words: "SuccessfulCreatePod", "Created pod: x"; "FailedDeleteService", "Error deleting: …" (COMPAT F.1). */
void rh_inflight_report(const struct rh_inflight *inflight, bool failed, const char *detail)
{
	static const struct {
		const char *verb;
		const char *doing;
	} words[] = {{"Create", "creating"}, {"Read", "reading"}, {"Update", "updating"}, {"Delete", "deleting"}};
	enum rh_refused what = rh_inflight_refused(inflight);
	bool adopts = rh_verb_adopts(inflight->verb);
	const char *verb = adopts ? "Adopt" : words[what].verb;
	const char *doing = adopts ? "adopting" : words[what].doing;
	rh_auto_free char *reason =
		rh_asprintf("%s%s%s", failed ? "Failed" : "Successful", verb, inflight_kind_word(inflight));
	rh_auto_free char *message =
		failed ? rh_asprintf("Error %s: %s", doing, detail)
			   : rh_asprintf("%s%s %s: %s", verb, adopts ? "ed" : "d", inflight_noun(inflight), inflight->name);

	if (reason && message)
		rh_engine_emit(inflight->entry, &(struct rh_event_spec){inflight->job_uid, failed, reason, message});
}

static bool inflight_is_under_way(const struct rh_engine_entry *entry, enum rh_action_verb verb, const char *kind,
                                  const char *name)
{
	for (const struct rh_inflight *inflight = entry->inflight_list; inflight; inflight = inflight->next) {
		if (!inflight->old && inflight->verb == verb && strcmp(inflight->resource->kind, kind) == 0 &&
		    strcmp(inflight->name, name) == 0)
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
	struct rh_inflight *inflight = NULL;

	if (resource)
		inflight = inflight_new(entry, RH_CREATE_OBJECT, resource, rh_json_string_at(object, "metadata.name"), NULL);
	if (!inflight)
		return RH_ENOMEM;
	inflight->checking = true;
	inflight->body = rh_json_copy(object);
	if (!inflight->body || rh_object_hash(object, &inflight->hash) < 0) {
		rh_inflight_free(inflight);
		return RH_ENOMEM;
	}
	if (inflight_start(inflight, &request) < 0)
		return RH_ENOMEM;
	entry->checks++;
	return 0;
}

static int inflight_build(struct rh_engine_entry *entry, const struct rh_action *action, struct rh_json **ret_body,
                          struct rh_error *err)
{
	int r = 0;
	struct rh_builder *builder = NULL;

	if (action->verb == RH_CREATE_OBJECT) {
		*ret_body = rh_json_copy(rh_json_item(entry->desired, (size_t)action->index));
		return *ret_body ? 0 : RH_ENOMEM;
	}
	builder = rh_engine_builder(entry, &r, err);
	if (!builder)
		return r;
	return action->verb == RH_CREATE_POD ? rh_build_pod(builder, action->type, action->index, ret_body, err)
	                                     : rh_build_service(builder, action->type, action->index, ret_body, err);
}

/* What the world shows until the store has made it. */
static int inflight_foresee(struct rh_inflight *inflight, const struct rh_json *body)
{
	if (inflight->verb == RH_CREATE_POD)
		return rh_pod_parse(inflight->entry->kind->kind, body, &inflight->pod);
	if (rh_child_parse(inflight->entry->kind->kind, body, &inflight->child) < 0)
		return RH_ENOMEM;
	if (inflight->verb == RH_CREATE_SERVICE)
		return 0;
	inflight->body = rh_json_copy(body);
	if (!inflight->body || rh_object_hash(body, &inflight->hash) < 0)
		return RH_ENOMEM;
	inflight->child->hash = inflight->hash;
	return 0;
}

static const struct rh_resource *inflight_resource(struct rh_engine_entry *entry, const struct rh_action *action)
{
	if (rh_verb_of_pod(action->verb))
		return &rh_resource_pods;
	if (rh_verb_of_service(action->verb))
		return &rh_resource_services;
	if (action->verb == RH_DELETE_JOB)
		return &entry->kind->resource;
	return rh_engine_resource(entry->engine, action->api_version, action->kind);
}

static int inflight_act_create(struct rh_engine_entry *entry, const struct rh_action *action,
                               const struct rh_resource *resource)
{
	struct rh_request request = {.verb = RH_VERB_CREATE};
	struct rh_error err = {0};
	rh_auto(json) body = NULL;
	struct rh_inflight *inflight = inflight_new(entry, action->verb, resource, action->name, NULL);
	int r = inflight ? inflight_build(entry, action, &body, &err) : RH_ENOMEM;

	if (r == 0 && inflight_foresee(inflight, body) < 0)
		r = RH_ENOMEM;
	if (r == 0) {
		inflight->index = action->verb == RH_CREATE_OBJECT ? -1 : action->index;
		inflight->probe = rh_engine_is_refused(entry, resource->kind);
		inflight->weight = rh_json_weight(body);
		request.body = rh_take(body);
		return inflight_start(inflight, &request);
	}
	if (r != RH_ENOMEM && rh_engine_blame(entry, r, &err)) {
		r = 0;
	} else if (r != RH_ENOMEM) {
		rh_inflight_report(inflight, true, err.message);
		rh_engine_back_off(inflight, -1);
		rh_queue_add(&entry->engine->queue, &entry->item, RH_QUEUE_NOW);
		r = 0;
	}
	rh_inflight_free(inflight);
	return r;
}

static int inflight_act_delete(struct rh_engine_entry *entry, const struct rh_action *action,
                               const struct rh_resource *resource)
{
	struct rh_request request = {.verb = RH_VERB_DELETE, .grace_seconds = action->force ? 0 : -1};
	struct rh_inflight *inflight =
		inflight_new(entry, action->verb, resource, action->name ? action->name : entry->name, action->uid);
	struct rh_cached *cached;

	if (!inflight)
		return RH_ENOMEM;
	request.uid = *inflight->uid ? inflight->uid : NULL;
	cached = action->verb == RH_DELETE_JOB ? NULL : rh_inflight_target(inflight);
	if (action->force && cached)
		inflight->node = rh_strdup(cached->pod->node);
	if (inflight_start(inflight, &request) < 0)
		return RH_ENOMEM;
	if (cached)
		rh_cached_set_stopping(cached, true);
	return 0;
}

static int inflight_act_update(struct rh_engine_entry *entry, const struct rh_action *action,
                               const struct rh_resource *resource)
{
	struct rh_request request = {.verb = RH_VERB_FIND};
	rh_auto_free char *key = rh_engine_object_key(action->api_version, action->kind, action->name);
	const struct rh_cached *cached = key ? rh_map_get(entry->objects, key) : NULL;
	struct rh_inflight *inflight =
		inflight_new(entry, action->verb, resource, action->name, cached ? rh_cached_uid(cached) : "");

	if (inflight)
		inflight->body = rh_json_copy(rh_json_item(entry->desired, (size_t)action->index));
	if (!inflight || !inflight->body || rh_object_hash(inflight->body, &inflight->hash) < 0) {
		rh_inflight_free(inflight);
		return RH_ENOMEM;
	}
	inflight->asking = true;
	return inflight_start(inflight, &request);
}

/* What owners it has already is known only by looking. */
static int inflight_act_adopt(struct rh_engine_entry *entry, const struct rh_action *action,
                              const struct rh_resource *resource)
{
	struct rh_request request = {.verb = RH_VERB_GET};
	struct rh_inflight *inflight = inflight_new(entry, action->verb, resource, action->name, action->uid);

	if (!inflight)
		return RH_ENOMEM;
	inflight->asking = true;
	return inflight_start(inflight, &request);
}

/* So many may begin when they begin that each job has a few, and that the store never runs out of them. */
bool rh_engine_may_admit_creates(const struct rh_engine *engine)
{
	return engine->throttled.count > 0 && 4 * engine->creating <= 3 * engine->options.creates &&
	       (engine->creating == 0 || engine->creating_bytes < RH_ENGINE_CREATE_BYTES);
}

void rh_engine_admit_creates(struct rh_engine *engine)
{
	size_t room = engine->options.creates - engine->creating;
	struct rh_queue_item *item;

	if (!rh_engine_may_admit_creates(engine))
		return;
	while (room-- > 0 && (item = rh_queue_take(&engine->throttled, RH_QUEUE_NOW)))
		rh_engine_touch((struct rh_engine_entry *)((char *)item - offsetof(struct rh_engine_entry, throttled)));
}

static bool inflight_must_wait(struct rh_engine_entry *entry, bool creates)
{
	struct rh_engine *engine = entry->engine;

	if (entry->inflight_count >= engine->options.window)
		return true;
	if (!creates || rh_engine_may_create(engine, entry->share))
		return false;
	rh_queue_add(&engine->throttled, &entry->throttled, RH_QUEUE_NOW);
	return true;
}

int rh_engine_act(struct rh_engine_entry *entry, const struct rh_action *action)
{
	const struct rh_resource *resource = inflight_resource(entry, action);
	const char *name = action->name ? action->name : entry->name;
	bool looks = action->verb == RH_LOOK_OBJECT; /* it stands for the create that comes to nothing meanwhile */
	enum rh_action_verb verb = looks ? RH_CREATE_OBJECT : action->verb;

	if (!resource)
		return RH_ENOMEM;
	if (inflight_is_under_way(entry, verb, resource->kind, name) ||
	    rh_engine_is_backing_off(entry, verb, resource->kind, name))
		return 0;
	if (inflight_must_wait(entry, rh_verb_creates(action->verb)))
		return RH_EAGAIN;
	if (looks)
		return rh_engine_check_object(entry, rh_json_item(entry->desired, (size_t)action->index));
	if (rh_verb_creates(action->verb))
		return inflight_act_create(entry, action, resource);
	if (rh_verb_deletes(action->verb))
		return inflight_act_delete(entry, action, resource);
	if (rh_verb_adopts(action->verb))
		return inflight_act_adopt(entry, action, resource);
	return inflight_act_update(entry, action, resource);
}
