/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The phases in which a job does not run: suspended, and finished (v1-behaviour B.1 to B.5). A status write enters a
 * phase; its consequences, such as deletes of pods, follow from the status, so that a controller restart in between
 * repeats them.
 */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/os/clock.h"
#include "base/str.h"
#include "engine/decide/children/children.h"
#include "engine/decide/phases.h"
#include "engine/decide/replicas.h"
#include "engine/decide/report.h"
#include "job/expansion.h"
#include "job/lookups/lookups.h"
#include "job/status/conditions.h"
#include "job/status/shown.h"

/* V1's message of a suspension, "{K} {n} {what}"; also an Event, once. */
static int phase_report(struct rh_decision *decision, bool suspended)
{
	const struct rh_job *job = decision->job;
	const char *word = suspended ? RH_CONDITION_SUSPENDED : RH_WORD_RESUMED;
	char *usual = rh_asprintf("%s %s is %s.", job->kind->kind, job->name, suspended ? "suspended" : "resumed");
	rh_auto_free char *message = rh_decide_words(decision, word, usual);
	int r = message ? 0 : RH_ENOMEM;

	if (r == 0 && suspended &&
	    (rh_job_status_is(&job->status, RH_CONDITION_RUNNING) ||
	     rh_job_status_is(&job->status, RH_CONDITION_RESTARTING)))
		r = rh_decide_condition(decision, RH_CONDITION_RUNNING, false, word, message);
	if (r >= 0)
		r = rh_decide_condition(decision, RH_CONDITION_SUSPENDED, suspended, word, message);
	return r > 0 ? rh_decide_emit(decision, false, word, message) : r;
}

static void phase_clear_active(struct rh_job_status *status)
{
	for (size_t i = 0; i < status->replica_count; i++)
		status->replicas[i].active = 0;
}

static void phase_clear_counts(struct rh_job_status *status)
{
	phase_clear_active(status);
	for (size_t i = 0; i < status->replica_count; i++) {
		status->replicas[i].succeeded = 0;
		status->replicas[i].failed = 0;
	}
}

int rh_decide_suspend(struct rh_decision *decision)
{
	phase_clear_active(&decision->plan->status);
	return phase_report(decision, true);
}

/* After a suspension all ranks run again, also those that succeeded; a stop in progress becomes part of it. */
static void phase_forget_run(struct rh_ledger *ledger)
{
	if (ledger->stopping)
		ledger->attempt += ledger->attempt < INT32_MAX;
	ledger->stopping = false;
	rh_ledger_forget_indices(ledger);
	rh_first_fault_deinit(&ledger->fault);
}

int rh_decide_suspended(struct rh_decision *decision)
{
	phase_forget_run(&decision->plan->ledger);
	if (rh_decide_stop_all(decision) < 0)
		return RH_ENOMEM;
	if (rh_run_policy_is_suspended(&decision->job->policy)) {
		decision->plan->still = decision->owned_count == 0;
		phase_clear_active(&decision->plan->status);
		return rh_decide_drop_services(decision) < 0 ? RH_ENOMEM : rh_decide_objects(decision);
	}
	/* Terminating pods would count as losses of the new run, so it starts without them. */
	if (decision->owned_count > 0)
		return 0;
	decision->plan->status.started_at = decision->world->now;
	phase_clear_counts(&decision->plan->status);
	return phase_report(decision, false);
}

/* Exits that no later pass reports, because the job ends. */
static int phase_emit_exits(struct rh_decision *decision)
{
	for (size_t place = 0; place < rh_decision_places(decision); place++) {
		const struct rh_pod *pod = decision->pods[place];
		int r = 0;

		if (pod && pod->phase == RH_PHASE_FAILED &&
		    (decision->slots[place] == RH_SLOT_FAILED || decision->slots[place] == RH_SLOT_BROKEN))
			r = rh_ledger_note(&decision->plan->ledger, pod->uid);
		if (r < 0 || (r == 1 && rh_decide_emit_exit(decision, place) < 0))
			return RH_ENOMEM;
	}
	return 0;
}

/* Replicas that still run when the job succeeds count as succeeded (v1-behaviour 0.7-2). */
static void phase_fold_active(struct rh_job_status *status)
{
	for (size_t i = 0; i < status->replica_count; i++) {
		status->replicas[i].succeeded += status->replicas[i].active;
		status->replicas[i].active = 0;
	}
}

