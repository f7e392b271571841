/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/carry/job_cache.h"

#include <string.h>

#include "engine/carry/backoff.h"
#include "engine/carry/entry.h"
#include "engine/carry/large.h"
#include "engine/carry/metadata.h"

void rh_job_cache_set_ledger(struct rh_entry *entry, struct rh_ledger *ledger)
{
	if (entry->ledger)
		rh_ledger_deinit(entry->ledger);
	rh_free(entry->ledger);
	entry->ledger = ledger;
}

/* Free what is derived from the job and its plan; its UID and children stay. */
static void job_cache_free(struct rh_entry *entry)
{
	rh_carry_forget(entry);
	rh_job_free(rh_take(entry->job));
	rh_trees_forget_job(entry);
	rh_work_forget(entry);
	rh_objects_forget_desired(entry);
	rh_job_cache_set_ledger(entry, NULL);
	rh_backoff_clear_all(entry);
	rh_refusals_forget_all(entry);
}

void rh_job_cache_forget(struct rh_entry *entry)
{
	job_cache_free(entry);
	rh_carry_forget_message(entry);
	rh_objects_forget(entry);
	rh_events_forget(entry);
	rh_inflight_abandon_all(entry);
	rh_free(rh_take(entry->uid));
	entry->revision = 0;
	entry->invalid = entry->refresh = false;
	rh_queue_forgive(&entry->item);
}

void rh_job_cache_forget_finished(struct rh_entry *entry)
{
	job_cache_free(entry);
	rh_events_trim(entry);
}

static void job_cache_report_invalid(struct rh_entry *entry, const char *message)
{
	rh_auto_free char *reason = rh_asprintf("%sFailedValidation", entry->kind->kind->kind);
	rh_auto_free char *text = rh_asprintf("%s failed validation because %s", entry->kind->kind->kind, message);

	if (reason && text)
		rh_events_emit(entry, &(struct rh_event_spec){entry->uid, true, reason, text});
}

static bool job_cache_is_old(const struct rh_entry *entry, const char *uid, uint64_t revision)
{
	if (!entry->uid || revision == 0)
		return false;
	return revision < entry->revision ||
	       (revision == entry->revision && !entry->refresh && strcmp(entry->uid, uid) == 0);
}

static bool job_cache_has_spec(const struct rh_entry *entry, const struct rh_json *spec)
{
	uint64_t hash;

	if (entry->job)
		return rh_json_equal(rh_json_get(entry->job->object, "spec"), spec);
	return entry->tree.unread && rh_object_hash(spec, &hash) == 0 && hash == entry->tree.spec_hash;
}

/* A new spec invalidates all that was derived from the old one. */
static void job_cache_set_job(struct rh_entry *entry, struct rh_job *job, struct rh_ledger *ledger)
{
	bool same = job && job_cache_has_spec(entry, rh_json_get(job->object, "spec"));

	if (!same) {
		rh_backoff_clear_all(entry);
		rh_refusals_forget_all(entry);
		rh_objects_invalidate(entry);
	}
	rh_work_free_builder(entry);
	rh_job_free(entry->job);
	rh_trees_forget_text(entry);
	entry->job = job;
	rh_job_cache_set_ledger(entry, ledger);
	if (job)
		rh_trees_mark_used(entry);
	else
		rh_trees_forget(entry);
}

/* @return 0, RH_EINVAL or RH_ENOMEM */
static int job_cache_parse(const struct rh_entry *entry, const struct rh_json *object, struct rh_job **ret_job,
                           struct rh_ledger *ret_ledger, struct rh_error *err)
{
	size_t weight = rh_json_weight(object);
	rh_auto(json) copy = rh_large_copy(object, weight);
	rh_auto(job) job = NULL;
	int r;

	if (!copy)
		return RH_ENOMEM;
	rh_json_remove(rh_json_get(copy, "metadata"), "managedFields");
	r = rh_job_parse(entry->kind->kind, rh_take(copy), &job, err);
	if (r == 0 && weight > RH_JOB_WEIGHT_MAX)
		job->weight = weight;
	if (r == 0)
		r = rh_ledger_read(job, ret_ledger);
	if (r == 0)
		*ret_job = rh_take(job);
	return r;
}

static void job_cache_report_change(struct rh_entry *entry, bool first, const struct rh_job *after,
                                    const struct rh_ledger *ledger)
{
	const struct rh_engine_options *options = &entry->engine->options;
	static const struct rh_ledger none;
	const struct rh_engine_change change = {
		entry->kind->kind, first, entry->job, entry->ledger ? entry->ledger : &none, after, ledger, &entry->flags};

	if (options->changed)
		options->changed(options->arg, &change);
}

/* The name has another job than before, or its first one. @p uid is taken. */
static void job_cache_begin(struct rh_entry *entry, char *uid)
{
	rh_job_cache_forget(entry);
	entry->uid = uid;
	entry->flags = 0;
}

int rh_job_cache_store(struct rh_entry *entry, const struct rh_json *object)
{
	const char *uid = rh_object_text(object, "metadata", "uid");
	uint64_t revision = rh_object_revision(rh_object_text(object, "metadata", "resourceVersion"));
	rh_auto_free char *copy = NULL;
	struct rh_ledger *ledger;
	struct rh_job *job = NULL;
	struct rh_error err = {0};
	bool first;
	int r;

	if (job_cache_is_old(entry, uid, revision))
		return 0;
	copy = rh_strdup(uid);
	first = !entry->uid || strcmp(entry->uid, uid) != 0;
	if (copy && rh_large_must_defer(entry, object)) {
		if (first)
			job_cache_begin(entry, rh_take(copy));
		entry->revision = revision;
		rh_large_defer(entry);
		return 1;
	}
	ledger = rh_trees_hydrate(entry) == 0 ? rh_alloc(sizeof(*ledger)) : NULL;
	r = copy && ledger ? job_cache_parse(entry, object, &job, ledger, &err) : RH_ENOMEM;
	if (r == RH_ENOMEM) {
		if (ledger)
			rh_ledger_deinit(ledger);
		rh_free(ledger);
		return r;
	}
	if (first)
		job_cache_begin(entry, rh_take(copy));
	job_cache_report_change(entry, first, job, ledger);
	job_cache_set_job(entry, job, ledger);
	entry->revision = revision;
	entry->refresh = false;
	entry->invalid = r < 0;
	if (entry->invalid)
		job_cache_report_invalid(entry, err.message);
	return 1;
}
