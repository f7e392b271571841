/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ranks that wait for one that does not come. Their rank 0 writes who that is; its log is read now and then while the
 * job runs, if the job asks for it.
 */
#include "base/mem.h"
#include "base/str.h"
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

int rh_decide_watch_stalls(struct rh_decision *decision)
{
	const struct rh_world *world = decision->world;
	struct rh_plan *plan = decision->plan;
	bool runs = world->reads_stalls && rh_job_status_is(&plan->status, RH_CONDITION_RUNNING) && !plan->ledger.stopping;
	size_t place = runs ? stalls_place(decision) : SIZE_MAX;
	const struct rh_json *container;
	int32_t index;

	if (place == SIZE_MAX)
		return 0;
	/* a clock that was set back does not extend the pause */
	if (world->stalls_due > world->now && world->stalls_due <= world->now + RH_PLAN_STALLS_PAUSE_MAX) {
		rh_decision_wake(decision, world->stalls_due);
		return 0;
	}
	container = rh_job_main_container(decision->job->kind,
	                                  rh_json_get(rh_decision_spec(decision, place, &index)->template_, "spec"));
	plan->stalls_pod = rh_strdup(decision->pods[place]->name);
	plan->stalls_container = rh_strdup(rh_fields_text_or_empty(container, "name"));
	rh_decision_wake(decision, world->now + RH_PLAN_STALLS_PAUSE);
	return plan->stalls_pod && plan->stalls_container ? 0 : RH_ENOMEM;
}
