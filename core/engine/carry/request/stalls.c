/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/carry/request/stalls.h"

#include "engine/carry/entry.h"
#include "job/evidence/stalled.h"

/* What rank 0 writes while it waits is at the end. */
#define STALLS_LINES 200
#define STALLS_BYTES (64 * 1024)

bool rh_stalls_are_read(const struct rh_entry *entry)
{
	return entry->engine->options.reads_logs && entry->job && entry->job->reports_stalls;
}

/* Of a job that does not run no log is read, so what is known of it is old. */
bool rh_stalls_show_slow(const struct rh_entry *entry)
{
	return entry->stalls.slow && entry->engine->now < entry->stalls.due + RH_PLAN_STALLS_PAUSE;
}

/* @param report taken */
static void stalls_set(struct rh_entry *entry, char *report)
{
	bool same = rh_text_equal(report ? report : "", entry->stalls.report ? entry->stalls.report : "");

	rh_free(entry->stalls.report);
	entry->stalls.report = report;
	if (!same)
		rh_entry_touch(entry);
}

/* Without an answer what is known stays; without the right nothing is known. */
static void stalls_on_log(void *arg, const struct rh_outcome *outcome)
{
	struct rh_entry *entry = arg;

	entry->engine->requests--;
	entry->stalls.request = 0;
	if (outcome->forbidden)
		entry->stalls.due = entry->engine->now + RH_PLAN_STALLS_PAUSE_MAX;
	if (outcome->code == RH_OUTCOME_OK && outcome->text) {
		rh_evidence_slow(outcome->text, &entry->stalls.slow);
		stalls_set(entry, rh_evidence_stalled(outcome->text));
	} else if (outcome->forbidden || outcome->code == RH_OUTCOME_GONE) {
		entry->stalls.slow = false;
		stalls_set(entry, NULL);
	}
}

void rh_stalls_ask(struct rh_entry *entry, const struct rh_plan *plan)
{
	const struct rh_log_query query = {
		.container = plan->stalls_container, .lines = STALLS_LINES, .bytes = STALLS_BYTES};
	struct rh_request request = {
		.verb = RH_VERB_LOG,
		.resource = &rh_resource_pods,
		.namespace_ = entry->namespace_,
		.name = plan->stalls_pod,
		.log = &query,
		.answer_size = STALLS_BYTES,
	};

	if (!plan->stalls_pod || entry->stalls.request)
		return;
	entry->stalls.due = entry->engine->now + RH_PLAN_STALLS_PAUSE;
	/* without memory it is tried again when it is due */
	(void)rh_engine_submit(entry->engine, &request, stalls_on_log, entry, &entry->stalls.request);
}

void rh_stalls_forget(struct rh_entry *entry)
{
	if (entry->stalls.request)
		rh_engine_cancel(entry->engine, entry->stalls.request);
	rh_free(entry->stalls.report);
	entry->stalls = (struct rh_entry_stalls){.request = 0};
}
