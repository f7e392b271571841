/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/carry/job/invalid.h"

#include <string.h>

#include "base/hash.h"
#include "engine/carry/entry.h"
#include "engine/carry/job/metadata.h"
#include "engine/carry/patch.h"
#include "job/fields.h"
#include "job/kind.h"
#include "job/names.h"

#define INVALID_REASON "FailedValidation"

/* @return the condition that rh_invalid_settle() has set, borrowed, or NULL */
static const struct rh_condition *invalid_condition(const struct rh_kind *kind, const struct rh_job_status *status)
{
	const struct rh_condition *failed = rh_job_status_condition(status, RH_CONDITION_FAILED);
	size_t length = strlen(kind->kind);

	if (!failed || !failed->status || rh_job_status_condition(status, RH_CONDITION_CREATED) || !failed->reason ||
	    strncmp(failed->reason, kind->kind, length) != 0 || strcmp(failed->reason + length, INVALID_REASON) != 0)
		return NULL;
	return failed;
}

static void invalid_free(struct rh_invalid_job *invalid)
{
	if (!invalid)
		return;
	rh_free(invalid->message);
	rh_free(invalid->version);
	rh_json_free(invalid->status);
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
	struct rh_kind_path path;
	const char *manager;

	rh_kind_policy_path(kind, &path);
	manager = rh_kind_has_policy(kind, "managedBy")
	              ? rh_json_string(rh_json_get(rh_kind_path_find(&path, object), "managedBy"))
	              : NULL;

	return !rh_kind_is_ours(kind, manager) || rh_fields_present(rh_json_at(object, "metadata.deletionTimestamp"));
}

struct rh_invalid_job *rh_invalid_new(const struct rh_entry *entry, const struct rh_json *object, const char *why)
{
	const char *kind = entry->kind->kind->kind;
	const struct rh_json *status = rh_json_get(object, "status");
	struct rh_invalid_job *invalid = rh_alloc(sizeof(*invalid));

	if (!invalid || invalid_is_left_alone(entry->kind->kind, object))
		return invalid;
	invalid->message = rh_asprintf("%s failed validation because %s", kind, why);
	invalid->version = rh_strdup(rh_object_text(object, "metadata", "resourceVersion"));
	invalid->status = status ? rh_json_copy(status) : rh_json_new_object();
	if (invalid->message && invalid->version && invalid->status)
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
	*ret_patch = rh_patch_status(invalid->status, status);
	return *ret_patch ? 0 : RH_ENOMEM;
}

/* @return 0, without a patch when nothing is left to be done; or RH_ENOMEM */
static int invalid_next(struct rh_entry *entry, struct rh_job_status *status, struct rh_json **ret_patch)
{
	rh_auto_free char *reason = rh_asprintf("%s" INVALID_REASON, entry->kind->kind->kind);
	const struct rh_condition *before = invalid_condition(entry->kind->kind, status);

	if (!reason)
		return RH_ENOMEM;
	if (before && rh_text_equal(before->message, entry->invalid->message))
		return 0;
	invalid_report(entry, reason);
	if (!before && status->condition_count > 0)
		return 0;
	return invalid_fail(entry, status, reason, ret_patch);
}

int rh_invalid_settle(struct rh_entry *entry, struct rh_json **ret_patch)
{
	struct rh_job_status status = {0};
	int r = rh_job_status_parse(entry->invalid->status, &status);

	*ret_patch = NULL;
	if (r == 0)
		r = invalid_next(entry, &status, ret_patch);
	rh_job_status_deinit(&status);
	if (r < 0 || *ret_patch)
		return r;
	rh_queue_forgive(&entry->item);
	rh_free(rh_take(entry->invalid->message));
	rh_free(rh_take(entry->invalid->version));
	rh_json_free(rh_take(entry->invalid->status));
	return 0;
}
