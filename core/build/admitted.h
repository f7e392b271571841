/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file build/admitted.h
 * @brief What the pods of a job get from its admission by Kueue: where they may run, and what marks them.
 *
 * The job has it in the annotation RH_ANNOTATION_ADMITTED, which core/kueue writes: {"workload": UID, "admission":
 * HASH, "podSets": [{"name", "nodeSelector", "tolerations", "labels", "annotations",
 * "schedulingGates"}]}. The name of a pod set is that
 * of a replica type in small letters.
 */
#ifndef RH_BUILD_ADMITTED_H
#define RH_BUILD_ADMITTED_H

#include "base/json.h"
#include "job/job.h"

/**
 * Add to @p pod, the body of any pod of @p spec, what the admission gives it. Of a job without one, or whose annotation
 * is no such text, nothing is added.
 * @return 0 or RH_ENOMEM
 */
int rh_admitted_decorate(const struct rh_job *job, const struct rh_replica_spec *spec, struct rh_json *pod);
/** Set the members of @p from in the object @p key of @p object. @return 0 or RH_ENOMEM */
int rh_admitted_add_map(const struct rh_json *from, struct rh_json *object, const char *key);
/** Append those of @p from that "tolerations" of @p object lacks. @return 0 or RH_ENOMEM */
int rh_admitted_add_tolerations(const struct rh_json *from, struct rh_json *object);

#endif
