/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What watches tell: whose it is, and that somebody has to look at it.
 */
#include <string.h>

#include "engine/carry/parts.h"
#include "job/names.h"

static const struct rh_engine_kind *watch_kind(const struct rh_engine *engine, const char *controller)
{
	for (size_t i = 0; i < engine->kind_count; i++) {
		if (strcmp(engine->kinds[i].kind->controller, controller) == 0)
			return &engine->kinds[i];
	}
	return NULL;
}

static void watch_child_gone(struct rh_engine_entry *entry, bool service, const struct rh_json *object)
{
	struct rh_map *map = service ? entry->services : entry->pods;
	const char *name = rh_object_text(object, "metadata", "name");
	const char *uid = rh_object_text(object, "metadata", "uid");
	struct rh_cached *cached = rh_map_get(map, name);

	rh_engine_bury_child(entry, service ? RH_CREATE_SERVICE : RH_CREATE_POD, name, uid);
	if (cached && strcmp(rh_cached_uid(cached), uid) == 0) {
		(void)rh_map_remove(map, name);
		rh_cached_free(cached);
	}
	rh_engine_touch(entry);
	rh_engine_reap(entry);
}

/* A job that has finished for good does not care what becomes of its pods. */
static void watch_child(const struct rh_engine_watch *watch, enum rh_watch_event event, const struct rh_json *object)
{
	struct rh_engine *engine = watch->engine;
	const struct rh_engine_kind *kind = watch_kind(engine, rh_object_label(object, RH_LABEL_OPERATOR));
	bool service = watch->what == RH_WATCHED_SERVICES;
	struct rh_engine_entry *entry = NULL;
	int r;

	if (kind)
		entry = rh_engine_entry_of(engine, kind, rh_object_text(object, "metadata", "namespace"),
		                           rh_object_label(object, RH_LABEL_JOB), event != RH_WATCH_DELETED);
	if (!entry)
		return;
	if (event == RH_WATCH_DELETED) {
		watch_child_gone(entry, service, object);
		return;
	}
	r = rh_engine_see_child(entry, service, object);
	if (r < 0)
		engine->lost = true;
	else if (r == 1 && rh_engine_is_kept(entry))
		rh_engine_touch(entry);
}

/* The kind of the job that controls a PodGroup; V1 put no label on it that says so. */
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

static void watch_group_gone(struct rh_engine_entry *entry, const struct rh_json *object)
{
	const char *name = rh_object_text(object, "metadata", "name");
	const char *uid = rh_object_text(object, "metadata", "uid");
	rh_auto_free char *key =
		rh_engine_object_key(rh_gang_api_version(entry->engine->options.gang), RH_GANG_OBJECT, name);
	struct rh_cached *cached = key ? rh_map_get(entry->objects, key) : NULL;

	if (!key)
		entry->engine->lost = true;
	rh_engine_bury_child(entry, RH_CREATE_OBJECT, name, uid);
	if (cached && strcmp(rh_cached_uid(cached), uid) == 0) {
		(void)rh_map_remove(entry->objects, key);
		rh_cached_free(cached);
	}
	rh_engine_touch(entry);
	rh_engine_reap(entry);
}

/* What another wrote into its spec since we did is found out by its hash. */
static int watch_see_group(struct rh_engine_entry *entry, const struct rh_json *object)
{
	const char *api_version = rh_gang_api_version(entry->engine->options.gang);
	rh_auto_free char *key =
		rh_engine_object_key(api_version, RH_GANG_OBJECT, rh_object_text(object, "metadata", "name"));
	const struct rh_cached *before = key ? rh_map_get(entry->objects, key) : NULL;
	rh_auto(child) child = NULL;
	uint64_t hash = 0;

	if (!key || rh_child_parse(entry->kind->kind, object, &child) < 0)
		return RH_ENOMEM;
	if (before && strcmp(before->child->uid, child->uid) == 0 && before->child->content == child->content)
		hash = before->child->hash;
	return rh_engine_keep_object(entry, object, hash);
}

/* A PodGroup bears its job's name. */
static void watch_group(const struct rh_engine_watch *watch, enum rh_watch_event event, const struct rh_json *object)
{
	struct rh_engine *engine = watch->engine;
	const char *namespace_ = rh_object_text(object, "metadata", "namespace");
	const char *name = rh_object_text(object, "metadata", "name");
	bool gone = event == RH_WATCH_DELETED;
	const struct rh_engine_kind *kind = gone ? NULL : watch_owner_kind(engine, object);
	struct rh_engine_entry *entry;

	for (size_t i = 0; gone && i < engine->kind_count; i++) {
		entry = rh_engine_entry_of(engine, &engine->kinds[i], namespace_, name, false);
		if (entry)
			watch_group_gone(entry, object);
	}
	entry = kind ? rh_engine_entry_of(engine, kind, namespace_, name, true) : NULL;
	if (!entry)
		return;
	if (watch_see_group(entry, object) < 0)
		engine->lost = true;
	rh_engine_touch(entry);
}

static void watch_job(const struct rh_engine_watch *watch, enum rh_watch_event event, const struct rh_json *object)
{
	struct rh_engine *engine = watch->engine;
	struct rh_engine_entry *entry =
		rh_engine_entry_of(engine, watch->kind, rh_object_text(object, "metadata", "namespace"),
	                       rh_object_text(object, "metadata", "name"), event != RH_WATCH_DELETED);
	int r;

	if (!entry)
		return;
	if (event == RH_WATCH_DELETED) {
		if (entry->uid && strcmp(entry->uid, rh_object_text(object, "metadata", "uid")) == 0)
			rh_engine_forget_job(entry);
		rh_engine_reap(entry);
		return;
	}
	r = rh_engine_take_job(entry, object);
	if (r < 0)
		engine->lost = true;
	entry->item.late = !watch->synced;
	if (r == 1)
		rh_engine_touch(entry);
	rh_engine_chill(engine, RH_ENGINE_TREES);
}

/* Jobs that were told of meanwhile have waited for it. */
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
	watch->kind->synced = true;
	while (rh_map_next(engine->entries, &cursor, NULL, &value)) {
		struct rh_engine_entry *entry = value;

		if (entry->kind == watch->kind)
			rh_engine_touch(entry);
	}
}

void rh_engine_on_watch(void *arg, enum rh_watch_event event, const struct rh_json *object)
{
	struct rh_engine_watch *watch = arg;

	if (watch->dropped)
		return;
	if (event == RH_WATCH_SYNCED)
		watch_sync(watch);
	else if (watch->kind)
		watch_job(watch, event, object);
	else if (watch->what == RH_WATCHED_GROUPS)
		watch_group(watch, event, object);
	else
		watch_child(watch, event, object);
}

void rh_engine_forget_all(struct rh_engine *engine)
{
	size_t cursor = 0;
	void *value;

	while (rh_map_next(engine->entries, &cursor, NULL, &value)) {
		struct rh_engine_entry *entry = value;

		rh_engine_forget_job(entry);
		rh_engine_clear_map(entry->pods);
		rh_engine_clear_map(entry->services);
		rh_engine_clear_map(entry->objects);
		rh_engine_reap(entry);
	}
}
