/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file kueue/pods/reclaim.h
 * @brief Quota of replicas that have succeeded: the others keep theirs, and it goes back before the job has ended.
 */
#ifndef RH_KUEUE_PODS_RECLAIM_H
#define RH_KUEUE_PODS_RECLAIM_H

#include <stdbool.h>

#include "base/json.h"
#include "job/job.h"

/**
 * The replicas of @p job that have succeeded and do not run again. Of a job that is suspended there are none, as all
 * run again; of one that restarts as a whole neither.
 * @param[out] ret_list as a Workload has it, status.reclaimablePods; owned by the caller
 * @return 0 or RH_ENOMEM
 */
int rh_kueue_reclaim_read(const struct rh_job *job, struct rh_json **ret_list);
/** @return whether some pod set of @p list has more such replicas than in @p other; both may be NULL */
bool rh_kueue_reclaim_exceeds(const struct rh_json *list, const struct rh_json *other);

#endif
