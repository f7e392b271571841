/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Responses to writes of children. Where a response leaves the result open, a read settles it. A refusal is reported
 * with the server's message and retried with back-off. The transition table is at the end.
 */
#include "engine/carry/request/completion.h"

#include <string.h>

#include "engine/carry/child/match.h"
#include "engine/carry/entry.h"
#include "engine/carry/job/cache.h"
#include "engine/carry/job/metadata.h"
#include "engine/carry/request/backoff.h"
#include "engine/carry/request/report.h"
#include "engine/carry/request/taken.h"
#include "engine/carry/request/verbs.h"
#include "job/values/names.h"

/* Make the job due when something may wait for this: for the first replica, or for room in the window. */
static void completion_end(struct rh_inflight *inflight)
{
	struct rh_entry *entry = inflight->entry;
	struct rh_engine *engine = entry->engine;
	bool leads = inflight->index == 0;

	rh_inflight_free(inflight);
	if (rh_entry_is_active(entry) && (leads || 2 * entry->inflight.count <= engine->options.window))
		rh_queue_add(&engine->queue, &entry->item, RH_QUEUE_NOW);
	rh_entry_release(entry);
}

static void completion_ignore(struct rh_inflight *inflight, const struct rh_outcome *outcome)
{
	(void)outcome;
	completion_end(inflight);
}

static void completion_back_off(struct rh_inflight *inflight, const struct rh_outcome *outcome)
{
	(void)outcome;
	rh_backoff_add(inflight, -1);
	completion_end(inflight);
}

static void completion_report_group(const struct rh_inflight *inflight)
{
	rh_events_emit(inflight->entry, &(struct rh_event_spec){inflight->job_uid, false, "JobTerminated",
	                                                        "Job has been terminated. Deleting PodGroup"});
	rh_report_success(inflight);
}

/* The containers may still run on an unreachable node: users have to know. */
static void completion_report_force(const struct rh_inflight *inflight)
{
	rh_auto_free char *message = rh_asprintf("Deleted pod by force: %s did not end within %s%s%s%s", inflight->name,
	                                         RH_ANNOTATION_TERMINATING_TIMEOUT, *inflight->node ? "; its node " : "",
	                                         inflight->node, *inflight->node ? " may be lost" : "");

	if (message)
		rh_events_emit(inflight->entry, &(struct rh_event_spec){inflight->job_uid, true, "ForcedDeletePod", message});
}

/* V1 emits no Event for a further object that succeeds, except for the delete of a PodGroup. */
static void completion_report_success(const struct rh_inflight *inflight)
{
	if (inflight->verb == RH_DELETE_OBJECT && strcmp(inflight->resource->kind, RH_GANG_OBJECT) == 0)
		completion_report_group(inflight);
	else if (inflight->node)
		completion_report_force(inflight);
	else if (rh_verb_of_pod(inflight->verb) || rh_verb_of_service(inflight->verb) || inflight->verb == RH_DELETE_JOB)
		rh_report_success(inflight);
}

static void completion_refused(struct rh_inflight *inflight, const struct rh_outcome *outcome)
{
	if (outcome->code == RH_OUTCOME_THROTTLED) {
		rh_backoff_add(inflight, outcome->retry_after);
	} else {
		enum rh_refused what = rh_report_refused(inflight);
		bool answered = outcome->code != RH_OUTCOME_UNKNOWN;
		bool single = rh_verb_of_object(inflight->verb);
		bool counts = answered && (single || rh_verb_creates(inflight->verb));

		if (answered)
			rh_report_failure(inflight, what, outcome->message);
		if (counts)
			rh_refusals_add(inflight, what, single, outcome->message);
		if (!counts || single)
			rh_backoff_add(inflight, -1);
	}
	completion_end(inflight);
}

/* Read what the last request was about, in the given state. */
static void completion_read(struct rh_inflight *inflight, enum rh_inflight_state state)
{
	struct rh_cached *cached;

	if (rh_inflight_read(inflight, state) == 0)
		return;
	cached = rh_verb_deletes(inflight->verb) ? rh_inflight_target(inflight) : NULL;
	if (cached)
		rh_cached_set_stopping(cached, false);
	completion_back_off(inflight, NULL);
}

