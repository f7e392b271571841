/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the counts mean (COMPAT E.5-1), made deterministic where V1 visits its types in random order: success of the
 * master wins over everything, and restarting replicas over a running master.
 */
#include <stdio.h>

#include "pytorch.h"

/** Room for a condition's message: the longest names and words. */
#define JUDGE_TEXT_SIZE 512

/** One call of judge(). */
struct judge_call {
	const struct rh_services *host;
	const struct rh_view *view;
	struct rh_reply *reply;
	struct rh_counts master;
	struct rh_counts worker;
	int has_master;
};

/** V1 names the namespace, too, in a job without a master (COMPAT E.3). */
static int32_t judge_say(const struct judge_call *call, int32_t verdict, const char *words)
{
	const char *namespace_ = call->host->text(call->view, "metadata.namespace");
	const char *name = call->host->text(call->view, "metadata.name");
	char text[JUDGE_TEXT_SIZE];

	snprintf(text, sizeof(text), "PyTorchJob %s/%s %s", namespace_ ? namespace_ : "default", name ? name : "", words);
	return call->host->verdict(call->reply, verdict, NULL, call->has_master ? NULL : text);
}

/** The first type of which replicas failed for good, else NULL; likewise for those that are being restarted. */
static const char *judge_failing(const struct judge_call *call, int restarting)
{
	if ((restarting ? call->master.restarting : call->master.failed) > 0)
		return "Master";
	if ((restarting ? call->worker.restarting : call->worker.failed) > 0)
		return "Worker";
	return NULL;
}

static int judge_is_done(const struct judge_call *call)
{
	const struct rh_counts *leader = call->has_master ? &call->master : &call->worker;

	if (leader->succeeded >= leader->desired)
		return 1;
	return !call->has_master && leader->succeeded > 0 && pytorch_is_elastic(call->host, call->view);
}

int32_t pytorch_judge(void *self, const struct rh_view *view, struct rh_reply *reply)
{
	struct judge_call call = {
		.host = self,
		.view = view,
		.reply = reply,
		.master = {.head = RH_HEAD(struct rh_counts)},
		.worker = {.head = RH_HEAD(struct rh_counts)},
	};
	const char *failed, *restarting;
	int has_worker = call.host->counts(view, "Worker", &call.worker);
	int32_t r = 0;

	call.has_master = call.host->counts(view, "Master", &call.master);
	if (!call.has_master && !has_worker)
		return 0;
	if (judge_is_done(&call))
		return judge_say(&call, RH_VERDICT_SUCCEEDED, "successfully completed.");
	failed = judge_failing(&call, 0);
	restarting = judge_failing(&call, 1);
	if (restarting && !failed)
		return call.host->verdict(reply, RH_VERDICT_RESTARTING, restarting, NULL);
	if ((call.has_master ? call.master.active : call.worker.active) > 0)
		r = judge_say(&call, RH_VERDICT_RUNNING, "is running.");
	if (r == 0 && failed)
		r = call.host->verdict(reply, RH_VERDICT_FAILED, failed, NULL);
	return r;
}
