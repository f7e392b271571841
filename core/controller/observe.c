/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/observe.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/os/clock.h"

/* What is counted once for each job. */
#define OBSERVE_COUNTED UINT32_C(1) /* counted as created */
#define OBSERVE_STARTED UINT32_C(2) /* all replicas ran, or the time when they did is unknown */

static void observe_count(struct rh_metrics *metrics, enum rh_metric family, const struct rh_job *job, double amount)
{
	const char *const labels[] = {job->namespace_, job->kind->framework};

	rh_metrics_add(metrics, family, labels, amount);
}

static void observe_restarts(struct rh_metrics *metrics, const struct rh_engine_change *change)
{
	double sum = 0;

	for (int cause = 0; cause < RH_CAUSES; cause++) {
		const char *const labels[] = {change->kind->framework, rh_restart_cause_name((enum rh_restart_cause)cause)};
		int64_t more = rh_ledger_restarts_of(change->ledger_after, (enum rh_restart_cause)cause) -
		               rh_ledger_restarts_of(change->ledger_before, (enum rh_restart_cause)cause);

		if (more <= 0)
			continue;
		rh_metrics_add(metrics, RH_METRIC_RESTARTS, labels, (double)more);
		sum += (double)more;
	}
	if (sum > 0)
		observe_count(metrics, RH_METRIC_JOBS_RESTARTED, change->after, sum);
}

static int64_t observe_active(const struct rh_job *job)
{
	int64_t sum = 0;

	for (size_t i = 0; i < job->status.replica_count; i++)
		sum += (int64_t)job->status.replicas[i].active + job->status.replicas[i].succeeded;
	return sum;
}

static void observe_start(struct rh_metrics *metrics, const struct rh_engine_change *change, int64_t now)
{
	const char *const labels[] = {change->kind->framework};
	int64_t replicas = rh_job_total_replicas(change->after);
	bool runs = replicas > 0 && observe_active(change->after) >= replicas;
	bool late = rh_ledger_restarts(change->ledger_after) > 0 || rh_job_status_finished(&change->after->status);

	if (*change->flags & OBSERVE_STARTED)
		return;
	if (runs || late)
		*change->flags |= OBSERVE_STARTED;
	if (runs && !late && !change->first && change->after->created_at != 0)
		rh_metrics_observe(metrics, RH_METRIC_START_TIME, labels, (double)(now - change->after->created_at) / 1e6);
}

static bool observe_became(const struct rh_engine_change *change, const char *type)
{
	return rh_job_status_is(&change->after->status, type) && !rh_job_status_is(&change->before->status, type);
}

static void observe_log_conditions(const struct rh_engine_change *change)
{
	const struct rh_job *job = change->after;
	const struct rh_log_object object = {job->kind->kind, job->namespace_, job->name, job->uid};

	for (size_t i = 0; i < job->status.condition_count; i++) {
		const struct rh_condition *condition = &job->status.conditions[i];

		if (condition->status && !rh_job_status_is(&change->before->status, condition->type))
			rh_log_about(strcmp(condition->type, RH_CONDITION_FAILED) == 0 ? RH_LOG_WARN : RH_LOG_INFO, &object,
			             "%s: %s", condition->type, condition->message ? condition->message : "");
	}
}

void rh_observe_known(const struct rh_engine_change *change)
{
	*change->flags |= OBSERVE_COUNTED;
}

void rh_observe_change(struct rh_metrics *metrics, const struct rh_engine_change *change, int64_t now)
{
	if (!change->after)
		return;
	/* not only at first: it may have been another instance's to count then */
	if (!(*change->flags & OBSERVE_COUNTED))
		observe_count(metrics, RH_METRIC_JOBS_CREATED, change->after, 1);
	*change->flags |= OBSERVE_COUNTED;
	observe_start(metrics, change, now);
	if (!change->before)
		return;
	if (observe_became(change, RH_CONDITION_SUCCEEDED))
		observe_count(metrics, RH_METRIC_JOBS_SUCCESSFUL, change->after, 1);
	if (observe_became(change, RH_CONDITION_FAILED))
		observe_count(metrics, RH_METRIC_JOBS_FAILED, change->after, 1);
	observe_restarts(metrics, change);
	observe_log_conditions(change);
}

void rh_observe_plan(struct rh_metrics *metrics, const struct rh_job *job, const struct rh_plan *plan)
{
	const struct rh_log_object object = {job->kind->kind, job->namespace_, job->name, job->uid};
	rh_auto_str text = {0};

	for (size_t i = 0; i < plan->action_count; i++) {
		if (plan->actions[i].verb != RH_DELETE_JOB)
			continue;
		observe_count(metrics, RH_METRIC_JOBS_DELETED, job, 1);
		rh_log_about(RH_LOG_INFO, &object, "deleted: ttlSecondsAfterFinished is over");
	}
	if (!rh_log_enabled(RH_LOG_DEBUG))
		return;
	rh_plan_print(plan, &text);
	rh_log_about(RH_LOG_DEBUG, &object, "plan:\n%s", rh_str_text(&text));
}

void rh_observe_call(struct rh_metrics *metrics, const struct rh_kube_call *call)
{
	char code[16];
	const char *const counted[] = {call->verb, call->resource, code};

	(void)snprintf(code, sizeof(code), "%d", (int)call->status);
	rh_metrics_add(metrics, RH_METRIC_API_REQUESTS, counted, 1);
	if (strcmp(call->verb, "watch") != 0)
		rh_metrics_observe(metrics, RH_METRIC_API_TIME, counted, (double)call->took / (double)RH_SECOND);
}

void rh_observe_problem(struct rh_metrics *metrics, const struct rh_kube_problem *problem)
{
	const char *const labels[] = {problem->resource, problem->verb};

	if (problem->status == 200)
		rh_metrics_set_all(metrics, RH_METRIC_WATCH_PROBLEMS, problem->resource, 0);
	else
		rh_metrics_set(metrics, RH_METRIC_WATCH_PROBLEMS, labels, 1);
}