static void completion_verify(struct rh_inflight *inflight, const struct rh_outcome *outcome)
{
	(void)outcome;
	completion_read(inflight, RH_INFLIGHT_VERIFYING);
}

static void completion_identify(struct rh_inflight *inflight, const struct rh_outcome *outcome)
{
	(void)outcome;
	completion_read(inflight, RH_INFLIGHT_IDENTIFYING);
}

/*
 * One that is made once has no content that may be read. It counts as made by this program when its own create returned
 * it, and as long as it has the same UID.
 */
static int completion_store_once(const struct rh_inflight *inflight, const struct rh_json *object)
{
	const struct rh_resource *resource = inflight->resource;
	rh_auto_free char *key = rh_child_key(resource->api_version, resource->kind, inflight->name);
	const struct rh_cached *known = key ? rh_map_get(inflight->entry->objects.known, key) : NULL;
	bool same = known && strcmp(rh_cached_uid(known), rh_object_text(object, "metadata", "uid")) == 0;
	uint64_t hash = same ? known->child->hash : 0;

	if (!key)
		return RH_ENOMEM;
	return rh_objects_store(inflight->entry, object, inflight->state == RH_INFLIGHT_SENT ? inflight->hash : hash);
}

/* A further object that existed before counts by its content. */
static int completion_store_object(const struct rh_inflight *inflight, const struct rh_json *object)
{
	int current;

	if (inflight->once)
		return completion_store_once(inflight, object);
	current = inflight->body ? rh_match_is_current(inflight, object) : 0;

	return current < 0 ? current : rh_objects_store(inflight->entry, object, current ? inflight->hash : 0);
}

/* @p object exists, and is what was to be created. */
static void completion_succeed_create(struct rh_inflight *inflight, const struct rh_json *object, bool report)
{
	struct rh_entry *entry = inflight->entry;
	int r = 0;

	if (inflight->verb != RH_CREATE_OBJECT)
		r = rh_children_store(inflight, object);
	else if (!rh_inflight_has_tombstone(inflight, rh_object_text(object, "metadata", "uid")))
		r = completion_store_object(inflight, object);
	if (r < 0)
		entry->engine->lost = true;
	if (report)
		completion_report_success(inflight);
	rh_backoff_clear(inflight);
	rh_refusals_forget(entry, inflight->resource->kind, inflight->probe ? NULL : inflight->name);
	completion_end(inflight);
}

static void completion_create_ok(struct rh_inflight *inflight, const struct rh_outcome *outcome)
{
	if (outcome->object && rh_match_is_labelled(inflight, outcome->object))
		completion_succeed_create(inflight, outcome->object, true);
	else
		completion_verify(inflight, outcome);
}

/* The object was read that has the name. */
static void completion_create_found(struct rh_inflight *inflight, const struct rh_outcome *outcome)
{
	enum rh_match found;

	if (!outcome->object) {
		completion_back_off(inflight, outcome);
		return;
	}
	found = rh_match_owner(inflight, outcome->object);
	if (found != RH_MATCH_OURS && rh_match_is_cached(inflight)) {
		rh_backoff_clear(inflight);
		completion_end(inflight);
	} else if (found == RH_MATCH_OURS) {
		completion_succeed_create(inflight, outcome->object, inflight->state == RH_INFLIGHT_VERIFYING);
	} else {
		rh_taken_back_off(inflight, outcome->object, found == RH_MATCH_MISPLACED);
		completion_end(inflight);
	}
}

static void completion_create_unreadable(struct rh_inflight *inflight, const struct rh_outcome *outcome)
{
	if (rh_verb_of_object(inflight->verb))
		completion_refused(inflight, outcome);
	else
		completion_back_off(inflight, outcome);
}

/* The object does not exist, or belongs to another owner. */
static void completion_forget_object(const struct rh_inflight *inflight)
{
	rh_objects_remove(inflight->entry, inflight->resource, inflight->name);
}

