/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order of the rules (v1-behaviour 0.7). The state of a rule is kept in the status or the ledger that the same plan
 * writes, so that each decision depends on the world alone, and is reported once.
 */
#include "engine/decide.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/os/clock.h"
#include "base/str.h"
#include "build/gang.h"
#include "engine/decide/admit.h"
#include "engine/decide/children/children.h"
#include "engine/decide/phases.h"
#include "engine/decide/replicas.h"
#include "engine/decide/report.h"
#include "job/expansion.h"
#include "job/status/shown.h"

/* Most waiting pods that are reported and noted at a time: a bad image gives a few Events, not thousands. */
#define DECIDE_WAITING_MAX 8
/* Room for a note in the ledger: a prefix and a UID. */
#define DECIDE_NOTE_SIZE 256
#define DECIDE_NOTE_WAITING "waiting/"
/* Of a job that waits for an object which it names. */
#define DECIDE_WORD_WAITING "Waiting"

/* Ask the plugin what its counts mean, and take its members of status. */
static int decide_ask(struct rh_decision *decision)
{
	struct rh_snapshot snapshot = rh_decision_snapshot(decision);
	int r;

	snapshot.counts = decision->counts;
	snapshot.pods = decision->pods;
	snapshot.offsets = decision->offsets;
	snapshot.finished = rh_job_status_finished(&decision->job->status);
	r = rh_host_judge(&snapshot, &decision->judgement, decision->err);
	return r == 0 ? rh_decide_take_own(decision) : r;
}

/*
 * A kind with members of status of its own is asked while its job does not run, too; nothing else of the answer counts.
 * A job that never began has none.
 */
static int decide_restate(struct rh_decision *decision)
{
	const struct rh_job *job = decision->job;
	bool finished = rh_job_status_finished(&job->status);

	if (!rh_shown_schema(job->kind) || decision->world->breach || decision->world->set_aside ||
	    !rh_lookups_are_complete(job->kind, decision->world->lookups) || !rh_job_is_expanded(job) ||
	    !rh_decide_is_small(job) || (finished && !job->status.started_at))
		return 0;
	rh_decide_look(decision);
	return decide_ask(decision);
}

/* A job that has finished. @return as decide_run() */
static int decide_finished(struct rh_decision *decision)
{
	const struct rh_condition *refused = rh_decide_refused(decision->job);
	int r = 0;

	if (refused && !decision->world->breach && !decision->world->waiting)
		r = rh_decide_reconsider(decision, refused);
	if (r == 0)
		r = decide_restate(decision);
	return r != 0 ? r : rh_decide_finished(decision);
}

/* A job that is suspended, or resumes. */
static int decide_suspended(struct rh_decision *decision)
{
	int r = decide_restate(decision);

	return r == 0 ? rh_decide_suspended(decision) : r;
}

/* Hold back the replica at @p place. */
static void decide_hold(struct rh_decision *decision, size_t spec, size_t place)
{
	if (decision->held[place])
		return;
	decision->held[place] = true;
	decision->plan->held[spec] += !decision->pods[place] && decision->slots[place] != RH_SLOT_SUCCEEDED;
}

/* Note for which types an object of the plugin makes the pods. @return whether there is one */
static bool decide_outside(const struct rh_decision *decision, bool whole[RH_TYPES_MAX])
{
	const struct rh_addresses *addresses = decision->world->addresses;
	bool any = false;

	for (size_t i = 0; i < decision->job->spec_count && (!addresses || addresses->count == 0); i++) {
		const struct rh_replica_type *known = decision->job->specs[i].known;

		whole[i] = known && (known->flags & RH_REPLICA_OUTSIDE);
		any = any || whole[i];
	}
	return any;
}

