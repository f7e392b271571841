/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ledger is written and confirmed first, because the pods do not show afterwards what it records; then the
 * children; then the status. Each write to the job has the resourceVersion of the decision as its precondition: after a
 * conflict the job is read and decided about again.
 */
#include "engine/carry/carry.h"

#include <string.h>

#include "base/os/clock.h"
#include "engine/carry/entry.h"
#include "engine/carry/job/cache.h"
#include "engine/carry/job/invalid.h"
#include "job/names.h"

void rh_carry_free_plan(struct rh_plan *plan)
{
	if (plan)
		rh_plan_deinit(plan);
	rh_free(plan);
}

static void carry_drop(struct rh_entry *entry)
{
	rh_carry_free_plan(rh_take(entry->carry.plan));
}

/* The memory reserved for a job that was read again is free, or the job's own now. */
static void carry_leave_stage(struct rh_entry *entry)
{
	entry->carry.stage = RH_STAGE_IDLE;
	if (!entry->job)
		rh_trees_reserve(entry, 0);
}

static void carry_stop(struct rh_entry *entry)
{
	if (entry->carry.stage != RH_STAGE_IDLE)
		rh_engine_cancel(entry->engine, entry->carry.write_id);
	carry_leave_stage(entry);
	carry_drop(entry);
}

static int carry_diff_member(struct rh_json *diff, const char *key, const struct rh_json *from,
                             const struct rh_json *to)
{
	rh_auto(json) inner = NULL;

	if (rh_json_equal(from, to))
		return 0;
	if (rh_json_type(from) != RH_JSON_OBJECT || rh_json_type(to) != RH_JSON_OBJECT)
		return rh_json_add(diff, key, rh_json_copy(to));
	inner = rh_carry_diff(from, to);
	return rh_json_add(diff, key, rh_take(inner));
}

struct rh_json *rh_carry_diff(const struct rh_json *from, const struct rh_json *to)
{
	rh_auto(json) diff = rh_json_new_object();

	if (!diff)
		return NULL;
	for (const struct rh_json *member = rh_json_first(to); member; member = rh_json_next(member)) {
		const char *key = rh_json_key(member);

		if (carry_diff_member(diff, key, rh_json_get(from, key), member) < 0)
			return NULL;
	}
	for (const struct rh_json *member = rh_json_first(from); member; member = rh_json_next(member)) {
		const char *key = rh_json_key(member);

		if (!rh_json_get(to, key) && rh_json_add(diff, key, rh_json_new_null()) < 0)
			return NULL;
	}
	return rh_take(diff);
}

/* Members of the status that others write stay. */
static int carry_keep_foreign(struct rh_json *status, const struct rh_json *before)
{
	static const char *const ours[] = {"conditions", "replicaStatuses", "startTime", "completionTime",
	                                   "lastReconcileTime"};

	for (const struct rh_json *member = rh_json_first(before); member; member = rh_json_next(member)) {
		bool is_ours = false;

		for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
			is_ours = is_ours || strcmp(rh_json_key(member), ours[i]) == 0;
		if (!is_ours && rh_json_set(status, rh_json_key(member), rh_json_copy(member)) < 0)
			return RH_ENOMEM;
	}
	return 0;
}

struct rh_json *rh_carry_status_patch(const struct rh_json *before, const struct rh_job_status *status)
{
	rh_auto(json) after = rh_job_status_json(status);
	rh_auto(json) patch = rh_json_new_object();
	rh_auto(json) diff = NULL;

	if (!after || !patch || carry_keep_foreign(after, before) < 0)
		return NULL;
	diff = rh_carry_diff(before, after);
	if (!diff)
		return NULL;
	if (rh_json_size(diff) > 0 && rh_json_add(patch, "status", rh_take(diff)) < 0)
		return NULL;
	return rh_take(patch);
}

static struct rh_json *carry_ledger_patch(const struct rh_entry *entry)
{
	rh_auto(json) patch = rh_json_new_object();
	rh_auto_free char *text = rh_ledger_text(&entry->carry.plan->ledger, entry->job);
	struct rh_json *metadata = patch ? rh_json_ensure_object(patch, "metadata") : NULL;
	struct rh_json *annotations = metadata ? rh_json_ensure_object(metadata, "annotations") : NULL;

	if (!text || !annotations || rh_json_set_string(annotations, RH_ANNOTATION_LEDGER, text) < 0)
		return NULL;
	return rh_take(patch);
}

static void carry_on_write(void *arg, const struct rh_outcome *outcome);

