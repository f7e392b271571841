/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/carry/work.h"

#include <string.h>

#include "engine/carry/entry.h"
#include "engine/carry/job/invalid.h"
#include "engine/decide.h"

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

static bool work_is_live(const struct rh_entry *entry)
{
	const struct rh_job *job = entry->job;

	return rh_job_is_ours(job) && !job->deleting && !rh_job_status_finished(&job->status);
}

/* Only a job that runs needs addresses; they last as long as the attempt. */
static int work_addresses(struct rh_entry *entry, struct rh_error *err)
{
	const struct rh_engine_options *options = &entry->engine->options;
	struct rh_addresses made = {0};
	int r;

	if (!options->addresses || entry->build.addresses_attempt == entry->ledger->attempt || !work_is_live(entry) ||
	    entry->job->policy.suspend)
		return 0;
	r = options->addresses(options->arg, entry->job, entry->ledger->attempt, &made, err);
	if (r < 0) {
		rh_addresses_deinit(&made);
		return r;
	}
	rh_work_free_builder(entry);
	rh_addresses_deinit(&entry->build.addresses);
	entry->build.addresses = made;
	entry->build.addresses_attempt = entry->ledger->attempt;
	return 0;
}

void rh_work_free_builder(struct rh_entry *entry)
{
	rh_builder_free(rh_take(entry->build.builder));
}

void rh_work_forget(struct rh_entry *entry)
{
	rh_work_free_builder(entry);
	rh_addresses_deinit(&entry->build.addresses);
	entry->build.addresses_attempt = -1;
}

struct rh_builder *rh_work_builder(struct rh_entry *entry, int *ret_status, struct rh_error *err)
{
	int r = work_addresses(entry, err);

	if (r == 0 && entry->build.builder && entry->build.snapshot.attempt != entry->ledger->attempt)
		rh_work_free_builder(entry);
	if (r == 0 && !entry->build.builder) {
		entry->build.snapshot = rh_entry_snapshot(entry);
		r = rh_builder_new(&entry->build.snapshot, &entry->build.builder, err);
	}
	if (r == 0)
		return entry->build.builder;
	*ret_status = r;
	return NULL;
}

void rh_work_retry(struct rh_entry *entry, int status, const struct rh_error *err)
{
	struct rh_engine *engine = entry->engine;
	rh_auto_free char *reason = NULL;

	rh_queue_fail(&engine->queue, &entry->item, engine->now);
	if (status == RH_ENOMEM || !entry->uid)
		return;
	reason = rh_asprintf("%sFailedReconcile", entry->kind->kind->kind);
	if (reason)
		rh_events_emit(entry, &(struct rh_event_spec){entry->uid, true, reason, err->message});
}

bool rh_work_fail_plugin(struct rh_entry *entry, int status, const struct rh_error *err)
{
	bool local = entry->build.addresses.count > 0;

	if ((status != RH_EPLUGIN && status != RH_EINVAL && status != RH_EIO) || entry->refusals.breach ||
	    (rh_map_size(entry->children.pods) > 0 && !local))
		return false;
	if (!rh_refusals_set_breach(entry, err->message))
		return false;
	entry->refusals.set_aside = status == RH_EIO;
	rh_queue_add(&entry->engine->queue, &entry->item, RH_QUEUE_NOW);
	return true;
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
static int work_decide(const struct rh_entry *entry, struct rh_plan **ret_plan, struct rh_error *err)
{
	__attribute__((cleanup(work_free_tables))) struct work_tables tables = {0};
	const struct rh_engine_options *options = &entry->engine->options;
	struct rh_world world = {
		.host = options->host,
		.job = entry->job,
		.ledger = entry->ledger,
		.addresses = &entry->build.addresses,
		.objects = entry->objects.desired,
		.gang = options->gang,
		.refusals = entry->refusals.list,
		.refusal_count = entry->refusals.count,
		.breach = entry->refusals.breach,
		.set_aside = entry->refusals.set_aside,
		.stalled_hash = entry->carry.stalled_hash,
		.held_since = entry->carry.held_since,
		.held = entry->carry.held,
		.patience = options->patience,
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
		rh_carry_free_plan(rh_take(*ret_plan));
	return r;
}

/* Carry out @p plan (taken), or drop it where further objects are to be checked first. */
static void work_carry_out(struct rh_entry *entry, struct rh_plan *plan)
{
	const struct rh_engine_options *options = &entry->engine->options;

	if (rh_objects_must_check(entry, plan)) {
		rh_carry_free_plan(plan);
		rh_entry_touch(entry);
		return;
	}
	if (options->observe && !rh_plan_is_empty(plan))
		options->observe(options->arg, entry->job, plan);
	rh_carry_start(entry, plan);
}

void rh_work_run(struct rh_entry *entry)
{
	struct rh_error err = {0};
	struct rh_plan *plan = NULL;
	int r;

	if (entry->carry.stage != RH_STAGE_IDLE || !entry->uid || rh_invalid_is_reported(entry))
		return;
	if (!entry->job && !rh_trees_has_room(entry->engine, entry->tree.weight)) {
		rh_trees_await_room(entry);
		return;
	}
	if (entry->invalid) {
		rh_invalid_run(entry);
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
	r = work_addresses(entry, &err);
	if (r == 0 && !entry->refusals.breach && work_is_live(entry))
		r = rh_objects_desire(entry, &err);
	else if (r == 0 && !entry->refusals.breach && rh_map_size(entry->objects.known) > 0 && rh_job_is_ours(entry->job) &&
	         !entry->job->deleting)
		r = rh_objects_desire_last(entry, &err);
	if (r == 0)
		r = work_decide(entry, &plan, &err);
	if (r == 0)
		work_carry_out(entry, plan);
	else if (r < 0 && !rh_work_fail_plugin(entry, r, &err))
		rh_work_retry(entry, r, &err);
}
