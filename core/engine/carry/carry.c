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
#include "engine/carry/patch.h"
#include "engine/carry/request/act.h"
#include "job/values/names.h"

static void carry_on_write(void *arg, const struct rh_outcome *outcome);

/* @return 0 or RH_ENOMEM */
static int carry_write(struct rh_entry *entry, enum rh_progress_stage stage, struct rh_json *body)
{
	struct rh_request request = {
		.verb = stage == RH_STAGE_LEDGER   ? RH_VERB_PATCH
	            : stage == RH_STAGE_STATUS ? RH_VERB_PATCH_STATUS
	                                       : RH_VERB_GET,
		.resource = &entry->kind->resource,
		.namespace_ = entry->namespace_,
		.name = entry->name,
		.body = body,
		.answer_size = rh_entry_tree_answer_size(&entry->tree),
	};

	if (stage != RH_STAGE_REFRESH) {
		request.uid = entry->uid;
		request.resource_version = entry->job ? entry->job->resource_version : entry->invalid->version;
	}
	if (rh_engine_submit(entry->engine, &request, carry_on_write, entry, &entry->progress.write_id) < 0)
		return RH_ENOMEM;
	entry->progress.stage = stage;
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
	rh_progress_drop(entry);
	rh_queue_fail(&entry->engine->queue, &entry->item, entry->engine->now);
}

static void carry_emit(struct rh_entry *entry)
{
	for (size_t i = 0; i < entry->progress.plan->event_count; i++) {
		const struct rh_plan_event *event = &entry->progress.plan->events[i];

		rh_events_emit(entry, &(struct rh_event_spec){entry->uid, event->warning, event->reason, event->message});
	}
}

/* Keep the status of the plan if its write is held back. */
static void carry_hold(struct rh_entry *entry)
{
	struct rh_plan *plan = entry->progress.plan;

	rh_progress_forget_held(entry);
	entry->progress.held_since = plan->held_since;
	entry->progress.held = plan->held_since ? rh_alloc(sizeof(*entry->progress.held)) : NULL;
	if (!entry->progress.held)
		return;
	*entry->progress.held = plan->status;
	plan->status = (struct rh_job_status){0};
}

/* All children are sent, and all writes to the job are confirmed. */
static void carry_end(struct rh_entry *entry, bool wrote)
{
	struct rh_queue *queue = &entry->engine->queue;
	int64_t wake_at = entry->progress.plan->wake_at;
	bool done = entry->progress.plan->done && !wrote && entry->inflight.count == 0 && !entry->bodies.waits;

	entry->children.cleans = done && entry->progress.plan->cleans;

	entry->progress.stalled_hash = entry->progress.plan->stalled_hash;
	if (!entry->bodies.waits)
		rh_answers_clear(entry->bodies.answers);
	carry_hold(entry);
	carry_emit(entry);
	rh_progress_drop(entry);
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
	bool wrote = entry->progress.plan->write_ledger;
	rh_auto(json) patch = NULL;

	if (!entry->progress.plan->write_status) {
		carry_end(entry, wrote);
		return;
	}
	patch =
		rh_patch_status(entry->kind->kind, rh_json_get(entry->job->object, "status"), &entry->progress.plan->status);
	if (patch && rh_json_size(patch) == 0)
		carry_end(entry, wrote);
	else if (!patch || carry_write(entry, RH_STAGE_STATUS, rh_take(patch)) < 0)
		carry_give_up(entry);
}

static void carry_act(struct rh_entry *entry)
{
	rh_stalls_evict(entry, entry->progress.plan);
	for (size_t i = 0; i < entry->progress.plan->action_count; i++) {
		int r = rh_act(entry, &entry->progress.plan->actions[i]);

		if (r == RH_EAGAIN)
			continue; /* a later plan repeats it when there is room, or an answer; deletes may still fit */
		if (r < 0) {
			carry_give_up(entry);
			return;
		}
	}
	if (rh_entry_tree_answer_size(&entry->tree) > 0 && !entry->bodies.waits)
		rh_bodies_free_builder(entry);
	carry_status(entry);
}

/*
 * The version that the job is of, where nothing says so for good: it is written before anything else, so that a job
 * never goes from one plugin to another. @return NULL when there is only one, or it is written
 */
static const char *carry_unwritten_version(const struct rh_entry *entry)
{
	const struct rh_json *annotations = rh_json_at(entry->job->object, "metadata.annotations");

	return entry->kind->shared && !rh_json_get(annotations, RH_ANNOTATION_VERSION) ? entry->kind->kind->version : NULL;
}

void rh_carry_start(struct rh_entry *entry, struct rh_plan *plan)
{
	rh_auto(json) patch = NULL;

	const char *version = carry_unwritten_version(entry);

	entry->progress.plan = plan;
	plan->write_ledger = plan->write_ledger || (version && !rh_plan_is_empty(plan));
	if (!plan->write_ledger) {
		carry_act(entry);
		return;
	}
	patch = rh_patch_ledger(&plan->ledger, entry->job, plan->write_status ? &plan->status : NULL, version);
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

	entry->progress.statusless = false;
	if (reason && message && rh_text_equal(rh_json_string_at(object, "metadata.uid"), entry->uid))
		rh_events_emit(entry, &(struct rh_event_spec){entry->uid, true, reason, message});
}

static void carry_failed(struct rh_entry *entry, const struct rh_outcome *outcome)
{
	struct rh_engine *engine = entry->engine;

	rh_progress_drop(entry);
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
	rh_progress_drop(entry);
	rh_queue_add(&entry->engine->queue, &entry->item, RH_QUEUE_NOW);
}

static void carry_on_write(void *arg, const struct rh_outcome *outcome)
{
	struct rh_entry *entry = arg;
	enum rh_progress_stage stage = entry->progress.stage;
	struct rh_queue *queue = &entry->engine->queue;

	entry->engine->requests--;
	rh_progress_leave_stage(entry);
	if (stage == RH_STAGE_REFRESH && outcome->code == RH_OUTCOME_GONE) {
		rh_job_cache_forget(entry);
		rh_entry_release(entry);
		return;
	}
	if (stage == RH_STAGE_STATUS)
		entry->progress.statusless = outcome->code == RH_OUTCOME_GONE;
	else if (entry->progress.statusless && stage == RH_STAGE_REFRESH && outcome->object)
		carry_report_statusless(entry, outcome->object);
	if (!carry_store(entry, outcome)) {
		carry_failed(entry, outcome);
		return;
	}
	if (stage == RH_STAGE_LEDGER && entry->job && entry->progress.plan)
		carry_continue(entry, outcome->object);
	else if (stage == RH_STAGE_STATUS && entry->job)
		carry_end(entry, true);
	else
		rh_queue_add(queue, &entry->item, RH_QUEUE_NOW);
}
