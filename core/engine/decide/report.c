/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/decide/report.h"

#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "job/status/conditions.h"
#include "job/values/patterns.h"

/* V1 writes no Event of these; a kind may. @param r of setting the condition. @return @p r, or RH_ENOMEM */
static int report_announce(struct rh_decision *decision, int r, const char *word, const char *reason,
                           const char *message)
{
	bool silent = strcmp(word, RH_CONDITION_CREATED) == 0 || strcmp(word, RH_CONDITION_RUNNING) == 0;
	enum rh_report_event event = r > 0 && silent ? rh_conditions_event(decision->job->kind, word) : RH_REPORT_NONE;

	if (event != RH_REPORT_NORMAL && event != RH_REPORT_WARNING)
		return r;
	return rh_plan_emit(decision->plan, event == RH_REPORT_WARNING, reason, "%s", message) < 0 ? RH_ENOMEM : r;
}

int rh_decide_condition(struct rh_decision *decision, const char *type, bool value, const char *word,
                        const char *message)
{
	rh_auto_free char *reason = rh_conditions_reason(decision->job->kind, word);
	int r;

	if (!reason)
		return RH_ENOMEM;
	r = rh_job_status_set(&decision->plan->status, type, value, reason, message, decision->world->now);
	return report_announce(decision, r, word, reason, message);
}

/* The plugin's reason, or else the kind's for a word of the core; owned by the caller. */
static char *report_reason(const struct rh_decision *decision, const char *word, const struct rh_verdict *verdict)
{
	return verdict->reason ? rh_strdup(verdict->reason) : rh_conditions_reason(decision->job->kind, word);
}

int rh_decide_conclude(struct rh_decision *decision, const char *type, const char *word,
                       const struct rh_verdict *verdict)
{
	rh_auto_free char *reason = report_reason(decision, word, verdict);
	int r;

	if (!reason)
		return RH_ENOMEM;
	r = rh_job_status_set(&decision->plan->status, type, true, reason, verdict->message, decision->world->now);
	return report_announce(decision, r, word, reason, verdict->message);
}

int rh_decide_emit_verdict(struct rh_decision *decision, bool warning, const char *word,
                           const struct rh_verdict *verdict)
{
	rh_auto_free char *reason = report_reason(decision, word, verdict);
	enum rh_report_event event = rh_conditions_event(decision->job->kind, word);

	if (!reason)
		return RH_ENOMEM;
	if (event == RH_REPORT_NONE)
		return 0;
	if (event != RH_REPORT_USUAL)
		warning = event == RH_REPORT_WARNING;
	return rh_plan_emit(decision->plan, warning, reason, "%s", verdict->message);
}

int rh_decide_emit(struct rh_decision *decision, bool warning, const char *word, const char *message)
{
	return rh_decide_emit_verdict(decision, warning, word, &(struct rh_verdict){.message = (char *)(uintptr_t)message});
}

char *rh_decide_words(const struct rh_decision *decision, const char *word, char *usual)
{
	rh_auto_free char *kept = usual;
	rh_auto_str text = {0};

	if (!rh_conditions_message(decision->job, word, NULL, &text))
		return rh_take(kept);
	return text.failed ? NULL : rh_strdup(rh_str_text(&text));
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
	rh_patterns_selector(kind, decision->job->name, replica->type, text, sizeof(text));
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
