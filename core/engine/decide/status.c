/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When a new status is written. A condition or a time is written at once. A change of counts alone may wait briefly
 * for more: when the pods of a job start one after the other, that gives one write instead of many.
 */
#include "base/mem.h"
#include "engine/decide/report.h"
#include "job/status/shown.h"

static struct rh_replica_status *status_find(struct rh_job_status *status, const char *type)
{
	for (size_t i = 0; i < status->replica_count; i++) {
		if (rh_text_equal(status->replicas[i].type, type))
			return &status->replicas[i];
	}
	return NULL;
}

static void status_take_counts(struct rh_replica_status *to, const struct rh_replica_status *from)
{
	to->active = from->active;
	to->succeeded = from->succeeded;
	to->failed = from->failed;
}

/* Make the plugin's members those of @p from. @return 0 or RH_ENOMEM */
static int status_copy_own(struct rh_job_status *to, const struct rh_job_status *from)
{
	rh_json_free(to->own);
	to->own = from->own ? rh_json_copy(from->own) : NULL;
	return from->own && !to->own ? RH_ENOMEM : 0;
}

int rh_decide_take_held(struct rh_decision *decision)
{
	const struct rh_job_status *held = decision->world->held;

	for (size_t i = 0; held && i < held->replica_count; i++) {
		struct rh_replica_status *replica = status_find(&decision->plan->status, held->replicas[i].type);

		if (replica)
			status_take_counts(replica, &held->replicas[i]);
	}
	return held && held->own ? status_copy_own(&decision->plan->status, held) : 0;
}

int rh_decide_take_own(struct rh_decision *decision)
{
	struct rh_job_status *status = &decision->plan->status;
	const struct rh_json *set = decision->judgement.status;

	if (!set)
		return 0;
	if (!status->own)
		status->own = rh_json_new_object();
	for (const struct rh_json *member = rh_json_first(set); member && status->own; member = rh_json_next(member)) {
		const char *field = rh_json_key(member);

		if (rh_json_type(member) == RH_JSON_NULL)
			rh_json_remove(status->own, field);
		else if (rh_json_set(status->own, field, rh_json_copy(member)) < 0)
			return rh_fail_oom(decision->err);
	}
	return status->own ? 0 : rh_fail_oom(decision->err);
}

/*
 * Set the counts of @p status to those written last. @return whether that hides only replicas that start or end: one
 * that goes must be written, because losses are detected by it
 */
static bool status_undo_counts(struct rh_job_status *status, const struct rh_job_status *written)
{
	for (size_t i = 0; i < written->replica_count; i++) {
		const struct rh_replica_status *old = &written->replicas[i];
		struct rh_replica_status *new = status_find(status, old->type);

		if (!new ||
		    (int64_t) new->active + new->succeeded + new->failed < (int64_t)old->active + old->succeeded + old->failed)
			return false;
		status_take_counts(new, old);
	}
	return true;
}

/* No further change of counts is expected. */
static bool status_all_run(const struct rh_decision *decision)
{
	for (size_t i = 0; i < decision->job->spec_count; i++) {
		if (decision->counts[i].active < decision->job->specs[i].replicas)
			return false;
	}
	return true;
}

/* @return 1 when only counts and the plugin's members differ, 0 or RH_ENOMEM */
static int status_differs_in_counts(const struct rh_decision *decision)
{
	const struct rh_job_status *written = &decision->job->status;
	struct rh_job_status copy = {0};
	int r = rh_job_status_copy(&copy, &decision->plan->status);

	if (r == 0)
		r = status_copy_own(&copy, written);
	if (r == 0)
		r = status_undo_counts(&copy, written) && rh_job_status_equal(&copy, written);
	rh_job_status_deinit(&copy);
	return r;
}

int rh_decide_write_hidden(struct rh_decision *decision)
{
	const struct rh_job *job = decision->job;
	struct rh_plan *plan = decision->plan;
	rh_auto(json) before = NULL;
	rh_auto(json) after = NULL;

	if (!plan->write_status || !rh_shown_hides(job->kind))
		return 0;
	before = rh_shown_hidden(job->kind, &job->status, job->uid);
	after = rh_shown_hidden(job->kind, &plan->status, job->uid);
	if (!before || !after)
		return RH_ENOMEM;
	plan->write_ledger = plan->write_ledger || !rh_json_equal(before, after);
	return 0;
}

int rh_decide_write_status(struct rh_decision *decision)
{
	const struct rh_world *world = decision->world;
	struct rh_plan *plan = decision->plan;
	int64_t since = world->held_since ? world->held_since : world->now;
	int r;

	if (rh_job_status_equal(&plan->status, &decision->job->status)) {
		/* Nothing is held back any more, and no write makes the job due again. */
		if (world->held_since)
			rh_decision_wake(decision, world->now);
		return 0;
	}
	plan->done = false;
	plan->write_status = true;
	if (world->patience <= 0 || world->now >= since + world->patience || world->now < since ||
	    rh_job_status_finished(&plan->status) || status_all_run(decision))
		return 0;
	r = status_differs_in_counts(decision);
	if (r <= 0)
		return r;
	plan->write_status = false;
	plan->held_since = since;
	rh_decision_wake(decision, since + world->patience);
	return 0;
}
