/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file engine/carry/job/trees.h
 * @brief The cache of parsed jobs: least recently used ones give up their JSON tree; for core/engine/carry.
 */
#ifndef RH_ENGINE_CARRY_JOB_TREES_H
#define RH_ENGINE_CARRY_JOB_TREES_H

#include <stdbool.h>
#include <stddef.h>

#include "engine/carry/job/tree_state.h"

struct rh_engine;
struct rh_entry;
struct rh_job;

/** Make the job, whose tree was set or used, the most recently used one. */
void rh_trees_mark_used(struct rh_entry *entry);
/** Evict least recently used trees until at most @p most are kept, those in use excepted. */
void rh_trees_evict(struct rh_engine *engine, size_t most);
/** Parse the text of an evicted job again. @return 0 or RH_ENOMEM */
int rh_trees_hydrate(struct rh_entry *entry);
/**
 * @return whether a tree of @p weight bytes fits for @p entry; others are evicted for it as far as possible. What is
 * spare beyond RH_TREES_BYTES is divided among the namespaces that have trees
 */
bool rh_trees_has_room(const struct rh_entry *entry, size_t weight);
/** Queue the job, which has no tree, until one fits. */
void rh_trees_await_room(struct rh_entry *entry);
/** Make queued jobs due whose trees may fit now. */
void rh_trees_admit(struct rh_engine *engine);
/** @return whether rh_trees_admit() would admit any */
bool rh_trees_may_admit(const struct rh_engine *engine);
/** Count @p bytes for the entry in the cache's total, in place of the previous number. */
void rh_trees_reserve(struct rh_entry *entry, size_t bytes);
/**
 * The tree of the entry's job goes: keep the replica types that its plugin gave, as text, where the limits allow it.
 * The plugin may refuse to give them again. @return 0 or RH_ENOMEM
 */
int rh_trees_keep_expansion(struct rh_entry *entry);
/** Give @p job, the entry's or a new version of it, the replica types that were kept. @return 0 or RH_ENOMEM */
int rh_trees_restore_expansion(struct rh_entry *entry, struct rh_job *job);
/** Free the text. */
void rh_trees_forget_text(struct rh_entry *entry);
/** Take the entry out of the list: its tree is gone. */
void rh_trees_forget(struct rh_entry *entry);
/** Likewise, free all texts, and reserve nothing: the job is gone, or has finished for good. */
void rh_trees_forget_job(struct rh_entry *entry);

#endif
