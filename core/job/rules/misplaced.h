/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file job/rules/misplaced.h
 * @brief Where a field belongs that stands in the wrong place of a job.
 */
#ifndef RH_JOB_RULES_MISPLACED_H
#define RH_JOB_RULES_MISPLACED_H

#include <stdbool.h>

#include "base/json.h"
#include "base/str.h"

/**
 * Look for a field of this name in the parts of a job in which people look for fields: runPolicy, its schedulingPolicy,
 * the replicas of a type, spec, and their pods' metadata, containers and spec, in this order. Pure, never blocks.
 * @param document the schema of a kind, see rh_schema_of_kind(); one without replicas has no such places
 * @param path where the field stands: "spec.pytorchReplicaSpecs[Worker]"
 * @param[out] ret_home gets where it belongs, "spec.runPolicy.backoffLimit"; check its "failed"
 * @return whether there is such a place
 */
bool rh_misplaced_home(const struct rh_json *document, const char *path, const char *key, struct rh_str *ret_home);

#endif
