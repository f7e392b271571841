/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the counts mean (v1-behaviour E.5-1): the core's default, but for an elastic job without a master, which has
 * succeeded as soon as one worker has. Where V1 visits its types in random order, the core has one: success of the
 * master wins over everything, and restarting replicas over a running master.
 */
#include "pytorch.h"

int32_t pytorch_judge(void *self, const struct rh_view *view, struct rh_reply *reply)
{
	const struct rh_services *host = self;
	struct rh_counts worker = {.head = RH_HEAD(struct rh_counts)};

	if (host->replicas(view, "Master") >= 0 || !pytorch_is_elastic(host, view) ||
	    !host->counts(view, "Worker", &worker) || worker.succeeded == 0)
		return RH_DEFAULT;
	return host->verdict(reply, RH_VERDICT_SUCCEEDED, NULL, NULL);
}
