/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file local/check.h
 * @brief Checks that a job can run on this machine, beyond the rules of its kind.
 */
#ifndef RH_LOCAL_CHECK_H
#define RH_LOCAL_CHECK_H

#include "job/job.h"
#include "job/rules/findings.h"
#include "local/runtime_spec.h"

/**
 * Warn if arguments or variables of a container name a Service of the job ("JOB-master-0") and @p machine cannot give
 * pods an /etc/hosts of their own: the name would not resolve. Values that plugins set are addresses and need no check.
 * @return 0 or RH_ENOMEM
 */
int rh_local_check(const struct rh_job *job, const struct rh_runtime_spec_machine *machine,
                   struct rh_findings *findings);

#endif
