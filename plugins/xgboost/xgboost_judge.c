/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the counts mean (v1-behaviour E.5-4). The words are the core's. Unlike V1, a replica that its policy restarts
 * does not fail the job.
 */
#include "xgboost.h"

/** The first type of which replicas failed for good, or are being restarted, else NULL. */
static const char *judge_failing(const struct rh_counts *master, const struct rh_counts *worker, int restarting)
{
	if ((restarting ? master->restarting : master->failed) > 0)
		return "Master";
	return (restarting ? worker->restarting : worker->failed) > 0 ? "Worker" : NULL;
}

/** However fast a job ended, V1 says first that it has run. */
static int32_t judge_end(const struct rh_services *host, struct rh_reply *reply, int32_t verdict, const char *type)
{
	int32_t r = host->verdict(reply, RH_VERDICT_RUNNING, NULL, NULL);

	return r == 0 ? host->verdict(reply, verdict, type, NULL) : r;
}

int32_t xgboost_judge(void *self, const struct rh_view *view, struct rh_reply *reply)
{
	const struct rh_services *host = self;
	struct rh_counts master = {.head = RH_HEAD(struct rh_counts)};
	struct rh_counts worker = {.head = RH_HEAD(struct rh_counts)};
	const char *failed, *restarting;

	host->counts(view, "Worker", &worker);
	if (host->counts(view, "Master", &master) && master.succeeded >= master.desired)
		return judge_end(host, reply, RH_VERDICT_SUCCEEDED, NULL);
	failed = judge_failing(&master, &worker, 0);
	if (failed)
		return judge_end(host, reply, RH_VERDICT_FAILED, failed);
	restarting = judge_failing(&master, &worker, 1);
	if (restarting)
		return host->verdict(reply, RH_VERDICT_RESTARTING, restarting, NULL);
	return master.active > 0 ? host->verdict(reply, RH_VERDICT_RUNNING, NULL, NULL) : RH_OK;
}