/* Note which replicas the plugin holds back. */
static int decide_holds(struct rh_decision *decision)
{
	const struct rh_judgement *judgement = &decision->judgement;
	bool whole[RH_TYPES_MAX] = {false};
	size_t spec = 0;

	if (!decide_outside(decision, whole) && judgement->hold_count == 0)
		return 0;
	decision->held = rh_alloc_array(rh_decision_places(decision) + 1, sizeof(*decision->held));
	if (!decision->held)
		return RH_ENOMEM;
	for (size_t i = 0; i < judgement->hold_count; i++) {
		(void)rh_decision_type(decision, judgement->holds[i].type, &spec);
		whole[spec] = whole[spec] || judgement->holds[i].index < 0;
		if (judgement->holds[i].index >= 0)
			decide_hold(decision, spec, decision->offsets[spec] + (size_t)judgement->holds[i].index);
	}
	for (spec = 0; spec < decision->job->spec_count; spec++) {
		for (size_t place = decision->offsets[spec]; whole[spec] && place < decision->offsets[spec + 1]; place++)
			decide_hold(decision, spec, place);
	}
	return 0;
}

static int decide_judge(struct rh_decision *decision)
{
	int r = decide_ask(decision);

	if (r == 0)
		r = decide_holds(decision);
	return r == 0 ? rh_decide_requested(decision) : r;
}

static const struct rh_verdict *decide_verdict(const struct rh_decision *decision, int32_t verdict)
{
	for (size_t i = 0; i < decision->judgement.count; i++) {
		if (decision->judgement.items[i].verdict == verdict)
			return &decision->judgement.items[i];
	}
	return NULL;
}

static int decide_report_running(struct rh_decision *decision)
{
	const struct rh_verdict *verdict = decide_verdict(decision, RH_VERDICT_RUNNING);
	int r = 0;

	if (verdict)
		r = rh_decide_conclude(decision, RH_CONDITION_RUNNING, "Running", verdict);
	return r < 0 ? r : 0;
}

static int decide_report_restarting(struct rh_decision *decision)
{
	const struct rh_verdict *verdict = decide_verdict(decision, RH_VERDICT_RESTARTING);
	int r = 0;

	if (verdict)
		r = rh_decide_conclude(decision, RH_CONDITION_RESTARTING, "Restarting", verdict);
	return r > 0 ? rh_decide_emit_verdict(decision, true, "Restarting", verdict) : r;
}

/* The type of a replica whose exit code is permanent (v1-behaviour C.3), or NULL. */
static const char *decide_permanent(const struct rh_decision *decision)
{
	for (size_t place = 0; place < rh_decision_places(decision); place++) {
		int32_t index;
		const struct rh_replica_spec *spec;

		if (decision->slots[place] != RH_SLOT_FAILED || rh_decide_is_requested(decision, place))
			continue;
		spec = rh_decision_spec(decision, place, &index);
		if (spec->policy == RH_RESTART_EXIT_CODE)
			return spec->type;
	}
	return NULL;
}

static int decide_fail_permanent(struct rh_decision *decision, const char *type)
{
	char *usual = rh_asprintf("job \"%s\" is failing because \"%s\" replica(s) failed.", decision->job->name, type);
	rh_auto_free char *message = rh_decide_words(decision, RH_CONDITION_FAILED, usual);

	return message ? rh_decide_fail(decision, true, "Failed", message) : RH_ENOMEM;
}

/* @return 1 when the job has failed and the pass ends; 0 or RH_ENOMEM */
static int decide_failed(struct rh_decision *decision)
{
	const struct rh_verdict *verdict = decide_verdict(decision, RH_VERDICT_FAILED);
	const char *type = decide_permanent(decision);
	int r;

	if (!verdict && !type)
		return 0;
	if (decide_report_running(decision) < 0 || rh_decide_counts(decision) < 0)
		return RH_ENOMEM;
	r = type ? decide_fail_permanent(decision, type) : rh_decide_fail_for(decision, verdict);
	return r < 0 ? r : 1;
}

static int decide_emit_waiting(struct rh_decision *decision, const struct rh_pod *pod)
{
	const char *reason = pod->waiting_reason;
	char note[DECIDE_NOTE_SIZE];
	int r;

	snprintf(note, sizeof(note), DECIDE_NOTE_WAITING "%s", pod->uid);
	r = rh_ledger_note(&decision->plan->ledger, note);
	if (r <= 0)
		return r;
	return rh_plan_emit(decision->plan, true, reason, "Error pod %s %s: %s", pod->name,
	                    strcmp(reason, "Unschedulable") == 0 ? "condition message" : "waiting message",
	                    pod->waiting_message);
}