static void completion_forget_target(const struct rh_inflight *inflight)
{
	if (rh_inflight_target(inflight))
		completion_forget_object(inflight);
}

/* A request about a further object succeeded: a refusal of an earlier one is out of date. */
static void completion_forget_refusal(const struct rh_inflight *inflight)
{
	if (rh_verb_of_object(inflight->verb))
		rh_refusals_forget(inflight->entry, inflight->resource->kind, inflight->name);
}

static void completion_end_delete(struct rh_inflight *inflight)
{
	if (inflight->verb == RH_DELETE_OBJECT)
		completion_forget_target(inflight);
	completion_forget_refusal(inflight);
	rh_backoff_clear(inflight);
	completion_end(inflight);
}

static void completion_delete_gone(struct rh_inflight *inflight, const struct rh_outcome *outcome)
{
	(void)outcome;
	completion_end_delete(inflight);
}

/* A deleted job needs no further decision. */
static void completion_delete_job_ok(struct rh_inflight *inflight, const struct rh_outcome *outcome)
{
	struct rh_entry *entry = inflight->entry;
	bool current = entry->uid && strcmp(entry->uid, inflight->job_uid) == 0;

	if (current && outcome->object)
		(void)rh_job_cache_store(entry, outcome->object);
	else if (current)
		rh_job_cache_forget(entry);
	completion_report_success(inflight);
	completion_end(inflight);
}

static void completion_delete_ok(struct rh_inflight *inflight, const struct rh_outcome *outcome)
{
	if (inflight->verb == RH_DELETE_JOB) {
		completion_delete_job_ok(inflight, outcome);
		return;
	}
	completion_report_success(inflight);
	completion_end_delete(inflight);
}

/* The object was not deleted: a later plan deletes it. */
static void completion_delete_refused(struct rh_inflight *inflight, const struct rh_outcome *outcome)
{
	struct rh_cached *cached = rh_inflight_target(inflight);

	if (cached)
		rh_cached_set_stopping(cached, false);
	completion_refused(inflight, outcome);
}

/* The read did not show a reason: no Event, back-off only. */
static void completion_delete_unsettled(struct rh_inflight *inflight, const struct rh_outcome *outcome)
{
	static const struct rh_outcome unknown = {.code = RH_OUTCOME_UNKNOWN, .message = ""};

	(void)outcome;
	completion_delete_refused(inflight, &unknown);
}

/*
 * After a conflict the name usually has another object now, so that the delete is done. But an admission webhook may
 * have caused the conflict while the object stays.
 */
static void completion_delete_found(struct rh_inflight *inflight, const struct rh_outcome *outcome)
{
	const struct rh_json *object = outcome->object;

	if (object && (!rh_text_equal(rh_json_string_at(object, "metadata.uid"), inflight->uid) ||
	               rh_json_at(object, "metadata.deletionTimestamp")))
		completion_end_delete(inflight);
	else
		completion_delete_unsettled(inflight, outcome);
}

/* Write @p body (taken; NULL: memory is out) over the version that was read. */
static void completion_write(struct rh_inflight *inflight, enum rh_verb verb, const struct rh_json *actual,
                             struct rh_json *body)
{
	struct rh_request request = {
		.verb = verb,
		.uid = inflight->uid,
		.resource_version = rh_json_string_at(actual, "metadata.resourceVersion"),
		.body = body,
	};

	inflight->state = RH_INFLIGHT_SENT;
	if (!request.body || rh_inflight_send(inflight, &request) < 0)
		completion_back_off(inflight, NULL);
}

static void completion_update_ok(struct rh_inflight *inflight, const struct rh_outcome *outcome)
{
	if (rh_objects_store(inflight->entry, outcome->object, inflight->hash) < 0)
		rh_backoff_add(inflight, -1);
	else
		rh_backoff_clear(inflight);
	completion_forget_refusal(inflight);
	completion_end(inflight);
}

/*
 * A PodGroup is watched, and may have got its desired content meanwhile. Other objects are known to differ. An object
 * that got another owner since the last check is left alone.
 */
