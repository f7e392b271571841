/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file job/lookups/lookup_files.h
 * @brief The objects that a job names (job/lookups/lookups.h), taken from files.
 */
#ifndef RH_JOB_LOOKUPS_LOOKUP_FILES_H
#define RH_JOB_LOOKUPS_LOOKUP_FILES_H

#include "job/lookups/lookups.h"
#include "job/manifest.h"
#include "job/rules/findings.h"

/**
 * Look up the objects of a job in @p manifest (NULL: nothing is in it). Those that a job makes itself are absent.
 * @param[out] ret_lookups owned by the caller, and complete but for what is absent; NULL: the kind declares none
 * @return 0 or RH_ENOMEM
 */
int rh_lookups_of_files(const struct rh_job *job, const struct rh_manifest *manifest, struct rh_lookups **ret_lookups);
/**
 * Add an error for an object without which the job would wait. @param manifest where it was looked for; NULL: nothing
 * is in it @param place where else: a folder. @return 0 or RH_ENOMEM
 */
int rh_lookups_report(const struct rh_lookups *lookups, const struct rh_manifest *manifest, const char *place,
                      struct rh_findings *findings);
/**
 * @param declared rh_kind.lookups, parsed
 * @return the member of "kinds" that names the kind of @p object, borrowed; NULL: no entry may be such an object
 */
const struct rh_json *rh_lookups_declare(const struct rh_json *declared, const struct rh_json *object);

#endif