static size_t decide_count_waiting(const struct rh_ledger *ledger)
{
	size_t count = 0;

	for (size_t i = 0; i < ledger->counted_count; i++)
		count += rh_starts_with(ledger->counted[i], DECIDE_NOTE_WAITING);
	return count;
}

/* Emit V1's Event for each pod that cannot start (v1-behaviour F.1), once. */
static int decide_waiting(struct rh_decision *decision)
{
	for (size_t place = 0; place < rh_decision_places(decision); place++) {
		const struct rh_pod *pod = decision->pods[place];

		if (!pod || rh_pod_finished(pod) || pod->deleting || !*pod->uid || !*pod->waiting_message)
			continue;
		if (decide_count_waiting(&decision->plan->ledger) >= DECIDE_WAITING_MAX)
			break;
		if (decide_emit_waiting(decision, pod) < 0)
			return RH_ENOMEM;
	}
	return 0;
}

/* Emit an Event for template fields without an effect, or with an unexpected one (v1-behaviour C.2, B.8); once per job.
 */
static int decide_emit_templates(struct rh_decision *decision)
{
	const struct rh_job *job = decision->job;
	bool policy = false;
	bool scheduler = false;

	for (size_t i = 0; i < job->spec_count; i++) {
		const char *word = rh_json_string_at(job->specs[i].template_, "spec.restartPolicy");

		policy = policy || (word && *word);
		scheduler = scheduler || rh_gang_is_bypassed(rh_gang_of_kind(decision->world->gang, job->kind), &job->specs[i]);
	}
	if (policy &&
	    rh_plan_emit(decision->plan, true, "SetPodTemplateRestartPolicy",
	                 "Restart policy in pod template will be overwritten by restart policy in replica spec") < 0)
		return RH_ENOMEM;
	if (!scheduler)
		return 0;
	return rh_plan_emit(
		decision->plan, true, "SetPodTemplateSchedulerName",
		"Another scheduler is specified when gang-scheduling is enabled and it will not be overwritten");
}

/* The start of the job. */
static int decide_start(struct rh_decision *decision)
{
	struct rh_job_status *status = &decision->plan->status;

	if (status->started_at)
		return 0;
	status->started_at = decision->world->now;
	return decide_emit_templates(decision);
}

/* @return whether the fault, without a limit, ends the job, or all its replicas, so that no later observation can
 * explain it */
static bool decide_is_end(const struct rh_decision *decision)
{
	if (decide_verdict(decision, RH_VERDICT_FAILED) || decide_permanent(decision))
		return true;
	return (decision->requests_all || decision->job->scope == RH_SCOPE_JOB) && decision->first != SIZE_MAX;
}

/* @return 1 when the fault is judged later and the pass ends; 0 or RH_ENOMEM */
static int decide_first_fault(struct rh_decision *decision)
{
	bool limit = rh_decide_over_budget(decision);
	int waits;

	if (!limit && !decide_is_end(decision))
		return 0;
	waits = rh_decide_logs(decision);
	if (waits < 0 || (limit && rh_decide_fault_at_backoff(decision) < 0))
		return RH_ENOMEM;
	if (waits == 0 && !rh_decide_fault_waits(decision, limit))
		return rh_decide_fault_judge(decision);
	if (decide_report_running(decision) < 0 || rh_decide_counts(decision) < 0)
		return RH_ENOMEM;
	return 1;
}

/* @return 1 when a limit has ended the job and the pass ends; 0 or RH_ENOMEM */
static int decide_limits(struct rh_decision *decision)
{
	int r = 0;

	if (rh_decide_over_budget(decision))
		r = rh_decide_end(decision, RH_END_BACKOFF);
	else if (rh_decide_past_deadline(decision))
		r = rh_decide_end(decision, RH_END_DEADLINE);
	else
		return 0;
	return r < 0 ? r : 1;
}

