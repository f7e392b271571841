/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/carry/job/invalid.h"

#include <string.h>

#include "base/hash.h"
#include "engine/carry/entry.h"
#include "engine/carry/job/metadata.h"
#include "engine/carry/patch.h"
#include "job/fields.h"
#include "job/kind.h"
#include "job/status/conditions.h"
#include "job/status/shown.h"
#include "job/values/names.h"

/* @return the condition that rh_invalid_settle() has set, borrowed, or NULL */
static const struct rh_condition *invalid_condition(const struct rh_kind *kind, const struct rh_job_status *status)
{
	const struct rh_condition *failed = rh_job_status_condition(status, RH_CONDITION_FAILED);
	rh_auto_free char *reason = NULL;

	if (!failed || !failed->status || rh_job_status_condition(status, RH_CONDITION_CREATED) || !failed->reason)
		return NULL;
	reason = rh_conditions_reason(kind, RH_WORD_INVALID);
	return reason && strcmp(failed->reason, reason) == 0 ? failed : NULL;
}

static void invalid_free(struct rh_invalid_job *invalid)
{
	if (!invalid)
		return;
	rh_free(invalid->message);
	rh_free(invalid->version);
	rh_json_free(invalid->object);
	rh_free(invalid);
}

void rh_invalid_set(struct rh_entry *entry, struct rh_invalid_job *invalid)
{
	if (invalid && entry->invalid)
		invalid->reported = entry->invalid->reported;
	invalid_free(entry->invalid);
	entry->invalid = invalid;
}

/* A job of another controller, or one that is being deleted, is none of ours to fail. */
static bool invalid_is_left_alone(const struct rh_kind *kind, const struct rh_json *object)
{
	return !rh_kind_is_ours(kind, rh_kind_manager(kind, object)) ||
	       rh_fields_present(rh_json_at(object, "metadata.deletionTimestamp"));
}

/* What is needed of it: its status, and the annotation that belongs to that. */
static struct rh_json *invalid_copy(const struct rh_json *object)
{
	const struct rh_json *status = rh_json_get(object, "status");
	const char *hidden = rh_json_string(rh_json_get(rh_json_at(object, "metadata.annotations"), RH_ANNOTATION_STATUS));
	rh_auto(json) copy = rh_json_new_object();
	struct rh_json *metadata = copy ? rh_json_ensure_object(copy, "metadata") : NULL;
	struct rh_json *annotations = metadata ? rh_json_ensure_object(metadata, "annotations") : NULL;

	if (!annotations || rh_json_set_string(metadata, "uid", rh_object_text(object, "metadata", "uid")) < 0 ||
	    (hidden && rh_json_set_string(annotations, RH_ANNOTATION_STATUS, hidden) < 0) ||
	    rh_json_set(copy, "status", status ? rh_json_copy(status) : rh_json_new_object()) < 0)
		return NULL;
	return rh_take(copy);
}

/* @return owned by the caller; NULL: out of memory */
static char *invalid_message(const struct rh_entry *entry, const char *why)
{
	const struct rh_job job = {.kind = entry->kind->kind, .name = entry->name, .namespace_ = entry->namespace_};
	rh_auto_str message = {0};

	if (!rh_conditions_message(&job, RH_WORD_INVALID, why, &message))
		rh_str_appendf(&message, "%s failed validation because %s", job.kind->kind, why);
	return message.failed ? NULL : rh_strdup(rh_str_text(&message));
}

struct rh_invalid_job *rh_invalid_new(const struct rh_entry *entry, const struct rh_json *object, const char *why)
{
	struct rh_invalid_job *invalid = rh_alloc(sizeof(*invalid));

	if (!invalid || invalid_is_left_alone(entry->kind->kind, object))
		return invalid;
	invalid->message = invalid_message(entry, why);
	invalid->version = rh_strdup(rh_object_text(object, "metadata", "resourceVersion"));
	invalid->object = invalid_copy(object);
	if (invalid->message && invalid->version && invalid->object)
		return invalid;
	invalid_free(invalid);
	return NULL;
}

bool rh_invalid_is_reported(const struct rh_entry *entry)
{
	return entry->invalid && !entry->invalid->message && !entry->refresh;
}

void rh_invalid_forgive(const struct rh_kind *kind, struct rh_job_status *status)
{
	if (!invalid_condition(kind, status))
		return;
	(void)rh_job_status_remove(status, RH_CONDITION_FAILED);
	status->completed_at = 0;
}

/* One Event for each message. */
static void invalid_report(struct rh_entry *entry, const char *reason)
{
	struct rh_invalid_job *invalid = entry->invalid;
	uint64_t hash = rh_hash(invalid->message, strlen(invalid->message));

	if (invalid->reported == hash)
		return;
	rh_events_emit(entry, &(struct rh_event_spec){entry->uid, true, reason, invalid->message});
	invalid->reported = hash;
}

/* @return 0 or RH_ENOMEM */
static int invalid_fail(struct rh_entry *entry, struct rh_job_status *status, const char *reason,
                        struct rh_json **ret_patch)
{
	const struct rh_invalid_job *invalid = entry->invalid;
	int64_t now = entry->engine->now;

	rh_invalid_forgive(entry->kind->kind, status);
	if (rh_job_status_set(status, RH_CONDITION_FAILED, true, reason, invalid->message, now) < 0)
		return RH_ENOMEM;
	status->completed_at = now;
	*ret_patch = rh_patch_status(entry->kind->kind, rh_json_get(invalid->object, "status"), status);
	return *ret_patch ? 0 : RH_ENOMEM;
}

/* @return 0, without a patch when nothing is left to be done; or RH_ENOMEM */
static int invalid_next(struct rh_entry *entry, struct rh_job_status *status, struct rh_json **ret_patch)
{
	rh_auto_free char *reason = rh_conditions_reason(entry->kind->kind, RH_WORD_INVALID);
	const struct rh_condition *before = invalid_condition(entry->kind->kind, status);

	if (!reason)
		return RH_ENOMEM;
	if (before && rh_text_equal(before->message, entry->invalid->message))
		return 0;
	invalid_report(entry, reason);
	if (!before && (status->condition_count > 0 || !rh_conditions_invalid_fails(entry->kind->kind)))
		return 0;
	return invalid_fail(entry, status, reason, ret_patch);
}

int rh_invalid_settle(struct rh_entry *entry, struct rh_json **ret_patch)
{
	struct rh_job_status status = {0};
	int r = rh_shown_read(entry->kind->kind, entry->invalid->object, &status);

	*ret_patch = NULL;
	if (r == 0)
		r = invalid_next(entry, &status, ret_patch);
	rh_job_status_deinit(&status);
	if (r < 0 || *ret_patch)
		return r;
	rh_queue_forgive(&entry->item);
	rh_free(rh_take(entry->invalid->message));
	rh_free(rh_take(entry->invalid->version));
	rh_json_free(rh_take(entry->invalid->object));
	return 0;
}
