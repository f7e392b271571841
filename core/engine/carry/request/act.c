/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/carry/request/act.h"

#include <stddef.h>
#include <string.h>

#include "engine/carry/entry.h"
#include "engine/carry/failure.h"
#include "engine/carry/request/backoff.h"
#include "engine/carry/request/completion.h"
#include "engine/carry/request/report.h"
#include "engine/carry/request/verbs.h"
#include "job/keep.h"

/* @return an action whose responses completion.c takes; NULL when memory is out */
static struct rh_inflight *act_new(struct rh_entry *entry, enum rh_action_verb verb, const struct rh_resource *resource,
                                   const char *name, const char *uid)
{
	struct rh_inflight *inflight = rh_inflight_new(entry, verb, resource, name, uid);

	if (inflight)
		inflight->done = rh_completion_on_done;
	return inflight;
}

static bool act_is_sent(const struct rh_entry *entry, enum rh_action_verb verb, const char *kind, const char *name)
{
	for (const struct rh_inflight *inflight = entry->inflight.list; inflight; inflight = inflight->next) {
		if (!inflight->abandoned && inflight->verb == verb && strcmp(inflight->resource->kind, kind) == 0 &&
		    strcmp(inflight->name, name) == 0)
			return true;
	}
	return false;
}

int rh_act_check_object(struct rh_entry *entry, const struct rh_json *object)
{
	const char *api_version = rh_json_string_at(object, "apiVersion");
	const char *kind = rh_json_string_at(object, "kind");
	const struct rh_resource *resource = rh_objects_resource(entry->engine, api_version, kind);
	struct rh_request request = {.verb = RH_VERB_FIND};
	struct rh_inflight *inflight = NULL;

	if (resource)
		inflight = act_new(entry, RH_CREATE_OBJECT, resource, rh_json_string_at(object, "metadata.name"), NULL);
	if (!inflight)
		return RH_ENOMEM;
	inflight->state = RH_INFLIGHT_CHECKING;
	inflight->once = rh_keep_read(object).once;
	inflight->body = rh_json_copy(object);
	if (!inflight->body || rh_object_hash(object, &inflight->hash) < 0) {
		rh_inflight_free(inflight);
		return RH_ENOMEM;
	}
	if (rh_inflight_start(inflight, &request) < 0)
		return RH_ENOMEM;
	rh_objects_begin_check(entry);
	return 0;
}

static const struct rh_json *act_desired(const struct rh_entry *entry, const struct rh_action *action)
{
	return rh_json_item(entry->objects.desired, (size_t)action->index);
}

static int act_make(struct rh_entry *entry, const struct rh_action *action, struct rh_json **ret_body,
                    struct rh_error *err)
{
	const struct rh_snapshot snapshot = rh_bodies_snapshot(entry);

	return rh_build_made(&snapshot, act_desired(entry, action), ret_body, err);
}

static int act_build(struct rh_entry *entry, const struct rh_action *action, struct rh_json **ret_body,
                     struct rh_error *err)
{
	int r = 0;
	struct rh_builder *builder = NULL;

	if (action->verb == RH_MAKE_OBJECT)
		return act_make(entry, action, ret_body, err);
	if (action->verb == RH_CREATE_OBJECT) {
		*ret_body = rh_json_copy(act_desired(entry, action));
		return *ret_body ? 0 : RH_ENOMEM;
	}
	builder = rh_bodies_builder(entry, &r, err);
	if (!builder)
		return r;
	return action->verb == RH_CREATE_POD ? rh_build_pod(builder, action->type, action->index, ret_body, err)
	                                     : rh_build_service(builder, action->type, action->index, ret_body, err);
}

/* Parse the object that the world shows until the store has created it. @param body of a further object: the desired */
static int act_predict(struct rh_inflight *inflight, const struct rh_json *body)
{
	if (inflight->verb == RH_CREATE_POD)
		return rh_pod_parse(inflight->entry->kind->kind, body, &inflight->pod);
	if (rh_child_parse(inflight->entry->kind->kind, body, &inflight->child) < 0)
		return RH_ENOMEM;
	if (inflight->verb == RH_CREATE_SERVICE)
		return 0;
	inflight->once = rh_keep_read(body).once;
	inflight->body = rh_json_copy(body);
	if (!inflight->body || rh_object_hash(body, &inflight->hash) < 0)
		return RH_ENOMEM;
	inflight->child->hash = inflight->hash;
	return 0;
}

static const struct rh_resource *act_resource(struct rh_entry *entry, const struct rh_action *action)
{
	if (rh_verb_of_pod(action->verb))
		return &rh_resource_pods;
	if (rh_verb_of_service(action->verb))
		return &rh_resource_services;
	if (action->verb == RH_DELETE_JOB)
		return &entry->kind->resource;
	return rh_objects_resource(entry->engine, action->api_version, action->kind);
}

/* Send the create of @p body (taken), which the world is to show. */
static int act_send_create(struct rh_inflight *inflight, const struct rh_action *action, struct rh_json *body)
{
	bool object = rh_verb_of_object(action->verb);
	struct rh_request request = {.verb = RH_VERB_CREATE, .body = body, .secret = action->verb == RH_MAKE_OBJECT};

	if (act_predict(inflight, object ? act_desired(inflight->entry, action) : body) < 0) {
		rh_json_free_secret(body);
		rh_inflight_free(inflight);
		return RH_ENOMEM;
	}
	inflight->index = object ? -1 : action->index;
	inflight->probe = rh_refusals_has_kind(inflight->entry, inflight->resource->kind);
	inflight->weight = rh_json_weight(body);
	return rh_inflight_start(inflight, &request);
}

