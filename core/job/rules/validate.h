/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file job/rules/validate.h
 * @brief The rules that all kinds share: V1's webhook rules in V1's words (v1-behaviour A.5), and what V1 let in.
 */
#ifndef RH_JOB_RULES_VALIDATE_H
#define RH_JOB_RULES_VALIDATE_H

#include "job/job.h"
#include "job/rules/findings.h"

/**
 * Add a finding for each broken rule. Errors: V1's rules, child names over 63 characters, negative counts and times,
 * unknown restart and clean-pod policies, no replica type at all, quantities that do not parse. Warnings: a template's
 * restartPolicy that is overwritten, other fields that have no effect.
 * @return 0 or RH_ENOMEM
 */
int rh_job_validate(const struct rh_job *job, struct rh_findings *findings);
/**
 * Rules for a change from @p old to @p job: managedBy and schedulingPolicy.queue are immutable. @return 0 or RH_ENOMEM
 */
int rh_job_validate_update(const struct rh_job *old, const struct rh_job *job, struct rh_findings *findings);

#endif
