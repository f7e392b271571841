/* SPDX-License-Identifier: Apache-2.0 */
#include "job/kind.h"

const char *rh_kind_run_policy(const struct rh_kind *kind)
{
	return RH_HAS(kind, struct rh_kind, run_policy) ? kind->run_policy : NULL;
}

const char *rh_kind_restart_policy(const struct rh_kind *kind, const struct rh_replica_type *known)
{
	return known && RH_HAS(known, struct rh_replica_type, restart_policy) ? known->restart_policy
	                                                                      : kind->restart_policy;
}
