/* SPDX-License-Identifier: Apache-2.0 */
#include "host/call/judge.h"

#include <inttypes.h>

#include "base/mem.h"
#include "job/status/conditions.h"

static bool judge_is_leader(const struct rh_replica_spec *spec)
{
	return spec->known && (spec->known->flags & RH_REPLICA_LEADER);
}

/** Place of the type that decides about success: the first with the master role, else the first. */
static size_t judge_leader(const struct rh_job *job)
{
	for (size_t i = 0; i < job->spec_count; i++) {
		if (judge_is_leader(&job->specs[i]))
			return i;
	}
	return 0;
}

/** The first type of which some replicas have failed for good, or are being restarted. */
static const char *judge_failing(const struct rh_snapshot *snapshot, bool restarting)
{
	for (size_t i = 0; i < snapshot->job->spec_count; i++) {
		const struct rh_counts *counts = &snapshot->counts[i];

		if ((restarting ? counts->restarting : counts->failed) > 0)
			return snapshot->job->specs[i].type;
	}
	return NULL;
}

int rh_judge_default(const struct rh_snapshot *snapshot, struct rh_reply *reply)
{
	const char *failed = judge_failing(snapshot, false);
	const char *restarting = judge_failing(snapshot, true);
	const struct rh_counts *leader;
	int r = 0;

	if (snapshot->job->spec_count == 0)
		return 0;
	leader = &snapshot->counts[judge_leader(snapshot->job)];
	if (leader->succeeded >= leader->desired)
		return rh_reply_verdict(reply, RH_VERDICT_SUCCEEDED, NULL, NULL);
	if (restarting && !failed)
		return rh_reply_verdict(reply, RH_VERDICT_RESTARTING, restarting, NULL);
	if (leader->active > 0)
		r = rh_reply_verdict(reply, RH_VERDICT_RUNNING, NULL, NULL);
	if (r == 0 && failed)
		r = rh_reply_verdict(reply, RH_VERDICT_FAILED, failed, NULL);
	return r;
}

/** Why replicas of @p type failed or restart; also for a type that the job does not have. */
static char *judge_because(const struct rh_snapshot *snapshot, const struct rh_verdict *verdict, const char *what)
{
	const struct rh_job *job = snapshot->job;
	const struct rh_replica_spec *spec = verdict->type ? rh_job_spec(job, verdict->type) : NULL;
	const struct rh_counts *counts = spec ? &snapshot->counts[spec - job->specs] : NULL;
	int32_t count;

	if (!counts)
		return rh_asprintf("%s %s is %s.", job->kind->kind, job->name, what);
	count = verdict->verdict == RH_VERDICT_FAILED ? counts->failed : counts->restarting;
	return rh_asprintf("%s %s is %s because %" PRId32 " %s replica(s) failed.", job->kind->kind, job->name, what, count,
	                   spec->type);
}

/** The kind's own words. @return owned by the caller; NULL: it has none for this verdict, or memory is out */
static char *judge_own_message(const struct rh_snapshot *snapshot, int32_t verdict)
{
	static const char *const words[] = {NULL, RH_CONDITION_RUNNING, RH_CONDITION_SUCCEEDED, RH_CONDITION_FAILED,
	                                    RH_CONDITION_RESTARTING};
	rh_auto_str text = {0};

	if (!rh_conditions_message(snapshot->job, words[verdict], NULL, &text) || text.failed)
		return NULL;
	return rh_strdup(rh_str_text(&text));
}

/** V1 says it in other words of a job that no leader decides about, and names the namespace (v1-behaviour E.3). */
static char *judge_message(const struct rh_snapshot *snapshot, const struct rh_verdict *verdict)
{
	const struct rh_job *job = snapshot->job;
	const char *kind = job->kind->kind;
	bool led = job->spec_count > 0 && judge_is_leader(&job->specs[judge_leader(job)]);

	if (verdict->verdict == RH_VERDICT_RUNNING)
		return led ? rh_asprintf("%s %s is running.", kind, job->name)
		           : rh_asprintf("%s %s/%s is running.", kind, job->namespace_, job->name);
	if (verdict->verdict == RH_VERDICT_SUCCEEDED)
		return led ? rh_asprintf("%s %s is successfully completed.", kind, job->name)
		           : rh_asprintf("%s %s/%s successfully completed.", kind, job->namespace_, job->name);
	return judge_because(snapshot, verdict, verdict->verdict == RH_VERDICT_FAILED ? "failed" : "restarting");
}

int rh_judge_messages(const struct rh_snapshot *snapshot, struct rh_judgement *judgement)
{
	for (size_t i = 0; i < judgement->count; i++) {
		struct rh_verdict *verdict = &judgement->items[i];

		if (!verdict->message)
			verdict->message = judge_own_message(snapshot, verdict->verdict);
		if (!verdict->message)
			verdict->message = judge_message(snapshot, verdict);
		if (!verdict->message)
			return RH_ENOMEM;
	}
	return 0;
}
