/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The trees of jobs. A tree takes ten times the memory of its text, and most jobs have nothing to do most of the time:
 * only those that were looked at last keep theirs, and all of them together take no more than RH_ENGINE_TREE_BYTES. Of
 * the others the text is kept, or, of those that are large, nothing but the name, the UID and the version: the API
 * server has the rest.
 */
#include <stddef.h>
#include <string.h>

#include "engine/carry/parts.h"
#include "engine/carry/unfit.h"

void rh_engine_reserve(struct rh_engine_entry *entry, size_t bytes)
{
	entry->engine->tree_bytes += bytes - entry->reserved;
	entry->reserved = bytes;
}

void rh_engine_forget_text(struct rh_engine_entry *entry)
{
	if (entry->text)
		entry->engine->text_bytes -= strlen(entry->text);
	rh_free(rh_take(entry->text));
}

static void trees_unlink(struct rh_engine_entry *entry)
{
	struct rh_engine *engine = entry->engine;

	*(entry->used_before ? &entry->used_before->used_after : &engine->least_recent) = entry->used_after;
	*(entry->used_after ? &entry->used_after->used_before : &engine->most_recent) = entry->used_before;
	entry->used_after = entry->used_before = NULL;
}

void rh_engine_forget_tree(struct rh_engine_entry *entry)
{
	if (!entry->has_tree)
		return;
	trees_unlink(entry);
	rh_engine_reserve(entry, 0);
	entry->has_tree = false;
	entry->engine->tree_count--;
}

static void trees_link(struct rh_engine_entry *entry)
{
	struct rh_engine *engine = entry->engine;

	entry->used_before = engine->most_recent;
	*(engine->most_recent ? &engine->most_recent->used_after : &engine->least_recent) = entry;
	engine->most_recent = entry;
}

/* Of a job that is too large only a part is a tree. */
static bool trees_is_part(const struct rh_job *job)
{
	return job->weight > RH_JOB_WEIGHT_MAX;
}

void rh_engine_mark_used(struct rh_engine_entry *entry)
{
	const struct rh_job *job = entry->job;

	if (entry->has_tree)
		trees_unlink(entry);
	else
		entry->engine->tree_count++;
	trees_link(entry);
	entry->has_tree = true;
	entry->weight = job->weight;
	rh_engine_reserve(entry, trees_is_part(job) ? rh_json_weight(job->object) : job->weight);
}

size_t rh_engine_answer_size(const struct rh_engine_entry *entry)
{
	return entry->weight > RH_ENGINE_TEXT_WEIGHT ? entry->weight : 0;
}

static bool trees_is_quiet(const struct rh_engine_entry *entry)
{
	return entry->stage == RH_STAGE_IDLE && !entry->plan && entry->inflight_count == 0 && entry->job && !entry->refresh;
}

/* One that was read again for a decision keeps its tree until then. */
static bool trees_is_needed(const struct rh_engine_entry *entry)
{
	return entry->unread && entry->item.place > 0 && entry->item.at == RH_QUEUE_NOW;
}

/* Print the text, if it may be kept. @return 0 or RH_ENOMEM */
static int trees_print(struct rh_engine_entry *entry)
{
	struct rh_engine *engine = entry->engine;

	if (entry->text || rh_engine_answer_size(entry) > 0 || engine->text_bytes >= RH_ENGINE_TEXT_BYTES)
		return 0;
	entry->text = rh_json_text(entry->job->object);
	if (!entry->text)
		return RH_ENOMEM;
	engine->text_bytes += strlen(entry->text);
	return 0;
}

/* Keep the text in place of the tree, or neither. Without memory for it the tree stays. */
static void trees_evict(struct rh_engine_entry *entry)
{
	if (trees_print(entry) < 0)
		return;
	entry->unread = !entry->text;
	if (entry->unread && rh_object_hash(rh_json_get(entry->job->object, "spec"), &entry->spec_hash) < 0)
		return;
	rh_builder_free(rh_take(entry->builder));
	rh_json_free(rh_take(entry->desired));
	rh_job_free(rh_take(entry->job));
	rh_engine_set_ledger(entry, NULL);
	rh_engine_forget_tree(entry);
}

/* @return whether there are more trees than may be kept at rest */
static bool trees_is_over(const struct rh_engine *engine, size_t most, size_t bytes)
{
	return engine->tree_count > most || engine->tree_bytes > bytes;
}

