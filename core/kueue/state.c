/* SPDX-License-Identifier: Apache-2.0 */
#include "kueue/state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "kueue/pods/reclaim.h"

uint64_t rh_kueue_revision(const struct rh_json *object)
{
	const char *text = rh_json_string_at(object, "metadata.resourceVersion");

	return text ? strtoull(text, NULL, 10) : 0;
}

struct rh_kueue_entry *rh_kueue_entry_of(struct rh_kueue *kueue, const struct rh_kueue_owner *owner)
{
	struct rh_kueue_entry *entry = rh_map_get(kueue->entries, owner->uid);

	if (entry)
		return entry;
	entry = rh_alloc(sizeof(*entry));
	if (!entry)
		return NULL;
	entry->kueue = kueue;
	entry->kind = owner->kind;
	entry->uid = rh_strdup(owner->uid);
	entry->namespace_ = rh_strdup(owner->namespace_);
	entry->name = rh_strdup(owner->name);
	if (entry->uid && entry->namespace_ && entry->name && rh_map_set(kueue->entries, owner->uid, entry, NULL) == 0)
		return entry;
	rh_kueue_entry_free(entry);
	return NULL;
}

void rh_kueue_entry_free(struct rh_kueue_entry *entry)
{
	if (entry->request)
		entry->kueue->store->cancel(entry->kueue->store, entry->request);
	rh_kueue_wish_deinit(&entry->wish);
	rh_json_free(entry->workload);
	rh_json_free(entry->succeeded);
	rh_free(entry->message);
	rh_free(entry->note_workload);
	rh_free(entry->problem);
	rh_free(entry->uid);
	rh_free(entry->namespace_);
	rh_free(entry->name);
	rh_free(entry);
}

void rh_kueue_mark(struct rh_kueue_entry *entry)
{
	if (entry->dirty)
		return;
	entry->dirty = true;
	entry->next = entry->kueue->dirty;
	entry->kueue->dirty = entry;
}

void rh_kueue_stir(struct rh_kueue_entry *entry)
{
	rh_kueue_mark(entry);
	if (entry->kueue->engine)
		rh_engine_touch(entry->kueue->engine, entry->kind, entry->namespace_, entry->name);
}

const char *rh_kueue_trouble(const struct rh_kueue *kueue)
{
	for (int what = 0; what < RH_KUEUE_WATCHES; what++) {
		if (kueue->watches[what].problem)
			return kueue->watches[what].problem;
	}
	return NULL;
}

bool rh_kueue_is_synced(const struct rh_kueue *kueue)
{
	bool synced = true;

	for (int what = 0; what < RH_KUEUE_WATCHES; what++)
		synced = synced && kueue->watches[what].synced;
	return synced;
}

static void state_add_workload(const struct rh_kueue_entry *entry, struct rh_kueue_facts *facts)
{
	const struct rh_json *workload = entry->workload;
	const struct rh_json *finalizer = rh_json_first(rh_json_at(workload, "metadata.finalizers"));
	const struct rh_json *annotations = rh_json_at(workload, "metadata.annotations");
	const struct rh_json *reclaimed = rh_json_at(workload, "status.reclaimablePods");

	while (finalizer && !rh_text_equal(rh_json_string(finalizer), RH_KUEUE_FINALIZER))
		finalizer = rh_json_next(finalizer);
	facts->workload = true;
	facts->locked = finalizer;
	facts->deleting = rh_json_at(workload, "metadata.deletionTimestamp");
	facts->same = rh_text_equal(rh_json_string(rh_json_get(annotations, RH_KUEUE_ANNOTATION_HASH)), entry->wish.hash);
	facts->current = rh_kueue_workload_is_current(workload, &entry->wish);
	facts->ended = rh_kueue_is(workload, "Finished");
	facts->reserved = rh_kueue_is(workload, "QuotaReserved");
	facts->admitted = rh_kueue_is(workload, "Admitted");
	facts->evicted = rh_kueue_is(workload, "Evicted");
	facts->reported = rh_kueue_is(workload, "PodsReady");
	facts->spare = rh_kueue_reclaim_exceeds(entry->succeeded, reclaimed);
	facts->over = rh_kueue_reclaim_exceeds(reclaimed, entry->succeeded);
	facts->agreed = rh_text_equal(rh_json_string_at(workload, "metadata.uid"), entry->note_workload) &&
	                *entry->admission && strcmp(entry->admission, entry->note_id) == 0;
}

void rh_kueue_other_key(const struct rh_kind *kind, const char *namespace_, char ret_key[RH_KUEUE_OTHER_SIZE])
{
	(void)snprintf(ret_key, RH_KUEUE_OTHER_SIZE, "%s/%s", namespace_, kind->kind);
}

struct rh_kueue_facts rh_kueue_facts_of(const struct rh_kueue_entry *entry)
{
	const struct rh_kueue *kueue = entry->kueue;
	char other[RH_KUEUE_OTHER_SIZE];
	struct rh_kueue_facts facts = {
		.job = rh_engine_has_job(kueue->engine, entry->kind, entry->namespace_, entry->name, entry->uid),
		.pods = rh_engine_has_pods(kueue->engine, entry->kind, entry->namespace_, entry->name, entry->uid),
		.queued = entry->wish.queue,
		.finished = entry->finished,
		.still = entry->still,
		.suspend = entry->suspend,
		.noted = entry->note_workload,
		.ready = entry->ready,
	};

	rh_kueue_other_key(entry->kind, entry->namespace_, other);
	facts.other = rh_map_get(kueue->others, other);
	if (entry->workload)
		state_add_workload(entry, &facts);
	return facts;
}
