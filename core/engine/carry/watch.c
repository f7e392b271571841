/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/carry/watch.h"

#include <string.h>

#include "engine/carry/entry.h"
#include "engine/carry/job/cache.h"
#include "engine/carry/job/metadata.h"
#include "job/values/names.h"
#include "job/values/patterns.h"

/* The kind of the job that controls an object: its owner names one version. */
static const struct rh_engine_kind *watch_owner_kind(const struct rh_engine *engine, const struct rh_json *object)
{
	const struct rh_json *owner = rh_json_first(rh_json_at(object, "metadata.ownerReferences"));

	while (owner && !rh_json_bool(rh_json_get(owner, "controller"), false))
		owner = rh_json_next(owner);
	for (size_t i = 0; owner && i < engine->kind_count; i++) {
		if (rh_text_equal(rh_json_string_at(owner, "kind"), engine->kinds[i].resource.kind) &&
		    rh_text_equal(rh_json_string_at(owner, "apiVersion"), engine->kinds[i].resource.api_version))
			return &engine->kinds[i];
	}
	return NULL;
}

/* The controllers that an object names: by V1's label, and by that of kinds with labels of their own. */
struct watch_labels {
	const char *v1;
	const char *own;
};

/* @return whether the label by which children of the kind are found names it */
static bool watch_is_labelled(const struct rh_engine_kind *kind, const struct watch_labels *labels)
{
	return strcmp(kind->kind->controller, kind->kind->flags & RH_KIND_OWN_LABELS ? labels->own : labels->v1) == 0;
}

/*
 * By label; where versions of a resource have one name as controllers, or labels name two kinds, by owner, else the
 * first.
 */
static const struct rh_engine_kind *watch_kind(const struct rh_engine *engine, const struct rh_json *object)
{
	const struct watch_labels labels = {rh_object_label(object, RH_LABEL_OPERATOR),
	                                    rh_object_label(object, RH_LABEL_OWN_OPERATOR)};
	const struct rh_engine_kind *first = NULL, *owner;
	bool more = false;

	for (size_t i = 0; i < engine->kind_count && !more; i++) {
		if (!watch_is_labelled(&engine->kinds[i], &labels))
			continue;
		more = first || engine->kinds[i].shared;
		first = first ? first : &engine->kinds[i];
	}
	if (!more)
		return first;
	owner = watch_owner_kind(engine, object);
	return owner && watch_is_labelled(owner, &labels) ? owner : first;
}

/*
 * The job of a child: by labels; of a PodGroup by its owner, whose name it has. @return NULL when no job here owns it,
 * or memory is out
 */
static struct rh_entry *watch_route(const struct rh_engine_watch *watch, const struct rh_json *object)
{
	struct rh_engine *engine = watch->engine;
	bool group = watch->what == RH_WATCHED_GROUPS;
	const struct rh_engine_kind *kind = group ? watch_owner_kind(engine, object) : watch_kind(engine, object);
	const char *name = group ? rh_object_text(object, "metadata", "name") : rh_object_label(object, RH_LABEL_JOB);

	return kind ? rh_entry_of(engine, kind, rh_object_text(object, "metadata", "namespace"), name, true) : NULL;
}

/* A changed hash shows that another client has written the spec. @return 1 or RH_ENOMEM */
static int watch_observe_group(struct rh_entry *entry, const struct rh_json *object)
{
	const char *api_version = rh_gang_api_version(entry->engine->options.gang);
	rh_auto_free char *key = rh_child_key(api_version, RH_GANG_OBJECT, rh_object_text(object, "metadata", "name"));
	const struct rh_cached *before = key ? rh_map_get(entry->objects.known, key) : NULL;
	rh_auto(child) child = NULL;
	uint64_t hash = 0;

	if (!key || rh_child_parse(entry->kind->kind, object, &child) < 0)
		return RH_ENOMEM;
	if (before && strcmp(before->child->uid, child->uid) == 0 && before->child->content == child->content)
		hash = before->child->hash;
	return rh_objects_store(entry, object, hash) < 0 ? RH_ENOMEM : 1;
}

