/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Restarts (v1-behaviour C.3). A restart is written to the ledger before the delete, by UID where there is one, so that
 * it is counted exactly once in any order of events, and across controller restarts.
 */
#include <inttypes.h>
#include <signal.h>

#include "base/mem.h"
#include "base/str.h"
#include "engine/decide/children/children.h"
#include "engine/decide/replicas.h"
#include "engine/decide/report.h"

static enum rh_restart_cause restart_cause(const struct rh_pod *pod)
{
	int death;

	if (!pod || pod->phase != RH_PHASE_FAILED)
		return RH_CAUSE_DELETED;
	death = rh_exit_signal(pod->exit_code);
	if (pod->deleting && (death == SIGTERM || death == SIGKILL))
		return RH_CAUSE_DELETED;
	return pod->exit_code < 0 ? RH_CAUSE_EVICTED : RH_CAUSE_EXIT;
}

/*
 * @return restarts in place that only the pod at @p place shows so far. V1 counts those of running pods (v1-behaviour
 * B.3); those of init containers are of pods that do not run yet.
 */
static int64_t restart_live(const struct rh_decision *decision, size_t place)
{
	const struct rh_pod *pod = decision->pods[place];
	int32_t index;
	const struct rh_replica_spec *spec = rh_decision_spec(decision, place, &index);
	enum rh_restart_policy policy = spec->policy;

	if (!pod || decision->slots[place] == RH_SLOT_SUCCEEDED || decision->slots[place] == RH_SLOT_STALE)
		return 0;
	if (policy == RH_RESTART_NEVER || policy == RH_RESTART_UNKNOWN ||
	    rh_ledger_counted(&decision->plan->ledger, pod->uid) ||
	    rh_ledger_stops(&decision->plan->ledger, spec->type, index))
		return 0;
	return pod->restarts;
}

bool rh_decide_over_budget(const struct rh_decision *decision)
{
	const struct rh_ledger *ledger = &decision->plan->ledger;
	int64_t limit = decision->job->policy.backoff_limit;
	int64_t live = 0, coming = 0, in_place;

	if (limit < 0 || rh_decision_has_own_limits(decision))
		return false;
	for (size_t place = 0; place < rh_decision_places(decision); place++) {
		live += restart_live(decision, place);
		coming += decision->slots[place] == RH_SLOT_BROKEN && !rh_decide_is_requested(decision, place) &&
		          !rh_decision_evicts(decision, place);
	}
	if (decision->job->scope == RH_SCOPE_JOB && coming > 1)
		coming = 1;
	coming += (int64_t)decision->charges;
	in_place = rh_ledger_restarts_of(ledger, RH_CAUSE_IN_PLACE) + live;
	/*
	 * In V1 the restart in place that reaches the limit fails the job; a replica is re-created as often as the limit.
	 */
	return rh_ledger_restarts(ledger) + live + coming > limit || (in_place > 0 && in_place >= limit);
}

/* Add the restarts in place of the pod at @p place to the ledger: the pod is about to be deleted. */
static int restart_fold(struct rh_decision *decision, size_t place)
{
	int64_t live = restart_live(decision, place);
	int32_t index;
	struct rh_ledger_type *type;

	if (live == 0)
		return 0;
	type = rh_ledger_type_of(&decision->plan->ledger, rh_decision_spec(decision, place, &index)->type);
	if (!type)
		return RH_ENOMEM;
	type->restarts[RH_CAUSE_IN_PLACE] += live;
	return 0;
}

static int restart_count(struct rh_decision *decision, size_t place)
{
	struct rh_ledger *ledger = &decision->plan->ledger;
	const struct rh_pod *pod = decision->pods[place];
	int32_t index;
	const struct rh_replica_spec *spec = rh_decision_spec(decision, place, &index);
	const char *uid = pod && rh_ledger_room(ledger) > 0 ? pod->uid : NULL;
	enum rh_restart_cause cause = rh_decision_evicts(decision, place) ? RH_CAUSE_STALLED : restart_cause(pod);
	char note[RH_NAME_SIZE];

	if (restart_fold(decision, place) < 0 || rh_ledger_count(ledger, spec->type, cause, uid) < 0)
		return RH_ENOMEM;
	rh_ledger_unnote(ledger, rh_decision_eviction(decision, place, note));
	return rh_decide_emit_exit(decision, place);
}