/* @return 0 or RH_ENOMEM */
static int carry_write(struct rh_entry *entry, enum rh_carry_stage stage, struct rh_json *body)
{
	struct rh_request request = {
		.verb = stage == RH_STAGE_LEDGER   ? RH_VERB_PATCH
	            : stage == RH_STAGE_STATUS ? RH_VERB_PATCH_STATUS
	                                       : RH_VERB_GET,
		.resource = &entry->kind->resource,
		.namespace_ = entry->namespace_,
		.name = entry->name,
		.body = body,
		.answer_size = rh_trees_answer_size(entry),
	};

	if (stage != RH_STAGE_REFRESH) {
		request.uid = entry->uid;
		request.resource_version = entry->job ? entry->job->resource_version : entry->invalid->version;
	}
	if (rh_engine_submit(entry->engine, &request, carry_on_write, entry, &entry->carry.write_id) < 0)
		return RH_ENOMEM;
	entry->carry.stage = stage;
	if (!entry->job)
		rh_trees_reserve(entry, entry->tree.weight);
	return 0;
}

int rh_carry_write_status(struct rh_entry *entry, struct rh_json *patch)
{
	return carry_write(entry, RH_STAGE_STATUS, patch);
}

void rh_carry_refresh(struct rh_entry *entry)
{
	entry->refresh = true;
	if (carry_write(entry, RH_STAGE_REFRESH, NULL) < 0)
		rh_queue_fail(&entry->engine->queue, &entry->item, entry->engine->now);
}

/* Drop the rest of the plan, and decide again after a back-off. */
static void carry_give_up(struct rh_entry *entry)
{
	carry_drop(entry);
	rh_queue_fail(&entry->engine->queue, &entry->item, entry->engine->now);
}

static void carry_emit(struct rh_entry *entry)
{
	for (size_t i = 0; i < entry->carry.plan->event_count; i++) {
		const struct rh_plan_event *event = &entry->carry.plan->events[i];

		rh_events_emit(entry, &(struct rh_event_spec){entry->uid, event->warning, event->reason, event->message});
	}
}

static void carry_forget_held(struct rh_entry *entry)
{
	if (entry->carry.held)
		rh_job_status_deinit(entry->carry.held);
	rh_free(rh_take(entry->carry.held));
	entry->carry.held_since = 0;
}

void rh_carry_forget(struct rh_entry *entry)
{
	carry_stop(entry);
	carry_forget_held(entry);
}

void rh_carry_forget_message(struct rh_entry *entry)
{
	entry->carry.stalled_hash = 0;
}

/* Keep the status of the plan if its write is held back. */
static void carry_hold(struct rh_entry *entry)
{
	struct rh_plan *plan = entry->carry.plan;

	carry_forget_held(entry);
	entry->carry.held_since = plan->held_since;
	entry->carry.held = plan->held_since ? rh_alloc(sizeof(*entry->carry.held)) : NULL;
	if (!entry->carry.held)
		return;
	*entry->carry.held = plan->status;
	plan->status = (struct rh_job_status){0};
}

/* All children are sent, and all writes to the job are confirmed. */
static void carry_end(struct rh_entry *entry, bool wrote)
{
	struct rh_queue *queue = &entry->engine->queue;
	int64_t wake_at = entry->carry.plan->wake_at;
	bool done = entry->carry.plan->done && !wrote && entry->inflight.count == 0;

	entry->carry.stalled_hash = entry->carry.plan->stalled_hash;
	carry_hold(entry);
	carry_emit(entry);
	carry_drop(entry);
	rh_queue_forgive(&entry->item);
	if (wrote)
		rh_queue_add(queue, &entry->item, RH_QUEUE_NOW);
	else if (wake_at != RH_NEVER)
		rh_queue_add(queue, &entry->item, wake_at);
	if (done)
		rh_job_cache_forget_finished(entry);
}

static void carry_status(struct rh_entry *entry)
{
	bool wrote = entry->carry.plan->write_ledger;
	rh_auto(json) patch = NULL;

	if (!entry->carry.plan->write_status) {
		carry_end(entry, wrote);
		return;
	}
	patch = rh_carry_status_patch(rh_json_get(entry->job->object, "status"), &entry->carry.plan->status);
	if (patch && rh_json_size(patch) == 0)
		carry_end(entry, wrote);
	else if (!patch || carry_write(entry, RH_STAGE_STATUS, rh_take(patch)) < 0)
		carry_give_up(entry);
}

static void carry_act(struct rh_entry *entry)
{
	for (size_t i = 0; i < entry->carry.plan->action_count; i++) {
		int r = rh_inflight_act(entry, &entry->carry.plan->actions[i]);

		if (r == RH_EAGAIN)
			continue; /* a later plan repeats it when the window has room; deletes may still fit */
		if (r < 0) {
			carry_give_up(entry);
			return;
		}
	}
	if (rh_trees_answer_size(entry) > 0)
		rh_work_free_builder(entry);
	carry_status(entry);
}