/*
 * Changes of pods do not concern a job that has finished for good. Where its policy is to clean up, a pod that appears
 * does: the create of an instance that does not work any more may come to the server late.
 */
static bool watch_concerns(const struct rh_engine_watch *watch, const struct rh_entry *entry, bool seen)
{
	return watch->what == RH_WATCHED_GROUPS || rh_entry_is_active(entry) || (entry->children.cleans && !seen);
}

static void watch_observe_child(const struct rh_engine_watch *watch, const struct rh_json *object)
{
	struct rh_engine *engine = watch->engine;
	struct rh_entry *entry = watch_route(watch, object);
	bool group = watch->what == RH_WATCHED_GROUPS;
	bool seen = rh_children_has_seen(engine, object);
	int r = 0;

	if (!entry)
		(void)rh_children_unroute(engine, NULL, object);
	else
		r = group ? watch_observe_group(entry, object)
		          : rh_children_observe(entry, watch->what == RH_WATCHED_SERVICES, object);
	if (r < 0)
		engine->lost = true;
	else if (r == 1 && watch_concerns(watch, entry, seen))
		rh_entry_touch(entry);
	if (entry)
		rh_entry_release(entry);
}

/* A name is free again: a create of the job that backs off for it may be retried. */
static void watch_free_name(const struct rh_engine_watch *watch, const struct rh_engine_kind *kind, const char *job,
                            const struct rh_json *object)
{
	static const enum rh_action_verb verbs[] = {[RH_WATCHED_PODS] = RH_CREATE_POD,
	                                            [RH_WATCHED_SERVICES] = RH_CREATE_SERVICE,
	                                            [RH_WATCHED_GROUPS] = RH_CREATE_OBJECT};
	struct rh_entry *entry =
		rh_entry_of(watch->engine, kind, rh_object_text(object, "metadata", "namespace"), job, false);
	bool waits = entry && (rh_map_size(entry->backoffs) > 0 || entry->refusals.count > 0);

	if (!entry)
		return;
	rh_inflight_add_tombstones(entry, verbs[watch->what], rh_object_text(object, "metadata", "name"),
	                           rh_object_text(object, "metadata", "uid"));
	if (waits)
		rh_entry_touch(entry);
}

/* Likewise, of the job whose name is the first @p length characters of a replica's. */
static void watch_free_prefix(const struct rh_engine_watch *watch, const struct rh_engine_kind *kind, size_t length,
                              const struct rh_json *object)
{
	rh_auto_free char *job = rh_strndup(rh_object_text(object, "metadata", "name"), length);

	if (job)
		watch_free_name(watch, kind, job, object);
	else
		watch->engine->lost = true;
}

/* Likewise, of a pod or Service: of the job whose replica has this name. A pattern begins with the job's name and "-".
 */
static void watch_free_replica(const struct rh_engine_watch *watch, const struct rh_engine_kind *kind,
                               const struct rh_json *object)
{
	const char *name = rh_object_text(object, "metadata", "name");

	if (rh_patterns_has_pod(kind->kind)) {
		for (const char *dash = strchr(name, '-'); dash; dash = strchr(dash + 1, '-'))
			watch_free_prefix(watch, kind, (size_t)(dash - name), object);
		return;
	}
	for (const struct rh_replica_type *const *type = kind->kind->types; *type; type++) {
		size_t length;

		if (rh_name_is_replica(name, (*type)->name, !((*type)->flags & RH_REPLICA_UNINDEXED), &length))
			watch_free_prefix(watch, kind, length, object);
	}
}

/* The job is found by the UID: after a gap a DELETED event may have identity alone. */
static void watch_remove_child(const struct rh_engine_watch *watch, const struct rh_json *object)
{
	struct rh_engine *engine = watch->engine;
	struct rh_cached *known = rh_index_find(&engine->index, rh_object_text(object, "metadata", "uid"));

	for (size_t i = 0; i < engine->kind_count; i++) {
		if (watch->what == RH_WATCHED_GROUPS)
			watch_free_name(watch, &engine->kinds[i], rh_object_text(object, "metadata", "name"), object);
		else
			watch_free_replica(watch, &engine->kinds[i], object);
	}
	if (known)
		rh_children_remove(known);
}

