/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/carry/snapshot.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "engine/carry/entry.h"
#include "engine/carry/sim.h"

static size_t count_awaited(const struct rh_engine *engine)
{
	size_t cursor = 0, count = 0;
	void *entry;

	while (rh_map_next(engine->entries, &cursor, NULL, &entry))
		count += rh_answers_are_awaited(((const struct rh_entry *)entry)->bodies.answers);
	return count;
}

struct snapshot_engine snapshot_engine(const struct rh_engine *engine)
{
	return (struct snapshot_engine){
		.jobs = rh_map_size(engine->entries),
		.namespaces = rh_map_size(engine->shares),
		.children = engine->index.size,
		.queue_members = engine->queue.members,
		.queue_capacity = engine->queue.capacity,
		.requests = engine->requests,
		.creates = engine->creates.count,
		.create_bytes = engine->creates.bytes,
		.throttled = engine->creates.throttled.count,
		.events = engine->events.sent,
		.pending_events = engine->events.pending.count,
		.trees = engine->trees.count,
		.tree_bytes = engine->trees.bytes,
		.tree_spaces = engine->trees.namespaces,
		.tree_waiters = engine->trees.waiting.count,
		.text_bytes = engine->trees.text_bytes,
		.lookups = rh_map_size(engine->looked_up),
		.lookup_bytes = engine->looked_up_bytes,
		.awaited = count_awaited(engine),
		.lost = engine->lost,
	};
}

/* Copy a text that fits; NULL is "". */
static void copy_text(char copy[SNAPSHOT_TEXT_SIZE], const char *text)
{
	assert_true(!text || strlen(text) < SNAPSHOT_TEXT_SIZE);
	rh_copy(copy, SNAPSHOT_TEXT_SIZE, text ? text : "");
}

static struct snapshot_job copy_job(const struct rh_entry *entry)
{
	struct snapshot_job job = {
		.has_tree = entry->job != NULL,
		.is_cached = entry->tree.present,
		.has_text = entry->tree.text != NULL,
		.has_expansion = entry->tree.expansion != NULL,
		.has_ledger = entry->ledger != NULL,
		.has_builder = entry->bodies.builder != NULL,
		.waits_for_room = entry->tree.waiting.place != 0,
		.is_written = entry->progress.stage != RH_STAGE_IDLE,
		.requests = entry->inflight.count,
		.events = entry->events.count,
	};

	copy_text(job.name, entry->name);
	copy_text(job.uid, entry->uid);
	copy_text(job.version, entry->job ? entry->job->resource_version : NULL);
	return job;
}

size_t snapshot_jobs(const struct rh_engine *engine, struct snapshot_job *ret_jobs, size_t room)
{
	size_t cursor = 0, count = 0;
	void *entry;

	while (rh_map_next(engine->entries, &cursor, NULL, &entry)) {
		assert_true(count < room);
		ret_jobs[count++] = copy_job(entry);
	}
	return count;
}

/* @return the entry of the job @p name, of whatever namespace and kind */
static struct rh_entry *find_entry(const struct rh_engine *engine, const char *name)
{
	size_t cursor = 0;
	void *entry;

	while (rh_map_next(engine->entries, &cursor, NULL, &entry)) {
		if (strcmp(((const struct rh_entry *)entry)->name, name) == 0)
			return entry;
	}
	fail_msg("the engine does not know the job %s", name);
	return NULL;
}

struct snapshot_job snapshot_job(const struct rh_engine *engine, const char *name)
{
	return copy_job(find_entry(engine, name));
}

static void copy_pod(struct snapshot_child *child, const struct rh_pod *pod)
{
	copy_text(child->kind, "Pod");
	copy_text(child->version, pod->resource_version);
	copy_text(child->owner, pod->owner_uid);
	copy_text(child->type, pod->type);
	child->index = pod->index;
	child->phase = pod->phase;
	child->deleting = pod->deleting;
}

static void copy_object(struct snapshot_child *child, const struct rh_child *object)
{
	copy_text(child->kind, object->kind);
	snprintf(child->version, sizeof(child->version), "%" PRIu64, object->revision);
	copy_text(child->owner, object->owner_uid);
	copy_text(child->type, object->type);
	child->index = object->index;
	child->deleting = object->deleting;
}

static struct snapshot_child copy_child(const struct rh_entry *entry, const char *name, const struct rh_cached *cached)
{
	struct snapshot_child child = {0};

	copy_text(child.job, entry->key);
	copy_text(child.name, name);
	copy_text(child.uid, rh_cached_uid(cached));
	if (cached->pod)
		copy_pod(&child, cached->pod);
	else
		copy_object(&child, cached->child);
	return child;
}

/* Copy the children of one map. @return how many */
static size_t copy_children(const struct rh_entry *entry, const struct rh_map *map, struct snapshot_child *children,
                            size_t room)
{
	size_t cursor = 0, count = 0;
	const char *name;
	void *value;

	while (rh_map_next(map, &cursor, &name, &value)) {
		const struct rh_cached *cached = value;

		assert_ptr_equal(cached->entry, entry);
		assert_ptr_equal(rh_index_find(&entry->engine->index, rh_cached_uid(cached)), cached);
		assert_true(count < room);
		children[count++] = copy_child(entry, name, cached);
	}
	return count;
}

size_t snapshot_children(const struct rh_engine *engine, struct snapshot_child *ret_children, size_t room)
{
	size_t cursor = 0, count = 0;
	void *value;

	while (rh_map_next(engine->entries, &cursor, NULL, &value)) {
		const struct rh_entry *entry = value;

		count += copy_children(entry, entry->children.pods, ret_children + count, room - count);
		count += copy_children(entry, entry->children.services, ret_children + count, room - count);
	}
	return count;
}

bool snapshot_pod(const struct rh_engine *engine, const char *name, struct snapshot_child *ret_pod)
{
	size_t cursor = 0;
	void *value;

	while (rh_map_next(engine->entries, &cursor, NULL, &value)) {
		const struct rh_entry *entry = value;
		const struct rh_cached *cached = rh_map_get(entry->children.pods, name);

		if (!cached)
			continue;
		*ret_pod = copy_child(entry, name, cached);
		return true;
	}
	return false;
}

void snapshot_emit(struct rh_engine *engine, const char *name, bool warning, const char *reason, const char *message)
{
	struct rh_entry *entry = find_entry(engine, name);

	rh_events_emit(entry, &(struct rh_event_spec){entry->uid, warning, reason, message});
}
