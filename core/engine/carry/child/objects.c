/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Further objects are not watched, except PodGroups. An object that was written is known by its hash. Objects that
 * existed before the engine started are checked once.
 */
#include "engine/carry/child/objects.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/hash.h"
#include "base/os/clock.h"
#include "engine/carry/entry.h"

/* A check is this old at most when something is created that uses the objects. */
#define OBJECTS_CHECK_AGE (30 * RH_SECOND)

char *rh_objects_key(const char *api_version, const char *kind, const char *name)
{
	return rh_asprintf("%s/%s/%s", api_version, kind, name);
}

/* A resource; its texts are stored behind it. */
struct objects_resource {
	struct rh_resource resource;
	char texts[];
};

/* The plural of every kind that a plugin may name is lower case with an s. */
static struct objects_resource *objects_new_resource(const char *api_version, const char *kind)
{
	size_t version_size = strlen(api_version) + 1;
	size_t kind_size = strlen(kind) + 1;
	struct objects_resource *made = rh_alloc(sizeof(*made) + version_size + 2 * kind_size + 1);
	char *plural;

	if (!made)
		return NULL;
	memcpy(made->texts, api_version, version_size);
	memcpy(made->texts + version_size, kind, kind_size);
	plural = made->texts + version_size + kind_size;
	for (size_t i = 0; i + 1 < kind_size; i++)
		plural[i] = (char)tolower((unsigned char)kind[i]);
	plural[kind_size - 1] = 's';
	made->resource = (struct rh_resource){made->texts, made->texts + version_size, plural};
	return made;
}

const struct rh_resource *rh_objects_resource(struct rh_engine *engine, const char *api_version, const char *kind)
{
	rh_auto_free char *key = api_version && kind ? rh_asprintf("%s/%s", api_version, kind) : NULL;
	struct objects_resource *found = key ? rh_map_get(engine->resources, key) : NULL;

	if (!key)
		return NULL;
	if (found)
		return &found->resource;
	found = objects_new_resource(api_version, kind);
	if (found && rh_map_set(engine->resources, key, found, NULL) == 0)
		return &found->resource;
	rh_free(found);
	return NULL;
}

void rh_objects_free_resources(struct rh_engine *engine)
{
	size_t cursor = 0;
	void *resource;

	while (engine->resources && rh_map_next(engine->resources, &cursor, NULL, &resource))
		rh_free(resource);
	rh_map_free(rh_take(engine->resources));
}

int rh_objects_store(struct rh_entry *entry, const struct rh_json *object, uint64_t hash)
{
	rh_auto(cached) cached = rh_alloc(sizeof(*cached));
	rh_auto_free char *key = NULL;
	struct rh_cached *before;
	const struct rh_child *child;
	bool watched;

	if (!cached || rh_child_parse(entry->kind->kind, object, &cached->child) < 0)
		return RH_ENOMEM;
	child = cached->child;
	cached->child->hash = hash;
	watched = rh_objects_is_watched(entry->engine, child->api_version, child->kind);
	if (watched && !rh_children_unroute(entry->engine, entry, object))
		return 0;
	key = rh_objects_key(child->api_version, child->kind, child->name);
	before = key ? rh_map_get(entry->objects.known, key) : NULL;
	if (before && child->revision > 0 && child->revision < before->child->revision)
		return 0;
	if (!key || rh_map_set(entry->objects.known, key, cached, NULL) < 0)
		return RH_ENOMEM;
	rh_cached_free(before);
	if (watched)
		rh_children_index(entry, cached);
	(void)rh_take(cached);
	return 0;
}

/* A watched object stays known until its watch reports the deletion. */
static void objects_clear_unwatched(struct rh_entry *entry)
{
	const char *key;
	size_t cursor = 0;
	void *value;

	while (rh_map_next(entry->objects.known, &cursor, &key, &value)) {
		const struct rh_child *child = ((const struct rh_cached *)value)->child;

		if (rh_objects_is_watched(entry->engine, child->api_version, child->kind))
			continue;
		(void)rh_map_remove(entry->objects.known, key);
		rh_cached_free(value);
	}
}

void rh_objects_forget(struct rh_entry *entry)
{
	objects_clear_unwatched(entry);
	entry->objects.checked = entry->objects.forbidden = false;
	entry->objects.checks = 0;
	entry->objects.check_at = 0;
	entry->objects.check_failures = 0;
}

void rh_objects_forget_desired(struct rh_entry *entry)
{
	rh_json_free(rh_take(entry->objects.desired));
}

void rh_objects_invalidate(struct rh_entry *entry)
{
	rh_objects_forget_desired(entry);
	entry->objects.checked = false;
}