/* Count the restart of one replica, and record that its next pod has not run. */
static int restart_replica(struct rh_decision *decision, size_t place)
{
	int32_t index;
	const struct rh_replica_spec *spec = rh_decision_spec(decision, place, &index);
	struct rh_ledger_type *type = rh_ledger_type_of(&decision->plan->ledger, spec->type);

	if (!type || restart_count(decision, place) < 0 || rh_index_set_add(&type->lost, index) < 0)
		return RH_ENOMEM;
	decision->slots[place] = RH_SLOT_RESTARTING;
	return 0;
}

/* A failure that is not restarted and does not end the job is reported once. */
static int restart_note_failed(struct rh_decision *decision, size_t place)
{
	int r = rh_ledger_note(&decision->plan->ledger, decision->pods[place]->uid);

	return r == 1 ? rh_decide_emit_exit(decision, place) : r;
}

static int restart_emit_type(struct rh_decision *decision, const struct rh_replica_spec *spec)
{
	rh_auto_free char *message =
		rh_asprintf("job %s is restarting because %s replica(s) failed.", decision->job->name, spec->type);

	return message ? rh_decide_emit(decision, true, "Restarting", message) : RH_ENOMEM;
}

static int restart_spec(struct rh_decision *decision, size_t spec)
{
	bool failed = false;

	for (size_t place = decision->offsets[spec]; place < decision->offsets[spec + 1]; place++) {
		const struct rh_pod *pod = decision->pods[place];
		int r = 0;

		/* what the plugin wants restarted, and what waits for another restart, is not restarted by its policy */
		if (rh_decide_is_requested(decision, place) && decision->slots[place] != RH_SLOT_RESTARTING)
			continue;
		if (decision->slots[place] == RH_SLOT_FAILED)
			r = restart_note_failed(decision, place);
		/* Without room in the ledger the restart waits for a pass in which UIDs of deleted pods have been dropped. */
		if (decision->slots[place] == RH_SLOT_BROKEN && rh_ledger_room(&decision->plan->ledger) > 0) {
			failed = failed || (pod && pod->phase == RH_PHASE_FAILED);
			r = restart_replica(decision, place);
		}
		if (r >= 0 && decision->slots[place] == RH_SLOT_RESTARTING && pod && !pod->deleting)
			r = rh_decide_stop(decision, pod);
		if (r < 0)
			return r;
	}
	return failed ? restart_emit_type(decision, &decision->job->specs[spec]) : 0;
}

static int restart_replicas(struct rh_decision *decision)
{
	for (size_t i = 0; i < decision->job->spec_count; i++) {
		if (restart_spec(decision, i) < 0)
			return RH_ENOMEM;
	}
	return 0;
}

/* @return whether the replica restarts by its policy */
static bool restart_is_own(const struct rh_decision *decision, size_t place)
{
	return decision->slots[place] == RH_SLOT_BROKEN && !rh_decide_is_requested(decision, place);
}

/* @return the replica that restarts the whole job: the one with the first fault; SIZE_MAX: none */
static size_t restart_trigger(const struct rh_decision *decision)
{
	size_t place = 0;

	if (decision->first != SIZE_MAX && restart_is_own(decision, decision->first))
		return decision->first;
	while (place < rh_decision_places(decision) && !restart_is_own(decision, place))
		place++;
	return place < rh_decision_places(decision) ? place : SIZE_MAX;
}

/* Count that the replica stops for @p cause, and report how it ended. */
static int restart_count_with(struct rh_decision *decision, size_t place, enum rh_restart_cause cause)
{
	const struct rh_pod *pod = decision->pods[place];
	int32_t index;
	struct rh_ledger_type *type =
		rh_ledger_type_of(&decision->plan->ledger, rh_decision_spec(decision, place, &index)->type);
	bool ended = decision->slots[place] == RH_SLOT_BROKEN;

	/* one that has no pod counts where all count for one */
	if (!pod && cause == RH_CAUSE_JOB)
		return 0;
	if (!type || restart_fold(decision, place) < 0)
		return RH_ENOMEM;
	type->restarts[cause]++;
	/* a failure for good that was seen before is reported */
	if (pod && decision->slots[place] == RH_SLOT_FAILED && rh_decide_is_requested(decision, place))
		ended = !rh_ledger_counted(&decision->plan->ledger, pod->uid);
	return ended ? rh_decide_emit_exit(decision, place) : 0;
}

