/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file engine/carry/entry.h
 * @brief Entries of jobs: found, made due, and freed; for core/engine/carry.
 */
#ifndef RH_ENGINE_CARRY_ENTRY_H
#define RH_ENGINE_CARRY_ENTRY_H

#include "engine/carry/entry_state.h"

/**
 * @return the entry of a job, borrowed; it is added when it is missing and @p add is set. NULL when it is missing, or
 * memory is out: then engine->lost is set
 */
struct rh_entry *rh_entry_of(struct rh_engine *engine, const struct rh_engine_kind *kind, const char *namespace_,
                             const char *name, bool add);
/** Make the entry due now if its job exists. */
static inline void rh_entry_touch(struct rh_entry *entry)
{
	if (entry->uid)
		rh_queue_add(&entry->engine->queue, &entry->item, RH_QUEUE_NOW);
}
/** @return whether the job may need work: it exists, is valid, and has not finished for good */
static inline bool rh_entry_is_active(const struct rh_entry *entry)
{
	return entry->job || rh_entry_tree_is_evicted(&entry->tree);
}
/** @return whether neither the job, nor a child, nor a request of it is left */
static inline bool rh_entry_is_unused(const struct rh_entry *entry)
{
	return !entry->uid && !entry->inflight.list && entry->events.sent == 0 && rh_map_size(entry->children.pods) == 0 &&
	       rh_map_size(entry->children.services) == 0 && rh_map_size(entry->objects.known) == 0;
}
/** Something of the entry is gone: if it was the last thing, the next step of the engine frees the entry. */
static inline void rh_entry_release(struct rh_entry *entry)
{
	if (entry->unused || !rh_entry_is_unused(entry))
		return;
	entry->unused = true;
	entry->unused_next = entry->engine->unused;
	entry->engine->unused = entry;
}
/** Free the entries that have been released and are still unused. */
void rh_entry_reap(struct rh_engine *engine);
/** Free an entry and all that it holds; its requests are cancelled. */
void rh_entry_free(struct rh_entry *entry);

#endif