void rh_objects_remove(struct rh_entry *entry, const struct rh_resource *resource, const char *name)
{
	rh_auto_free char *key = rh_objects_key(resource->api_version, resource->kind, name);

	if (key)
		rh_cached_free(rh_map_remove(entry->objects.known, key));
	else
		entry->engine->lost = true;
}

void rh_objects_begin_check(struct rh_entry *entry)
{
	entry->objects.checks++;
}

void rh_objects_fail_check(struct rh_entry *entry, bool denied)
{
	entry->objects.checked = false;
	entry->objects.forbidden = entry->objects.forbidden && denied;
}

void rh_objects_end_check(struct rh_entry *entry)
{
	struct rh_entry_objects *objects = &entry->objects;
	struct rh_queue *queue = &entry->engine->queue;

	if (--objects->checks > 0)
		return;
	if (objects->checked)
		objects->check_failures = 0;
	else
		objects->check_at = entry->engine->now + rh_queue_wait(queue, objects->check_failures++);
	rh_queue_add(queue, &entry->item, objects->checked || objects->forbidden ? RH_QUEUE_NOW : objects->check_at);
}

/* @return 0, RH_EPLUGIN, RH_EINVAL or RH_ENOMEM */
static int objects_build(const struct rh_snapshot *snapshot, struct rh_json **ret_objects, struct rh_error *err)
{
	rh_auto(builder) builder = NULL;
	int r = rh_builder_new(snapshot, &builder, err);

	return r == 0 ? rh_build_objects(builder, ret_objects, err) : r;
}

bool rh_objects_is_watched(const struct rh_engine *engine, const char *api_version, const char *kind)
{
	return strcmp(kind, RH_GANG_OBJECT) == 0 && rh_text_equal(api_version, rh_gang_api_version(engine->options.gang));
}

bool rh_objects_serve_pods(const struct rh_entry *entry)
{
	const struct rh_json *object = rh_json_first(entry->objects.desired);

	while (object && !rh_object_serves_pods(rh_json_string_at(object, "apiVersion")))
		object = rh_json_next(object);
	return object != NULL;
}

static bool objects_has_watch(const struct rh_engine *engine, const struct rh_json *object)
{
	return rh_objects_is_watched(engine, rh_json_string_at(object, "apiVersion"), rh_json_string_at(object, "kind"));
}

/* @return whether it needs no check: it is watched, or is known to exist */
static bool objects_is_known(const struct rh_entry *entry, const struct rh_json *object)
{
	rh_auto_free char *key = rh_objects_key(rh_json_string_at(object, "apiVersion"), rh_json_string_at(object, "kind"),
	                                        rh_json_string_at(object, "metadata.name"));

	return objects_has_watch(entry->engine, object) || (key && rh_map_get(entry->objects.known, key));
}

/* @return whether it is to be checked */
static bool objects_needs_check(const struct rh_entry *entry, const struct rh_json *object)
{
	return (entry->objects.stale && rh_object_serves_pods(rh_json_string_at(object, "apiVersion"))) ||
	       !objects_is_known(entry, object);
}

static int objects_check(struct rh_entry *entry, const struct rh_json *objects, const struct rh_json *but)
{
	for (const struct rh_json *object = rh_json_first(objects); object; object = rh_json_next(object)) {
		const struct rh_json *other = rh_json_first(but);

		while (other && !rh_json_equal(object, other))
			other = rh_json_next(other);
		if (!other && objects_needs_check(entry, object) && rh_inflight_check_object(entry, object) < 0)
			return RH_ENOMEM;
	}
	return 0;
}

/*
 * An earlier controller may have left the objects that the job desires now, and those of the opposite suspend state.
 * @return 0 or a negative status: then some checks may be in flight, and a later pass sends the others
 */
static int objects_check_all(struct rh_entry *entry, const struct rh_snapshot *snapshot, struct rh_error *err)
{
	struct rh_snapshot other = *snapshot;
	rh_auto(json) objects = NULL;
	int r = objects_check(entry, entry->objects.desired, NULL);

	other.suspended = !other.suspended;
	if (r == 0)
		r = objects_build(&other, &objects, err);
	return r == 0 ? objects_check(entry, objects, entry->objects.desired) : r;
}

/* The pods of the job by spec and index, as a snapshot shows them. */
struct objects_pods {
	const struct rh_pod **slots;
	size_t offsets[RH_TYPES_MAX + 1];
};

static void objects_free_pods(struct objects_pods *pods)
{
	rh_free(pods->slots);
}

static void objects_put_pod(const struct rh_job *job, struct objects_pods *pods, const struct rh_pod *pod)
{
	for (size_t i = 0; i < job->spec_count; i++) {
		if (strcasecmp(job->specs[i].type, pod->type) == 0 && pod->index >= 0 && pod->index < job->specs[i].replicas)
			pods->slots[pods->offsets[i] + (size_t)pod->index] = pod;
	}
}

