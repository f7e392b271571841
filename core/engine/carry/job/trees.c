/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tree takes ten times the memory of its text, and most jobs are idle most of the time. So only recently used jobs
 * keep their trees, up to RH_TREES_BYTES in total. Others are kept as text; large ones by name, UID and version alone,
 * and are read again from the API server.
 */
#include "engine/carry/job/trees.h"

#include <stddef.h>
#include <string.h>

#include "engine/carry/entry.h"
#include "engine/carry/job/parsed.h"
#include "job/expansion.h"

/* Bytes beyond RH_TREES_BYTES for namespaces that have few: no namespace waits until the flood of another is done. */
#define TREES_SPARE (RH_TREES_BYTES / 4)

void rh_trees_reserve(struct rh_entry *entry, size_t bytes)
{
	struct rh_tree_cache *trees = &entry->engine->trees;
	struct rh_share *share = entry->share;

	if (bytes == entry->tree.reserved)
		return;
	trees->namespaces -= share->tree_bytes > 0;
	share->tree_bytes += bytes - entry->tree.reserved;
	trees->namespaces += share->tree_bytes > 0;
	trees->bytes += bytes - entry->tree.reserved;
	entry->tree.reserved = bytes;
}

/* Free a text that counts in the total. */
static void trees_free_text(struct rh_entry *entry, char **text)
{
	if (*text)
		entry->engine->trees.text_bytes -= strlen(*text);
	rh_free(rh_take(*text));
}

void rh_trees_forget_text(struct rh_entry *entry)
{
	trees_free_text(entry, &entry->tree.text);
}

int rh_trees_keep_expansion(struct rh_entry *entry)
{
	struct rh_tree_cache *trees = &entry->engine->trees;
	const char *text = rh_expansion_text(entry->job->expansion);

	trees_free_text(entry, &entry->tree.expansion);
	if (!text || trees->text_bytes >= RH_TREES_TEXT_BYTES)
		return 0;
	entry->tree.expansion = rh_strdup(text);
	if (!entry->tree.expansion)
		return RH_ENOMEM;
	trees->text_bytes += strlen(text);
	return 0;
}

int rh_trees_restore_expansion(struct rh_entry *entry, struct rh_job *job)
{
	struct rh_expansion *expansion = NULL;

	if (!entry->tree.expansion)
		return 0;
	/* it was read before, so only memory can be missing */
	if (rh_expansion_parse(job->kind, entry->tree.expansion, &expansion, NULL) < 0)
		return RH_ENOMEM;
	rh_job_set_expansion(job, expansion);
	trees_free_text(entry, &entry->tree.expansion);
	return 0;
}

static void trees_unlink(struct rh_entry *entry)
{
	struct rh_tree_cache *trees = &entry->engine->trees;
	struct rh_entry_tree *tree = &entry->tree;

	*(tree->used_before ? &tree->used_before->tree.used_after : &trees->least_recent) = tree->used_after;
	*(tree->used_after ? &tree->used_after->tree.used_before : &trees->most_recent) = tree->used_before;
	tree->used_after = tree->used_before = NULL;
}

void rh_trees_forget(struct rh_entry *entry)
{
	if (!entry->tree.present)
		return;
	trees_unlink(entry);
	rh_trees_reserve(entry, 0);
	entry->tree.present = false;
	entry->engine->trees.count--;
}

void rh_trees_forget_job(struct rh_entry *entry)
{
	rh_trees_forget_text(entry);
	trees_free_text(entry, &entry->tree.expansion);
	rh_trees_forget(entry);
	rh_trees_reserve(entry, 0);
	entry->tree.unread = false;
}

static void trees_link(struct rh_entry *entry)
{
	struct rh_tree_cache *trees = &entry->engine->trees;

	entry->tree.used_before = trees->most_recent;
	*(trees->most_recent ? &trees->most_recent->tree.used_after : &trees->least_recent) = entry;
	trees->most_recent = entry;
}

/* The tree of a job that is too large to be run is a part of its object. */
static bool trees_is_part(const struct rh_job *job)
{
	return job->weight > RH_JOB_WEIGHT_MAX;
}

void rh_trees_mark_used(struct rh_entry *entry)
{
	const struct rh_job *job = entry->job;

	if (entry->tree.present)
		trees_unlink(entry);
	else
		entry->engine->trees.count++;
	trees_link(entry);
	entry->tree.present = true;
	entry->tree.weight = job->weight;
	rh_trees_reserve(entry, trees_is_part(job) ? rh_json_weight(job->object) : job->weight);
}

static bool trees_is_idle(const struct rh_entry *entry)
{
	return rh_entry_progress_is_idle(&entry->progress) && entry->inflight.count == 0 && entry->job && !entry->refresh;
}

/* A job that was read again for a decision keeps its tree until then. */
static bool trees_is_needed(const struct rh_entry *entry)
{
	return entry->tree.unread && entry->item.place > 0 && entry->item.at == RH_QUEUE_NOW;
}

/* Print the text, if the limits allow it. @return 0 or RH_ENOMEM */
static int trees_print(struct rh_entry *entry)
{
	struct rh_engine *engine = entry->engine;

	if (entry->tree.text || rh_entry_tree_answer_size(&entry->tree) > 0 ||
	    engine->trees.text_bytes >= RH_TREES_TEXT_BYTES)
		return 0;
	entry->tree.text = rh_json_text(entry->job->object);
	if (!entry->tree.text)
		return RH_ENOMEM;
	engine->trees.text_bytes += strlen(entry->tree.text);
	return 0;
}

