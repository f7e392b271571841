/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/carry/job/bodies.h"

#include "engine/carry/entry.h"
#include "job/expansion.h"
#include "job/kind.h"

bool rh_bodies_are_needed(const struct rh_entry *entry)
{
	const struct rh_job *job = entry->job;

	return rh_job_is_ours(job) && !job->deleting && !rh_job_status_finished(&job->status);
}

void rh_bodies_free_builder(struct rh_entry *entry)
{
	rh_builder_free(rh_take(entry->bodies.builder));
}

void rh_bodies_forget(struct rh_entry *entry)
{
	rh_bodies_free_builder(entry);
	rh_addresses_deinit(&entry->bodies.addresses);
	entry->bodies.addresses_attempt = -1;
}

void rh_bodies_on_ready(void *arg)
{
	rh_entry_touch(arg);
}

struct rh_snapshot rh_bodies_snapshot(const struct rh_entry *entry)
{
	return (struct rh_snapshot){
		.host = entry->engine->options.host,
		.answers = entry->bodies.answers,
		.job = entry->job,
		.addresses = &entry->bodies.addresses,
		.gang = entry->engine->options.gang,
		.lookups = entry->lookups.now,
		.stored = true,
		.held = entry->progress.waiting,
		.attempt = entry->ledger->attempt,
		.suspended = rh_run_policy_is_suspended(&entry->job->policy),
		.finished = rh_job_status_finished(&entry->job->status),
	};
}

/* @return 0 or RH_ENOMEM */
static int bodies_hash_source(const struct rh_job *job, uint64_t *ret_hash)
{
	rh_auto(json) source = rh_expansion_source(job);

	return source ? rh_object_hash(source, ret_hash) : RH_ENOMEM;
}

int rh_bodies_expand(struct rh_entry *entry, struct rh_error *err)
{
	struct rh_snapshot snapshot = {
		.host = entry->engine->options.host, .answers = entry->bodies.answers, .lookups = entry->lookups.now};
	struct rh_job *job = entry->job;
	bool known = entry->bodies.expanded && (job->expansion || job->refusals);
	int r;

	if (known || !rh_kind_expands(job->kind) || job->deleting || !rh_job_is_ours(job))
		return 0;
	r = rh_host_expand(&snapshot, job, err);
	if (r == 0 && bodies_hash_source(job, &entry->bodies.source) < 0)
		r = rh_fail_oom(err);
	if (r < 0)
		return r;
	entry->bodies.expanded = true;
	rh_bodies_free_builder(entry);
	return 1;
}

void rh_bodies_keep_expansion(struct rh_entry *entry, struct rh_job *next)
{
	uint64_t source = 0;

	if (!rh_kind_expands(next->kind))
		return;
	entry->bodies.expanded =
		entry->bodies.expanded && bodies_hash_source(next, &source) == 0 && source == entry->bodies.source;
	if (entry->job)
		rh_job_adopt_expansion(next, entry->job);
}

/* Only a job that runs needs addresses; they last as long as the attempt. */
int rh_bodies_addresses(struct rh_entry *entry, struct rh_error *err)
{
	const struct rh_engine_options *options = &entry->engine->options;
	struct rh_addresses made = {0};
	int r;

	if (!options->addresses || entry->bodies.addresses_attempt == entry->ledger->attempt ||
	    !rh_bodies_are_needed(entry) || rh_run_policy_is_suspended(&entry->job->policy))
		return 0;
	r = options->addresses(options->arg, entry->job, entry->ledger->attempt, &made, err);
	if (r < 0) {
		rh_addresses_deinit(&made);
		return r;
	}
	rh_bodies_free_builder(entry);
	rh_addresses_deinit(&entry->bodies.addresses);
	entry->bodies.addresses = made;
	entry->bodies.addresses_attempt = entry->ledger->attempt;
	return 0;
}

struct rh_builder *rh_bodies_builder(struct rh_entry *entry, int *ret_status, struct rh_error *err)
{
	int r = rh_bodies_addresses(entry, err);

	if (r == 0 && entry->bodies.builder && entry->bodies.snapshot.attempt != entry->ledger->attempt)
		rh_bodies_free_builder(entry);
	if (r == 0 && !entry->bodies.builder) {
		entry->bodies.snapshot = rh_bodies_snapshot(entry);
		r = rh_builder_new(&entry->bodies.snapshot, &entry->bodies.builder, err);
	}
	if (r == 0)
		return entry->bodies.builder;
	*ret_status = r;
	return NULL;
}
