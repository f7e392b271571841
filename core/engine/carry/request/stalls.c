/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/carry/request/stalls.h"

#include <string.h>

#include "engine/carry/entry.h"
#include "job/evidence/stalled.h"

/* What rank 0 writes while it waits is at the end. */
#define STALLS_LINES 200
#define STALLS_BYTES (64 * 1024)

bool rh_stalls_are_read(const struct rh_entry *entry)
{
	return entry->engine->options.reads_logs && entry->job && entry->job->stalls.action != RH_STALL_IGNORE;
}

/* Of a job that does not run no log is read, so what is known of it is old. */
bool rh_stalls_show_slow(const struct rh_entry *entry)
{
	return entry->stalls.slow && entry->engine->now < entry->stalls.due + RH_PLAN_STALLS_PAUSE;
}

struct rh_missing rh_stalls_missing(const struct rh_entry *entry)
{
	const struct rh_entry_stalls *stalls = &entry->stalls;

	if (!stalls->text || entry->job->stalls.action == RH_STALL_IGNORE ||
	    (stalls->reporter && !rh_stalls_are_read(entry)))
		return (struct rh_missing){.rank = -1};
	return (struct rh_missing){
		.text = stalls->text,
		.address = stalls->address,
		.reporter = stalls->reporter,
		.refusal = stalls->refusal,
		.rank = stalls->rank,
		.since = stalls->since,
		.seen = stalls->seen,
		.tried = stalls->evict_due > stalls->seen ? stalls->seen : stalls->tried,
		.evicting = stalls->evict != 0,
	};
}

/* Nobody waits any more, as far as known. */
static void stalls_clear(struct rh_entry_stalls *stalls)
{
	rh_free(rh_take(stalls->text));
	rh_free(rh_take(stalls->address));
	rh_free(rh_take(stalls->reporter));
	rh_free(rh_take(stalls->refusal));
	stalls->since = stalls->seen = stalls->tried = 0;
}

static bool stalls_is_about(const struct rh_entry_stalls *stalls, const struct rh_missing_report *report,
                            const char *reporter)
{
	if (!stalls->text || stalls->rank != report->rank || strcmp(stalls->address, report->address) != 0)
		return false;
	return stalls->reporter && reporter ? strcmp(stalls->reporter, reporter) == 0 : !stalls->reporter && !reporter;
}

void rh_stalls_note(struct rh_entry *entry, const struct rh_missing_report *report, const char *reporter, int64_t now)
{
	struct rh_entry_stalls *stalls = &entry->stalls;
	bool same = report->text ? rh_text_equal(report->text, stalls->text) : !stalls->text;

	if (!report->text || !stalls_is_about(stalls, report, reporter))
		stalls_clear(stalls);
	if (report->text) {
		char *text = rh_strdup(report->text);

		rh_free(stalls->text);
		stalls->text = text;
		stalls->address = stalls->address ? stalls->address : rh_strdup(report->address);
		stalls->reporter = stalls->reporter ? stalls->reporter : rh_strdup(reporter);
		stalls->rank = report->rank;
		stalls->since = stalls->since ? stalls->since : now;
		stalls->seen = now;
		if (!stalls->text || !stalls->address || (reporter && !stalls->reporter))
			stalls_clear(stalls);
	}
	/* what is done about it goes by what is seen last */
	if (!same || (stalls->text && entry->job && entry->job->stalls.action >= RH_STALL_RESTART))
		rh_entry_touch(entry);
}

/* Without an answer what is known stays; without the right nothing is known. */
static void stalls_on_log(void *arg, const struct rh_outcome *outcome)
{
	struct rh_entry *entry = arg;
	int64_t now = entry->engine->now;
	char address[RH_STALLED_ADDRESS_SIZE] = "";
	struct rh_missing_report report = {.address = address, .rank = -1};
	rh_auto_free char *asked = rh_take(entry->stalls.asked);
	rh_auto_free char *text = NULL;

	entry->engine->requests--;
	entry->stalls.request = 0;
	if (outcome->forbidden)
		entry->stalls.due = now + RH_PLAN_STALLS_PAUSE_MAX;
	if (outcome->code == RH_OUTCOME_OK && outcome->text) {
		rh_evidence_slow(outcome->text, &entry->stalls.slow);
		text = rh_evidence_stalled(outcome->text);
	} else if (outcome->forbidden || outcome->code == RH_OUTCOME_GONE) {
		entry->stalls.slow = false;
	} else {
		return;
	}
	if (text)
		rh_evidence_stalled_rank(text, &report.rank, address);
	report.text = text;
	rh_stalls_note(entry, &report, asked, now);
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
	entry->stalls.asked = rh_strdup(plan->stalls_uid);
	/* without memory it is tried again when it is due */
	if (!entry->stalls.asked ||
	    rh_engine_submit(entry->engine, &request, stalls_on_log, entry, &entry->stalls.request) < 0)
		rh_free(rh_take(entry->stalls.asked));
}

