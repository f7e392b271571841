/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One decision: what is known is put together into a world, and the plan is handed on.
 */
#include <string.h>

#include "engine/carry/parts.h"
#include "engine/carry/unfit.h"
#include "engine/decide.h"

/* What rh_world points to. Tables are owned. */
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

static bool work_is_live(const struct rh_engine_entry *entry)
{
	const struct rh_job *job = entry->job;

	return rh_job_is_ours(job) && !job->deleting && !rh_job_status_finished(&job->status);
}

/* Only a job that is to run needs places; they stay its own while the attempt lasts. */
static int work_addresses(struct rh_engine_entry *entry, struct rh_error *err)
{
	const struct rh_engine_options *options = &entry->engine->options;
	struct rh_addresses made = {0};
	int r;

	if (!options->addresses || entry->addresses_attempt == entry->ledger->attempt || !work_is_live(entry) ||
	    entry->job->policy.suspend)
		return 0;
	r = options->addresses(options->arg, entry->job, entry->ledger->attempt, &made, err);
	if (r < 0) {
		rh_addresses_deinit(&made);
		return r;
	}
	rh_builder_free(rh_take(entry->builder));
	rh_addresses_deinit(&entry->addresses);
	entry->addresses = made;
	entry->addresses_attempt = entry->ledger->attempt;
	return 0;
}

struct rh_builder *rh_engine_builder(struct rh_engine_entry *entry, int *ret_status, struct rh_error *err)
{
	int r = work_addresses(entry, err);

	if (r == 0 && entry->builder && entry->snapshot.attempt != entry->ledger->attempt)
		rh_builder_free(rh_take(entry->builder));
	if (r == 0 && !entry->builder) {
		entry->snapshot = (struct rh_snapshot){
			.host = entry->engine->options.host,
			.job = entry->job,
			.addresses = &entry->addresses,
			.gang = entry->engine->options.gang,
			.attempt = entry->ledger->attempt,
			.suspended = entry->job->policy.suspend,
			.finished = rh_job_status_finished(&entry->job->status),
		};
		r = rh_builder_new(&entry->snapshot, &entry->builder, err);
	}
	if (r == 0)
		return entry->builder;
	*ret_status = r;
	return NULL;
}

void rh_engine_retry(struct rh_engine_entry *entry, int status, const struct rh_error *err)
{
	struct rh_engine *engine = entry->engine;
	rh_auto_free char *reason = NULL;

	rh_queue_fail(&engine->queue, &entry->item, engine->now);
	if (status == RH_ENOMEM || !entry->uid)
		return;
	reason = rh_asprintf("%sFailedReconcile", entry->kind->kind->kind);
	if (reason)
		rh_engine_emit(entry, &(struct rh_event_spec){entry->uid, true, reason, err->message});
}

bool rh_engine_blame(struct rh_engine_entry *entry, int status, const struct rh_error *err)
{
	bool local = entry->addresses.count > 0;

	if ((status != RH_EPLUGIN && status != RH_EINVAL) || entry->breach || (rh_map_size(entry->pods) > 0 && !local))
		return false;
	entry->breach = rh_strdup(err->message);
	if (entry->breach)
		rh_queue_add(&entry->engine->queue, &entry->item, RH_QUEUE_NOW);
	return entry->breach != NULL;
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

/* Whether a watch has shown what a create that is under way is to make. */
static bool work_is_shown(const struct rh_engine_entry *entry, const struct rh_inflight *inflight)
{
	const struct rh_map *map = inflight->pod ? entry->pods : entry->services;
	const struct rh_cached *cached = rh_map_get(map, inflight->name);
	const char *owner = NULL;

	if (cached)
		owner = cached->pod ? cached->pod->owner_uid : cached->child->owner_uid;
	return owner && strcmp(owner, entry->uid) == 0;
}

static void work_add_inflight(struct work_tables *tables, const struct rh_engine_entry *entry)
{
	for (const struct rh_inflight *inflight = entry->inflight_list; inflight; inflight = inflight->next) {
		if (inflight->old || inflight->checking || (!inflight->pod && !inflight->child) ||
		    work_is_shown(entry, inflight))
			continue;
		if (inflight->pod)
			tables->pods[tables->pod_count++] = inflight->pod;
		else
			tables->children[tables->child_count++] = inflight->child;
	}
}

static int work_fill(struct work_tables *tables, const struct rh_engine_entry *entry)
{
	size_t pods = rh_map_size(entry->pods) + entry->inflight_count;
	size_t children = rh_map_size(entry->services) + rh_map_size(entry->objects) + entry->inflight_count;

	tables->pods = rh_alloc_array(pods + 1, sizeof(*tables->pods));
	tables->children = rh_alloc_array(children + 1, sizeof(*tables->children));
	if (!tables->pods || !tables->children)
		return RH_ENOMEM;
	work_add_cached(tables, entry->pods);
	work_add_cached(tables, entry->services);
	work_add_cached(tables, entry->objects);
	work_add_inflight(tables, entry);
	return 0;
}

/* @return 0; 1 when something is to be found out before entry->plan is carried out; or a negative status */
static int work_decide(struct rh_engine_entry *entry, struct rh_error *err)
{
	__attribute__((cleanup(work_free_tables))) struct work_tables tables = {0};
	const struct rh_engine_options *options = &entry->engine->options;
	struct rh_world world = {
		.host = options->host,
		.job = entry->job,
		.ledger = entry->ledger,
		.addresses = &entry->addresses,
		.objects = entry->desired,
		.gang = options->gang,
		.refusals = entry->refusals,
		.refusal_count = entry->refusal_count,
		.breach = entry->breach,
		.said = entry->said,
		.held_since = entry->held_since,
		.held = entry->held,
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
	entry->plan = rh_alloc(sizeof(*entry->plan));
	r = entry->plan ? rh_decide(&world, entry->plan, err) : RH_ENOMEM;
	if (r == 0 && rh_engine_must_look(entry)) {
		rh_engine_stop_carrying(entry);
		rh_engine_touch(entry);
		return 1;
	}
	if (r < 0)
		rh_free(rh_take(entry->plan));
	else if (options->observe && !rh_plan_is_empty(entry->plan))
		options->observe(options->arg, entry->job, entry->plan);
	return r;
}

void rh_engine_work(struct rh_engine_entry *entry)
{
	struct rh_error err = {0};
	int r;

	if (entry->stage != RH_STAGE_IDLE || !entry->uid || rh_engine_is_unfit_at_rest(entry))
		return;
	if (!entry->job && !rh_engine_has_room(entry->engine, entry->weight)) {
		rh_engine_await_room(entry);
		return;
	}
	if (entry->unfit) {
		rh_engine_work_unfit(entry);
		return;
	}
	if (rh_engine_hydrate(entry) < 0) {
		rh_queue_fail(&entry->engine->queue, &entry->item, entry->engine->now);
		return;
	}
	if (!entry->job || entry->refresh) {
		rh_engine_refresh(entry);
		return;
	}
	r = work_addresses(entry, &err);
	if (r == 0 && !entry->breach && work_is_live(entry))
		r = rh_engine_desire_objects(entry, &err);
	else if (r == 0 && !entry->breach && rh_map_size(entry->objects) > 0 && rh_job_is_ours(entry->job) &&
	         !entry->job->deleting)
		r = rh_engine_desire_last_objects(entry, &err);
	if (r == 0)
		r = work_decide(entry, &err);
	if (r == 0)
		rh_engine_carry(entry);
	else if (r < 0 && !rh_engine_blame(entry, r, &err))
		rh_engine_retry(entry, r, &err);
}
