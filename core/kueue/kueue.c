/* SPDX-License-Identifier: Apache-2.0 */
#include "kueue/kueue.h"

#include <string.h>

#include "base/mem.h"
#include "base/os/clock.h"
#include "base/str.h"
#include "job/status/conditions.h"
#include "kueue/pods/reclaim.h"
#include "kueue/state.h"

/* How often entries of jobs that are gone are looked for: only those without a Workload are found no other way. */
#define KUEUE_SWEEP (60 * RH_SECOND)

int rh_kueue_new(const struct rh_host *host, struct rh_store *store, struct rh_kueue **ret_kueue, struct rh_error *err)
{
	struct rh_kueue *kueue = rh_alloc(sizeof(*kueue));

	if (!kueue)
		return rh_fail_oom(err);
	kueue->host = host;
	kueue->store = store;
	kueue->entries = rh_map_new();
	kueue->workloads = rh_map_new();
	kueue->others = rh_map_new();
	if (kueue->entries && kueue->workloads && kueue->others && rh_kueue_watch_all(kueue) == 0) {
		*ret_kueue = kueue;
		return 0;
	}
	rh_kueue_free(kueue);
	return rh_fail_oom(err);
}

void rh_kueue_free(struct rh_kueue *kueue)
{
	size_t cursor = 0;
	void *entry;

	if (!kueue)
		return;
	rh_kueue_unwatch_all(kueue);
	while (kueue->entries && rh_map_next(kueue->entries, &cursor, NULL, &entry))
		rh_kueue_entry_free(entry);
	rh_map_free(kueue->entries);
	rh_map_free(kueue->workloads);
	rh_map_free(kueue->others);
	rh_free(kueue);
}

void rh_kueue_set_engine(struct rh_kueue *kueue, struct rh_engine *engine)
{
	kueue->engine = engine;
}

/* The note in the job; of a text that is none, nothing. @return 0 or RH_ENOMEM */
static int kueue_read_note(struct rh_kueue_entry *entry, const struct rh_job *job)
{
	const char *text =
		rh_json_string(rh_json_get(rh_json_at(job->object, "metadata.annotations"), RH_ANNOTATION_ADMITTED));
	rh_auto(json) note = NULL;
	const char *uid, *id;

	rh_free(rh_take(entry->note_workload));
	if (!text)
		return 0;
	if (rh_json_parse(text, strlen(text), &note, NULL) == RH_ENOMEM)
		return RH_ENOMEM;
	uid = rh_json_string_at(note, "workload");
	id = rh_json_string_at(note, "admission");
	rh_copy(entry->note_id, sizeof(entry->note_id), id ? id : "");
	entry->note_workload = rh_strdup(uid ? uid : "");
	return entry->note_workload ? 0 : RH_ENOMEM;
}

static int kueue_read_end(struct rh_kueue_entry *entry, const struct rh_job_status *status)
{
	const struct rh_condition *end = rh_job_status_condition(status, RH_CONDITION_SUCCEEDED);

	entry->finished = rh_job_status_finished(status);
	entry->success = end && end->status;
	if (!entry->success)
		end = rh_job_status_condition(status, RH_CONDITION_FAILED);
	rh_free(rh_take(entry->message));
	if (!entry->finished || !end || !end->message)
		return 0;
	entry->message = rh_strdup(end->message);
	return entry->message ? 0 : RH_ENOMEM;
}

/* @return 0 or RH_ENOMEM */
static int kueue_read_job(struct rh_kueue_entry *entry, const struct rh_job *job)
{
	int64_t active = 0;

	rh_kueue_wish_deinit(&entry->wish);
	rh_json_free(rh_take(entry->succeeded));
	if (rh_kueue_wish_read(job, &entry->wish) < 0 || rh_kueue_reclaim_read(job, &entry->succeeded) < 0 ||
	    kueue_read_note(entry, job) < 0 || kueue_read_end(entry, &job->status) < 0)
		return RH_ENOMEM;
	for (size_t i = 0; i < job->status.replica_count; i++)
		active += (int64_t)job->status.replicas[i].active + job->status.replicas[i].succeeded;
	entry->ready = active >= rh_job_total_replicas(job);
	entry->suspend = job->policy.suspend;
	entry->revision = rh_kueue_revision(job->object);
	entry->known = true;
	return 0;
}

