/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests that the store refused for good: quota, admission, an invalid template, a missing right. One refused pod or
 * Service stands for all of its kind, so one create at a time is retried; one condition of the job reports it.
 */
#include <string.h>

#include "base/hash.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/str.h"
#include "engine/decide/children/children.h"
#include "engine/decide/report.h"

static const struct rh_refusal *refusal_of(const struct rh_decision *decision, const char *kind)
{
	const struct rh_world *world = decision->world;

	for (size_t i = 0; i < world->refusal_count; i++) {
		if (!world->refusals[i].single && strcmp(world->refusals[i].kind, kind) == 0)
			return &world->refusals[i];
	}
	return NULL;
}

/* Creates in flight: their objects have no UID yet. */
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

/* The texts of a refusal: the verb of the message, and the reason of the condition. */
struct refusal_terms {
	const char *doing;
	const char *reason;
};

static const struct refusal_terms *refusal_terms(enum rh_refused what)
{
	static const struct refusal_terms terms[] = {
		[RH_REFUSED_CREATE] = {"create", "CreateRefused"},   [RH_REFUSED_READ] = {"read", "ReadRefused"},
		[RH_REFUSED_UPDATE] = {"update", "UpdateRefused"},   [RH_REFUSED_DELETE] = {"delete", "DeleteRefused"},
		[RH_REFUSED_NAME] = {"create", "ErrResourceExists"},
	};

	return &terms[what];
}

static char *refusal_message(const struct rh_decision *decision, const struct rh_refusal *refusal)
{
	const struct rh_job *job = decision->job;

	return rh_asprintf("%s %s cannot %s %s %s: %s", job->kind->kind, job->name, refusal_terms(refusal->what)->doing,
	                   refusal->kind, refusal->name, refusal->message);
}

/* @return whether the plan has an action on the further object @p name; NULL: on any */
static bool refusal_is_desired(const struct rh_decision *decision, const char *kind, const char *name)
{
	const struct rh_plan *plan = decision->plan;

	for (size_t i = 0; i < plan->action_count; i++) {
		const struct rh_action *action = &plan->actions[i];

		if (action->kind && (!name || (strcmp(action->kind, kind) == 0 && strcmp(action->name, name) == 0)))
			return true;
	}
	return false;
}

/* A refused further object may not be desired any more, for example one that depends on running pods. */
static const struct rh_refusal *refusal_oldest(const struct rh_decision *decision)
{
	const struct rh_world *world = decision->world;

	for (size_t i = 0; i < world->refusal_count; i++) {
		const struct rh_refusal *refusal = &world->refusals[i];
		bool further = strcmp(refusal->kind, "Pod") != 0 && strcmp(refusal->kind, "Service") != 0;

		if (!further || refusal_is_desired(decision, refusal->kind, refusal->name))
			return refusal;
	}
	return NULL;
}

/*
 * V1 keeps the first message of a reason; here the current message of the store replaces it. Each message is written
 * once: otherwise two controllers that get different messages would overwrite each other for ever.
 */
static int refusal_write(struct rh_decision *decision, const char *reason, const char *message)
{
	struct rh_job_status *status = &decision->plan->status;
	const struct rh_condition *before = rh_job_status_condition(status, RH_CONDITION_STALLED);
	int r;

	if (!message)
		return RH_ENOMEM;
	decision->plan->stalled_hash = rh_hash(message, strlen(message));
	if (decision->world->stalled_hash == decision->plan->stalled_hash ||
	    (before && before->status && strcmp(before->message, message) == 0))
		return 0;
	(void)rh_job_status_remove(status, RH_CONDITION_STALLED);
	r = rh_decide_condition(decision, RH_CONDITION_STALLED, true, reason, message);
	return r < 0 ? r : 0;
}

static int refusal_report(struct rh_decision *decision, const struct rh_refusal *refusal)
{
	rh_auto_free char *message = refusal_message(decision, refusal);

	return refusal_write(decision, refusal_terms(refusal->what)->reason, message);
}

/* Of ranks that run, what their rank 0 says. */
static int refusal_report_ranks(struct rh_decision *decision)
{
	const struct rh_job *job = decision->job;
	rh_auto_str message = {0};

	rh_str_appendf(&message, "%s %s: ", job->kind->kind, job->name);
	rh_decide_print_missing(decision, &message);
	return refusal_write(decision, "RankMissing", message.failed ? NULL : rh_str_text(&message));
}

/* Creates of this plan, for example after a controller start, may be refused again. */
static bool refusal_is_over(const struct rh_decision *decision)
{
	return decision->creates == 0 && !refusal_is_desired(decision, NULL, NULL) &&
	       refusal_count_coming(decision, true) == 0 && refusal_count_coming(decision, false) == 0;
}

int rh_decide_stalled(struct rh_decision *decision)
{
	struct rh_job_status *status = &decision->plan->status;
	const struct rh_refusal *refusal = refusal_oldest(decision);
	bool waits = decision->world->set_aside || decision->world->waiting;
	bool ends = rh_job_status_finished(status) || rh_job_status_is(status, RH_CONDITION_SUSPENDED);

	/* who is suspended because of his queue says why he cannot join it */
	if (waits && (!ends || (decision->world->gated && !rh_job_status_finished(status))))
		return 0;
	if (refusal && !ends)
		return refusal_report(decision, refusal);
	if (rh_decide_is_missing(decision) && !ends && rh_job_status_is(status, RH_CONDITION_RUNNING))
		return refusal_report_ranks(decision);
	if (ends || refusal_is_over(decision))
		(void)rh_job_status_remove(status, RH_CONDITION_STALLED);
	return 0;
}
