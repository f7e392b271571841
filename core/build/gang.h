/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file build/gang.h
 * @brief Gang scheduling: the PodGroup of a job, and what its pods have so that a scheduler starts them together
 * (v1-behaviour B.8).
 */
#ifndef RH_BUILD_GANG_H
#define RH_BUILD_GANG_H

#include <stdbool.h>

#include "base/error.h"
#include "base/json.h"
#include "config/gang.h"
#include "job/job.h"

/** @return the gang scheduler that the core serves for jobs of @p kind: none where its plugin does (RH_KIND_OWN_GANG)
 */
const struct rh_gang *rh_gang_of_kind(const struct rh_gang *gang, const struct rh_kind *kind);
/** @return whether the template names another scheduler than the gang's: it is kept, and an event reports it */
bool rh_gang_is_bypassed(const struct rh_gang *gang, const struct rh_replica_spec *spec);
/**
 * Add to @p pod, the body of any pod of @p spec, what ties it to the PodGroup. Without a gang scheduler nothing is
 * added.
 * @return 0 or RH_ENOMEM
 */
int rh_gang_decorate(const struct rh_gang *gang, const struct rh_job *job, const struct rh_replica_spec *spec,
                     struct rh_json *pod);
/**
 * Make the PodGroup, without namespace and owner. @param held for each of job->specs, replicas that get no pod yet;
 * NULL: none. @param[out] ret_group owned by the caller
 * @return 0, RH_EINVAL (an invalid quantity) or RH_ENOMEM
 */
int rh_gang_pod_group(const struct rh_gang *gang, const struct rh_job *job, const int32_t *held,
                      struct rh_json **ret_group, struct rh_error *err);

#endif
