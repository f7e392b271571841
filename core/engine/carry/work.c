/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/carry/work.h"

#include <string.h>

#include "base/os/clock.h"
#include "engine/carry/carry.h"
#include "engine/carry/child/desire.h"
#include "engine/carry/entry.h"
#include "engine/carry/failure.h"
#include "engine/carry/job/invalid.h"
#include "engine/decide.h"
#include "job/expansion.h"

/* The tables that rh_world borrows; owned. */
struct work_tables {
	const struct rh_pod **pods;
	const struct rh_child **children;
	size_t pod_count;
	size_t child_count;
};

static void work_free_tables(struct work_tables *tables)
{
	rh_free(tables->pods);
	rh_free(tables->children);
}

static void work_add_cached(struct work_tables *tables, const struct rh_map *map)
{
	size_t cursor = 0;
	void *value;

	while (map && rh_map_next(map, &cursor, NULL, &value)) {
		const struct rh_cached *cached = value;

		if (cached->pod)
			tables->pods[tables->pod_count++] = cached->pod;
		else
			tables->children[tables->child_count++] = cached->child;
	}
}

/* @return whether a watch has shown the object of a create in flight */
static bool work_is_observed(const struct rh_entry *entry, const struct rh_inflight *inflight)
{
	const struct rh_map *map = inflight->pod ? entry->children.pods : entry->children.services;
	const struct rh_cached *cached = rh_map_get(map, inflight->name);
	const char *owner = NULL;

	if (cached)
		owner = cached->pod ? cached->pod->owner_uid : cached->child->owner_uid;
	return owner && strcmp(owner, entry->uid) == 0;
}

static void work_add_inflight(struct work_tables *tables, const struct rh_entry *entry)
{
	for (const struct rh_inflight *inflight = entry->inflight.list; inflight; inflight = inflight->next) {
		if (inflight->abandoned || inflight->state == RH_INFLIGHT_CHECKING || (!inflight->pod && !inflight->child) ||
		    work_is_observed(entry, inflight))
			continue;
		if (inflight->pod)
			tables->pods[tables->pod_count++] = inflight->pod;
		else
			tables->children[tables->child_count++] = inflight->child;
	}
}

static int work_fill(struct work_tables *tables, const struct rh_entry *entry)
{
	size_t pods = rh_map_size(entry->children.pods) + entry->inflight.count;
	size_t children = rh_map_size(entry->children.services) + rh_map_size(entry->objects.known) + entry->inflight.count;

	tables->pods = rh_alloc_array(pods + 1, sizeof(*tables->pods));
	tables->children = rh_alloc_array(children + 1, sizeof(*tables->children));
	if (!tables->pods || !tables->children)
		return RH_ENOMEM;
	work_add_cached(tables, entry->children.pods);
	work_add_cached(tables, entry->children.services);
	work_add_cached(tables, entry->objects.known);
	work_add_inflight(tables, entry);
	return 0;
}

/* @param[out] ret_plan owned by the caller; NULL unless 0 is returned. @return 0, or a negative status */
static int work_decide(const struct rh_entry *entry, const struct rh_gate *gate, struct rh_plan **ret_plan,
                       struct rh_error *err)
{
	__attribute__((cleanup(work_free_tables))) struct work_tables tables = {0};
	const struct rh_engine_options *options = &entry->engine->options;
	struct rh_world world = {
		.host = options->host,
		.answers = entry->bodies.answers,
		.job = entry->job,
		.ledger = entry->ledger,
		.addresses = &entry->bodies.addresses,
		.objects = entry->objects.desired,
		.gang = options->gang,
		.lookups = entry->lookups.now,
		.waiting = entry->lookups.waiting ? entry->lookups.waiting : gate->message,
		.waiting_until = entry->lookups.waiting ? entry->lookups.again_at : RH_NEVER,
		.gated = gate->state != RH_GATE_NONE,
		.refusals = entry->refusals.list,
		.refusal_count = entry->refusals.count,
		.breach = entry->refusals.breach,
		.set_aside = entry->refusals.set_aside,
		.stalled_hash = entry->progress.stalled_hash,
		.held_since = entry->progress.held_since,
		.held = entry->progress.held,
		.patience = options->patience,
		.peer_patience = options->peer_patience,
		.awaited = options->awaited ? options->awaited(options->arg, entry->job) : 0,
		.reads_logs = rh_logs_may_read(entry),
		.reads_stalls = rh_stalls_are_read(entry),
		.stalls_due = entry->stalls.due,
		.missing = rh_stalls_missing(entry),
		.now = entry->engine->now,
		.steps = options->steps,
	};
	int r = work_fill(&tables, entry);

	if (r < 0)
		return r;
	world.pods = tables.pods;
	world.pod_count = tables.pod_count;
	world.children = tables.children;
	world.child_count = tables.child_count;
	*ret_plan = rh_alloc(sizeof(**ret_plan));
	r = *ret_plan ? rh_decide(&world, *ret_plan, err) : RH_ENOMEM;
	if (r < 0)
		rh_progress_free_plan(rh_take(*ret_plan));
	return r;
}

/*
 * The PodGroup counts the replicas that are not held back, or the gang would wait for pods that wait for the gang: when
 * these change, it is built again. @return whether the plan was made with an older one
 */