static void completion_update_read(struct rh_inflight *inflight, const struct rh_outcome *outcome)
{
	const struct rh_json *actual = outcome->object;
	bool group = strcmp(inflight->resource->kind, RH_GANG_OBJECT) == 0;

	if (actual && rh_match_owner(inflight, actual) != RH_MATCH_OURS) {
		completion_forget_object(inflight);
		completion_end(inflight);
	} else if (!actual || (group && rh_match_is_current(inflight, actual) == 1)) {
		completion_update_ok(inflight, outcome);
	} else {
		completion_write(inflight, RH_VERB_REPLACE, actual, rh_match_replacement(actual, inflight->body));
	}
}

static void completion_update_gone(struct rh_inflight *inflight, const struct rh_outcome *outcome)
{
	completion_forget_target(inflight);
	completion_ignore(inflight, outcome);
}

/* Store the version of an adoption, unless the object is gone meanwhile, or another job's. */
static void completion_store_adopted(const struct rh_inflight *inflight, const struct rh_json *object)
{
	if (!rh_match_is_labelled(inflight, object) ||
	    rh_inflight_has_tombstone(inflight, rh_object_text(object, "metadata", "uid")))
		return;
	if (rh_children_observe(inflight->entry, inflight->verb == RH_ADOPT_SERVICE, object) < 0)
		inflight->entry->engine->lost = true;
}

static void completion_adopt_read(struct rh_inflight *inflight, const struct rh_outcome *outcome)
{
	if (!outcome->object) {
		completion_refused(inflight, outcome);
	} else if (rh_match_may_adopt(inflight, outcome->object)) {
		completion_write(inflight, RH_VERB_PATCH, outcome->object, rh_match_adoption(inflight, outcome->object));
	} else {
		completion_store_adopted(inflight, outcome->object);
		completion_back_off(inflight, outcome);
	}
}

static void completion_adopt_ok(struct rh_inflight *inflight, const struct rh_outcome *outcome)
{
	if (!outcome->object) {
		completion_refused(inflight, outcome);
		return;
	}
	completion_store_adopted(inflight, outcome->object);
	rh_report_success(inflight);
	completion_end(inflight);
}

static void completion_end_check(struct rh_inflight *inflight)
{
	struct rh_entry *entry = inflight->entry;

	rh_inflight_free(inflight);
	rh_objects_end_check(entry);
}

static void completion_check_failed(struct rh_inflight *inflight, const struct rh_outcome *outcome)
{
	(void)outcome;
	rh_objects_fail_check(inflight->entry, false);
	completion_end_check(inflight);
}

/* Reported to users. The object counts as missing while it may not be read: after some time it is created blindly. */
static void completion_check_denied(struct rh_inflight *inflight, const struct rh_outcome *outcome)
{
	rh_objects_fail_check(inflight->entry, true);
	rh_report_failure(inflight, RH_REFUSED_READ, outcome->message);
	rh_refusals_add(inflight, RH_REFUSED_READ, true, outcome->message);
	if (inflight->entry->objects.check_failures == 0)
		rh_backoff_add(inflight, -1);
	completion_end_check(inflight);
}

static void completion_end_good_check(struct rh_inflight *inflight)
{
	completion_forget_refusal(inflight);
	rh_backoff_clear(inflight);
	completion_end_check(inflight);
}

static void completion_check_gone(struct rh_inflight *inflight, const struct rh_outcome *outcome)
{
	(void)outcome;
	completion_forget_object(inflight);
	completion_end_good_check(inflight);
}

/* A name conflict is reported for what serves pods; for other objects their create finds it. */
static void completion_check_found(struct rh_inflight *inflight, const struct rh_outcome *outcome)
{
	enum rh_match found = outcome->object ? rh_match_owner(inflight, outcome->object) : RH_MATCH_FOREIGN;

	if (!outcome->object) {
		completion_check_failed(inflight, outcome);
	} else if (found == RH_MATCH_OURS && completion_store_object(inflight, outcome->object) == 0) {
		completion_end_good_check(inflight);
	} else if (found == RH_MATCH_OURS) {
		completion_check_failed(inflight, outcome);
	} else if (found == RH_MATCH_FOREIGN && rh_taken_has_v1_message(inflight)) {
		completion_forget_object(inflight);
		rh_taken_back_off(inflight, outcome->object, false);
		completion_end_check(inflight);
	} else {
		completion_check_gone(inflight, outcome);
	}
}

