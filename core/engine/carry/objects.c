/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Further objects: those that the plugin names. They are not watched. What was written is known by its hash; what was
 * there before a start is looked at once.
 */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/hash.h"
#include "base/os/clock.h"
#include "engine/carry/parts.h"

/* So long what was seen of further objects counts, when something is to be made that uses them: nobody watches them. */
#define OBJECTS_TRUST (30 * RH_SECOND)

char *rh_engine_object_key(const char *api_version, const char *kind, const char *name)
{
	return rh_asprintf("%s/%s/%s", api_version, kind, name);
}

/* A resource with room for its texts behind it. */
struct objects_resource {
	struct rh_resource resource;
	char texts[];
};

/* The plural is made as that of every kind that a plugin may name: small letters and an s. */
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

const struct rh_resource *rh_engine_resource(struct rh_engine *engine, const char *api_version, const char *kind)
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

void rh_engine_free_resources(struct rh_engine *engine)
{
	size_t cursor = 0;
	void *resource;

	while (engine->resources && rh_map_next(engine->resources, &cursor, NULL, &resource))
		rh_free(resource);
	rh_map_free(rh_take(engine->resources));
}

static bool objects_cover_list(const struct rh_json *actual, const struct rh_json *desired)
{
	const struct rh_json *have = rh_json_first(actual);

	if (rh_json_size(actual) != rh_json_size(desired))
		return false;
	for (const struct rh_json *want = rh_json_first(desired); want; want = rh_json_next(want)) {
		if (!rh_engine_covers(have, want))
			return false;
		have = rh_json_next(have);
	}
	return true;
}

bool rh_engine_covers(const struct rh_json *actual, const struct rh_json *desired)
{
	if (rh_json_type(actual) != rh_json_type(desired))
		return false;
	if (rh_json_type(desired) == RH_JSON_ARRAY)
		return objects_cover_list(actual, desired);
	if (rh_json_type(desired) != RH_JSON_OBJECT)
		return rh_json_equal(actual, desired);
	for (const struct rh_json *want = rh_json_first(desired); want; want = rh_json_next(want)) {
		if (!rh_engine_covers(rh_json_get(actual, rh_json_key(want)), want))
			return false;
	}
	return true;
}

int rh_engine_keep_object(struct rh_engine_entry *entry, const struct rh_json *object, uint64_t hash)
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
	watched = rh_engine_watches_object(entry->engine, child->api_version, child->kind);
	if (watched && !rh_engine_unroute(entry->engine, entry, object))
		return 0;
	key = rh_engine_object_key(child->api_version, child->kind, child->name);
	before = key ? rh_map_get(entry->objects, key) : NULL;
	if (before && child->revision > 0 && child->revision < before->child->revision)
		return 0;
	if (!key || rh_map_set(entry->objects, key, cached, NULL) < 0)
		return RH_ENOMEM;
	rh_cached_free(before);
	if (watched)
		rh_engine_own_child(entry, cached);
	(void)rh_take(cached);
	return 0;
}

/* @return 0, RH_EPLUGIN, RH_EINVAL or RH_ENOMEM */
static int objects_build(const struct rh_snapshot *snapshot, struct rh_json **ret_objects, struct rh_error *err)
{
	rh_auto(builder) builder = NULL;
	int r = rh_builder_new(snapshot, &builder, err);

	return r == 0 ? rh_build_objects(builder, ret_objects, err) : r;
}

bool rh_engine_watches_object(const struct rh_engine *engine, const char *api_version, const char *kind)
{
	return strcmp(kind, RH_GANG_OBJECT) == 0 && rh_text_equal(api_version, rh_gang_api_version(engine->options.gang));
}

bool rh_engine_equips_pods(const struct rh_engine_entry *entry)
{
	const struct rh_json *object = rh_json_first(entry->desired);

	while (object && !rh_object_serves_pods(rh_json_string_at(object, "apiVersion")))
		object = rh_json_next(object);
	return object != NULL;
}

static bool objects_is_watched(const struct rh_engine *engine, const struct rh_json *object)
{
	return rh_engine_watches_object(engine, rh_json_string_at(object, "apiVersion"), rh_json_string_at(object, "kind"));
}

/* Whether there is nothing to find out about it: it is watched, or was found or made. */
static bool objects_is_known(const struct rh_engine_entry *entry, const struct rh_json *object)
{
	rh_auto_free char *key =
		rh_engine_object_key(rh_json_string_at(object, "apiVersion"), rh_json_string_at(object, "kind"),
	                         rh_json_string_at(object, "metadata.name"));

	return objects_is_watched(entry->engine, object) || (key && rh_map_get(entry->objects, key));
}

/* Whether there is something to find out about it. */
static bool objects_is_read(const struct rh_engine_entry *entry, const struct rh_json *object)
{
	return (entry->stale && rh_object_serves_pods(rh_json_string_at(object, "apiVersion"))) ||
	       !objects_is_known(entry, object);
}

static int objects_check(struct rh_engine_entry *entry, const struct rh_json *objects, const struct rh_json *but)
{
	for (const struct rh_json *object = rh_json_first(objects); object; object = rh_json_next(object)) {
		const struct rh_json *other = rh_json_first(but);

		while (other && !rh_json_equal(object, other))
			other = rh_json_next(other);
		if (!other && objects_is_read(entry, object) && rh_engine_check_object(entry, object) < 0)
			return RH_ENOMEM;
	}
	return 0;
}

/*
 * A program that is gone may have left what the job wants now, and what it wanted while it was not suspended. @return
 * 0, or RH_ENOMEM; then what was asked is answered, and the rest asked again
 */