/* V1 leaves Restarting at True when the job ends. */
static int phase_end_restarting(struct rh_decision *decision)
{
	const struct rh_condition *restarting = rh_job_status_condition(&decision->plan->status, RH_CONDITION_RESTARTING);
	rh_auto_free char *message = restarting ? rh_strdup(restarting->message) : NULL;

	if (!restarting || !restarting->status)
		return 0;
	return message ? rh_decide_condition(decision, RH_CONDITION_RESTARTING, false, "Restarting", message) : RH_ENOMEM;
}

int rh_decide_succeed(struct rh_decision *decision, const struct rh_verdict *verdict)
{
	struct rh_job_status *status = &decision->plan->status;

	if (phase_emit_exits(decision) < 0 || rh_decide_counts(decision) < 0 || phase_end_restarting(decision) < 0 ||
	    rh_decide_conclude(decision, RH_CONDITION_SUCCEEDED, "Succeeded", verdict) < 0)
		return RH_ENOMEM;
	phase_fold_active(status);
	status->completed_at = decision->world->now;
	return rh_decide_emit_verdict(decision, false, "Succeeded", verdict);
}

/* @param why its reason NULL: that of @p word */
static int phase_fail(struct rh_decision *decision, bool warning, const char *word, const struct rh_verdict *why)
{
	struct rh_verdict whole = *why;
	rh_auto_str text = {0};
	size_t before;

	rh_str_append(&text, why->message);
	before = rh_decide_print_fault(decision, &text);
	if (before > 0)
		decision->plan->ledger.fault.message_offset = (int32_t)before;
	whole.message = (char *)(uintptr_t)rh_str_text(&text);
	if (text.failed || phase_emit_exits(decision) < 0 || phase_end_restarting(decision) < 0 ||
	    rh_decide_conclude(decision, RH_CONDITION_FAILED, word, &whole) < 0)
		return RH_ENOMEM;
	if (decision->plan->status.completed_at == 0)
		decision->plan->status.completed_at = decision->world->now;
	return rh_decide_emit_verdict(decision, warning, word, &whole);
}

int rh_decide_fail(struct rh_decision *decision, bool warning, const char *word, const char *message)
{
	return phase_fail(decision, warning, word, &(struct rh_verdict){.message = (char *)(uintptr_t)message});
}

int rh_decide_fail_for(struct rh_decision *decision, const struct rh_verdict *verdict)
{
	return phase_fail(decision, false, "Failed", verdict);
}

int rh_decide_end(struct rh_decision *decision, enum rh_ledger_end end)
{
	const char *because = end == RH_END_BACKOFF ? "it has reached the specified backoff limit"
	                                            : "it was active longer than specified deadline";
	const char *word = end == RH_END_BACKOFF ? RH_WORD_BACKOFF : RH_WORD_DEADLINE;
	char *usual = rh_asprintf("Job %s has failed because %s", decision->job->name, because);
	rh_auto_free char *message = rh_decide_words(decision, word, usual);

	if (decision->plan->ledger.end == RH_END_NONE && rh_decide_fault_of_limit(decision, end) < 0)
		return RH_ENOMEM;
	decision->plan->ledger.end = end;
	if (!message || rh_decide_fail(decision, false, word, message) < 0 || rh_decide_stop_all(decision) < 0)
		return RH_ENOMEM;
	return rh_decide_drop_services(decision);
}

/* @p seconds after @p time, or RH_NEVER when that is beyond all times. */
static int64_t phase_after(const struct rh_decision *decision, int64_t time, int64_t seconds)
{
	time = rh_decide_time(decision, time);
	return seconds < 0 || seconds > (RH_NEVER - time) / RH_SECOND - 1 ? RH_NEVER : time + seconds * RH_SECOND;
}

bool rh_decide_past_deadline(struct rh_decision *decision)
{
	int64_t started = decision->plan->status.started_at;
	bool limited = started && !rh_decision_has_own_limits(decision);
	int64_t deadline = limited ? phase_after(decision, started, decision->job->policy.deadline_seconds) : RH_NEVER;

	/* startTime has whole seconds: the job may have started almost one second later, and must not end too early. */
	if (deadline != RH_NEVER)
		deadline += RH_SECOND - 1;
	if (decision->world->now >= deadline)
		return true;
	rh_decision_wake(decision, deadline);
	return false;
}