static int objects_list_pods(const struct rh_entry *entry, struct objects_pods *pods)
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
			objects_put_pod(job, pods, pod);
	}
	return 0;
}

/* A hash of the phases of all pods that does not depend on their order. */
static uint64_t objects_hash_pods(const struct rh_entry *entry)
{
	uint64_t sum = 1;
	size_t cursor = 0;
	void *cached;

	while (rh_map_next(entry->children.pods, &cursor, NULL, &cached)) {
		const struct rh_pod *pod = ((const struct rh_cached *)cached)->pod;

		sum += rh_hash(pod->name, strlen(pod->name)) * (uint64_t)(pod->phase + 1);
	}
	return sum;
}

/* For a plugin that reads single pods, the objects are built with them, and again whenever pods change. */
static int objects_build_desired(struct rh_entry *entry, struct rh_snapshot snapshot, struct rh_error *err)
{
	__attribute__((cleanup(objects_free_pods))) struct objects_pods pods = {0};
	rh_auto(json) objects = NULL;
	bool looks = false;
	int r;

	snapshot.looked = &looks;
	r = objects_build(&snapshot, &objects, err);
	if (r == 0 && looks) {
		if (objects_list_pods(entry, &pods) < 0)
			return rh_fail_oom(err);
		snapshot.pods = pods.slots;
		snapshot.offsets = pods.offsets;
		rh_json_free(rh_take(objects));
		r = objects_build(&snapshot, &objects, err);
	}
	if (r < 0)
		return r;
	rh_json_free(entry->objects.desired);
	entry->objects.desired = rh_take(objects);
	entry->objects.desired_from_pods = looks;
	entry->objects.desired_pods_hash = looks ? objects_hash_pods(entry) : 0;
	return 0;
}

static int objects_desire(struct rh_entry *entry, const struct rh_snapshot *snapshot, struct rh_error *err)
{
	int state = (snapshot->suspended ? 1 : 0) + (snapshot->finished ? 2 : 0);
	bool same = entry->objects.desired && entry->objects.desired_state == state &&
	            (!entry->objects.desired_from_pods || entry->objects.desired_pods_hash == objects_hash_pods(entry));
	int r = same ? 0 : objects_build_desired(entry, *snapshot, err);

	if (r == 0)
		entry->objects.desired_state = state;
	return r;
}

int rh_objects_desire_last(struct rh_entry *entry, struct rh_error *err)
{
	const struct rh_snapshot snapshot = rh_entry_snapshot(entry);

	return objects_desire(entry, &snapshot, err);
}

/* Check which of the objects exist, unless a failed check backs off. @return 0 or a negative status */
static int objects_start_check(struct rh_entry *entry, const struct rh_snapshot *snapshot, struct rh_error *err)
{
	struct rh_engine *engine = entry->engine;
	int r;

	if (engine->now < entry->objects.check_at) {
		rh_queue_add(&engine->queue, &entry->item, entry->objects.check_at);
		return 0;
	}
	entry->objects.checked = entry->objects.forbidden = true;
	entry->objects.checked_at = engine->now;
	r = objects_check_all(entry, snapshot, err);
	entry->objects.stale = entry->objects.stale && r < 0;
	if (r < 0)
		entry->objects.checked = entry->objects.forbidden = false;
	else if (entry->objects.checks == 0)
		entry->objects.check_failures = 0;
	return r;
}

/* @return whether the action uses further objects: it creates a pod, or grants rights to one */
static bool objects_is_use(const struct rh_action *action)
{
	if (action->verb == RH_CREATE_POD)
		return true;
	return (action->verb == RH_CREATE_OBJECT || action->verb == RH_UPDATE_OBJECT) &&
	       strcmp(action->kind, "RoleBinding") == 0;
}

bool rh_objects_must_check(struct rh_entry *entry, const struct rh_plan *plan)
{
	size_t i = 0;

	if (entry->engine->now - entry->objects.checked_at < OBJECTS_CHECK_AGE || !rh_objects_serve_pods(entry))
		return false;
	while (i < plan->action_count && !objects_is_use(&plan->actions[i]))
		i++;
	if (i == plan->action_count)
		return false;
	entry->objects.checked = false;
	entry->objects.stale = true;
	return true;
}

int rh_objects_desire(struct rh_entry *entry, struct rh_error *err)
{
	const struct rh_snapshot snapshot = rh_entry_snapshot(entry);
	int r = objects_desire(entry, &snapshot, err);

	if (r == 0 && !entry->objects.checked && entry->objects.checks == 0)
		r = objects_start_check(entry, &snapshot, err);
	if (r < 0)
		return r;
	return entry->objects.checks > 0 || !(entry->objects.checked || entry->objects.forbidden) ? 1 : 0;
}