static bool work_note_held(struct rh_entry *entry, const struct rh_plan *plan)
{
	if (memcmp(entry->progress.waiting, plan->held, sizeof(plan->held)) == 0)
		return false;
	memcpy(entry->progress.waiting, plan->held, sizeof(plan->held));
	if (!rh_gang_is_on(entry->engine->options.gang))
		return false;
	rh_objects_forget_desired(entry);
	return true;
}

/* A create whose answer is lost may still make its pod: it is looked for before the job is at rest. */
static bool work_is_still(const struct rh_entry *entry, const struct rh_plan *plan)
{
	const struct rh_inflight *one = entry->inflight.list;

	while (one && one->verb != RH_CREATE_POD)
		one = one->next;
	return plan->still && !one;
}

/* Carry out @p plan (taken), or drop it where further objects are to be checked first. */
static void work_carry_out(struct rh_entry *entry, struct rh_plan *plan)
{
	const struct rh_engine_options *options = &entry->engine->options;

	if (work_note_held(entry, plan) || rh_desire_must_check(entry, plan)) {
		rh_progress_free_plan(plan);
		rh_entry_touch(entry);
		return;
	}
	if (options->observe && !rh_plan_is_empty(plan))
		options->observe(options->arg, entry->job, plan);
	rh_logs_ask(entry, plan);
	rh_stalls_ask(entry, plan);
	if (options->still && work_is_still(entry, plan))
		options->still(options->arg, entry->job);
	rh_carry_start(entry, plan);
}

/* A job that cannot be read: it is read again, or its condition is written. */
static void work_settle_invalid(struct rh_entry *entry)
{
	struct rh_json *patch = NULL;
	int r;

	if (entry->refresh) {
		rh_carry_refresh(entry);
		return;
	}
	r = rh_invalid_settle(entry, &patch);
	if (r == 0 && patch)
		r = rh_carry_write_status(entry, patch);
	if (r < 0)
		rh_queue_fail(&entry->engine->queue, &entry->item, entry->engine->now);
}

/* Have the replica types, where the plugin gives them; with them the job takes more memory. @return 0 or negative */
static int work_expand(struct rh_entry *entry, struct rh_error *err)
{
	int r = rh_bodies_expand(entry, err);

	if (r > 0)
		rh_trees_mark_used(entry);
	return r < 0 ? r : 0;
}

/* Decide about the job, which can be read. @return 0, a negative status, or 1 when objects are to be checked first */
static int work_pass(struct rh_entry *entry, const struct rh_gate *gate, struct rh_plan **ret_plan,
                     struct rh_error *err)
{
	int r = rh_lookup_gather(entry);
	bool asks = !entry->refusals.breach && rh_lookups_are_complete(entry->kind->kind, entry->lookups.now);

	if (r == 0 && asks)
		r = work_expand(entry, err);
	asks = asks && rh_job_is_expanded(entry->job);
	if (r == 0)
		r = rh_bodies_addresses(entry, err);
	if (r == 0 && asks && rh_bodies_are_needed(entry))
		r = rh_desire(entry, err);
	else if (r == 0 && asks && rh_map_size(entry->objects.known) > 0 && rh_job_is_ours(entry->job) &&
	         !entry->job->deleting)
		r = rh_desire_last(entry, err);
	return r == 0 ? work_decide(entry, gate, ret_plan, err) : r;
}

static void work_fail(struct rh_entry *entry, int status, const struct rh_error *err)
{
	enum rh_failure failure = rh_failure_judge(entry, status, err);

	if (failure == RH_FAILURE_WAIT)
		return;
	rh_answers_clear(entry->bodies.answers);
	if (failure == RH_FAILURE_RETRY)
		rh_failure_retry(entry, status, err);
}

/* Ask whether the job may run. @return whether something may be decided about it */
static bool work_ask_gate(struct rh_entry *entry, struct rh_gate *gate)
{
	const struct rh_engine_options *options = &entry->engine->options;

	if (!options->gate)
		return true;
	options->gate(options->arg, entry->job, gate);
	entry->job->policy.held = gate->state == RH_GATE_SHUT || gate->state == RH_GATE_LATER;
	return gate->state != RH_GATE_LATER || gate->message;
}

void rh_work_run(struct rh_entry *entry)
{
	struct rh_error err = {0};
	struct rh_plan *plan = NULL;
	struct rh_gate gate = {0};
	int r;

	if (entry->progress.stage != RH_STAGE_IDLE || !entry->uid || rh_invalid_is_reported(entry))
		return;
	if (!entry->job && !rh_trees_has_room(entry, entry->tree.weight)) {
		rh_trees_await_room(entry);
		return;
	}
	if (entry->invalid) {
		work_settle_invalid(entry);
		return;
	}
	if (rh_trees_hydrate(entry) < 0) {
		rh_queue_fail(&entry->engine->queue, &entry->item, entry->engine->now);
		return;
	}
	if (!entry->job || entry->refresh) {
		rh_carry_refresh(entry);
		return;
	}
	if (!work_ask_gate(entry, &gate))
		return;
	entry->bodies.waits = false;
	r = work_pass(entry, &gate, &plan, &err);
	if (r == 0)
		work_carry_out(entry, plan);
	else if (r < 0)
		work_fail(entry, r, &err);
}
