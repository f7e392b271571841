/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranks that wait for one that does not come. On a cluster their rank 0 writes who that is; its log is read now and
 * then while the job runs, if the job asks for it. What the job asks for is done when the same rank has been named for
 * some time, and only on what was seen last: each try to evict a pod needs a report that is newer than the last try.
 */
#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "engine/decide/replicas.h"
#include "engine/decide/report.h"
#include "job/fields.h"

/* @return the place of rank 0, if its pod runs; SIZE_MAX: it does not */
static size_t stalls_place(const struct rh_decision *decision)
{
	for (size_t place = 0; place < rh_decision_places(decision); place++) {
		int32_t index;
		const struct rh_replica_spec *spec = rh_decision_spec(decision, place, &index);

		if (rh_job_rank(decision->job, spec->type, index) == 0)
			return decision->slots[place] == RH_SLOT_ACTIVE && decision->pods[place] ? place : SIZE_MAX;
	}
	return SIZE_MAX;
}

bool rh_decide_is_missing(const struct rh_decision *decision)
{
	const struct rh_missing *missing = &decision->world->missing;
	size_t place = missing->text && missing->reporter ? stalls_place(decision) : SIZE_MAX;

	if (!missing->text || !missing->reporter)
		return missing->text != NULL;
	return place != SIZE_MAX && strcmp(decision->pods[place]->uid, missing->reporter) == 0;
}

static bool stalls_act(const struct rh_decision *decision)
{
	const struct rh_stall_policy *policy = &decision->job->stalls;

	return policy->action >= RH_STALL_RESTART && decision->world->missing.rank >= 0 && rh_decide_is_missing(decision);
}

static bool stalls_is_spent(const struct rh_decision *decision)
{
	return rh_ledger_restarts_of(&decision->plan->ledger, RH_CAUSE_STALLED) >= decision->job->stalls.limit;
}

/* @return when the report has held long enough */
static int64_t stalls_matures(const struct rh_decision *decision)
{
	int64_t since = rh_decide_time(decision, decision->world->missing.since);
	int64_t after = decision->job->stalls.after;

	return after >= RH_NEVER - since ? RH_NEVER : since + after;
}

/* @return whether it had held long enough when it was seen last, which is newer than the last try */
static bool stalls_is_mature(const struct rh_decision *decision)
{
	const struct rh_missing *missing = &decision->world->missing;

	return missing->seen > missing->tried && rh_decide_time(decision, missing->seen) >= stalls_matures(decision);
}

/*
 * @param several whether one of several on the same node will do
 * @return a replica whose pod has the address that the report names; SIZE_MAX: none. A pod that is younger than the
 * report is not the one that is meant.
 */
static size_t stalls_target(const struct rh_decision *decision, bool several)
{
	const struct rh_missing *missing = &decision->world->missing;
	size_t found = SIZE_MAX;

	for (size_t place = 0; *missing->address && place < rh_decision_places(decision); place++) {
		const struct rh_pod *pod = decision->pods[place];

		if (!pod || decision->slots[place] != RH_SLOT_ACTIVE || pod->created_at >= missing->since ||
		    strcmp(pod->ip, missing->address) != 0)
			continue;
		if (found != SIZE_MAX)
			return several ? found : SIZE_MAX;
		found = place;
	}
	return found;
}

/* @return whether replicas fail or restart already */
static bool stalls_is_settling(const struct rh_decision *decision)
{
	for (size_t place = 0; place < rh_decision_places(decision); place++) {
		if (decision->slots[place] != RH_SLOT_ACTIVE && decision->slots[place] != RH_SLOT_SUCCEEDED)
			return true;
	}
	return false;
}

static bool stalls_has_notes(const struct rh_ledger *ledger)
{
	for (size_t i = 0; i < ledger->counted_count; i++) {
		if (rh_starts_with(ledger->counted[i], RH_DECISION_EVICTION))
			return true;
	}
	return false;
}

/* The ranks go on: the pods of the others than @p target are not evicted any more, unless they end already. */
static void stalls_forgive(struct rh_decision *decision, size_t target)
{
	char note[RH_NAME_SIZE];

	if (decision->world->missing.evicting || !stalls_has_notes(&decision->plan->ledger))
		return;
	for (size_t place = 0; place < rh_decision_places(decision); place++) {
		if (place != target && decision->slots[place] != RH_SLOT_BROKEN)
			rh_ledger_unnote(&decision->plan->ledger, rh_decision_eviction(decision, place, note));
	}
}

