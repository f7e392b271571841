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
	key = rh_child_key(child->api_version, child->kind, child->name);
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
	rh_auto_free char *key = rh_child_key(resource->api_version, resource->kind, name);

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