static bool phase_pod_goes(enum rh_clean_policy policy, const struct rh_pod *pod)
{
	return policy == RH_CLEAN_ALL || (policy == RH_CLEAN_RUNNING && !rh_pod_finished(pod));
}

/* A Service stays as long as the pod of its replica. V1 leaks one whose pod is deleted before it. */
static bool phase_service_goes(const struct rh_decision *decision, const struct rh_child *service)
{
	const struct rh_pod *pod = NULL;
	size_t place;

	if (rh_decision_place(decision, service->type, service->index, &place))
		pod = decision->pods[place];
	return !pod || phase_pod_goes(decision->job->policy.clean, pod);
}

static int phase_clean(struct rh_decision *decision)
{
	enum rh_clean_policy policy = decision->job->policy.clean;

	if (policy == RH_CLEAN_NONE)
		return 0;
	for (size_t i = 0; i < decision->owned_count; i++) {
		if (phase_pod_goes(policy, decision->owned[i]) && rh_decide_stop(decision, decision->owned[i]) < 0)
			return RH_ENOMEM;
	}
	for (size_t i = 0; i < decision->world->child_count; i++) {
		const struct rh_child *child = decision->world->children[i];

		if (rh_decide_is_service(decision, child) && phase_service_goes(decision, child) &&
		    rh_decide_drop_service(decision, child) < 0)
			return RH_ENOMEM;
	}
	return 0;
}

static int phase_expire(struct rh_decision *decision)
{
	const struct rh_job *job = decision->job;
	int64_t due = phase_after(decision, decision->plan->status.completed_at, job->policy.ttl_seconds);

	if (rh_run_policy_is_suspended(&job->policy) || due == RH_NEVER)
		return 0;
	if (decision->world->now >= due)
		return rh_plan_delete(decision->plan, RH_DELETE_JOB, job->name, job->uid, false);
	rh_decision_wake(decision, due);
	return 0;
}

/* Jobs that V1 failed may lack a completionTime (v1-behaviour E.5-4), and may show active replicas for ever. */
static void phase_repair(struct rh_decision *decision)
{
	struct rh_job_status *status = &decision->plan->status;
	const struct rh_condition *failed = rh_job_status_condition(status, RH_CONDITION_FAILED);

	if (status->completed_at == 0)
		status->completed_at = failed && failed->transitioned_at > 0 ? failed->transitioned_at : decision->world->now;
	if (rh_job_status_is(status, RH_CONDITION_SUCCEEDED))
		phase_fold_active(status);
}

static bool phase_has_running(const struct rh_decision *decision)
{
	bool runs = false;

	for (size_t i = 0; i < decision->owned_count && !runs; i++)
		runs = !rh_pod_finished(decision->owned[i]);
	return runs;
}

/* While pods run, a kind with members of status of its own goes on with them, and a quota is in use. */
static bool phase_may_change(const struct rh_decision *decision)
{
	return !decision->plan->still && (decision->world->gated || rh_shown_schema(decision->job->kind));
}

/* While an object that it names is missing, what becomes of it may be in an expansion that nobody has. */
static bool phase_policy_is_known(const struct rh_decision *decision)
{
	const struct rh_job *job = decision->job;

	return rh_job_is_expanded(job) || rh_lookups_are_complete(job->kind, decision->world->lookups);
}

int rh_decide_finished(struct rh_decision *decision)
{
	int r;

	decision->plan->still = !phase_has_running(decision);
	phase_repair(decision);
	if (decision->plan->ledger.end != RH_END_NONE)
		r = rh_decide_stop_all(decision) < 0 ? RH_ENOMEM : rh_decide_drop_services(decision);
	else
		r = phase_clean(decision);
	if (r == 0)
		r = rh_decide_drop_objects(decision);
	if (r == 0)
		r = phase_expire(decision);
	decision->plan->done = decision->plan->action_count == 0 && !decision->left && !phase_may_change(decision) &&
	                       phase_policy_is_known(decision);
	decision->plan->cleans = decision->plan->ledger.end != RH_END_NONE || decision->job->policy.clean != RH_CLEAN_NONE;
	return r;
}
