/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job is stopped by the gate of the engine at once, and by its own suspend so that users see it. What holds quota
 * gives it back after the last pod is gone, never before.
 */
#include "kueue/decide.h"

bool rh_kueue_may_run(const struct rh_kueue_facts *facts)
{
	return facts->workload && !facts->deleting && facts->same && !facts->ended && facts->reserved && facts->admitted &&
	       !facts->evicted && !facts->over && facts->agreed;
}

/* @return whether the Workload lets its job run, also when the job has no note of that yet */
static bool decide_is_granted(const struct rh_kueue_facts *facts)
{
	struct rh_kueue_facts noted = *facts;

	noted.agreed = true;
	return rh_kueue_may_run(&noted);
}

static enum rh_kueue_action decide_gone(const struct rh_kueue_facts *facts)
{
	if (!facts->workload)
		return RH_KUEUE_FORGET;
	return facts->locked && !facts->pods ? RH_KUEUE_UNLOCK : RH_KUEUE_NOTHING;
}

static enum rh_kueue_action decide_finished(const struct rh_kueue_facts *facts)
{
	if (!facts->workload || !facts->still)
		return RH_KUEUE_NOTHING;
	if (!facts->ended && !facts->deleting)
		return RH_KUEUE_FINISH;
	return facts->locked ? RH_KUEUE_UNLOCK : RH_KUEUE_NOTHING;
}

/* The job runs, or is about to. */
static enum rh_kueue_action decide_granted(const struct rh_kueue_facts *facts)
{
	if (!facts->agreed || facts->suspend)
		return RH_KUEUE_RESUME;
	if (facts->ready && !facts->reported)
		return RH_KUEUE_REPORT;
	return facts->spare ? RH_KUEUE_RECLAIM : RH_KUEUE_NOTHING;
}

/* No pod is left, and the job is suspended. */
static enum rh_kueue_action decide_stopped(const struct rh_kueue_facts *facts)
{
	if (!facts->workload)
		return facts->queued ? RH_KUEUE_CREATE : RH_KUEUE_NOTHING;
	if (facts->deleting)
		return facts->locked ? RH_KUEUE_UNLOCK : RH_KUEUE_NOTHING;
	if (facts->ended)
		return RH_KUEUE_NOTHING;
	if (!facts->same && facts->reserved)
		return RH_KUEUE_DELETE;
	if (facts->evicted && facts->reserved)
		return RH_KUEUE_RELEASE;
	if (facts->over && facts->reserved)
		return RH_KUEUE_DELETE;
	return !facts->reserved && !(facts->same && facts->current) ? RH_KUEUE_UPDATE : RH_KUEUE_NOTHING;
}

enum rh_kueue_action rh_kueue_decide(const struct rh_kueue_facts *facts)
{
	if (!facts->job)
		return decide_gone(facts);
	if (facts->other)
		return facts->noted ? RH_KUEUE_SUSPEND : RH_KUEUE_NOTHING;
	if (facts->finished)
		return decide_finished(facts);
	if (!facts->workload && !facts->queued)
		return RH_KUEUE_NOTHING;
	if (decide_is_granted(facts))
		return decide_granted(facts);
	if (!facts->suspend || facts->noted)
		return RH_KUEUE_SUSPEND;
	return facts->still ? decide_stopped(facts) : RH_KUEUE_NOTHING;
}
