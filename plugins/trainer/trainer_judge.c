/* SPDX-License-Identifier: Apache-2.0 */
/* What becomes of a TrainJob, by the rules of JobSet: who waits for whom, when it is done, failed, or begins again. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trainer.h"

#define JUDGE_FAILURE "template.spec.failurePolicy"
#define JUDGE_REASON "BackoffLimitExceeded"

/** What a failure leads to. */
enum judge_action { JUDGE_RESTART, JUDGE_RESTART_ALWAYS, JUDGE_FAIL };

/** All replicated jobs at one moment. */
struct judge {
	struct trainer_call *call;
	int32_t count;
	const char *names[TRAINER_JOBS_MAX];
	struct rh_counts counts[TRAINER_JOBS_MAX];
	bool held[TRAINER_JOBS_MAX];
};

static bool judge_is_ready(const struct rh_counts *counts)
{
	const int32_t ready = counts->ready > 0 ? counts->ready : 0;

	return ready + counts->succeeded >= counts->desired;
}

static bool judge_is_complete(const struct rh_counts *counts)
{
	return counts->succeeded >= counts->desired;
}

/** @return whether a job has pods that run or ended: it has started, and others do not hold it back any more */
static bool judge_has_started(const struct rh_counts *counts)
{
	return counts->active > 0 || counts->succeeded > 0 || counts->failed > 0;
}

/** @return whether dependsOn @p item of job @p place is fulfilled */
static bool judge_depends(const struct judge *judge, int32_t place, int32_t item)
{
	const char *name = trainer_text(judge->call, TRAINER_JOBS "[%" PRId32 "].dependsOn[%" PRId32 "].name", place, item);
	const char *status =
		trainer_text(judge->call, TRAINER_JOBS "[%" PRId32 "].dependsOn[%" PRId32 "].status", place, item);
	const int32_t other = name ? trainer_job(judge->call, name) : -1;

	if (other < 0 || other >= judge->count)
		return true;
	return status && strcmp(status, "Complete") == 0 ? judge_is_complete(&judge->counts[other])
	                                                 : judge_is_ready(&judge->counts[other]);
}

static bool judge_waits(const struct judge *judge, int32_t place)
{
	const int32_t needed = trainer_size(judge->call, TRAINER_JOBS "[%" PRId32 "].dependsOn", place);
	const char *order = trainer_text(judge->call, "template.spec.startupPolicy.startupPolicyOrder");

	for (int32_t i = 0; i < needed; i++) {
		if (!judge_depends(judge, place, i))
			return true;
	}
	for (int32_t i = 0; order && strcmp(order, "InOrder") == 0 && i < place; i++) {
		if (!judge_is_ready(&judge->counts[i]))
			return true;
	}
	return false;
}

static void judge_read(struct judge *judge)
{
	struct trainer_call *call = judge->call;
	const char *name;

	for (; judge->count < TRAINER_JOBS_MAX && (name = trainer_job_name(call, judge->count)); judge->count++) {
		struct rh_counts *counts = &judge->counts[judge->count];

		*counts = (struct rh_counts){.head = RH_HEAD(struct rh_counts), .ready = -1};
		judge->names[judge->count] = name;
		(void)call->host->counts(call->view, name, counts);
	}
	for (int32_t i = 0; i < judge->count; i++)
		judge->held[i] = !judge_has_started(&judge->counts[i]) && judge_waits(judge, i);
}

static void judge_hold(const struct judge *judge)
{
	struct trainer_call *call = judge->call;

	for (int32_t i = 0; i < judge->count && call->status == 0; i++) {
		if (judge->held[i])
			call->status = call->host->hold(call->reply, judge->names[i], -1, "it waits for other jobs of its runtime");
	}
}

/** @return whether the list of names at @p path, if there is one, has @p name */
static bool judge_is_target(const struct judge *judge, const char *path, const char *name)
{
	const int32_t size = trainer_size(judge->call, "%s", path);

	for (int32_t i = 0; i < size; i++) {
		const char *target = trainer_text(judge->call, "%s[%" PRId32 "]", path, i);

		if (target && strcmp(target, name) == 0)
			return true;
	}
	return size < 1;
}

static bool judge_succeeded(const struct judge *judge)
{
	const char *operator_ = trainer_text(judge->call, "template.spec.successPolicy.operator");
	const bool any = operator_ && strcmp(operator_, "Any") == 0;
	bool all = true, one = false;

	for (int32_t i = 0; i < judge->count; i++) {
		const bool done = judge_is_complete(&judge->counts[i]) && !judge->held[i];

		if (!judge_is_target(judge, "template.spec.successPolicy.targetReplicatedJobs", judge->names[i]))
			continue;
		all = all && done;
		one = one || done;
	}
	return any ? one : all;
}

/** @return what the first rule says that fits a failure of job @p name */
static enum judge_action judge_rule(const struct judge *judge, const char *name)
{
	const int32_t rules = trainer_size(judge->call, JUDGE_FAILURE ".rules");
	char path[TRAINER_TEXT];