/* Let trees go, those first that were looked at longest ago, until few enough are left. */
static void trees_shrink(struct rh_engine *engine, size_t most, size_t bytes)
{
	for (size_t count = engine->tree_count; count > 0 && trees_is_over(engine, most, bytes); count--) {
		struct rh_engine_entry *cold = engine->least_recent;

		if (trees_is_quiet(cold) && !trees_is_needed(cold))
			trees_evict(cold);
		if (cold->has_tree) {
			trees_unlink(cold);
			trees_link(cold);
		} else if (most > 0) {
			rh_engine_trim_good_events(cold);
		}
	}
}

/*
 * Those in use have been looked at just now: they are the hottest. Where there are many jobs their Events are forgotten
 * too, as Kubernetes' clients do.
 */
void rh_engine_evict(struct rh_engine *engine, size_t most)
{
	bool tree_queue = engine->tree_queue.count > 0; /* then nobody keeps what he does not use */

	trees_shrink(engine, most, tree_queue ? RH_ENGINE_TREE_BYTES / 2 : RH_ENGINE_TREE_BYTES);
}

/* A large one counts for half of all at most, so that it has room sooner or later whatever else there is. */
bool rh_engine_has_room(struct rh_engine *engine, size_t weight)
{
	size_t half = RH_ENGINE_TREE_BYTES / 2;
	size_t bytes = RH_ENGINE_TREE_BYTES - (weight < half ? weight : half);

	trees_shrink(engine, SIZE_MAX, bytes);
	return engine->tree_bytes <= bytes;
}

void rh_engine_await_room(struct rh_engine_entry *entry)
{
	rh_queue_add(&entry->engine->tree_queue, &entry->tree_queue, RH_QUEUE_NOW);
}

bool rh_engine_may_admit_trees(const struct rh_engine *engine)
{
	return engine->tree_queue.count > 0 && 2 * engine->tree_bytes <= RH_ENGINE_TREE_BYTES;
}

/* One that finds no room for its own tree waits again. */
void rh_engine_admit_trees(struct rh_engine *engine)
{
	size_t bytes = engine->tree_bytes;
	struct rh_queue_item *item;

	if (!rh_engine_may_admit_trees(engine))
		return;
	while (bytes < RH_ENGINE_TREE_BYTES && (item = rh_queue_take(&engine->tree_queue, RH_QUEUE_NOW))) {
		struct rh_engine_entry *entry =
			(struct rh_engine_entry *)((char *)item - offsetof(struct rh_engine_entry, tree_queue));

		bytes += entry->weight;
		rh_engine_touch(entry);
	}
}

int rh_engine_parse_job(const struct rh_kind *kind, struct rh_json *object, struct rh_job **ret_job,
                        struct rh_ledger *ret_ledger, struct rh_error *err)
{
	rh_auto(job) job = NULL;
	int r = rh_job_parse(kind, object, &job, err);

	if (r == 0)
		r = rh_ledger_read(job, ret_ledger);
	if (r != 0)
		return r;
	rh_engine_forgive_unfit(kind, &job->status);
	*ret_job = rh_take(job);
	return 0;
}

/* @return 0, RH_EINVAL or RH_ENOMEM */
static int trees_parse(const struct rh_engine_entry *entry, struct rh_job **ret_job, struct rh_ledger *ret_ledger)
{
	struct rh_json *object;
	int r = rh_json_parse(entry->text, strlen(entry->text), &object, NULL);

	return r == 0 ? rh_engine_parse_job(entry->kind->kind, object, ret_job, ret_ledger, NULL) : r;
}

int rh_engine_hydrate(struct rh_engine_entry *entry)
{
	struct rh_ledger *ledger = NULL;
	int r = 0;

	if (entry->job || !entry->text)
		return 0;
	ledger = rh_alloc(sizeof(*ledger));
	r = ledger ? trees_parse(entry, &entry->job, ledger) : RH_ENOMEM;
	if (r == 0) {
		rh_engine_set_ledger(entry, ledger);
		rh_engine_mark_used(entry);
		return 0;
	}
	rh_free(ledger);
	if (r == RH_ENOMEM)
		return r;
	/* It cannot be read back: the store has it. */
	rh_engine_forget_text(entry);
	entry->refresh = true;
	return 0;
}

void rh_engine_set_ledger(struct rh_engine_entry *entry, struct rh_ledger *ledger)
{
	if (entry->ledger)
		rh_ledger_deinit(entry->ledger);
	rh_free(entry->ledger);
	entry->ledger = ledger;
}