/* What an action does, which says which states it goes through. */
enum completion_action {
	COMPLETION_CREATE, /**< SENT; VERIFYING or IDENTIFYING. A check: CHECKING */
	COMPLETION_DELETE, /**< SENT; VERIFYING after a conflict */
	COMPLETION_UPDATE, /**< READING; SENT */
	COMPLETION_ADOPT,  /**< READING; SENT */
	COMPLETION_ACTIONS
};

static enum completion_action completion_action_of(enum rh_action_verb verb)
{
	if (rh_verb_creates(verb))
		return COMPLETION_CREATE;
	if (rh_verb_deletes(verb))
		return COMPLETION_DELETE;
	return rh_verb_adopts(verb) ? COMPLETION_ADOPT : COMPLETION_UPDATE;
}

typedef void completion_fn(struct rh_inflight *inflight, const struct rh_outcome *outcome);

/* One row for each state of an action; in the order of enum rh_outcome_code. */
static completion_fn
	*const completion_table[COMPLETION_ACTIONS][RH_INFLIGHT_STATES][RH_OUTCOME_UNKNOWN + 1] =
		{
			[COMPLETION_CREATE][RH_INFLIGHT_SENT] =
				{
					[RH_OUTCOME_OK] = completion_create_ok,
					[RH_OUTCOME_CONFLICT] = completion_refused,
					[RH_OUTCOME_EXISTS] = completion_identify,
					[RH_OUTCOME_GONE] = completion_refused,
					[RH_OUTCOME_DENIED] = completion_refused,
					[RH_OUTCOME_THROTTLED] = completion_refused,
					[RH_OUTCOME_UNKNOWN] = completion_verify,
				},
			[COMPLETION_CREATE][RH_INFLIGHT_VERIFYING] =
				{
					[RH_OUTCOME_OK] = completion_create_found,
					[RH_OUTCOME_CONFLICT] = completion_back_off,
					[RH_OUTCOME_EXISTS] = completion_back_off,
					[RH_OUTCOME_GONE] = completion_back_off,
					[RH_OUTCOME_DENIED] = completion_create_unreadable,
					[RH_OUTCOME_THROTTLED] = completion_back_off,
					[RH_OUTCOME_UNKNOWN] = completion_back_off,
				},
			[COMPLETION_CREATE][RH_INFLIGHT_IDENTIFYING] =
				{
					[RH_OUTCOME_OK] = completion_create_found,
					[RH_OUTCOME_CONFLICT] = completion_back_off,
					[RH_OUTCOME_EXISTS] = completion_back_off,
					[RH_OUTCOME_GONE] = completion_ignore, /* the name is free again */
					[RH_OUTCOME_DENIED] = completion_create_unreadable,
					[RH_OUTCOME_THROTTLED] = completion_back_off,
					[RH_OUTCOME_UNKNOWN] = completion_back_off,
				},
			[COMPLETION_CREATE][RH_INFLIGHT_CHECKING] =
				{
					[RH_OUTCOME_OK] = completion_check_found,
					[RH_OUTCOME_CONFLICT] = completion_check_failed,
					[RH_OUTCOME_EXISTS] = completion_check_failed,
					[RH_OUTCOME_GONE] = completion_check_gone,
					[RH_OUTCOME_DENIED] = completion_check_denied,
					[RH_OUTCOME_THROTTLED] = completion_check_failed,
					[RH_OUTCOME_UNKNOWN] = completion_check_failed,
				},
			[COMPLETION_DELETE][RH_INFLIGHT_SENT] =
				{
					[RH_OUTCOME_OK] = completion_delete_ok,
					[RH_OUTCOME_CONFLICT] = completion_verify,
					[RH_OUTCOME_EXISTS] = completion_delete_refused,
					[RH_OUTCOME_GONE] = completion_delete_gone,
					[RH_OUTCOME_DENIED] = completion_delete_refused,
					[RH_OUTCOME_THROTTLED] = completion_delete_refused,
					[RH_OUTCOME_UNKNOWN] = completion_delete_refused,
				},
			[COMPLETION_DELETE][RH_INFLIGHT_VERIFYING] =
				{
					[RH_OUTCOME_OK] = completion_delete_found,
					[RH_OUTCOME_CONFLICT] = completion_delete_unsettled,
					[RH_OUTCOME_EXISTS] = completion_delete_unsettled,
					[RH_OUTCOME_GONE] = completion_delete_gone,
					[RH_OUTCOME_DENIED] = completion_delete_refused,
					[RH_OUTCOME_THROTTLED] = completion_delete_unsettled,
					[RH_OUTCOME_UNKNOWN] = completion_delete_unsettled,
				},
			[COMPLETION_UPDATE][RH_INFLIGHT_READING] =
				{
					[RH_OUTCOME_OK] = completion_update_read,
					[RH_OUTCOME_CONFLICT] = completion_back_off,
					[RH_OUTCOME_EXISTS] = completion_refused,
					[RH_OUTCOME_GONE] = completion_update_gone,
					[RH_OUTCOME_DENIED] = completion_refused,
					[RH_OUTCOME_THROTTLED] = completion_refused,
					[RH_OUTCOME_UNKNOWN] = completion_refused,
				},
			[COMPLETION_UPDATE][RH_INFLIGHT_SENT] =
				{
					[RH_OUTCOME_OK] = completion_update_ok,
					[RH_OUTCOME_CONFLICT] = completion_back_off,
					[RH_OUTCOME_EXISTS] = completion_refused,
					[RH_OUTCOME_GONE] = completion_update_gone,
					[RH_OUTCOME_DENIED] = completion_refused,
					[RH_OUTCOME_THROTTLED] = completion_refused,
					[RH_OUTCOME_UNKNOWN] = completion_refused,
				},
			[COMPLETION_ADOPT][RH_INFLIGHT_READING] =
				{
					[RH_OUTCOME_OK] = completion_adopt_read,
					[RH_OUTCOME_CONFLICT] = completion_back_off,
					[RH_OUTCOME_EXISTS] = completion_refused,
					[RH_OUTCOME_GONE] = completion_back_off,
					[RH_OUTCOME_DENIED] = completion_refused,
					[RH_OUTCOME_THROTTLED] = completion_refused,
					[RH_OUTCOME_UNKNOWN] = completion_refused,
				},
			[COMPLETION_ADOPT][RH_INFLIGHT_SENT] =
				{
					[RH_OUTCOME_OK] = completion_adopt_ok,
					[RH_OUTCOME_CONFLICT] = completion_back_off,
					[RH_OUTCOME_EXISTS] = completion_refused,
					[RH_OUTCOME_GONE] = completion_back_off,
					[RH_OUTCOME_DENIED] = completion_refused,
					[RH_OUTCOME_THROTTLED] = completion_refused,
					[RH_OUTCOME_UNKNOWN] = completion_refused,
				},
};

/* A pod of a job that is gone uses quota until it is gone, too. Who says when jobs run has to know of it. */
static void completion_note_late(struct rh_inflight *inflight, const struct rh_outcome *outcome)
{
	if (inflight->entry->engine->options.gate && inflight->verb == RH_CREATE_POD && outcome->code == RH_OUTCOME_OK &&
	    outcome->object && rh_children_store(inflight, outcome->object) < 0)
		inflight->entry->engine->lost = true;
	completion_end(inflight);
}

void rh_completion_on_done(void *arg, const struct rh_outcome *outcome)
{
	struct rh_inflight *inflight = arg;

	inflight->entry->engine->requests--;
	inflight->id = 0;
	if (inflight->abandoned && inflight->verb != RH_DELETE_JOB)
		completion_note_late(inflight, outcome);
	else
		completion_table[completion_action_of(inflight->verb)][inflight->state][outcome->code](inflight, outcome);
}
