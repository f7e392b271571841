/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file job/rules/duplicates.h
 * @brief Lists of a pod template whose items must differ in what keys them, as an API server demands (list-map keys).
 */
#ifndef RH_JOB_RULES_DUPLICATES_H
#define RH_JOB_RULES_DUPLICATES_H

#include "base/json.h"
#include "job/fields.h"
#include "job/rules/findings.h"

/**
 * Add an error for each item of a list of @p spec, or of one of its containers, that has the keys of an earlier one.
 * The lists and keys are those of Kubernetes 1.31 to 1.34 (x-kubernetes-list-map-keys), but for the names of
 * containers and volumes, which template.c checks. Never blocks; running out of memory is kept in the findings.
 * @param spec of the pods; NULL or of a wrong type: nothing is found
 * @param place of @p spec
 */
void rh_duplicates_check(const struct rh_json *spec, const struct rh_place *place, struct rh_findings *findings);

#endif
