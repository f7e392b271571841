/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/carry/entry.h"

#include "engine/carry/job/cache.h"

static void entry_free_map(struct rh_map **map)
{
	if (*map)
		rh_cached_clear_map(*map);
	rh_map_free(*map);
	*map = NULL;
}

void rh_entry_free(struct rh_entry *entry)
{
	struct rh_engine *engine = entry->engine;

	if (entry->children.pods && entry->children.services && entry->objects.known && entry->backoffs)
		rh_job_cache_forget(entry);
	while (entry->inflight.list)
		rh_inflight_free(entry->inflight.list);
	rh_answers_free(entry->bodies.answers);
	entry_free_map(&entry->children.pods);
	entry_free_map(&entry->children.services);
	entry_free_map(&entry->objects.known);
	rh_map_free(entry->backoffs);
	rh_queue_leave(&engine->queue, &entry->item);
	rh_queue_leave(&engine->creates.throttled, &entry->inflight.throttled);
	rh_queue_leave(&engine->trees.waiting, &entry->tree.waiting);
	rh_share_release(engine, entry->share);
	if (entry->key)
		(void)rh_map_remove(engine->entries, entry->key);
	rh_free(entry->key);
	rh_free(entry->namespace_);
	rh_free(entry->name);
	rh_free(entry);
}

void rh_entry_reap(struct rh_engine *engine)
{
	struct rh_entry *entry;

	while ((entry = engine->unused)) {
		engine->unused = entry->unused_next;
		entry->unused = false;
		if (rh_entry_is_unused(entry))
			rh_entry_free(entry);
	}
}

static int entry_join_queues(struct rh_engine *engine, struct rh_entry *entry)
{
	if (rh_queue_join(&engine->queue) < 0)
		return RH_ENOMEM;
	if (rh_queue_join(&engine->creates.throttled) < 0) {
		rh_queue_leave(&engine->queue, &entry->item);
		return RH_ENOMEM;
	}
	if (rh_queue_join(&engine->trees.waiting) < 0) {
		rh_queue_leave(&engine->creates.throttled, &entry->inflight.throttled);
		rh_queue_leave(&engine->queue, &entry->item);
		return RH_ENOMEM;
	}
	return 0;
}

/* @return an entry that has joined the queues, or NULL when memory is out */
static struct rh_entry *entry_new(struct rh_engine *engine)
{
	struct rh_entry *entry = rh_alloc(sizeof(*entry));

	if (!entry)
		return NULL;
	if (entry_join_queues(engine, entry) < 0) {
		rh_free(entry);
		return NULL;
	}
	entry->engine = engine;
	entry->bodies.addresses_attempt = -1;
	return entry;
}

/* @return whether all parts of the entry were allocated */
static bool entry_fill(struct rh_entry *entry, const char *key, const char *namespace_, const char *name)
{
	entry->key = rh_strdup(key);
	entry->namespace_ = rh_strdup(namespace_);
	entry->name = rh_strdup(name);
	entry->share = rh_share_acquire(entry->engine, namespace_);
	entry->children.pods = rh_map_new();
	entry->children.services = rh_map_new();
	entry->objects.known = rh_map_new();
	entry->backoffs = rh_map_new();
	if (entry->engine->options.concurrent && !(entry->bodies.answers = rh_answers_new(rh_bodies_on_ready, entry)))
		return false;
	if (!entry->share)
		return false;
	entry->item.flow = &entry->share->due;
	entry->inflight.throttled.flow = &entry->share->throttled;
	entry->tree.waiting.flow = &entry->share->tree_queue;
	return entry->key && entry->namespace_ && entry->name && entry->children.pods && entry->children.services &&
	       entry->objects.known && entry->backoffs;
}

static struct rh_entry *entry_add(struct rh_engine *engine, const struct rh_engine_kind *kind, const char *key,
                                  const char *namespace_, const char *name)
{
	struct rh_entry *entry = entry_new(engine);

	if (!entry)
		return NULL;
	entry->kind = kind;
	if (entry_fill(entry, key, namespace_, name) && rh_map_set(engine->entries, key, entry, NULL) == 0)
		return entry;
	rh_entry_free(entry);
	return NULL;
}

struct rh_entry *rh_entry_of(struct rh_engine *engine, const struct rh_engine_kind *kind, const char *namespace_,
                             const char *name, bool add)
{
	/* versions of a resource may have one name as controllers */
	rh_auto_free char *key = rh_asprintf("%s%s%s/%s/%s", kind->kind->controller, kind->shared ? "." : "",
	                                     kind->shared ? kind->kind->version : "", namespace_, name);
	struct rh_entry *entry = key ? rh_map_get(engine->entries, key) : NULL;

	if (!entry && key && add)
		entry = entry_add(engine, kind, key, namespace_, name);
	if (!key || (!entry && add))
		engine->lost = true;
	return entry;
}