/* Forget a job as one of @p kind. */
static void watch_forget_job(struct rh_engine *engine, const struct rh_engine_kind *kind, const struct rh_json *object)
{
	struct rh_entry *entry = rh_entry_of(engine, kind, rh_object_text(object, "metadata", "namespace"),
	                                     rh_object_text(object, "metadata", "name"), false);

	if (!entry)
		return;
	if (entry->uid && strcmp(entry->uid, rh_object_text(object, "metadata", "uid")) == 0)
		rh_job_cache_forget(entry);
	rh_entry_release(entry);
}

/* @return the kind that a job is of, after the others have forgotten it; NULL: none that is served here */
static const struct rh_engine_kind *watch_route_job(const struct rh_engine_watch *watch, enum rh_watch_event event,
                                                    const struct rh_json *object)
{
	struct rh_engine *engine = watch->engine;
	const struct rh_kind *kind = event == RH_WATCH_DELETED ? NULL : rh_versions_route(&watch->versions, object);
	const struct rh_engine_kind *found = NULL;

	for (size_t i = 0; i < engine->kind_count; i++) {
		const struct rh_engine_kind *one = &engine->kinds[i];

		if (one->kind == kind)
			found = one;
		else if (rh_kind_is_version_of(one->kind, watch->kind->kind))
			watch_forget_job(engine, one, object);
	}
	return found;
}

static void watch_job(const struct rh_engine_watch *watch, enum rh_watch_event event, const struct rh_json *object)
{
	struct rh_engine *engine = watch->engine;
	const struct rh_engine_kind *kind = watch_route_job(watch, event, object);
	struct rh_entry *entry = kind ? rh_entry_of(engine, kind, rh_object_text(object, "metadata", "namespace"),
	                                            rh_object_text(object, "metadata", "name"), true)
	                              : NULL;
	int r;

	if (!entry)
		return;
	r = rh_job_cache_store(entry, object);
	if (r < 0)
		engine->lost = true;
	entry->item.late = !watch->synced;
	if (r == 1)
		rh_entry_touch(entry);
	rh_trees_evict(engine, RH_TREES_MAX);
}

/* The initial list is complete: decide about the jobs that have waited for it. */
static void watch_sync(struct rh_engine_watch *watch)
{
	struct rh_engine *engine = watch->engine;
	size_t cursor = 0;
	void *value;

	if (watch->synced)
		return;
	watch->synced = true;
	engine->unsynced--;
	if (!watch->kind) {
		engine->shared_unsynced--;
		return;
	}
	for (size_t i = 0; i < engine->kind_count; i++) {
		if (rh_kind_is_version_of(engine->kinds[i].kind, watch->kind->kind))
			engine->kinds[i].synced = true;
	}
	while (rh_map_next(engine->entries, &cursor, NULL, &value)) {
		struct rh_entry *entry = value;

		if (rh_kind_is_version_of(entry->kind->kind, watch->kind->kind))
			rh_entry_touch(entry);
	}
}

void rh_watch_on_event(void *arg, enum rh_watch_event event, const struct rh_json *object)
{
	struct rh_engine_watch *watch = arg;

	if (event == RH_WATCH_SYNCED)
		watch_sync(watch);
	else if (watch->kind)
		watch_job(watch, event, object);
	else if (event == RH_WATCH_DELETED)
		watch_remove_child(watch, object);
	else
		watch_observe_child(watch, object);
}

void rh_watch_forget_all(struct rh_engine *engine)
{
	size_t cursor = 0;
	void *value;

	while (rh_map_next(engine->entries, &cursor, NULL, &value)) {
		struct rh_entry *entry = value;

		rh_job_cache_forget(entry);
		rh_cached_clear_map(entry->children.pods);
		rh_cached_clear_map(entry->children.services);
		rh_cached_clear_map(entry->objects.known);
		rh_entry_release(entry);
	}
}
