/* SPDX-License-Identifier: Apache-2.0 */
/* What a PaddleJob may say beyond the rules of its kind. V1 takes an elastic policy and does nothing with it
 * (v1-behaviour A.2). */
#include <inttypes.h>
#include <stdio.h>

#include "paddle.h"

#define SPEC_ELASTIC "spec.elasticPolicy"
/** Room for the path or the detail of a finding. */
#define SPEC_TEXT_SIZE 512

static int32_t spec_check_number(const struct rh_services *host, const struct rh_view *view, struct rh_reply *reply,
                                 const char *path)
{
	const char *json = host->json(view, path);
	char detail[SPEC_TEXT_SIZE];
	int64_t value;

	if (!json || (host->integer(view, path, &value) && value >= 0 && value <= INT32_MAX))
		return 0;
	snprintf(detail, sizeof(detail), "Invalid value: %.200s: must be an integer from 0 to %" PRId32, json, INT32_MAX);
	return host->refuse(reply, path, detail);
}

int32_t paddle_validate(void *self, const struct rh_view *view, struct rh_reply *reply)
{
	static const char *const numbers[] = {SPEC_ELASTIC ".minReplicas", SPEC_ELASTIC ".maxReplicas",
	                                      SPEC_ELASTIC ".maxRestarts"};
	const struct rh_services *host = self;
	int32_t r;

	if (host->size(view, SPEC_ELASTIC) < 0)
		return RH_OK;
	r = host->note(reply, RH_NOTE_WARN, SPEC_ELASTIC " has no effect: the number of replicas of a PaddleJob is fixed");
	for (size_t i = 0; r == 0 && i < sizeof(numbers) / sizeof(numbers[0]); i++)
		r = spec_check_number(host, view, reply, numbers[i]);
	return r;
}
