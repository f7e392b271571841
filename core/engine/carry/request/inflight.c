/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes to children. Requests in flight are part of the world of the next decision, so that none is sent twice.
 */
#include "engine/carry/request/inflight.h"

#include <string.h>

#include "engine/carry/entry.h"
#include "engine/carry/request/backoff.h"
#include "engine/carry/request/completion.h"
#include "engine/carry/request/verbs.h"

void rh_inflight_free(struct rh_inflight *inflight)
{
	if (!inflight)
		return;
	if (inflight->link) {
		*inflight->link = inflight->next;
		if (inflight->next)
			inflight->next->link = inflight->link;
		inflight->entry->inflight.count--;
		if (rh_verb_creates(inflight->verb))
			rh_share_end_create(inflight->entry->engine, inflight->entry->share, inflight->weight);
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
	for (size_t i = 0; i < inflight->tombstone_count; i++)
		rh_free(inflight->tombstones[i]);
	rh_free(inflight->tombstones);
	rh_free(inflight);
}

static struct rh_inflight *inflight_new(struct rh_entry *entry, enum rh_action_verb verb,
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
	struct rh_entry *entry = inflight->entry;

	request->resource = inflight->resource;
	request->namespace_ = entry->namespace_;
	request->name = inflight->name;
	request->answer_size = rh_trees_answer_size(entry);
	return rh_engine_submit(entry->engine, request, rh_completion_on_done, inflight, &inflight->id);
}

/* Submit the first request of @p inflight (taken), and list it. @return 0 or RH_ENOMEM */
static int inflight_start(struct rh_inflight *inflight, struct rh_request *request)
{
	struct rh_entry *entry = inflight->entry;

	if (rh_inflight_send(inflight, request) < 0) {
		rh_inflight_free(inflight);
		return RH_ENOMEM;
	}
	inflight->next = entry->inflight.list;
	if (inflight->next)
		inflight->next->link = &inflight->next;
	inflight->link = &entry->inflight.list;
	entry->inflight.list = inflight;
	entry->inflight.count++;
	if (rh_verb_creates(inflight->verb))
		rh_share_begin_create(entry->engine, entry->share, inflight->weight);
	return 0;
}

/* Further objects are listed: V1's role grants to list them, and not to get them. */
static enum rh_verb inflight_read_verb(const struct rh_inflight *inflight)
{
	return rh_verb_of_object(inflight->verb) ? RH_VERB_FIND : RH_VERB_GET;
}

int rh_inflight_read(struct rh_inflight *inflight, enum rh_inflight_state state)
{
	struct rh_request request = {.verb = inflight_read_verb(inflight)};

	inflight->state = state;
	return rh_inflight_send(inflight, &request);
}

void rh_inflight_abandon_all(struct rh_entry *entry)
{
	for (struct rh_inflight *inflight = entry->inflight.list; inflight; inflight = inflight->next)
		inflight->abandoned = true;
}

struct rh_cached *rh_inflight_target(const struct rh_inflight *inflight)
{
	const struct rh_entry *entry = inflight->entry;
	rh_auto_free char *key = NULL;
	struct rh_cached *cached;

	if (rh_verb_of_pod(inflight->verb)) {
		cached = rh_map_get(entry->children.pods, inflight->name);
	} else if (rh_verb_of_service(inflight->verb)) {
		cached = rh_map_get(entry->children.services, inflight->name);
	} else {
		key = rh_objects_key(inflight->resource->api_version, inflight->resource->kind, inflight->name);
		cached = key ? rh_map_get(entry->objects.known, key) : NULL;
	}
	return cached && strcmp(rh_cached_uid(cached), inflight->uid) == 0 ? cached : NULL;
}

/* For a job whose TTL has expired, V1's reason depends on the kind: kinds with selectors have Pod (v1-behaviour B.2).
 */
static const char *inflight_kind_suffix(const struct rh_inflight *inflight)
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

/* What V1 writes in the reason and in the message (v1-behaviour F.1): "FailedCreatePod", "Error creating: …". */
struct inflight_texts {
	const char *verb;
	const char *doing;
	const char *past;
};

static struct inflight_texts inflight_texts(const struct rh_inflight *inflight, enum rh_refused what)
{
	static const struct inflight_texts texts[] = {
		[RH_REFUSED_CREATE] = {"Create", "creating", "Created"},
		[RH_REFUSED_READ] = {"Read", "reading", "Read"},
		[RH_REFUSED_UPDATE] = {"Update", "updating", "Updated"},
		[RH_REFUSED_DELETE] = {"Delete", "deleting", "Deleted"},
	};

	return rh_verb_adopts(inflight->verb) ? (struct inflight_texts){"Adopt", "adopting", "Adopted"} : texts[what];
}

enum rh_refused rh_inflight_refused(const struct rh_inflight *inflight)
{
	if (rh_verb_of_object(inflight->verb) && inflight->state != RH_INFLIGHT_SENT)
		return RH_REFUSED_READ;
	if (rh_verb_creates(inflight->verb))
		return RH_REFUSED_CREATE;
	return rh_verb_deletes(inflight->verb) ? RH_REFUSED_DELETE : RH_REFUSED_UPDATE;
}

void rh_inflight_report_success(const struct rh_inflight *inflight)
{
	const struct inflight_texts texts = inflight_texts(inflight, rh_inflight_refused(inflight));
	rh_auto_free char *reason = rh_asprintf("Successful%s%s", texts.verb, inflight_kind_suffix(inflight));
	rh_auto_free char *message = rh_asprintf("%s %s: %s", texts.past, inflight_noun(inflight), inflight->name);

	if (reason && message)
		rh_events_emit(inflight->entry, &(struct rh_event_spec){inflight->job_uid, false, reason, message});
}

void rh_inflight_report_failure(const struct rh_inflight *inflight, enum rh_refused what, const char *detail)
{
	const struct inflight_texts texts = inflight_texts(inflight, what);
	rh_auto_free char *reason = rh_asprintf("Failed%s%s", texts.verb, inflight_kind_suffix(inflight));
	rh_auto_free char *message = rh_asprintf("Error %s: %s", texts.doing, detail);

	if (reason && message)
		rh_events_emit(inflight->entry, &(struct rh_event_spec){inflight->job_uid, true, reason, message});
}

bool rh_inflight_has_tombstone(const struct rh_inflight *inflight, const char *uid)
{
	for (size_t i = 0; i < inflight->tombstone_count; i++) {
		if (strcmp(inflight->tombstones[i], uid) == 0)
			return true;
	}
	return false;
}

/* @return 0 or RH_ENOMEM */
static int inflight_add_tombstone(struct rh_inflight *inflight, const char *uid)
{
	char **grown = rh_realloc_array(inflight->tombstones, inflight->tombstone_count + 1, sizeof(char *));

	if (!grown)
		return RH_ENOMEM;
	inflight->tombstones = grown;
	grown[inflight->tombstone_count] = rh_strdup(uid);
	if (!grown[inflight->tombstone_count])
		return RH_ENOMEM;
	inflight->tombstone_count++;
	return 0;
}

static bool inflight_is_about(const struct rh_inflight *inflight, enum rh_action_verb verb, const char *name)
{
	return rh_verb_of_pod(inflight->verb) == rh_verb_of_pod(verb) &&
	       rh_verb_of_service(inflight->verb) == rh_verb_of_service(verb) && strcmp(inflight->name, name) == 0;
}

void rh_inflight_add_tombstones(struct rh_entry *entry, enum rh_action_verb verb, const char *name, const char *uid)
{
	for (struct rh_inflight *inflight = entry->inflight.list; inflight && *uid; inflight = inflight->next) {
		if (inflight_is_about(inflight, verb, name) && !rh_inflight_has_tombstone(inflight, uid) &&
		    inflight_add_tombstone(inflight, uid) < 0)
			entry->engine->lost = true;
	}
	rh_backoff_clear_child(entry, verb, name);
}

static bool inflight_is_sent(const struct rh_entry *entry, enum rh_action_verb verb, const char *kind, const char *name)
{
	for (const struct rh_inflight *inflight = entry->inflight.list; inflight; inflight = inflight->next) {
		if (!inflight->abandoned && inflight->verb == verb && strcmp(inflight->resource->kind, kind) == 0 &&
		    strcmp(inflight->name, name) == 0)
			return true;
	}
	return false;
}

int rh_inflight_check_object(struct rh_entry *entry, const struct rh_json *object)
{
	const char *api_version = rh_json_string_at(object, "apiVersion");
	const char *kind = rh_json_string_at(object, "kind");
	const struct rh_resource *resource = rh_objects_resource(entry->engine, api_version, kind);
	struct rh_request request = {.verb = RH_VERB_FIND};
	struct rh_inflight *inflight = NULL;

	if (resource)
		inflight = inflight_new(entry, RH_CREATE_OBJECT, resource, rh_json_string_at(object, "metadata.name"), NULL);
	if (!inflight)
		return RH_ENOMEM;
	inflight->state = RH_INFLIGHT_CHECKING;
	inflight->body = rh_json_copy(object);
	if (!inflight->body || rh_object_hash(object, &inflight->hash) < 0) {
		rh_inflight_free(inflight);
		return RH_ENOMEM;
	}
	if (inflight_start(inflight, &request) < 0)
		return RH_ENOMEM;
	rh_objects_begin_check(entry);
	return 0;
}

static int inflight_build(struct rh_entry *entry, const struct rh_action *action, struct rh_json **ret_body,
                          struct rh_error *err)
{
	int r = 0;
	struct rh_builder *builder = NULL;

	if (action->verb == RH_CREATE_OBJECT) {
		*ret_body = rh_json_copy(rh_json_item(entry->objects.desired, (size_t)action->index));
		return *ret_body ? 0 : RH_ENOMEM;
	}
	builder = rh_work_builder(entry, &r, err);
	if (!builder)
		return r;
	return action->verb == RH_CREATE_POD ? rh_build_pod(builder, action->type, action->index, ret_body, err)
	                                     : rh_build_service(builder, action->type, action->index, ret_body, err);
}

/* Parse the object that the world shows until the store has created it. */
static int inflight_predict(struct rh_inflight *inflight, const struct rh_json *body)
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

static const struct rh_resource *inflight_resource(struct rh_entry *entry, const struct rh_action *action)
{
	if (rh_verb_of_pod(action->verb))
		return &rh_resource_pods;
	if (rh_verb_of_service(action->verb))
		return &rh_resource_services;
	if (action->verb == RH_DELETE_JOB)
		return &entry->kind->resource;
	return rh_objects_resource(entry->engine, action->api_version, action->kind);
}

static int inflight_act_create(struct rh_entry *entry, const struct rh_action *action,
                               const struct rh_resource *resource)
{
	struct rh_request request = {.verb = RH_VERB_CREATE};
	struct rh_error err = {0};
	rh_auto(json) body = NULL;
	struct rh_inflight *inflight = inflight_new(entry, action->verb, resource, action->name, NULL);
	int r = inflight ? inflight_build(entry, action, &body, &err) : RH_ENOMEM;

	if (r == 0 && inflight_predict(inflight, body) < 0)
		r = RH_ENOMEM;
	if (r == 0) {
		inflight->index = action->verb == RH_CREATE_OBJECT ? -1 : action->index;
		inflight->probe = rh_refusals_has_kind(entry, resource->kind);
		inflight->weight = rh_json_weight(body);
		request.body = rh_take(body);
		return inflight_start(inflight, &request);
	}
	if (r != RH_ENOMEM && rh_work_fail_plugin(entry, r, &err)) {
		r = 0;
	} else if (r != RH_ENOMEM) {
		rh_inflight_report_failure(inflight, RH_REFUSED_CREATE, err.message);
		rh_backoff_add(inflight, -1);
		rh_queue_add(&entry->engine->queue, &entry->item, RH_QUEUE_NOW);
		r = 0;
	}
	rh_inflight_free(inflight);
	return r;
}

static int inflight_act_delete(struct rh_entry *entry, const struct rh_action *action,
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

static int inflight_act_update(struct rh_entry *entry, const struct rh_action *action,
                               const struct rh_resource *resource)
{
	struct rh_request request = {.verb = RH_VERB_FIND};
	rh_auto_free char *key = rh_objects_key(action->api_version, action->kind, action->name);
	const struct rh_cached *cached = key ? rh_map_get(entry->objects.known, key) : NULL;
	struct rh_inflight *inflight =
		inflight_new(entry, action->verb, resource, action->name, cached ? rh_cached_uid(cached) : "");

	if (inflight)
		inflight->body = rh_json_copy(rh_json_item(entry->objects.desired, (size_t)action->index));
	if (!inflight || !inflight->body || rh_object_hash(inflight->body, &inflight->hash) < 0) {
		rh_inflight_free(inflight);
		return RH_ENOMEM;
	}
	inflight->state = RH_INFLIGHT_READING;
	return inflight_start(inflight, &request);
}

/* The owners that the object has already are found by a read. */
static int inflight_act_adopt(struct rh_entry *entry, const struct rh_action *action,
                              const struct rh_resource *resource)
{
	struct rh_request request = {.verb = RH_VERB_GET};
	struct rh_inflight *inflight = inflight_new(entry, action->verb, resource, action->name, action->uid);

	if (!inflight)
		return RH_ENOMEM;
	inflight->state = RH_INFLIGHT_READING;
	return inflight_start(inflight, &request);
}

/* Creates are admitted in batches: each job gets a few, and the store always has some. */
bool rh_inflight_may_admit(const struct rh_engine *engine)
{
	return engine->creates.throttled.count > 0 && 4 * engine->creates.count <= 3 * engine->options.creates &&
	       (engine->creates.count == 0 || engine->creates.bytes < RH_SHARE_CREATE_BYTES);
}

void rh_inflight_admit(struct rh_engine *engine)
{
	size_t room = engine->options.creates - engine->creates.count;
	struct rh_queue_item *item;

	if (!rh_inflight_may_admit(engine))
		return;
	while (room-- > 0 && (item = rh_queue_take(&engine->creates.throttled, RH_QUEUE_NOW)))
		rh_entry_touch((struct rh_entry *)((char *)item - offsetof(struct rh_entry, inflight.throttled)));
}

static bool inflight_must_wait(struct rh_entry *entry, bool creates)
{
	struct rh_engine *engine = entry->engine;

	if (entry->inflight.count >= engine->options.window)
		return true;
	if (!creates || rh_share_may_create(engine, entry->share))
		return false;
	rh_queue_add(&engine->creates.throttled, &entry->inflight.throttled, RH_QUEUE_NOW);
	return true;
}

int rh_inflight_act(struct rh_entry *entry, const struct rh_action *action)
{
	const struct rh_resource *resource = inflight_resource(entry, action);
	const char *name = action->name ? action->name : entry->name;
	bool checks = action->verb == RH_LOOK_OBJECT; /* it takes the place of a create that would fail */
	enum rh_action_verb verb = checks ? RH_CREATE_OBJECT : action->verb;

	if (!resource)
		return RH_ENOMEM;
	if (inflight_is_sent(entry, verb, resource->kind, name) || rh_backoff_is_waiting(entry, verb, resource->kind, name))
		return 0;
	if (inflight_must_wait(entry, rh_verb_creates(action->verb)))
		return RH_EAGAIN;
	if (checks)
		return rh_inflight_check_object(entry, rh_json_item(entry->objects.desired, (size_t)action->index));
	if (rh_verb_creates(action->verb))
		return inflight_act_create(entry, action, resource);
	if (rh_verb_deletes(action->verb))
		return inflight_act_delete(entry, action, resource);
	if (rh_verb_adopts(action->verb))
		return inflight_act_adopt(entry, action, resource);
	return inflight_act_update(entry, action, resource);
}
