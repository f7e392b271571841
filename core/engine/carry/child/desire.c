/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/carry/child/desire.h"

#include <string.h>
#include <strings.h>

#include "base/hash.h"
#include "base/os/clock.h"
#include "engine/carry/entry.h"
#include "engine/carry/request/act.h"
#include "job/keep.h"

/* A check is this old at most when something is created that uses the objects. */
#define DESIRE_CHECK_AGE (30 * RH_SECOND)

/* @return 0, RH_EPLUGIN, RH_EINVAL or RH_ENOMEM */
static int desire_build(const struct rh_snapshot *snapshot, struct rh_json **ret_objects, struct rh_error *err)
{
	rh_auto(builder) builder = NULL;
	int r = rh_builder_new(snapshot, &builder, err);

	return r == 0 ? rh_build_objects(builder, ret_objects, err) : r;
}

static bool desire_has_watch(const struct rh_engine *engine, const struct rh_json *object)
{
	return rh_objects_is_watched(engine, rh_json_string_at(object, "apiVersion"), rh_json_string_at(object, "kind"));
}

/* @return whether it needs no check: it is watched, or is known to exist */
static bool desire_is_known(const struct rh_entry *entry, const struct rh_json *object)
{
	rh_auto_free char *key = rh_child_key(rh_json_string_at(object, "apiVersion"), rh_json_string_at(object, "kind"),
	                                      rh_json_string_at(object, "metadata.name"));

	return desire_has_watch(entry->engine, object) || (key && rh_map_get(entry->objects.known, key));
}

/* @return whether it is to be checked; a batch/v1 Job makes pods, so one that is gone is missed */
static bool desire_needs_check(const struct rh_entry *entry, const struct rh_json *object)
{
	const char *api_version = rh_json_string_at(object, "apiVersion");
	bool matters =
		rh_object_serves_pods(api_version) || strcmp(api_version, "batch/v1") == 0 || rh_keep_read(object).once;

	return (entry->objects.stale && matters) || !desire_is_known(entry, object);
}

static int desire_check(struct rh_entry *entry, const struct rh_json *objects, const struct rh_json *but)
{
	for (const struct rh_json *object = rh_json_first(objects); object; object = rh_json_next(object)) {
		const struct rh_json *other = rh_json_first(but);

		while (other && !rh_json_equal(object, other))
			other = rh_json_next(other);
		if (!other && desire_needs_check(entry, object) && rh_act_check_object(entry, object) < 0)
			return RH_ENOMEM;
	}
	return 0;
}

/*
 * An earlier controller may have left the objects that the job desires now, and those of the opposite suspend state.
 * @return 0 or a negative status: then some checks may be in flight, and a later pass sends the others
 */
static int desire_check_all(struct rh_entry *entry, const struct rh_snapshot *snapshot, struct rh_error *err)
{
	struct rh_snapshot other = *snapshot;
	rh_auto(json) objects = NULL;
	int r;

	other.suspended = !other.suspended;
	r = desire_build(&other, &objects, err);
	if (r == 0)
		r = desire_check(entry, entry->objects.desired, NULL);
	return r == 0 ? desire_check(entry, objects, entry->objects.desired) : r;
}

/* The pods of the job by spec and index, as a snapshot shows them. */
struct desire_pods {
	const struct rh_pod **slots;
	size_t offsets[RH_TYPES_MAX + 1];
};

static void desire_free_pods(struct desire_pods *pods)
{
	rh_free(pods->slots);
}

static void desire_put_pod(const struct rh_job *job, struct desire_pods *pods, const struct rh_pod *pod)
{
	for (size_t i = 0; i < job->spec_count; i++) {
		if (strcasecmp(job->specs[i].type, pod->type) == 0 && pod->index >= 0 && pod->index < job->specs[i].replicas)
			pods->slots[pods->offsets[i] + (size_t)pod->index] = pod;
	}
}

static int desire_list_pods(const struct rh_entry *entry, struct desire_pods *pods)
{
	const struct rh_job *job = entry->job;
	size_t cursor = 0;
	void *cached;

	for (size_t i = 0; i < job->spec_count; i++)
		pods->offsets[i + 1] = pods->offsets[i] + (size_t)(job->specs[i].replicas > 0 ? job->specs[i].replicas : 0);
	pods->slots = rh_alloc_array(pods->offsets[job->spec_count] + 1, sizeof(struct rh_pod *));
	if (!pods->slots)
		return RH_ENOMEM;
	while (rh_map_next(entry->children.pods, &cursor, NULL, &cached)) {
		const struct rh_pod *pod = ((const struct rh_cached *)cached)->pod;

		if (strcmp(pod->owner_uid, job->uid) == 0)
			desire_put_pod(job, pods, pod);
	}
	return 0;
}