	for (int32_t i = 0; i < rules; i++) {
		const char *action = trainer_text(judge->call, JUDGE_FAILURE ".rules[%" PRId32 "].action", i);

		snprintf(path, sizeof(path), JUDGE_FAILURE ".rules[%" PRId32 "].targetReplicatedJobs", i);
		if (!action || !judge_is_target(judge, path, name))
			continue;
		snprintf(path, sizeof(path), JUDGE_FAILURE ".rules[%" PRId32 "].onJobFailureReasons", i);
		if (!judge_is_target(judge, path, JUDGE_REASON))
			continue;
		if (strcmp(action, "FailJobSet") == 0)
			return JUDGE_FAIL;
		return strcmp(action, "RestartJobSet") == 0 ? JUDGE_RESTART : JUDGE_RESTART_ALWAYS;
	}
	return JUDGE_RESTART;
}

static void judge_fail(const struct judge *judge, const char *name, const char *reason, const char *words)
{
	struct trainer_call *call = judge->call;
	char message[TRAINER_TEXT];

	snprintf(message, sizeof(message), "%s (first failed job: %.253s-%.63s-0)", words, trainer_name(call), name);
	call->status = call->host->conclude(call->reply, RH_VERDICT_FAILED, name, reason, message);
}

static void judge_failure(const struct judge *judge, const char *name)
{
	struct trainer_call *call = judge->call;
	const enum judge_action action = judge_rule(judge, name);
	const int64_t most = trainer_number(call, 0, JUDGE_FAILURE ".maxRestarts");

	if (trainer_size(call, JUDGE_FAILURE) < 0)
		judge_fail(judge, name, "FailedJobs", "jobset failed due to one or more job failures");
	else if (action == JUDGE_FAIL)
		judge_fail(judge, name, "FailJobSetFailurePolicyAction", "applying FailJobSet failure policy action");
	else if (action == JUDGE_RESTART && call->host->attempt(call->view) >= most)
		judge_fail(judge, name, "ReachedMaxRestarts", "jobset failed due to reaching max number of restarts");
	else
		call->status = call->host->restart(call->reply, NULL, -1, RH_RESTART_FREE, NULL, NULL);
}

/** Say what the counts mean. */
static void judge_decide(const struct judge *judge)
{
	struct trainer_call *call = judge->call;

	if (judge_succeeded(judge)) {
		call->status = call->host->verdict(call->reply, RH_VERDICT_SUCCEEDED, NULL, NULL);
		return;
	}
	for (int32_t i = 0; i < judge->count; i++) {
		if (judge->counts[i].failed > 0) {
			judge_failure(judge, judge->names[i]);
			return;
		}
	}
}

/** Write one row of jobsStatus: a replicated job is one, however many pods it has. */
static void judge_write(const struct judge *judge, int32_t place, FILE *out)
{
	const uint32_t state = judge->call->host->state(judge->call->view);
	const struct rh_counts *counts = &judge->counts[place];
	const bool finished = (state & RH_STATE_FINISHED) != 0 || judge_succeeded(judge);
	const bool suspended = !finished && (state & RH_STATE_SUSPENDED) != 0;
	const bool complete = judge_is_complete(counts) && !judge->held[place] && !suspended;
	const bool failed = !complete && counts->failed > 0 && trainer_size(judge->call, JUDGE_FAILURE) < 0;
	const bool ended = finished && counts->failed > 0 && !complete;
	const bool active = !finished && !suspended && !complete && !failed && !judge->held[place];

	fprintf(out, "%s{\"name\":%s,\"active\":%d,\"failed\":%d,\"ready\":%d,\"succeeded\":%d,\"suspended\":%d}",
	        place > 0 ? "," : "", trainer_quote(judge->call, "%s", judge->names[place]), active, failed || ended,
	        active && judge_is_ready(counts), complete, suspended);
}

/** @return whether the status is to stay as it is: after a deadline it shows what was then */
static bool judge_is_frozen(const struct trainer_call *call)
{
	char path[TRAINER_TEXT];
	const char *reason;

	for (int32_t i = 0; snprintf(path, sizeof(path), "status.conditions[%" PRId32 "].reason", i),
	             (reason = call->host->text(call->view, path)) != NULL;
	     i++) {
		if (strcmp(reason, "DeadlineExceeded") == 0)
			return true;
	}
	return false;
}

static void judge_report(const struct judge *judge)
{
	struct trainer_call *call = judge->call;
	char *json = NULL;
	size_t length;
	FILE *out;

	if (call->status != 0 || judge_is_frozen(call))
		return;
	out = open_memstream(&json, &length);
	if (out) {
		fputs("[", out);
		for (int32_t i = 0; i < judge->count; i++)
			judge_write(judge, i, out);
		fputs("]", out);
	}
	if (!out || fclose(out) != 0)
		trainer_fail_memory(call);
	else if (call->status == 0)
		call->status = call->host->status(call->reply, "jobsStatus", json);
	free(json);
}

int32_t trainer_judge(void *self, const struct rh_view *view, struct rh_reply *reply)
{
	struct trainer_call call = trainer_begin(self, view, reply);
	struct judge judge = {.call = &call};

	judge_read(&judge);
	judge_hold(&judge);
	if (call.status == 0)
		judge_decide(&judge);
	judge_report(&judge);
	return call.status;
}
