/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file cli/page/jobs.h
 * @brief The jobs of a kept run as they ran, without what its Secrets hold.
 */
#ifndef RH_CLI_PAGE_JOBS_H
#define RH_CLI_PAGE_JOBS_H

#include "base/json.h"
#include "local/keep/kept.h"

/**
 * Read the objects of the run's files. Values of Secrets are replaced by words that say so.
 * @return an array owned by the caller; NULL: the file is missing, damaged or too large, or memory is out
 */
struct rh_json *rh_page_jobs(const struct rh_kept *kept) __attribute__((warn_unused_result));

#endif
