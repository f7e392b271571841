/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/carry/job/cache.h"

#include <string.h>

#include "engine/carry/entry.h"
#include "engine/carry/job/invalid.h"
#include "engine/carry/job/large.h"
#include "engine/carry/job/metadata.h"
#include "engine/carry/job/parsed.h"
#include "engine/carry/request/backoff.h"

/* Free what is derived from the job and its plan; its UID and children stay. */
static void job_cache_free(struct rh_entry *entry)
{
	rh_progress_forget(entry);
	rh_invalid_set(entry, NULL);
	rh_job_free(rh_take(entry->job));
	rh_trees_forget_job(entry);
	rh_bodies_forget(entry);
	rh_lookup_forget(entry);
	rh_objects_forget_desired(entry);
	rh_parsed_set_ledger(entry, NULL);
	rh_backoff_clear_all(entry);
	rh_refusals_forget_all(entry);
	rh_stalls_forget(entry);
}

void rh_job_cache_forget(struct rh_entry *entry)
{
	job_cache_free(entry);
	rh_progress_forget_message(entry);
	rh_objects_forget(entry);
	rh_events_forget(entry);
	rh_inflight_abandon_all(entry);
	rh_free(rh_take(entry->uid));
	entry->revision = 0;
	entry->refresh = false;
	rh_queue_forgive(&entry->item);
}

void rh_job_cache_forget_finished(struct rh_entry *entry)
{
	job_cache_free(entry);
	rh_events_trim(entry);
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
	rh_bodies_free_builder(entry);
	if (job)
		rh_bodies_keep_expansion(entry, job);
	else if (entry->job)
		(void)rh_trees_keep_expansion(entry);
	rh_job_free(entry->job);
	rh_trees_forget_text(entry);
	entry->job = job;
	rh_parsed_set_ledger(entry, ledger);
	if (job)
		rh_trees_mark_used(entry);
	else
		rh_trees_forget(entry);
}

/* The result of reading an object: a job and its ledger, or the reason why it is not a valid job. */
struct job_cache_read {
	struct rh_job *job;
	struct rh_ledger *ledger;
	struct rh_invalid_job *invalid;
};

static void job_cache_free_read(struct job_cache_read *read)
{
	rh_job_free(read->job);
	if (read->ledger)
		rh_ledger_deinit(read->ledger);
	rh_free(read->ledger);
}

/* @return 0, RH_EINVAL or RH_ENOMEM */
static int job_cache_parse(const struct rh_entry *entry, const struct rh_json *object, struct job_cache_read *read,
                           struct rh_error *err)
{
	size_t weight = rh_json_weight(object);
	rh_auto(json) copy = rh_large_copy(object, weight);
	int r;

	if (!copy)
		return RH_ENOMEM;
	rh_json_remove(rh_json_get(copy, "metadata"), "managedFields");
	/* the watch shows it in the storage version */
	if (entry->kind->shared && rh_json_set_string(copy, "apiVersion", entry->kind->resource.api_version) < 0)
		return RH_ENOMEM;
	r = rh_parsed_read(entry->kind->kind, rh_take(copy), &read->job, read->ledger, err);
	if (r == 0 && weight > RH_JOB_WEIGHT_MAX)
		read->job->weight = weight;
	return r;
}

/* @return 0 or RH_ENOMEM, then @p read is to be freed */
static int job_cache_read(struct rh_entry *entry, const struct rh_json *object, struct job_cache_read *read)
{
	struct rh_error err = {0};
	int r;

	read->ledger = rh_trees_hydrate(entry) == 0 ? rh_alloc(sizeof(*read->ledger)) : NULL;
	r = read->ledger ? job_cache_parse(entry, object, read, &err) : RH_ENOMEM;
	if (r == 0 || r == RH_ENOMEM)
		return r;
	entry->tree.weight = rh_json_weight(object);
	read->invalid = rh_invalid_new(entry, object, err.message);
	return read->invalid ? 0 : RH_ENOMEM;
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
	struct job_cache_read read = {0};
	bool first;

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
	if (!copy || job_cache_read(entry, object, &read) < 0) {
		job_cache_free_read(&read);
		return RH_ENOMEM;
	}
	if (first) {
		job_cache_begin(entry, rh_take(copy));
	} else if (read.job && !entry->job && rh_trees_restore_expansion(entry, read.job) < 0) {
		job_cache_free_read(&read);
		return RH_ENOMEM;
	}
	job_cache_report_change(entry, first, read.job, read.ledger);
	job_cache_set_job(entry, read.job, read.ledger);
	rh_invalid_set(entry, read.invalid);
	entry->revision = revision;
	entry->refresh = false;
	return 1;
}