void rh_kueue_changed(struct rh_kueue *kueue, const struct rh_engine_change *change)
{
	const struct rh_job *job = change->after;
	struct rh_kueue_owner owner;
	struct rh_kueue_entry *entry;

	if (!job || !rh_kueue_serves(job->kind) || !rh_job_is_ours(job))
		return;
	owner = (struct rh_kueue_owner){job->kind, job->namespace_, job->name, job->uid, 0};
	entry = rh_map_get(kueue->entries, job->uid);
	if (!entry && !rh_json_get(rh_json_at(job->object, "metadata.labels"), RH_LABEL_QUEUE))
		return;
	entry = entry ? entry : rh_kueue_entry_of(kueue, &owner);
	if (!entry || kueue_read_job(entry, job) < 0)
		kueue->lost = true;
	if (entry)
		rh_kueue_mark(entry);
}

/* While lists are missing, nothing is known. A job without pods says why it waits; one with pods is stopped first. */
static void kueue_hold(const struct rh_kueue_entry *entry, struct rh_gate *gate)
{
	const char *trouble = rh_kueue_trouble(entry->kueue);

	gate->state = !trouble && rh_kueue_is_synced(entry->kueue) ? RH_GATE_SHUT : RH_GATE_LATER;
	gate->message = trouble;
	if (gate->state == RH_GATE_SHUT && entry->still && entry->problem) {
		gate->state = RH_GATE_LATER;
		gate->message = entry->problem;
	}
}

void rh_kueue_gate(struct rh_kueue *kueue, const struct rh_job *job, struct rh_gate *ret_gate)
{
	struct rh_kueue_entry *entry = rh_map_get(kueue->entries, job->uid);
	struct rh_kueue_facts facts;

	if (!entry || !rh_job_is_ours(job))
		return;
	ret_gate->state = RH_GATE_OPEN;
	if (entry->finished)
		return;
	facts = rh_kueue_facts_of(entry);
	if (facts.other || (!facts.queued && !facts.workload && rh_kueue_is_synced(kueue))) {
		ret_gate->state = RH_GATE_NONE;
		return;
	}
	entry->open = rh_kueue_is_synced(kueue) && rh_kueue_may_run(&facts);
	if (entry->open)
		entry->still = false;
	else
		kueue_hold(entry, ret_gate);
}

void rh_kueue_still(struct rh_kueue *kueue, const struct rh_job *job)
{
	struct rh_kueue_entry *entry = rh_map_get(kueue->entries, job->uid);

	if (!entry || entry->still)
		return;
	entry->still = true;
	rh_kueue_mark(entry);
	if (entry->problem)
		rh_kueue_stir(entry);
}

static void kueue_forget(struct rh_kueue_entry *entry)
{
	(void)rh_map_remove(entry->kueue->entries, entry->uid);
	rh_kueue_entry_free(entry);
}

static void kueue_mark_all(struct rh_kueue *kueue)
{
	size_t cursor = 0;
	void *entry;

	while (rh_map_next(kueue->entries, &cursor, NULL, &entry))
		rh_kueue_mark(entry);
	kueue->lost = false;
	kueue->sweep_at = kueue->now + KUEUE_SWEEP;
}

/* @return whether what is known is all that there is */
static bool kueue_is_ready(const struct rh_kueue *kueue)
{
	return rh_kueue_is_synced(kueue) && !rh_kueue_trouble(kueue) && rh_engine_is_synced(kueue->engine);
}

void rh_kueue_step(struct rh_kueue *kueue, int64_t now)
{
	struct rh_kueue_entry *list;

	kueue->now = now;
	if (!kueue_is_ready(kueue))
		return;
	if (now >= kueue->sweep_at || kueue->lost)
		kueue_mark_all(kueue);
	list = rh_take(kueue->dirty);
	while (list) {
		struct rh_kueue_entry *entry = list;

		list = entry->next;
		entry->dirty = false;
		if (entry->request)
			continue; /* its outcome marks it */
		if (entry->again_at > now)
			rh_kueue_mark(entry);
		else if (rh_kueue_act(entry))
			kueue_forget(entry);
	}
}

int64_t rh_kueue_deadline(const struct rh_kueue *kueue)
{
	int64_t deadline = kueue->sweep_at;

	if (!kueue_is_ready(kueue))
		return RH_NEVER;
	for (const struct rh_kueue_entry *entry = kueue->dirty; entry; entry = entry->next)
		deadline = entry->request || entry->again_at > deadline ? deadline : entry->again_at;
	return deadline;
}