/* Create and delete replicas. */
static int decide_keep(struct rh_decision *decision)
{
	if (rh_decide_objects(decision) < 0 || rh_decide_missing(decision) < 0)
		return RH_ENOMEM;
	if (!decision->plan->ledger.stopping && rh_decide_restart(decision) < 0)
		return RH_ENOMEM;
	if (!decision->plan->ledger.stopping && rh_decide_children(decision) < 0)
		return RH_ENOMEM;
	if (!decision->plan->ledger.stopping && !decision->begun &&
	    (decide_report_running(decision) < 0 || decide_report_restarting(decision) < 0))
		return RH_ENOMEM;
	return decide_waiting(decision) < 0 ? RH_ENOMEM : rh_decide_counts(decision);
}

static int decide_running(struct rh_decision *decision)
{
	const struct rh_verdict *success;
	int r = rh_decide_observe(decision);

	if (r == 0)
		r = decide_judge(decision);
	if (r < 0)
		return r;
	success = decide_verdict(decision, RH_VERDICT_SUCCEEDED);
	if (success)
		return decide_report_running(decision) < 0 ? RH_ENOMEM : rh_decide_succeed(decision, success);
	if (rh_run_policy_is_suspended(&decision->job->policy))
		return rh_decide_suspend(decision);
	/*
	 * The start time is set when pods may be created: waiting in a scheduler's queue does not count for the deadline.
	 */
	if (!decision->job->status.started_at && !rh_decide_gang_is_open(decision))
		return rh_decide_gang_wait(decision);
	r = decide_start(decision);
	if (r == 0)
		r = decide_first_fault(decision);
	if (r == 0)
		r = decide_limits(decision);
	if (r == 0)
		r = decide_failed(decision);
	return r == 0 ? decide_keep(decision) : r;
}

static int decide_stopping(struct rh_decision *decision)
{
	if (rh_run_policy_is_suspended(&decision->job->policy))
		return rh_decide_suspend(decision);
	if (rh_decide_past_deadline(decision))
		return rh_decide_end(decision, RH_END_DEADLINE);
	return rh_decide_drain(decision);
}

/* Drop the ledger's notes of pods that are gone for good. */
static void decide_prune(struct rh_decision *decision)
{
	struct rh_ledger *ledger = &decision->plan->ledger;
	bool keep[RH_LEDGER_COUNTED_MAX + 1] = {false};
	char note[DECIDE_NOTE_SIZE];

	for (size_t i = 0; i < decision->owned_count; i++) {
		const char *uid = decision->owned[i]->uid;

		keep[rh_ledger_place(ledger, uid)] = true;
		snprintf(note, sizeof(note), DECIDE_NOTE_WAITING "%s", uid);
		keep[rh_ledger_place(ledger, note)] = true;
	}
	keep[rh_ledger_place(ledger, decision->invalid)] = true;
	for (size_t i = 0; i < ledger->counted_count; i++)
		keep[i] = keep[i] || rh_starts_with(ledger->counted[i], RH_DECISION_EVICTION);
	rh_ledger_retain(ledger, keep);
}

/* The plugin broke its contract for this job: it is not called again. */
static int decide_fail_breach(struct rh_decision *decision)
{
	if (rh_decide_created(decision) < 0 || rh_decide_stop_all(decision) < 0)
		return RH_ENOMEM;
	return rh_decide_fail(decision, true, "PluginFailed", decision->world->breach);
}

/* The plugin's process failed at this job again and again: the job waits for another spec, or another plugin. */
static int decide_set_aside(struct rh_decision *decision)
{
	int r = rh_decide_created(decision);

	if (r >= 0)
		r = rh_decide_condition(decision, RH_CONDITION_STALLED, true, "PluginFailed", decision->world->breach);
	if (r > 0)
		r = rh_decide_emit(decision, true, "PluginFailed", decision->world->breach);
	return r < 0 ? r : 1;
}