static int restart_count_job(struct rh_decision *decision, size_t trigger)
{
	for (size_t place = 0; place < rh_decision_places(decision); place++) {
		if (place != trigger && restart_count_with(decision, place, RH_CAUSE_JOB) < 0)
			return RH_ENOMEM;
	}
	return restart_count(decision, trigger);
}

/* Report a restart. @param message to which the first fault is appended; @param verdict of the plugin, for the reason
 */
static int restart_report(struct rh_decision *decision, struct rh_str *message, struct rh_verdict verdict)
{
	verdict.message = (char *)(uintptr_t)rh_str_text(message);
	if (message->failed || rh_decide_conclude(decision, RH_CONDITION_RESTARTING, "Restarting", &verdict) < 0)
		return RH_ENOMEM;
	return rh_decide_emit_verdict(decision, true, "Restarting", &verdict);
}

static int restart_emit_job(struct rh_decision *decision, size_t trigger)
{
	const struct rh_job *job = decision->job;
	rh_auto_str message = {0};
	int32_t index;
	struct rh_verdict verdict = {.message = NULL};

	for (size_t i = 0; i < decision->judgement.count; i++) {
		if (decision->judgement.items[i].verdict == RH_VERDICT_RESTARTING)
			verdict = decision->judgement.items[i];
	}
	if (verdict.message)
		rh_str_append(&message, verdict.message);
	else
		rh_str_appendf(&message, "job %s is restarting because %s replica(s) failed.", job->name,
		               rh_decision_spec(decision, trigger, &index)->type);
	(void)rh_decide_print_fault(decision, &message);
	return restart_report(decision, &message, verdict);
}

/* Report a restart that the plugin wants, in its words or the core's. */
static int restart_report_requested(struct rh_decision *decision, const struct rh_restart *restart)
{
	const struct rh_job *job = decision->job;
	rh_auto_str message = {0};

	if (restart->message)
		rh_str_append(&message, restart->message);
	else if (!restart->type)
		rh_str_appendf(&message, "%s %s is restarting.", job->kind->kind, job->name);
	else if (restart->index < 0)
		rh_str_appendf(&message, "%s %s is restarting all %s replica(s).", job->kind->kind, job->name, restart->type);
	else
		rh_str_appendf(&message, "%s %s is restarting %s-%" PRId32 ".", job->kind->kind, job->name, restart->type,
		               restart->index);
	if (!restart->type)
		(void)rh_decide_print_fault(decision, &message);
	decision->begun = true;
	return restart_report(decision, &message, (struct rh_verdict){.verdict = RH_VERDICT_RESTARTING});
}

/* @return for what cause the first replica of a restart stops; the others stop with it */
static enum rh_restart_cause restart_cause_of(const struct rh_restart *restart, bool first)
{
	return first && !(restart->flags & RH_RESTART_FREE) ? RH_CAUSE_PLUGIN : RH_CAUSE_JOB;
}

/* Stop all of the job because the plugin wants it. */
static int restart_requested_job(struct rh_decision *decision)
{
	const struct rh_restart *restart = decision->requests_all;
	struct rh_ledger *ledger = &decision->plan->ledger;
	bool first = true;

	for (size_t place = 0; place < rh_decision_places(decision); place++) {
		if (restart_count_with(decision, place, restart_cause_of(restart, first)) < 0)
			return RH_ENOMEM;
		first = false;
	}
	if (rh_ledger_set_token(&ledger->token, restart->token) < 0 || restart_report_requested(decision, restart) < 0)
		return RH_ENOMEM;
	ledger->stopping = true;
	return rh_decide_stop_all(decision);
}

int rh_decide_restart_stalled(struct rh_decision *decision, size_t stalled, const char *why)
{
	rh_auto_str message = {0};

	for (size_t place = 0; place < rh_decision_places(decision); place++) {
		if (restart_count_with(decision, place, place == stalled ? RH_CAUSE_STALLED : RH_CAUSE_JOB) < 0)
			return RH_ENOMEM;
	}
	rh_str_appendf(&message, "%s %s is restarting all replicas: %s", decision->job->kind->kind, decision->job->name,
	               why);
	decision->begun = true;
	if (restart_report(decision, &message, (struct rh_verdict){.verdict = RH_VERDICT_RESTARTING}) < 0)
		return RH_ENOMEM;
	decision->plan->ledger.stopping = true;
	return rh_decide_stop_all(decision);
}

