/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Creates that the store refused for good: quota, admission, a template that is not valid. What is refused once is
 * refused for all of its kind, so one at a time is tried again; the job says so in one condition.
 */
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "engine/decide/parts.h"

static const struct rh_refusal *refusal_of(const struct rh_decision *decision, const char *kind)
{
	const struct rh_world *world = decision->world;

	for (size_t i = 0; i < world->refusal_count; i++) {
		if (!world->refusals[i].alone && strcmp(world->refusals[i].kind, kind) == 0)
			return &world->refusals[i];
	}
	return NULL;
}

/* Creates that are under way: what has no UID yet. */
static size_t refusal_count_coming(const struct rh_decision *decision, bool pods)
{
	const struct rh_world *world = decision->world;
	size_t count = 0;

	for (size_t i = 0; pods && i < world->pod_count; i++)
		count += !*world->pods[i]->uid;
	for (size_t i = 0; !pods && i < world->child_count; i++)
		count += !*world->children[i]->uid;
	return count;
}

size_t rh_decide_creates_allowed(struct rh_decision *decision, enum rh_action_verb verb)
{
	bool pods = verb == RH_CREATE_POD;
	const struct rh_refusal *refusal = refusal_of(decision, pods ? "Pod" : "Service");

	if (!refusal)
		return SIZE_MAX;
	if (decision->world->now < refusal->until) {
		rh_decision_wake(decision, refusal->until);
		return 0;
	}
	return refusal_count_coming(decision, pods) > 0 ? 0 : 1;
}

static char *refusal_message(const struct rh_decision *decision)
{
	const struct rh_job *job = decision->job;
	const struct rh_refusal *refusal = &decision->world->refusals[0];

	return rh_asprintf("%s %s cannot create %s %s: %s", job->kind->kind, job->name, refusal->kind, refusal->name,
	                   refusal->words);
}

/* V1's mechanics keep the first message of a reason; what the store says now is worth more. */
static int refusal_say(struct rh_decision *decision)
{
	struct rh_job_status *status = &decision->plan->status;
	const struct rh_condition *before = rh_job_status_condition(status, RH_CONDITION_STALLED);
	rh_auto_free char *message = refusal_message(decision);
	int r;

	if (!message)
		return RH_ENOMEM;
	if (before && before->status && strcmp(before->message, message) == 0)
		return 0;
	(void)rh_job_status_remove(status, RH_CONDITION_STALLED);
	r = rh_decide_condition(decision, RH_CONDITION_STALLED, true, "CreateRefused", message);
	return r < 0 ? r : 0;
}

static bool refusal_is_over(const struct rh_decision *decision)
{
	const struct rh_job_status *status = &decision->plan->status;

	if (rh_job_status_finished(status) || rh_job_status_is(status, RH_CONDITION_SUSPENDED))
		return true;
	/* What is asked for now, as after a start, may be refused again. */
	return decision->creates == 0 && refusal_count_coming(decision, true) == 0 &&
	       refusal_count_coming(decision, false) == 0;
}

int rh_decide_stalled(struct rh_decision *decision)
{
	struct rh_job_status *status = &decision->plan->status;
	bool ends = rh_job_status_finished(status) || rh_job_status_is(status, RH_CONDITION_SUSPENDED);

	if (decision->world->refusal_count > 0 && !ends)
		return refusal_say(decision);
	if (refusal_is_over(decision))
		(void)rh_job_status_remove(status, RH_CONDITION_STALLED);
	return 0;
}