static int stalls_evict(struct rh_decision *decision, size_t target)
{
	const struct rh_pod *pod = decision->pods[target];
	struct rh_plan *plan = decision->plan;
	char note[RH_NAME_SIZE];

	if (rh_ledger_note(&plan->ledger, rh_decision_eviction(decision, target, note)) < 0)
		return RH_ENOMEM;
	if (!rh_decision_evicts(decision, target)) /* its ledger has no room yet */
		return 0;
	plan->evict_pod = rh_strdup(pod->name);
	plan->evict_uid = rh_strdup(pod->uid);
	return plan->evict_pod && plan->evict_uid ? 0 : RH_ENOMEM;
}

/* @return the replica because of which the whole job restarts. A report without an address is of this attempt if the
 * log is. */
static size_t stalls_cause(const struct rh_decision *decision)
{
	const struct rh_missing *missing = &decision->world->missing;

	if (*missing->address)
		return stalls_target(decision, true);
	return missing->reporter ? stalls_place(decision) : SIZE_MAX;
}

static int stalls_do(struct rh_decision *decision)
{
	bool acts = stalls_act(decision) && !stalls_is_spent(decision) && !stalls_is_settling(decision);
	bool evicts = decision->job->stalls.action == RH_STALL_EVICT;
	size_t target = SIZE_MAX;

	if (acts)
		target = evicts ? stalls_target(decision, false) : stalls_cause(decision);
	stalls_forgive(decision, evicts ? target : SIZE_MAX);
	if (target == SIZE_MAX || !stalls_is_mature(decision) || decision->world->missing.evicting)
		return 0;
	return evicts ? stalls_evict(decision, target)
	              : rh_decide_restart_stalled(decision, target, decision->world->missing.text);
}

int rh_decide_missing(struct rh_decision *decision)
{
	if (decision->job->stalls.action < RH_STALL_RESTART && !stalls_has_notes(&decision->plan->ledger))
		return 0;
	return stalls_do(decision);
}

void rh_decide_print_missing(struct rh_decision *decision, struct rh_str *out)
{
	const struct rh_missing *missing = &decision->world->missing;
	const struct rh_stall_policy *policy = &decision->job->stalls;

	rh_str_append(out, missing->text);
	if (!stalls_act(decision))
		return;
	if (stalls_is_spent(decision))
		rh_str_appendf(out, "; nothing more is done, " RH_ANNOTATION_STALLS_LIMIT " is %" PRId32, policy->limit);
	else if (missing->refusal)
		rh_str_appendf(out, "; its pod is not evicted: %s", missing->refusal);
	else if (policy->action == RH_STALL_EVICT && stalls_target(decision, false) == SIZE_MAX)
		rh_str_append(out, "; none is evicted, since no pod of the job is known to be the one of that rank");
}

/* @return when the log is read again */
static int64_t stalls_due(const struct rh_decision *decision)
{
	const struct rh_world *world = decision->world;
	int64_t due = world->stalls_due;
	int64_t mature = stalls_act(decision) ? stalls_matures(decision) : RH_NEVER;

	return rh_decide_time(decision, world->missing.seen) < mature && mature < due ? mature : due;
}

int rh_decide_watch_stalls(struct rh_decision *decision)
{
	const struct rh_world *world = decision->world;
	struct rh_plan *plan = decision->plan;
	bool runs = world->reads_stalls && rh_job_status_is(&plan->status, RH_CONDITION_RUNNING) && !plan->ledger.stopping;
	size_t place = runs ? stalls_place(decision) : SIZE_MAX;
	const struct rh_json *container;
	int64_t due;
	int32_t index;

	if (place == SIZE_MAX)
		return 0;
	due = stalls_due(decision);
	/* a clock that was set back does not extend the pause */
	if (due > world->now && due <= world->now + RH_PLAN_STALLS_PAUSE_MAX) {
		rh_decision_wake(decision, due);
		return 0;
	}
	container = rh_job_main_container(decision->job->kind,
	                                  rh_json_get(rh_decision_spec(decision, place, &index)->template_, "spec"));
	plan->stalls_pod = rh_strdup(decision->pods[place]->name);
	plan->stalls_container = rh_strdup(rh_fields_text_or_empty(container, "name"));
	plan->stalls_uid = rh_strdup(decision->pods[place]->uid);
	rh_decision_wake(decision, world->now + RH_PLAN_STALLS_PAUSE);
	return plan->stalls_pod && plan->stalls_container && plan->stalls_uid ? 0 : RH_ENOMEM;
}