/* An object that the job names is not there: nothing is decided until it is, and no pod is touched. */
static int decide_wait(struct rh_decision *decision)
{
	const char *message = decision->world->waiting;
	struct rh_job_status *status = &decision->plan->status;
	const struct rh_condition *before = rh_job_status_condition(status, RH_CONDITION_STALLED);
	int r;

	rh_decision_wake(decision, decision->world->waiting_until);
	if (before && before->status && strcmp(before->message, message) == 0)
		return 1;
	(void)rh_job_status_remove(status, RH_CONDITION_STALLED);
	r = rh_decide_condition(decision, RH_CONDITION_STALLED, true, DECIDE_WORD_WAITING, message);
	if (r > 0)
		r = rh_decide_emit(decision, true, DECIDE_WORD_WAITING, message);
	return r < 0 ? r : 1;
}

/* @return 0, a positive value when a rule ended the pass, or a negative status */
static int decide_run(struct rh_decision *decision)
{
	const struct rh_job *job = decision->job;
	int r;

	if (rh_job_status_finished(&job->status))
		return decide_finished(decision);
	if (decision->world->set_aside)
		return decide_set_aside(decision);
	if (decision->world->breach)
		return decide_fail_breach(decision);
	if (decision->world->waiting)
		return decide_wait(decision);
	r = rh_decide_admit(decision);
	if (r != 0)
		return r;
	/* Dropping alone justifies a write only when room is scarce. */
	if (rh_ledger_room(&decision->plan->ledger) < RH_LEDGER_COUNTED_MAX / 2)
		decide_prune(decision);
	if (rh_job_status_is(&job->status, RH_CONDITION_SUSPENDED))
		return decide_suspended(decision);
	if (decision->plan->ledger.end != RH_END_NONE)
		return rh_decide_end(decision, decision->plan->ledger.end);
	if (decision->plan->ledger.stopping)
		return decide_stopping(decision);
	if (rh_run_policy_is_suspended(&job->policy) && !job->status.started_at)
		return rh_decide_suspend(decision);
	return decide_running(decision);
}

static int decide_close(struct rh_decision *decision)
{
	struct rh_plan *plan = decision->plan;

	if (!rh_ledger_equal(&plan->ledger, decision->world->ledger)) {
		decide_prune(decision);
		plan->write_ledger = true;
	}
	plan->done = plan->done && !plan->write_ledger;
	return rh_decide_write_status(decision) < 0 ? RH_ENOMEM : rh_decide_write_hidden(decision);
}

/* One pass. The caller frees the decision's tables and the plan. */
static int decide_pass(struct rh_decision *decision)
{
	const struct rh_job *job = decision->job;
	struct rh_plan *plan = decision->plan;
	int r;

	if (rh_ledger_copy(&plan->ledger, decision->world->ledger) < 0 ||
	    rh_job_status_copy(&plan->status, &job->status) < 0 || rh_decide_take_held(decision) < 0)
		return rh_fail_oom(decision->err);
	if (!job->kind || job->deleting || !rh_job_is_ours(job)) {
		plan->done = true;
		return 0;
	}
	r = rh_decide_tables(decision);
	if (r == RH_EINVAL)
		r = rh_decide_refuse_size(decision);
	else if (r == 0)
		r = decide_run(decision);
	if (r == RH_ENOMEM)
		return rh_fail_oom(decision->err);
	if (r < 0)
		return r;
	if (rh_decide_watch_stalls(decision) < 0 || rh_decide_stalled(decision) < 0 || decide_close(decision) < 0)
		return rh_fail_oom(decision->err);
	return 0;
}

int rh_decide(const struct rh_world *world, struct rh_plan *ret_plan, struct rh_error *err)
{
	rh_auto_plan plan = {.wake_at = RH_NEVER};
	struct rh_decision decision = {.world = world, .job = world->job, .plan = &plan, .err = err, .first = SIZE_MAX};
	int r = decide_pass(&decision);

	rh_decision_deinit(&decision);
	if (r < 0)
		return r;
	*ret_plan = plan;
	plan = (struct rh_plan){0};
	return 0;
}
