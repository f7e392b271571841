/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/decide/report.h"

#include <inttypes.h>

#include "base/mem.h"
#include "base/str.h"
#include "job/names.h"

int rh_decide_condition(struct rh_decision *decision, const char *type, bool value, const char *word,
                        const char *message)
{
	rh_auto_free char *reason = rh_asprintf("%s%s", decision->job->kind->kind, word);

	if (!reason)
		return RH_ENOMEM;
	return rh_job_status_set(&decision->plan->status, type, value, reason, message, decision->world->now);
}

/* The plugin's reason, or else the kind's name and a word of the core; owned by the caller. */
static char *report_reason(const struct rh_decision *decision, const char *word, const struct rh_verdict *verdict)
{
	return verdict->reason ? rh_strdup(verdict->reason) : rh_asprintf("%s%s", decision->job->kind->kind, word);
}

int rh_decide_conclude(struct rh_decision *decision, const char *type, const char *word,
                       const struct rh_verdict *verdict)
{
	rh_auto_free char *reason = report_reason(decision, word, verdict);

	if (!reason)
		return RH_ENOMEM;
	return rh_job_status_set(&decision->plan->status, type, true, reason, verdict->message, decision->world->now);
}

int rh_decide_emit_verdict(struct rh_decision *decision, bool warning, const char *word,
                           const struct rh_verdict *verdict)
{
	rh_auto_free char *reason = report_reason(decision, word, verdict);

	return reason ? rh_plan_emit(decision->plan, warning, reason, "%s", verdict->message) : RH_ENOMEM;
}

int rh_decide_emit(struct rh_decision *decision, bool warning, const char *word, const char *message)
{
	rh_auto_free char *reason = rh_asprintf("%s%s", decision->job->kind->kind, word);

	return reason ? rh_plan_emit(decision->plan, warning, reason, "%s", message) : RH_ENOMEM;
}

int rh_decide_emit_exit(struct rh_decision *decision, size_t place)
{
	const struct rh_pod *pod = decision->pods[place];

	if (!pod || !rh_pod_finished(pod) || pod->exit_code < 0)
		return 0;
	return rh_plan_emit(decision->plan, false, "ExitedWithCode", "Pod: %s.%s exited with code %" PRId32,
	                    decision->job->namespace_, pod->name, pod->exit_code);
}

/* Counts of types that the job does not have any more are dropped, so that a foreign status cannot fill the table. */
static void report_drop_counts(struct rh_decision *decision)
{
	struct rh_job_status *status = &decision->plan->status;
	size_t kept = 0;

	for (size_t i = 0; i < status->replica_count; i++) {
		struct rh_replica_status *replica = &status->replicas[i];

		if (rh_job_spec(decision->job, replica->type)) {
			status->replicas[kept++] = *replica;
			continue;
		}
		rh_free(replica->type);
		rh_free(replica->selector);
	}
	status->replica_count = kept;
}

static int report_set_selector(const struct rh_decision *decision, struct rh_replica_status *replica)
{
	const struct rh_kind *kind = decision->job->kind;
	char text[4 * RH_NAME_SIZE];
	char *copy;

	if (!(kind->flags & RH_KIND_SELECTOR))
		return 0;
	rh_name_selector(decision->job->name, kind->controller, replica->type, text, sizeof(text));
	if (rh_text_equal(replica->selector, text))
		return 0;
	copy = rh_strdup(text);
	if (!copy)
		return RH_ENOMEM;
	rh_free(replica->selector);
	replica->selector = copy;
	return 0;
}

/* As in V1, a failed pod counts as long as it exists, even when it is about to be replaced. */
static int32_t report_count_failed(const struct rh_decision *decision, size_t spec)
{
	int32_t count = 0;

	for (size_t place = decision->offsets[spec]; place < decision->offsets[spec + 1]; place++)
		count += decision->pods[place] && decision->pods[place]->phase == RH_PHASE_FAILED &&
		         decision->slots[place] != RH_SLOT_SUCCEEDED && decision->slots[place] != RH_SLOT_STALE;
	return count;
}

int rh_decide_counts(struct rh_decision *decision)
{
	report_drop_counts(decision);
	for (size_t i = 0; i < decision->job->spec_count; i++) {
		struct rh_replica_status *replica =
			rh_job_status_replica(&decision->plan->status, decision->job->specs[i].type);

		if (!replica || report_set_selector(decision, replica) < 0)
			return RH_ENOMEM;
		replica->active = decision->counts[i].active;
		replica->succeeded = decision->counts[i].succeeded;
		replica->failed = report_count_failed(decision, i);
	}
	return 0;
}