static int act_create(struct rh_entry *entry, const struct rh_action *action, const struct rh_resource *resource)
{
	enum rh_action_verb verb = action->verb == RH_MAKE_OBJECT ? RH_CREATE_OBJECT : action->verb;
	struct rh_error err = {0};
	struct rh_json *body = NULL;
	struct rh_inflight *inflight = act_new(entry, verb, resource, action->name, NULL);
	int r = inflight ? act_build(entry, action, &body, &err) : RH_ENOMEM;
	enum rh_failure failure;

	if (r == 0)
		return act_send_create(inflight, action, body);
	failure = r == RH_ENOMEM ? RH_FAILURE_FINAL : rh_failure_judge(entry, r, &err);
	if (failure == RH_FAILURE_RETRY) {
		rh_report_failure(inflight, RH_REFUSED_CREATE, err.message);
		rh_backoff_add(inflight, -1);
		rh_queue_add(&entry->engine->queue, &entry->item, RH_QUEUE_NOW);
	}
	rh_inflight_free(inflight);
	if (failure == RH_FAILURE_WAIT)
		return RH_EAGAIN;
	return r == RH_ENOMEM ? r : 0;
}

static int act_delete(struct rh_entry *entry, const struct rh_action *action, const struct rh_resource *resource)
{
	struct rh_request request = {.verb = RH_VERB_DELETE, .grace_seconds = action->force ? 0 : -1};
	struct rh_inflight *inflight =
		act_new(entry, action->verb, resource, action->name ? action->name : entry->name, action->uid);
	struct rh_cached *cached;

	if (!inflight)
		return RH_ENOMEM;
	request.uid = *inflight->uid ? inflight->uid : NULL;
	cached = action->verb == RH_DELETE_JOB ? NULL : rh_inflight_target(inflight);
	if (action->force && cached)
		inflight->node = rh_strdup(cached->pod->node);
	if (rh_inflight_start(inflight, &request) < 0)
		return RH_ENOMEM;
	if (cached)
		rh_cached_set_stopping(cached, true);
	return 0;
}

static int act_update(struct rh_entry *entry, const struct rh_action *action, const struct rh_resource *resource)
{
	struct rh_request request = {.verb = RH_VERB_FIND};
	rh_auto_free char *key = rh_child_key(action->api_version, action->kind, action->name);
	const struct rh_cached *cached = key ? rh_map_get(entry->objects.known, key) : NULL;
	struct rh_inflight *inflight =
		act_new(entry, action->verb, resource, action->name, cached ? rh_cached_uid(cached) : "");

	if (inflight)
		inflight->body = rh_json_copy(act_desired(entry, action));
	if (!inflight || !inflight->body || rh_object_hash(inflight->body, &inflight->hash) < 0) {
		rh_inflight_free(inflight);
		return RH_ENOMEM;
	}
	inflight->state = RH_INFLIGHT_READING;
	return rh_inflight_start(inflight, &request);
}

/* The owners that the object has already are found by a read. */
static int act_adopt(struct rh_entry *entry, const struct rh_action *action, const struct rh_resource *resource)
{
	struct rh_request request = {.verb = RH_VERB_GET};
	struct rh_inflight *inflight = act_new(entry, action->verb, resource, action->name, action->uid);

	if (!inflight)
		return RH_ENOMEM;
	inflight->state = RH_INFLIGHT_READING;
	return rh_inflight_start(inflight, &request);
}

/* Creates are admitted in batches: each job gets a few, and the store always has some. */
bool rh_act_may_admit(const struct rh_engine *engine)
{
	return engine->creates.throttled.count > 0 && 4 * engine->creates.count <= 3 * engine->options.creates &&
	       (engine->creates.count == 0 || engine->creates.bytes < RH_SHARE_CREATE_BYTES);
}

void rh_act_admit(struct rh_engine *engine)
{
	size_t room = engine->options.creates - engine->creates.count;
	struct rh_queue_item *item;

	if (!rh_act_may_admit(engine))
		return;
	while (room-- > 0 && (item = rh_queue_take(&engine->creates.throttled, RH_QUEUE_NOW)))
		rh_entry_touch((struct rh_entry *)((char *)item - offsetof(struct rh_entry, inflight.throttled)));
}

static bool act_must_wait(struct rh_entry *entry, enum rh_action_verb verb)
{
	struct rh_engine *engine = entry->engine;
	bool creates = rh_verb_creates(verb);

	if (entry->inflight.count >= engine->options.window || (verb == RH_CREATE_POD && entry->bodies.waits))
		return true;
	if (!creates || rh_share_may_create(engine, entry->share))
		return false;
	rh_queue_add(&engine->creates.throttled, &entry->inflight.throttled, RH_QUEUE_NOW);
	return true;
}

int rh_act(struct rh_entry *entry, const struct rh_action *action)
{
	const struct rh_resource *resource = act_resource(entry, action);
	const char *name = action->name ? action->name : entry->name;
	bool checks = action->verb == RH_LOOK_OBJECT; /* it takes the place of a create that would fail */
	enum rh_action_verb verb = checks || action->verb == RH_MAKE_OBJECT ? RH_CREATE_OBJECT : action->verb;

	if (!resource)
		return RH_ENOMEM;
	if (act_is_sent(entry, verb, resource->kind, name) || rh_backoff_is_waiting(entry, verb, resource->kind, name))
		return 0;
	if (act_must_wait(entry, action->verb))
		return RH_EAGAIN;
	if (checks)
		return rh_act_check_object(entry, act_desired(entry, action));
	if (rh_verb_creates(action->verb))
		return act_create(entry, action, resource);
	if (rh_verb_deletes(action->verb))
		return act_delete(entry, action, resource);
	if (rh_verb_adopts(action->verb))
		return act_adopt(entry, action, resource);
	return act_update(entry, action, resource);
}