/* Begin the restart of one replica; its pod is deleted with those of other restarts. */
static int restart_begin(struct rh_decision *decision, size_t place, enum rh_restart_cause cause)
{
	int32_t index;
	const struct rh_replica_spec *spec = rh_decision_spec(decision, place, &index);
	struct rh_ledger_type *type = rh_ledger_type_of(&decision->plan->ledger, spec->type);

	if (!type || restart_count_with(decision, place, cause) < 0)
		return RH_ENOMEM;
	rh_index_set_remove(&type->succeeded, index);
	rh_index_set_remove(&type->lost, index);
	if (rh_index_set_add(&type->again, index) < 0)
		return RH_ENOMEM;
	decision->slots[place] = RH_SLOT_RESTARTING;
	return 0;
}

/* Report the restart to which the replica belongs, and keep its token. */
static int restart_open(struct rh_decision *decision, size_t place, const struct rh_restart *restart)
{
	int32_t index;
	struct rh_ledger_type *type =
		rh_ledger_type_of(&decision->plan->ledger, rh_decision_spec(decision, place, &index)->type);

	if (!type || rh_ledger_set_token(&type->token, restart->token) < 0)
		return RH_ENOMEM;
	return restart_report_requested(decision, restart);
}

/* Begin the restarts of types and replicas that the plugin wants. */
static int restart_requested(struct rh_decision *decision)
{
	uint32_t last = 0;

	for (size_t place = 0; decision->requested && place < rh_decision_places(decision); place++) {
		uint32_t number = decision->requested[place];
		const struct rh_restart *restart;

		if (number == 0 || number == RH_REQUESTED_LATER)
			continue;
		restart = &decision->judgement.restarts[number - 1];
		if (number != last && restart_open(decision, place, restart) < 0)
			return RH_ENOMEM;
		if (restart_begin(decision, place, restart_cause_of(restart, number != last)) < 0)
			return RH_ENOMEM;
		last = number;
	}
	return 0;
}

int rh_decide_restart(struct rh_decision *decision)
{
	size_t trigger;

	if (decision->requests_all)
		return restart_requested_job(decision);
	if (restart_requested(decision) < 0)
		return RH_ENOMEM;
	if (decision->job->scope == RH_SCOPE_REPLICA)
		return restart_replicas(decision);
	trigger = restart_trigger(decision);
	if (trigger == SIZE_MAX)
		return restart_replicas(decision);
	if (restart_count_job(decision, trigger) < 0 || restart_emit_job(decision, trigger) < 0)
		return RH_ENOMEM;
	decision->plan->ledger.stopping = true;
	return rh_decide_stop_all(decision);
}

static void drain_count(struct rh_decision *decision)
{
	for (size_t i = 0; i < decision->job->spec_count; i++) {
		decision->counts[i].desired = decision->job->specs[i].replicas;
		for (size_t place = decision->offsets[i]; place < decision->offsets[i + 1]; place++) {
			const struct rh_pod *pod = decision->pods[place];

			decision->counts[i].active += pod && pod->phase == RH_PHASE_RUNNING && !pod->deleting;
		}
	}
}

/*
 * The next attempt starts when no pod is left and the status counts none: a status that still counted pods of the old
 * attempt would make them look lost in the new one.
 */
static bool drain_is_done(const struct rh_decision *decision)
{
	/* includes counts that are held back, which are unchanged so far */
	const struct rh_job_status *status = &decision->plan->status;

	for (size_t i = 0; i < status->replica_count; i++) {
		if (status->replicas[i].active || status->replicas[i].succeeded || status->replicas[i].failed)
			return false;
	}
	return decision->owned_count == 0;
}

int rh_decide_drain(struct rh_decision *decision)
{
	struct rh_ledger *ledger = &decision->plan->ledger;

	if (drain_is_done(decision)) {
		ledger->attempt += ledger->attempt < INT32_MAX;
		ledger->stopping = false;
		rh_ledger_forget_indices(ledger);
		return 0;
	}
	drain_count(decision);
	if (rh_decide_fault(decision) < 0 || rh_decide_stop_all(decision) < 0)
		return RH_ENOMEM;
	return rh_decide_counts(decision);
}
