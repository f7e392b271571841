/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file local/check.h
 * @brief What of a job cannot be had on this machine, beyond the rules of its kind.
 */
#ifndef RH_LOCAL_CHECK_H
#define RH_LOCAL_CHECK_H

#include "job/job.h"
#include "job/rules/findings.h"
#include "local/runtime_spec.h"

/**
 * Warn where the words or variables of a container name a Service of the job ("JOB-master-0"), if @p machine gives pods
 * no /etc/hosts of their own: nothing finds such a name there. What plugins set are addresses, so that is no matter.
 * @return 0 or RH_ENOMEM
 */
int rh_local_check(const struct rh_job *job, const struct rh_runtime_spec_machine *machine,
                   struct rh_findings *findings);

#endif
