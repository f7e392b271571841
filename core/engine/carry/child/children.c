/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Labels and the owner of a child name its job, and both may change: a child is identified by its UID, and one that
 * gets another job leaves the former.
 */
#include "engine/carry/child/children.h"

#include <string.h>

#include "engine/carry/entry.h"
#include "engine/carry/job/metadata.h"
#include "engine/carry/request/verbs.h"
#include "job/values/names.h"
#include "job/values/patterns.h"

void rh_cached_free(struct rh_cached *cached)
{
	if (!cached)
		return;
	if (cached->entry)
		rh_index_remove(&cached->entry->engine->index, cached);
	rh_pod_free(cached->pod);
	rh_written_free(cached->output);
	rh_child_free(cached->child);
	rh_free(cached);
}

void rh_cached_set_stopping(struct rh_cached *cached, bool stopping)
{
	cached->stopping = stopping;
	if (cached->pod)
		cached->pod->deleting = stopping || cached->pod->deleted_at != 0;
	else
		cached->child->deleting = stopping;
}

/* @param output what was read of a pod's logs; NULL: nothing */
static int children_parse(const struct rh_entry *entry, bool service, const struct rh_json *object,
                          const struct rh_written *output, struct rh_cached **ret_cached)
{
	rh_auto(cached) cached = rh_alloc(sizeof(*cached));
	int r;

	if (!cached)
		return RH_ENOMEM;
	r = service ? rh_child_parse(entry->kind->kind, object, &cached->child)
	            : rh_pod_parse_with(entry->kind->kind, object, output, &cached->pod);
	if (r < 0)
		return r;
	*ret_cached = rh_take(cached);
	return 0;
}

void rh_cached_clear_map(struct rh_map *map)
{
	const char *key;
	size_t cursor = 0;
	void *value;

	while (rh_map_next(map, &cursor, &key, &value)) {
		(void)rh_map_remove(map, key);
		rh_cached_free(value);
	}
}

static uint64_t children_revision(const struct rh_cached *cached)
{
	return cached->pod ? rh_object_revision(cached->pod->resource_version) : cached->child->revision;
}

static bool children_is_group(const struct rh_cached *cached)
{
	return cached->child && strcmp(cached->child->kind, RH_GANG_OBJECT) == 0;
}

/* @return the verb that creates such a child */
static enum rh_action_verb children_verb(const struct rh_cached *cached)
{
	if (cached->pod)
		return RH_CREATE_POD;
	return children_is_group(cached) ? RH_CREATE_OBJECT : RH_CREATE_SERVICE;
}

void rh_children_index(struct rh_entry *entry, struct rh_cached *cached)
{
	cached->entry = entry;
	rh_index_add(&entry->engine->index, cached);
}

/* A search by value: further objects are few, and their keys are not their names. */
static void children_take_group(struct rh_map *objects, const struct rh_cached *cached)
{
	const char *key;
	size_t cursor = 0;
	void *value;

	while (rh_map_next(objects, &cursor, &key, &value)) {
		if (value == cached)
			(void)rh_map_remove(objects, key);
	}
}

void rh_children_remove(struct rh_cached *cached)
{
	struct rh_entry *entry = cached->entry;
	const char *name = cached->pod ? cached->pod->name : cached->child->name;

	rh_inflight_add_tombstones(entry, children_verb(cached), name, rh_cached_uid(cached));
	if (children_is_group(cached))
		children_take_group(entry->objects.known, cached);
	else
		(void)rh_map_remove(cached->pod ? entry->children.pods : entry->children.services, name);
	rh_cached_free(cached);
	rh_entry_touch(entry);
	rh_entry_release(entry);
}

bool rh_children_unroute(struct rh_engine *engine, const struct rh_entry *entry, const struct rh_json *object)
{
	uint64_t revision = rh_object_revision(rh_object_text(object, "metadata", "resourceVersion"));
	struct rh_cached *known = rh_index_find(&engine->index, rh_object_text(object, "metadata", "uid"));

	if (!known || known->entry == entry)
		return true;
	if (revision > 0 && revision < children_revision(known))
		return false;
	rh_children_remove(known);
	return true;
}

