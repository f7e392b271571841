/* SPDX-License-Identifier: Apache-2.0 */
/* The HorizontalPodAutoscaler of an elastic job with metrics (v1-behaviour D.5). */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "pytorch.h"

#define OBJECTS_METRICS PYTORCH_ELASTIC ".metrics"

/** Unlike V1's, it goes when the job has finished: there is nothing left to scale. */
int32_t pytorch_objects(void *self, const struct rh_view *view, struct rh_reply *reply)
{
	const struct rh_services *host = self;
	const char *name = host->json(view, "metadata.name");
	const char *metrics = host->json(view, OBJECTS_METRICS);
	struct pytorch_bounds bounds;
	char *json;
	int32_t r;

	if (host->size(view, OBJECTS_METRICS) < 0 || (host->state(view) & (RH_STATE_SUSPENDED | RH_STATE_FINISHED)))
		return RH_OK;
	pytorch_read_bounds(host, view, &bounds);
	if (!name || !metrics ||
	    asprintf(
			&json,
			"{\"apiVersion\":\"autoscaling/v2\",\"kind\":\"HorizontalPodAutoscaler\",\"metadata\":{\"name\":%s},"
			"\"spec\":{\"scaleTargetRef\":{\"kind\":\"PyTorchJob\",\"name\":%s,\"apiVersion\":\"kubeflow.org/v1\"},"
			"\"minReplicas\":%" PRId64 ",\"maxReplicas\":%" PRId64 ",\"metrics\":%s}}",
			name, name, bounds.min, bounds.max, metrics) < 0)
		return host->fail(reply, RH_ENOMEM, "out of memory");
	r = host->object(reply, json);
	free(json);
	return r;
}
