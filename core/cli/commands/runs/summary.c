/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/commands/runs/summary.h"

#include <stdbool.h>
#include <string.h>

#include "base/os/clock.h"
#include "job/status/status.h"

static bool summary_has_finished(const char *state)
{
	return rh_text_equal(state, RH_CONDITION_SUCCEEDED) || rh_text_equal(state, RH_CONDITION_FAILED);
}

const char *rh_summary_state(const struct rh_kept *kept, const struct rh_json *job)
{
	const char *state = rh_json_string(rh_json_get(job, "state"));

	if (state && (kept->life == RH_KEPT_RUNNING || summary_has_finished(state)))
		return state;
	return rh_kept_state(kept);
}

static int64_t summary_total(const struct rh_json *job)
{
	const struct rh_json *type = rh_json_first(rh_json_get(job, "replicas"));
	int64_t total = 0;

	for (; type; type = rh_json_next(type)) {
		int64_t count = 0;

		(void)rh_json_integer(type, &count);
		total += count;
	}
	return total;
}

static int64_t summary_outcomes(const struct rh_kept *kept, const char *job, const char *outcome)
{
	const struct rh_json *row = rh_json_first(rh_json_get(kept->state, "results"));
	int64_t count = 0;

	for (; row; row = rh_json_next(row)) {
		count += rh_text_equal(rh_json_string(rh_json_get(row, "job")), job) &&
		                 rh_text_equal(rh_json_string(rh_json_get(row, "outcome")), outcome)
		             ? 1
		             : 0;
	}
	return count;
}

void rh_summary_replicas(const struct rh_kept *kept, const struct rh_json *job, struct rh_str *out)
{
	static const char *const outcomes[][2] = {
		{"Failed", "failed"}, {"Succeeded", "succeeded"}, {"Stopped", "stopped"}, {"Never started", "never started"}};
	const char *name = rh_json_string(rh_json_get(job, "name"));
	size_t before = out->length;
	int64_t active = 0;

	(void)rh_json_integer(rh_json_get(job, "active"), &active);
	if (kept->life == RH_KEPT_RUNNING) {
		rh_str_appendf(out, "%lld/%lld running", (long long)active, (long long)summary_total(job));
		return;
	}
	for (size_t i = 0; i < sizeof(outcomes) / sizeof(outcomes[0]); i++) {
		int64_t count = summary_outcomes(kept, name, outcomes[i][0]);

		if (count > 0)
			rh_str_appendf(out, "%s%lld %s", out->length > before ? ", " : "", (long long)count, outcomes[i][1]);
	}
	if (out->length == before)
		rh_str_appendf(out, "%lld", (long long)summary_total(job));
}

const char *rh_summary_fault(const struct rh_json *job)
{
	const char *text = rh_json_string_at(job, "firstFault.message");

	return text ? text : "";
}

int64_t rh_summary_age(const struct rh_kept *kept)
{
	return kept->started_at == 0 ? 0 : rh_clock_wall() - kept->started_at;
}

int64_t rh_summary_duration(const struct rh_kept *kept)
{
	int64_t end = kept->life == RH_KEPT_RUNNING ? rh_clock_wall() : kept->ended_at;

	return kept->started_at == 0 || end < kept->started_at ? 0 : end - kept->started_at;
}

struct rh_json *rh_summary_json(const struct rh_kept *kept)
{
	rh_auto(json) row = kept->state ? rh_json_copy(kept->state) : rh_json_new_object();
	struct rh_json *job;

	if (!row || rh_json_set_string(row, "name", kept->name) < 0 || rh_json_set_string(row, "path", kept->path) < 0 ||
	    rh_json_set_string(row, "state", rh_kept_state(kept)) < 0)
		return NULL;
	for (job = rh_json_first(rh_json_get(row, "jobs")); job; job = rh_json_next(job)) {
		if (rh_json_set_string(job, "state", rh_summary_state(kept, job)) < 0)
			return NULL;
	}
	return rh_take(row);
}
