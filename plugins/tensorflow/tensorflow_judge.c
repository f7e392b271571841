/* SPDX-License-Identifier: Apache-2.0 */
/* What the counts mean (v1-behaviour E.5-3), with V1's words (v1-behaviour E.3); success wins over everything. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tensorflow.h"

/** Room for a condition's message: the longest names and words. */
#define JUDGE_TEXT_SIZE 512

/** One call of judge(). */
struct judge_call {
	const struct rh_services *host;
	const struct rh_view *view;
	struct rh_reply *reply;
	const char *namespace_;
	const char *name;
};

static int judge_count(const struct judge_call *call, const char *type, struct rh_counts *ret_counts)
{
	*ret_counts = (struct rh_counts){.head = RH_HEAD(struct rh_counts)};
	return call->host->counts(call->view, type, ret_counts);
}

static int32_t judge_report(const struct judge_call *call, int32_t verdict, const char *words)
{
	char text[JUDGE_TEXT_SIZE];

	snprintf(text, sizeof(text), "TFJob %s/%s %s", call->namespace_, call->name, words);
	return call->host->verdict(call->reply, verdict, NULL, text);
}

/** Worker 0 does a chief's work where there is none, and the job ends with it, unless all workers are asked for. */
static int judge_worker_0_is_done(const struct judge_call *call)
{
	const char *policy = call->host->text(call->view, TENSORFLOW_SUCCESS);
	struct rh_replica_state state = {.head = RH_HEAD(struct rh_replica_state)};

	if (policy && strcmp(policy, "AllWorkers") == 0)
		return 0;
	return call->host->replica(call->view, "Worker", 0, &state) && state.phase == RH_PHASE_SUCCEEDED &&
	       state.exit_code <= 0;
}

/** The type that decides about success: a chief, or else the workers; NULL: this job never succeeds. */
static const char *judge_decider(const struct judge_call *call)
{
	static const char *const deciders[] = {"Chief", "Master", "Worker"};

	for (size_t i = 0; i < sizeof(deciders) / sizeof(deciders[0]); i++) {
		if (call->host->replicas(call->view, deciders[i]) >= 0)
			return deciders[i];
	}
	return NULL;
}

/** Workers that come and go may also go with an error. */
static int judge_is_spared(const struct judge_call *call, const char *type)
{
	return strcmp(type, "Worker") == 0 && call->host->boolean(call->view, TENSORFLOW_DYNAMIC);
}

static int32_t judge_failed(const struct judge_call *call, const char *type, int32_t failed)
{
	char text[JUDGE_TEXT_SIZE];

	snprintf(text, sizeof(text), "TFJob %s/%s has failed because %" PRId32 " %s replica(s) failed.", call->namespace_,
	         call->name, failed, type);
	return call->host->verdict(call->reply, RH_VERDICT_FAILED, type, text);
}

static int32_t judge_restarting(const struct judge_call *call, const char *type)
{
	char text[JUDGE_TEXT_SIZE];

	snprintf(text, sizeof(text), "job %s is restarting because %s replica(s) failed.", call->name, type);
	return call->host->verdict(call->reply, RH_VERDICT_RESTARTING, type, text);
}

/** The first type of which replicas failed for good, or are being restarted, and how many; else NULL. */
static const char *judge_failing(const struct judge_call *call, int restarting, int32_t *ret_count)
{
	struct rh_counts counts;
	const char *type;

	for (uint32_t i = 0; (type = call->host->type(call->view, i)); i++) {
		if (!judge_count(call, type, &counts) || (!restarting && judge_is_spared(call, type)))
			continue;
		*ret_count = restarting ? counts.restarting : counts.failed;
		if (*ret_count > 0)
			return type;
	}
	return NULL;
}

int32_t tensorflow_judge(void *self, const struct rh_view *view, struct rh_reply *reply)
{
	struct judge_call call = {.host = self, .view = view, .reply = reply};
	const char *name = call.host->text(view, "metadata.name");
	const char *decider = judge_decider(&call);
	const char *failed, *restarting;
	struct rh_counts counts = {.head = RH_HEAD(struct rh_counts)};
	int32_t count = 0, r = 0;
	int known = decider && judge_count(&call, decider, &counts);

	call.namespace_ = call.host->text(view, "metadata.namespace");
	call.name = name ? name : "";
	if (known &&
	    (counts.succeeded >= counts.desired || (strcmp(decider, "Worker") == 0 && judge_worker_0_is_done(&call))))
		return judge_report(&call, RH_VERDICT_SUCCEEDED, "successfully completed.");
	restarting = judge_failing(&call, 1, &count);
	failed = judge_failing(&call, 0, &count);
	if (restarting && !failed)
		return judge_restarting(&call, restarting);
	if (known && counts.active > 0)
		r = judge_report(&call, RH_VERDICT_RUNNING, "is running.");
	return r == 0 && failed ? judge_failed(&call, failed, count) : r;
}