/* A hash of phase and readiness of all pods that does not depend on their order. */
static uint64_t desire_hash_pods(const struct rh_entry *entry)
{
	uint64_t sum = 1;
	size_t cursor = 0;
	void *cached;

	while (rh_map_next(entry->children.pods, &cursor, NULL, &cached)) {
		const struct rh_pod *pod = ((const struct rh_cached *)cached)->pod;

		sum += rh_hash(pod->name, strlen(pod->name)) * (uint64_t)(2 * pod->phase + pod->ready + 1);
	}
	return sum;
}

/* For a plugin that reads single pods, the objects are built with them, and again whenever pods change. */
static int desire_build_all(struct rh_entry *entry, struct rh_snapshot snapshot, struct rh_error *err)
{
	__attribute__((cleanup(desire_free_pods))) struct desire_pods pods = {0};
	rh_auto(json) objects = NULL;
	bool looks = false;
	int r;

	snapshot.looked = &looks;
	r = desire_build(&snapshot, &objects, err);
	if (r == 0 && looks) {
		if (desire_list_pods(entry, &pods) < 0)
			return rh_fail_oom(err);
		snapshot.pods = pods.slots;
		snapshot.offsets = pods.offsets;
		rh_json_free(rh_take(objects));
		r = desire_build(&snapshot, &objects, err);
	}
	if (r < 0)
		return r;
	rh_json_free(entry->objects.desired);
	entry->objects.desired = rh_take(objects);
	entry->objects.desired_from_pods = looks;
	entry->objects.desired_pods_hash = looks ? desire_hash_pods(entry) : 0;
	return 0;
}

static int desire_state(struct rh_entry *entry, const struct rh_snapshot *snapshot, struct rh_error *err)
{
	int state = (snapshot->suspended ? 1 : 0) + (snapshot->finished ? 2 : 0);
	bool same = entry->objects.desired && entry->objects.desired_state == state &&
	            (!entry->objects.desired_from_pods || entry->objects.desired_pods_hash == desire_hash_pods(entry));
	int r = same ? 0 : desire_build_all(entry, *snapshot, err);

	if (r == 0)
		entry->objects.desired_state = state;
	return r;
}

int rh_desire_last(struct rh_entry *entry, struct rh_error *err)
{
	const struct rh_snapshot snapshot = rh_bodies_snapshot(entry);

	return desire_state(entry, &snapshot, err);
}

/* Check which of the objects exist, unless a failed check backs off. @return 0 or a negative status */
static int desire_start_check(struct rh_entry *entry, const struct rh_snapshot *snapshot, struct rh_error *err)
{
	struct rh_engine *engine = entry->engine;
	int r;

	if (engine->now < entry->objects.check_at) {
		rh_queue_add(&engine->queue, &entry->item, entry->objects.check_at);
		return 0;
	}
	entry->objects.checked = entry->objects.forbidden = true;
	entry->objects.checked_at = engine->now;
	r = desire_check_all(entry, snapshot, err);
	entry->objects.stale = entry->objects.stale && r < 0;
	if (r < 0)
		entry->objects.checked = entry->objects.forbidden = false;
	else if (entry->objects.checks == 0)
		entry->objects.check_failures = 0;
	return r;
}

/* @return whether the action uses further objects: it creates a pod, or grants rights to one */
static bool desire_is_use(const struct rh_action *action)
{
	if (action->verb == RH_CREATE_POD)
		return true;
	return (action->verb == RH_CREATE_OBJECT || action->verb == RH_UPDATE_OBJECT) &&
	       strcmp(action->kind, "RoleBinding") == 0;
}

bool rh_desire_must_check(struct rh_entry *entry, const struct rh_plan *plan)
{
	size_t i = 0;

	if (entry->engine->now - entry->objects.checked_at < DESIRE_CHECK_AGE || !rh_objects_serve_pods(entry))
		return false;
	while (i < plan->action_count && !desire_is_use(&plan->actions[i]))
		i++;
	if (i == plan->action_count)
		return false;
	entry->objects.checked = false;
	entry->objects.stale = true;
	return true;
}

/* What is made once is made again when it is gone, also while no pod is created. */
static void desire_doubt_once(struct rh_entry *entry)
{
	const struct rh_json *object = rh_json_first(entry->objects.desired);

	if (!entry->objects.checked || entry->engine->now - entry->objects.checked_at < DESIRE_CHECK_AGE)
		return;
	while (object && !rh_keep_read(object).once)
		object = rh_json_next(object);
	if (!object)
		return;
	entry->objects.checked = false;
	entry->objects.stale = true;
}

int rh_desire(struct rh_entry *entry, struct rh_error *err)
{
	const struct rh_snapshot snapshot = rh_bodies_snapshot(entry);
	int r = desire_state(entry, &snapshot, err);

	if (r == 0)
		desire_doubt_once(entry);
	if (r == 0 && !entry->objects.checked && entry->objects.checks == 0)
		r = desire_start_check(entry, &snapshot, err);
	if (r < 0)
		return r;
	return entry->objects.checks > 0 || !(entry->objects.checked || entry->objects.forbidden) ? 1 : 0;
}
