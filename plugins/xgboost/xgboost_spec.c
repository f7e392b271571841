/* SPDX-License-Identifier: Apache-2.0 */
/* What an XGBoostJob may say beyond the rules of its kind: WORKER_ADDRS must fit into a variable. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "xgboost.h"

/** Longest WORKER_ADDRS: Linux takes a variable of 128 KiB, its name, the equals sign and the final zero included. */
#define SPEC_ADDRESSES_MAX (INT64_C(128) * 1024 - (int64_t)sizeof("WORKER_ADDRS="))
/** Room for the detail of a finding. */
#define SPEC_TEXT_SIZE 512

/**
 * @param prefix bytes of a Worker's address without its index
 * @return the bytes of WORKER_ADDRS with so many Workers, commas included
 */
static int64_t spec_bytes(int64_t prefix, int64_t workers)
{
	int64_t bytes = workers * (prefix + 2) - 1;

	for (int64_t power = 10; power < workers; power *= 10)
		bytes += workers - power;
	return bytes;
}

/** V1 makes pods that cannot start: the kernel refuses a variable that is too long. */
int32_t xgboost_validate(void *self, const struct rh_view *view, struct rh_reply *reply)
{
	const struct rh_services *host = self;
	int32_t workers = host->replicas(view, "Worker");
	const char *first = workers > 0 ? host->host(view, "Worker", 0) : NULL;
	int64_t prefix = first ? (int64_t)strlen(first) - 1 : 0;
	int64_t fits;
	char detail[SPEC_TEXT_SIZE];

	if (!first || (host->state(view) & RH_STATE_LOCAL) || spec_bytes(prefix, workers) <= SPEC_ADDRESSES_MAX)
		return RH_OK;
	fits = SPEC_ADDRESSES_MAX / (prefix + 2) + 1;
	while (spec_bytes(prefix, fits) > SPEC_ADDRESSES_MAX)
		fits--;
	snprintf(detail, sizeof(detail),
	         "Invalid value: %" PRId32 ": WORKER_ADDRS would have %" PRId64 " bytes, and a variable can have %" PRId64
	         ": at most %" PRId64 " replicas of this type fit",
	         workers, spec_bytes(prefix, workers), SPEC_ADDRESSES_MAX, fits);
	return host->refuse(reply, "spec.xgbReplicaSpecs[Worker].replicas", detail);
}
