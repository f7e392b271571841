/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/first_fault.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/str.h"

void rh_first_fault_deinit(struct rh_first_fault *fault)
{
	rh_free(fault->type);
	rh_free(fault->pod);
	rh_free(fault->node);
	rh_free(fault->container);
	rh_free(fault->reason);
	rh_free(fault->last_lines);
	rh_free(fault->reported_by);
	*fault = (struct rh_first_fault){0};
}

int rh_first_fault_copy(struct rh_first_fault *to, const struct rh_first_fault *from)
{
	if (!from->type)
		return 0;
	*to = *from;
	to->type = rh_strdup(from->type);
	to->pod = rh_strdup(from->pod);
	to->node = rh_strdup(from->node);
	to->container = rh_strdup(from->container);
	to->reason = rh_strdup(from->reason);
	to->last_lines = rh_strdup(from->last_lines);
	to->reported_by = rh_strdup(from->reported_by ? from->reported_by : "");
	return to->type && to->pod && to->node && to->container && to->reason && to->last_lines && to->reported_by
	           ? 0
	           : RH_ENOMEM;
}