/* Replace the tree by its text, or by nothing. Without memory for the text the tree stays. */
static void trees_evict(struct rh_entry *entry)
{
	if (rh_trees_keep_expansion(entry) < 0 || trees_print(entry) < 0)
		return;
	entry->tree.unread = !entry->tree.text;
	if (entry->tree.unread && rh_object_hash(rh_json_get(entry->job->object, "spec"), &entry->tree.spec_hash) < 0)
		return;
	rh_bodies_free_builder(entry);
	rh_objects_forget_desired(entry);
	rh_lookup_spare(entry);
	rh_job_free(rh_take(entry->job));
	rh_parsed_set_ledger(entry, NULL);
	rh_trees_forget(entry);
}

/* @return whether the limits are exceeded */
static bool trees_is_over(const struct rh_engine *engine, size_t most, size_t bytes)
{
	return engine->trees.count > most || engine->trees.bytes > bytes;
}

/* Evict idle trees, least recently used ones first, until the limits hold. */
static void trees_shrink(struct rh_engine *engine, size_t most, size_t bytes)
{
	for (size_t count = engine->trees.count; count > 0 && trees_is_over(engine, most, bytes); count--) {
		struct rh_entry *oldest = engine->trees.least_recent;

		if (trees_is_idle(oldest) && !trees_is_needed(oldest))
			trees_evict(oldest);
		if (oldest->tree.present) {
			trees_unlink(oldest);
			trees_link(oldest);
		} else if (most > 0) {
			rh_events_trim_normal(oldest); /* as Kubernetes' clients do where there are many jobs */
		}
	}
}

/* While jobs wait for room, idle trees may take only half of it. */
void rh_trees_evict(struct rh_engine *engine, size_t most)
{
	bool waiting = engine->trees.waiting.count > 0;

	trees_shrink(engine, most, waiting ? RH_TREES_BYTES / 2 : RH_TREES_BYTES);
}

/* @return whether the namespace of @p entry has less than its part of what is spare */
static bool trees_has_spare_room(const struct rh_entry *entry, size_t weight)
{
	const struct rh_share *share = entry->share;
	size_t namespaces = entry->engine->trees.namespaces + (share->tree_bytes == 0);

	return share->tree_bytes + weight <= TREES_SPARE / namespaces;
}

/* A tree counts for at most half of the total, so that even the largest one fits in time. */
bool rh_trees_has_room(const struct rh_entry *entry, size_t weight)
{
	struct rh_engine *engine = entry->engine;
	size_t half = RH_TREES_BYTES / 2;
	size_t bytes = RH_TREES_BYTES - (weight < half ? weight : half);

	trees_shrink(engine, SIZE_MAX, bytes);
	return engine->trees.bytes <= bytes || trees_has_spare_room(entry, weight);
}

void rh_trees_await_room(struct rh_entry *entry)
{
	rh_queue_add(&entry->engine->trees.waiting, &entry->tree.waiting, RH_QUEUE_NOW);
}

bool rh_trees_may_admit(const struct rh_engine *engine)
{
	return engine->trees.waiting.count > 0 && 2 * engine->trees.bytes <= RH_TREES_BYTES;
}

/* A job whose tree does not fit queues again. */
void rh_trees_admit(struct rh_engine *engine)
{
	size_t bytes = engine->trees.bytes;
	struct rh_queue_item *item;

	if (!rh_trees_may_admit(engine))
		return;
	while (bytes < RH_TREES_BYTES && (item = rh_queue_take(&engine->trees.waiting, RH_QUEUE_NOW))) {
		struct rh_entry *entry = (struct rh_entry *)((char *)item - offsetof(struct rh_entry, tree.waiting));

		bytes += entry->tree.weight;
		rh_entry_touch(entry);
	}
}

static int trees_parse(const struct rh_entry *entry, struct rh_job **ret_job, struct rh_ledger *ret_ledger)
{
	struct rh_json *object;
	int r = rh_json_parse(entry->tree.text, strlen(entry->tree.text), &object, NULL);

	return r == 0 ? rh_parsed_read(entry->kind->kind, object, ret_job, ret_ledger, NULL) : r;
}

int rh_trees_hydrate(struct rh_entry *entry)
{
	struct rh_ledger *ledger = NULL;
	int r = 0;

	if (entry->job || !entry->tree.text)
		return 0;
	ledger = rh_alloc(sizeof(*ledger));
	r = ledger ? trees_parse(entry, &entry->job, ledger) : RH_ENOMEM;
	if (r == 0 && (r = rh_trees_restore_expansion(entry, entry->job)) < 0) {
		rh_job_free(rh_take(entry->job));
		rh_ledger_deinit(ledger);
	}
	if (r == 0) {
		rh_parsed_set_ledger(entry, ledger);
		rh_trees_mark_used(entry);
		return 0;
	}
	rh_free(ledger);
	if (r == RH_ENOMEM)
		return r;
	/* The text is not valid: read the job from the store. */
	rh_trees_forget_text(entry);
	entry->refresh = true;
	return 0;
}
