/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/carry/job/progress.h"

#include "engine/carry/entry.h"

void rh_progress_free_plan(struct rh_plan *plan)
{
	if (plan)
		rh_plan_deinit(plan);
	rh_free(plan);
}

void rh_progress_drop(struct rh_entry *entry)
{
	rh_progress_free_plan(rh_take(entry->progress.plan));
}

/* The memory reserved for a job that was read again is free, or the job's own now. */
void rh_progress_leave_stage(struct rh_entry *entry)
{
	entry->progress.stage = RH_STAGE_IDLE;
	if (!entry->job)
		rh_trees_reserve(entry, 0);
}

static void progress_stop(struct rh_entry *entry)
{
	if (entry->progress.stage != RH_STAGE_IDLE)
		rh_engine_cancel(entry->engine, entry->progress.write_id);
	rh_progress_leave_stage(entry);
	rh_progress_drop(entry);
}

void rh_progress_forget_held(struct rh_entry *entry)
{
	if (entry->progress.held)
		rh_job_status_deinit(entry->progress.held);
	rh_free(rh_take(entry->progress.held));
	entry->progress.held_since = 0;
}

void rh_progress_forget(struct rh_entry *entry)
{
	progress_stop(entry);
	rh_progress_forget_held(entry);
}

void rh_progress_forget_message(struct rh_entry *entry)
{
	entry->progress.stalled_hash = 0;
}