/* @param message taken; NULL: memory is out */
static void stalls_emit(struct rh_entry *entry, bool warning, const char *reason, char *message)
{
	rh_auto_free char *guard = message;

	if (guard)
		rh_events_emit(entry, &(struct rh_event_spec){entry->uid, warning, reason, guard});
}

/* The pod counts as one that ends, until its watch says so. */
static void stalls_evicted(struct rh_entry *entry)
{
	struct rh_entry_stalls *stalls = &entry->stalls;
	struct rh_cached *cached = rh_map_get(entry->children.pods, stalls->evict_pod);

	if (cached && strcmp(rh_cached_uid(cached), stalls->evict_uid) == 0)
		rh_cached_set_stopping(cached, true);
	rh_free(rh_take(stalls->refusal));
	stalls_emit(entry, true, "SuccessfulEvictPod",
	            rh_asprintf("Evicted pod: %s%s%s", stalls->evict_pod, stalls->text ? "; " : "",
	                        stalls->text ? stalls->text : ""));
}

static void stalls_refused(struct rh_entry *entry, const struct rh_outcome *outcome)
{
	struct rh_entry_stalls *stalls = &entry->stalls;

	rh_free(stalls->refusal);
	stalls->refusal = rh_strdup(outcome->message);
	if (outcome->forbidden)
		stalls->evict_due = entry->engine->now + RH_PLAN_STALLS_PAUSE_MAX;
	stalls_emit(entry, true, "FailedEvictPod",
	            rh_asprintf("Error evicting %s: %s%s", stalls->evict_pod, outcome->message,
	                        outcome->budget ? "; it is tried again while the rank does not come" : ""));
}

static void stalls_on_eviction(void *arg, const struct rh_outcome *outcome)
{
	struct rh_entry *entry = arg;
	struct rh_entry_stalls *stalls = &entry->stalls;

	entry->engine->requests--;
	stalls->evict = 0;
	if (outcome->code == RH_OUTCOME_OK)
		stalls_evicted(entry);
	else if (outcome->code != RH_OUTCOME_GONE && outcome->code != RH_OUTCOME_CONFLICT)
		stalls_refused(entry, outcome);
	rh_free(rh_take(stalls->evict_pod));
	rh_free(rh_take(stalls->evict_uid));
	rh_entry_touch(entry);
}

void rh_stalls_evict(struct rh_entry *entry, const struct rh_plan *plan)
{
	struct rh_entry_stalls *stalls = &entry->stalls;
	struct rh_request request = {
		.verb = RH_VERB_EVICT,
		.resource = &rh_resource_pods,
		.namespace_ = entry->namespace_,
		.name = plan->evict_pod,
		.uid = plan->evict_uid,
	};

	/* the ranks may have gone on while the ledger was written */
	if (!plan->evict_pod || !stalls->text || stalls->evict)
		return;
	stalls->tried = stalls->seen;
	stalls->evict_pod = rh_strdup(plan->evict_pod);
	stalls->evict_uid = rh_strdup(plan->evict_uid);
	/* without memory it is tried again when the rank is found missing again */
	if (!stalls->evict_pod || !stalls->evict_uid ||
	    rh_engine_submit(entry->engine, &request, stalls_on_eviction, entry, &stalls->evict) < 0) {
		rh_free(rh_take(stalls->evict_pod));
		rh_free(rh_take(stalls->evict_uid));
	}
}

void rh_stalls_forget(struct rh_entry *entry)
{
	struct rh_entry_stalls *stalls = &entry->stalls;

	if (stalls->request)
		rh_engine_cancel(entry->engine, stalls->request);
	if (stalls->evict)
		rh_engine_cancel(entry->engine, stalls->evict);
	stalls_clear(stalls);
	rh_free(stalls->asked);
	rh_free(stalls->evict_pod);
	rh_free(stalls->evict_uid);
	*stalls = (struct rh_entry_stalls){.request = 0};
}