static int objects_check_all(struct rh_engine_entry *entry, const struct rh_snapshot *snapshot, struct rh_error *err)
{
	struct rh_snapshot other = *snapshot;
	rh_auto(json) objects = NULL;
	int r = objects_check(entry, entry->desired, NULL);

	other.suspended = !other.suspended;
	if (r == 0)
		r = objects_build(&other, &objects, err);
	return r == 0 ? objects_check(entry, objects, entry->desired) : r;
}

static struct rh_snapshot objects_snapshot(const struct rh_engine_entry *entry)
{
	return (struct rh_snapshot){
		.host = entry->engine->options.host,
		.job = entry->job,
		.addresses = &entry->addresses,
		.gang = entry->engine->options.gang,
		.attempt = entry->ledger->attempt,
		.suspended = entry->job->policy.suspend,
		.finished = rh_job_status_finished(&entry->job->status),
	};
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

static int objects_list_pods(const struct rh_engine_entry *entry, struct objects_pods *pods)
{
	const struct rh_job *job = entry->job;
	size_t cursor = 0;
	void *cached;

	for (size_t i = 0; i < job->spec_count; i++)
		pods->offsets[i + 1] = pods->offsets[i] + (size_t)(job->specs[i].replicas > 0 ? job->specs[i].replicas : 0);
	pods->slots = rh_alloc_array(pods->offsets[job->spec_count] + 1, sizeof(struct rh_pod *));
	if (!pods->slots)
		return RH_ENOMEM;
	while (rh_map_next(entry->pods, &cursor, NULL, &cached)) {
		const struct rh_pod *pod = ((const struct rh_cached *)cached)->pod;

		if (strcmp(pod->owner_uid, job->uid) == 0)
			objects_put_pod(job, pods, pod);
	}
	return 0;
}

/* Tells apart which pods are in which phase, in whatever order they stand. */
static uint64_t objects_hash_pods(const struct rh_engine_entry *entry)
{
	uint64_t sum = 1;
	size_t cursor = 0;
	void *cached;

	while (rh_map_next(entry->pods, &cursor, NULL, &cached)) {
		const struct rh_pod *pod = ((const struct rh_cached *)cached)->pod;

		sum += rh_hash(pod->name, strlen(pod->name)) * (uint64_t)(pod->phase + 1);
	}
	return sum;
}

/* A plugin that asks for single replicas is asked again with them, and whenever they change. */
static int objects_build_desired(struct rh_engine_entry *entry, struct rh_snapshot snapshot, struct rh_error *err)
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
	rh_json_free(entry->desired);
	entry->desired = rh_take(objects);
	entry->desired_from_pods = looks;
	entry->desired_pods_hash = looks ? objects_hash_pods(entry) : 0;
	return 0;
}

static int objects_desire(struct rh_engine_entry *entry, const struct rh_snapshot *snapshot, struct rh_error *err)
{
	int state = (snapshot->suspended ? 1 : 0) + (snapshot->finished ? 2 : 0);
	bool same = entry->desired && entry->desired_state == state &&
	            (!entry->desired_from_pods || entry->desired_pods_hash == objects_hash_pods(entry));
	int r = same ? 0 : objects_build_desired(entry, *snapshot, err);

	if (r == 0)
		entry->desired_state = state;
	return r;
}

int rh_engine_desire_last_objects(struct rh_engine_entry *entry, struct rh_error *err)
{
	const struct rh_snapshot snapshot = objects_snapshot(entry);

	return objects_desire(entry, &snapshot, err);
}

/* Look which of the objects exist, unless that was tried in vain just now. @return 0 or a negative status */
static int objects_look(struct rh_engine_entry *entry, const struct rh_snapshot *snapshot, struct rh_error *err)
{
	struct rh_engine *engine = entry->engine;
	int r;

	if (engine->now < entry->check_at) {
		rh_queue_add(&engine->queue, &entry->item, entry->check_at);
		return 0;
	}
	entry->checked = entry->barred = true;
	entry->looked_at = engine->now;
	r = objects_check_all(entry, snapshot, err);
	entry->stale = entry->stale && r < 0;
	if (r < 0)
		entry->checked = entry->barred = false;
	else if (entry->checks == 0)
		entry->check_failures = 0;
	return r;
}

static bool objects_is_use(const struct rh_action *action)
{
	if (action->verb == RH_CREATE_POD)
		return true;
	return (action->verb == RH_CREATE_OBJECT || action->verb == RH_UPDATE_OBJECT) &&
	       strcmp(action->kind, "RoleBinding") == 0;
}

bool rh_engine_must_look(struct rh_engine_entry *entry)
{
	const struct rh_plan *plan = entry->plan;
	size_t i = 0;

	if (entry->engine->now - entry->looked_at < OBJECTS_TRUST || !rh_engine_equips_pods(entry))
		return false;
	while (i < plan->action_count && !objects_is_use(&plan->actions[i]))
		i++;
	if (i == plan->action_count)
		return false;
	entry->checked = false;
	entry->stale = true;
	return true;
}

int rh_engine_desire_objects(struct rh_engine_entry *entry, struct rh_error *err)
{
	const struct rh_snapshot snapshot = objects_snapshot(entry);
	int r = objects_desire(entry, &snapshot, err);

	if (r == 0 && !entry->checked && entry->checks == 0)
		r = objects_look(entry, &snapshot, err);
	if (r < 0)
		return r;
	return entry->checks > 0 || !(entry->checked || entry->barred) ? 1 : 0;
}