/* @return whether the cache has this version of an object of the name, or a newer one */
static bool children_is_cached(const struct rh_cached *cached, const struct rh_json *object)
{
	uint64_t revision = rh_object_revision(rh_object_text(object, "metadata", "resourceVersion"));
	uint64_t known = cached ? children_revision(cached) : 0;

	if (!cached || revision == 0)
		return false;
	return revision < known ||
	       (revision == known && strcmp(rh_cached_uid(cached), rh_object_text(object, "metadata", "uid")) == 0);
}

/* The same pod keeps what was read of its logs. */
static void children_keep_logs(struct rh_cached *cached, struct rh_cached *before)
{
	cached->output = rh_take(before->output);
	cached->pod->log_until = before->pod->log_until;
	cached->pod->log_over = before->pod->log_over;
}

/* Put @p cached (taken) among the children of the entry, in place of @p before. @return 1 or RH_ENOMEM */
static int children_put(struct rh_entry *entry, const char *name, struct rh_cached *cached, struct rh_cached *before)
{
	rh_auto(cached) guard = cached;

	if (rh_map_set(cached->pod ? entry->children.pods : entry->children.services, name, cached, NULL) < 0)
		return RH_ENOMEM;
	if (before && strcmp(rh_cached_uid(before), rh_cached_uid(cached)) == 0) {
		if (before->stopping)
			rh_cached_set_stopping(cached, true);
		if (cached->pod)
			children_keep_logs(cached, before);
	}
	rh_cached_free(before);
	rh_children_index(entry, rh_take(guard));
	return 1;
}

bool rh_children_is_labelled(const struct rh_entry *entry, const struct rh_json *object)
{
	return strcmp(rh_object_label(object, RH_LABEL_JOB), entry->name) == 0 &&
	       strcmp(rh_object_label(object, rh_patterns_label(entry->kind->kind, RH_LABEL_OPERATOR)),
	              entry->kind->kind->controller) == 0;
}

bool rh_children_has_seen(const struct rh_engine *engine, const struct rh_json *object)
{
	return rh_index_find(&engine->index, rh_object_text(object, "metadata", "uid")) != NULL;
}

int rh_children_observe(struct rh_entry *entry, bool service, const struct rh_json *object)
{
	const char *name = rh_object_text(object, "metadata", "name");
	const struct rh_written *output = NULL;
	struct rh_cached *before;
	struct rh_cached *cached;
	int r;

	if (!rh_children_unroute(entry->engine, entry, object))
		return 0;
	before = rh_map_get(service ? entry->children.services : entry->children.pods, name);
	/* An own write comes twice, as its response and as a watch event: it is parsed once. */
	if (children_is_cached(before, object))
		return 0;
	if (before && strcmp(rh_cached_uid(before), rh_object_text(object, "metadata", "uid")) == 0)
		output = before->output;
	r = children_parse(entry, service, object, output, &cached);
	if (r == 0)
		r = children_put(entry, name, cached, before);
	if (r == 1 && entry->refusals.count > 0)
		rh_refusals_forget(entry, service ? "Service" : "Pod", name);
	return r;
}

int rh_children_reread(struct rh_cached *cached, struct rh_written *output, const struct rh_json *object)
{
	uint64_t revision = rh_object_revision(rh_object_text(object, "metadata", "resourceVersion"));
	struct rh_pod *pod;

	rh_written_free(cached->output);
	cached->output = output;
	if (revision > 0 && revision < children_revision(cached))
		return 0;
	if (rh_pod_parse_with(cached->entry->kind->kind, object, output, &pod) < 0)
		return RH_ENOMEM;
	pod->log_until = cached->pod->log_until;
	rh_pod_free(cached->pod);
	cached->pod = pod;
	rh_cached_set_stopping(cached, cached->stopping);
	return 0;
}

int rh_children_store(struct rh_inflight *inflight, const struct rh_json *object)
{
	struct rh_entry *entry = inflight->entry;
	const char *uid = rh_object_text(object, "metadata", "uid");
	bool known = rh_index_find(&entry->engine->index, uid) != NULL;
	bool compares = rh_object_revision(rh_object_text(object, "metadata", "resourceVersion")) > 0;

	if (rh_inflight_has_tombstone(inflight, uid) || (known && !compares))
		return 0;
	return rh_children_observe(entry, rh_verb_of_service(inflight->verb), object) < 0 ? RH_ENOMEM : 0;
}
