/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobs that the API server has and that cannot be read: one was stored before its CRD forbade what it says, or by a CRD
 * that forbids less. A new one fails, as any other that is not valid; one that has begun only gets an Event. The
 * condition Failed of such a job stands without Created: by that it is known, and taken back, when the job is
 * corrected.
 */
#include <string.h>

#include "engine/carry/parts.h"
#include "engine/carry/unfit.h"
#include "job/fields.h"
#include "job/names.h"

#define UNFIT_WORD "FailedValidation"

/* @return the condition that rh_engine_work_unfit() has set, borrowed, or NULL */
static const struct rh_condition *unfit_condition(const struct rh_kind *kind, const struct rh_job_status *status)
{
	const struct rh_condition *failed = rh_job_status_condition(status, RH_CONDITION_FAILED);
	size_t length = strlen(kind->kind);

	if (!failed || !failed->status || rh_job_status_condition(status, RH_CONDITION_CREATED) || !failed->reason ||
	    strncmp(failed->reason, kind->kind, length) != 0 || strcmp(failed->reason + length, UNFIT_WORD) != 0)
		return NULL;
	return failed;
}

static void unfit_free(struct rh_engine_unfit *unfit)
{
	if (!unfit)
		return;
	rh_free(unfit->message);
	rh_free(unfit->version);
	rh_json_free(unfit->status);
	rh_free(unfit);
}

void rh_engine_set_unfit(struct rh_engine_entry *entry, struct rh_engine_unfit *unfit)
{
	if (unfit && entry->unfit)
		unfit->reported = entry->unfit->reported;
	unfit_free(entry->unfit);
	entry->unfit = unfit;
}

/* A job of another controller, or one that is being deleted, is none of ours to fail. */
static bool unfit_is_left_alone(const struct rh_json *object)
{
	const char *manager = rh_json_string_at(object, "spec.runPolicy.managedBy");

	return (manager && strcmp(manager, RH_MANAGER_SELF) != 0) ||
	       rh_fields_present(rh_json_at(object, "metadata.deletionTimestamp"));
}

struct rh_engine_unfit *rh_engine_new_unfit(const struct rh_engine_entry *entry, const struct rh_json *object,
                                            const char *why)
{
	const char *kind = entry->kind->kind->kind;
	const struct rh_json *status = rh_json_get(object, "status");
	struct rh_engine_unfit *unfit = rh_alloc(sizeof(*unfit));

	if (!unfit || unfit_is_left_alone(object))
		return unfit;
	unfit->message = rh_asprintf("%s failed validation because %s", kind, why);
	unfit->version = rh_strdup(rh_object_text(object, "metadata", "resourceVersion"));
	unfit->status = status ? rh_json_copy(status) : rh_json_new_object();
	if (unfit->message && unfit->version && unfit->status)
		return unfit;
	unfit_free(unfit);
	return NULL;
}

bool rh_engine_is_unfit_at_rest(const struct rh_engine_entry *entry)
{
	return entry->unfit && !entry->unfit->message && !entry->refresh;
}

void rh_engine_forgive_unfit(const struct rh_kind *kind, struct rh_job_status *status)
{
	if (!unfit_condition(kind, status))
		return;
	(void)rh_job_status_remove(status, RH_CONDITION_FAILED);
	status->completed_at = 0;
}

/* One Event for each message. */
static void unfit_report(struct rh_engine_entry *entry, const char *reason)
{
	struct rh_engine_unfit *unfit = entry->unfit;
	uint64_t hash = rh_hash(unfit->message, strlen(unfit->message));

	if (unfit->reported == hash)
		return;
	rh_engine_emit(entry, &(struct rh_event_spec){entry->uid, true, reason, unfit->message});
	unfit->reported = hash;
}

/* @return 0 or RH_ENOMEM */
static int unfit_write(struct rh_engine_entry *entry, struct rh_job_status *status, const char *reason)
{
	const struct rh_engine_unfit *unfit = entry->unfit;
	int64_t now = entry->engine->now;
	struct rh_json *patch;

	rh_engine_forgive_unfit(entry->kind->kind, status);
	if (rh_job_status_set(status, RH_CONDITION_FAILED, true, reason, unfit->message, now) < 0)
		return RH_ENOMEM;
	status->completed_at = now;
	patch = rh_engine_status_patch(unfit->status, status);
	return patch ? rh_engine_write_status(entry, patch) : RH_ENOMEM;
}

/* @return 1 when nothing is left to be done; 0 when the status is being written; or RH_ENOMEM */
static int unfit_work(struct rh_engine_entry *entry, struct rh_job_status *status)
{
	rh_auto_free char *reason = rh_asprintf("%s" UNFIT_WORD, entry->kind->kind->kind);
	const struct rh_condition *before = unfit_condition(entry->kind->kind, status);

	if (!reason)
		return RH_ENOMEM;
	if (before && rh_text_equal(before->message, entry->unfit->message))
		return 1;
	unfit_report(entry, reason);
	if (!before && status->condition_count > 0)
		return 1;
	return unfit_write(entry, status, reason);
}

void rh_engine_work_unfit(struct rh_engine_entry *entry)
{
	struct rh_job_status status = {0};
	int r;

	if (entry->refresh) {
		rh_engine_refresh(entry);
		return;
	}
	r = rh_job_status_parse(entry->unfit->status, &status);
	if (r == 0)
		r = unfit_work(entry, &status);
	rh_job_status_deinit(&status);
	if (r < 0)
		rh_queue_fail(&entry->engine->queue, &entry->item, entry->engine->now);
	if (r != 1)
		return;
	rh_queue_forgive(&entry->item);
	rh_free(rh_take(entry->unfit->message));
	rh_free(rh_take(entry->unfit->version));
	rh_json_free(rh_take(entry->unfit->status));
}