void rh_carry_start(struct rh_entry *entry, struct rh_plan *plan)
{
	rh_auto(json) patch = NULL;

	entry->carry.plan = plan;
	if (!plan->write_ledger) {
		carry_act(entry);
		return;
	}
	patch = carry_ledger_patch(entry);
	if (!patch || carry_write(entry, RH_STAGE_LEDGER, rh_take(patch)) < 0)
		carry_give_up(entry);
}

static void carry_report_denied(struct rh_entry *entry, const struct rh_outcome *outcome)
{
	rh_auto_free char *reason = rh_asprintf("FailedUpdate%s", entry->kind->kind->kind);
	rh_auto_free char *message = rh_asprintf("Error updating: %s", outcome->message);

	if (reason && message)
		rh_events_emit(entry, &(struct rh_event_spec){entry->uid, true, reason, message});
}

/* The job exists and has no status: its CustomResourceDefinition has no status subresource, or an older one. */
static void carry_report_statusless(struct rh_entry *entry, const struct rh_json *object)
{
	const char *kind = entry->kind->kind->kind;
	rh_auto_free char *reason = rh_asprintf("FailedUpdate%s", kind);
	rh_auto_free char *message = rh_asprintf("Error updating: %s has no status, its CustomResourceDefinition is older; "
	                                         "install it: roundhouse crds --kind %s | kubectl apply --server-side -f -",
	                                         entry->kind->resource.plural, kind);

	entry->carry.statusless = false;
	if (reason && message && rh_text_equal(rh_json_string_at(object, "metadata.uid"), entry->uid))
		rh_events_emit(entry, &(struct rh_event_spec){entry->uid, true, reason, message});
}

static void carry_failed(struct rh_entry *entry, const struct rh_outcome *outcome)
{
	struct rh_engine *engine = entry->engine;

	carry_drop(entry);
	switch (outcome->code) {
	case RH_OUTCOME_CONFLICT:
		entry->refresh = true;
		rh_queue_add(&engine->queue, &entry->item, RH_QUEUE_NOW);
		return;
	case RH_OUTCOME_GONE: /* the watch will report the deletion */
		entry->refresh = true;
		break;
	case RH_OUTCOME_THROTTLED:
		rh_queue_add(&engine->queue, &entry->item, engine->now + outcome->retry_after);
		return;
	case RH_OUTCOME_DENIED:
		carry_report_denied(entry, outcome);
		break;
	case RH_OUTCOME_UNKNOWN:
	case RH_OUTCOME_EXISTS:
	case RH_OUTCOME_OK:
	default:
		entry->refresh = true;
		break;
	}
	rh_queue_fail(&engine->queue, &entry->item, engine->now);
}

/* @return whether the write succeeded and the cache has its version, or a newer one */
static bool carry_store(struct rh_entry *entry, const struct rh_outcome *outcome)
{
	if (outcome->code == RH_OUTCOME_OK && outcome->object && rh_job_cache_store(entry, outcome->object) >= 0)
		return true;
	entry->refresh = outcome->code == RH_OUTCOME_OK || entry->refresh;
	return false;
}

/*
 * The ledger is written. When the job has changed meanwhile, the plan ends here: its Events are emitted, and the rest
 * is decided again.
 */
static void carry_continue(struct rh_entry *entry, const struct rh_json *written)
{
	const char *version = rh_json_string_at(written, "metadata.resourceVersion");

	if (rh_text_equal(version, entry->job->resource_version)) {
		carry_act(entry);
		return;
	}
	carry_emit(entry);
	carry_drop(entry);
	rh_queue_add(&entry->engine->queue, &entry->item, RH_QUEUE_NOW);
}

static void carry_on_write(void *arg, const struct rh_outcome *outcome)
{
	struct rh_entry *entry = arg;
	enum rh_carry_stage stage = entry->carry.stage;
	struct rh_queue *queue = &entry->engine->queue;

	entry->engine->requests--;
	carry_leave_stage(entry);
	if (stage == RH_STAGE_REFRESH && outcome->code == RH_OUTCOME_GONE) {
		rh_job_cache_forget(entry);
		rh_entry_reap(entry);
		return;
	}
	if (stage == RH_STAGE_STATUS)
		entry->carry.statusless = outcome->code == RH_OUTCOME_GONE;
	else if (entry->carry.statusless && stage == RH_STAGE_REFRESH && outcome->object)
		carry_report_statusless(entry, outcome->object);
	if (!carry_store(entry, outcome)) {
		carry_failed(entry, outcome);
		return;
	}
	if (stage == RH_STAGE_LEDGER && entry->job && entry->carry.plan)
		carry_continue(entry, outcome->object);
	else if (stage == RH_STAGE_STATUS && entry->job)
		carry_end(entry, true);
	else
		rh_queue_add(queue, &entry->item, RH_QUEUE_NOW);
}
