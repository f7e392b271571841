/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs that are not valid, or too large: a new one fails or waits for a correction, one that has begun goes on. */
#include "engine/decide/admit.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/str.h"
#include "build/validate.h"
#include "engine/decide/phases.h"
#include "engine/decide/report.h"
#include "job/expansion.h"
#include "job/kind.h"
#include "job/status/conditions.h"

#define ADMIT_NOTE_INVALID "invalid/"

int rh_decide_created(struct rh_decision *decision)
{
	const struct rh_job *job = decision->job;
	rh_auto_free char *message = NULL;

	if (rh_job_status_condition(&job->status, RH_CONDITION_CREATED))
		return 0;
	message =
		rh_decide_words(decision, RH_CONDITION_CREATED, rh_asprintf("%s %s is created.", job->kind->kind, job->name));
	return message ? rh_decide_condition(decision, RH_CONDITION_CREATED, true, RH_CONDITION_CREATED, message)
	               : RH_ENOMEM;
}

/* A job that has started does not fail because of an invalid edit, nor does one that V1 accepted: each set of findings
 * is reported once. */
static int admit_emit(struct rh_decision *decision, const char *message)
{
	int r;

	snprintf(decision->invalid, sizeof(decision->invalid), ADMIT_NOTE_INVALID "%016" PRIx64,
	         rh_hash(message, strlen(message)));
	r = rh_ledger_note(&decision->plan->ledger, decision->invalid);
	return r == 1 ? rh_decide_emit(decision, true, RH_WORD_INVALID, message) : r;
}

/* Append that the job is not valid because of @p findings. @return 0 or RH_ENOMEM */
static int admit_explain(const struct rh_job *job, const struct rh_str *findings, struct rh_str *message)
{
	if (!rh_conditions_message(job, RH_WORD_INVALID, rh_str_text(findings), message))
		rh_str_appendf(message, "%s failed validation because %s", job->kind->kind, rh_str_text(findings));
	return findings->failed || message->failed ? RH_ENOMEM : 0;
}

/* Append that the job is too large. @return 0 or RH_ENOMEM */
static int admit_explain_size(const struct rh_job *job, struct rh_str *message)
{
	rh_auto_str finding = {0};
	struct rh_kind_path map;

	rh_kind_replicas_path(job->kind, &map);
	if (job->weight > RH_JOB_WEIGHT_MAX)
		rh_str_appendf(&finding,
		               "spec: Too long: the parsed job%s takes %zu bytes of memory and may "
		               "take %zu: take out long lists and fields that no container needs",
		               job->expansion ? " with its expansion" : "", job->weight, RH_JOB_WEIGHT_MAX);
	else
		rh_str_appendf(&finding, "%s: Invalid value: %" PRId64 ": must be at most %d replicas",
		               map.count > 0 ? map.text : "spec", rh_job_total_replicas(job), RH_DECIDE_REPLICAS_MAX);
	return admit_explain(job, &finding, message);
}

/* Append why the job is not valid; nothing when it is. @return 0 or a negative status */
static int admit_validate(const struct rh_decision *decision, struct rh_str *message)
{
	struct rh_snapshot snapshot = rh_decision_snapshot(decision);
	rh_auto_findings findings = {0};
	rh_auto_str text = {0};
	int r = rh_build_validate(&snapshot, &findings, decision->err);

	if (r < 0 || rh_findings_errors(&findings) == 0)
		return r;
	rh_findings_print_v1(&findings, &text);
	return admit_explain(decision->job, &text, message);
}

/* A job that has only waited for an object which it names has not begun. */
static bool admit_is_new(const struct rh_job *job)
{
	const struct rh_job_status *status = &job->status;

	return status->condition_count == 0 ||
	       (status->condition_count == 1 && rh_job_status_condition(status, RH_CONDITION_STALLED));
}

/* A kind may let a job that is not valid wait until it is corrected. */
static bool admit_waits(const struct rh_decision *decision)
{
	return admit_is_new(decision->job) && !rh_conditions_invalid_fails(decision->job->kind);
}

static bool admit_is_known(const struct rh_decision *decision)
{
	return rh_lookups_are_complete(decision->job->kind, decision->world->lookups) && rh_job_is_expanded(decision->job);
}

int rh_decide_admit(struct rh_decision *decision)
{
	bool is_new = admit_is_new(decision->job);
	rh_auto_str message = {0};
	int r = admit_validate(decision, &message);

	if (r == 0 && message.length > 0 && admit_waits(decision))
		return admit_emit(decision, rh_str_text(&message)) < 0 ? rh_fail_oom(decision->err) : 1;
	if (r == 0 && rh_decide_created(decision) < 0)
		r = rh_fail_oom(decision->err);
	if (r < 0 || message.length == 0)
		return r;
	if (!is_new) {
		r = admit_emit(decision, rh_str_text(&message));
		/* its plugin cannot go on without what it reads, and without replica types no pod is known */
		return r == 0 && !admit_is_known(decision) ? 1 : r;
	}
	r = rh_decide_fail(decision, true, RH_WORD_INVALID, rh_str_text(&message));
	return r < 0 ? r : 1;
}

int rh_decide_refuse_size(struct rh_decision *decision)
{
	const struct rh_job *job = decision->job;
	rh_auto_str message = {0};

	if (!admit_is_new(job))
		return RH_EINVAL;
	if (admit_explain_size(job, &message) < 0)
		return RH_ENOMEM;
	if (admit_waits(decision))
		return admit_emit(decision, rh_str_text(&message)) < 0 ? RH_ENOMEM : 0;
	if (rh_decide_created(decision) < 0)
		return RH_ENOMEM;
	return rh_decide_fail(decision, true, RH_WORD_INVALID, rh_str_text(&message));
}

const struct rh_condition *rh_decide_refused(const struct rh_job *job)
{
	const struct rh_condition *failed = rh_job_status_condition(&job->status, RH_CONDITION_FAILED);
	rh_auto_free char *reason = NULL;

	if (!failed || !failed->status || job->status.started_at != 0)
		return NULL;
	reason = rh_conditions_reason(job->kind, RH_WORD_INVALID);
	return reason && strcmp(failed->reason, reason) == 0 ? failed : NULL;
}

bool rh_decide_is_small(const struct rh_job *job)
{
	return job->weight <= RH_JOB_WEIGHT_MAX && rh_job_total_replicas(job) <= RH_DECIDE_REPLICAS_MAX;
}

/* admit_validate() of a job that may be too large. */
static int admit_validate_all(const struct rh_decision *decision, struct rh_str *message)
{
	const struct rh_job *job = decision->job;

	return rh_decide_is_small(job) ? admit_validate(decision, message) : admit_explain_size(job, message);
}

int rh_decide_reconsider(struct rh_decision *decision, const struct rh_condition *failed)
{
	struct rh_job_status *status = &decision->plan->status;
	rh_auto_str message = {0};
	int r = admit_validate_all(decision, &message);

	if (r < 0)
		return r;
	if (message.length > 0 && rh_text_equal(failed->message, rh_str_text(&message)))
		return 0;
	status->completed_at = 0;
	(void)rh_job_status_remove(status, RH_CONDITION_FAILED);
	if (message.length > 0) {
		r = rh_decide_fail(decision, true, RH_WORD_INVALID, rh_str_text(&message));
		return r < 0 ? r : 1;
	}
	while (status->condition_count > 0)
		(void)rh_job_status_remove(status, status->conditions[0].type);
	return 1;
}
