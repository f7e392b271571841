/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file cli/objects.h
 * @brief Objects that plugins install for jobs to name, as the runtimes of a TrainJob: files in share/roundhouse.
 */
#ifndef RH_CLI_OBJECTS_H
#define RH_CLI_OBJECTS_H

#include "cli/session.h"
#include "job/lookups/lookups.h"
#include "job/manifest.h"
#include "job/rules/findings.h"

/**
 * Append the objects of the plugins whose kinds look up others (rh_kind.lookups) and have a job in @p manifest; an
 * object that is there already stays. Blocks for the files.
 * @return 0, RH_ENOMEM, or what rh_manifest_read() returns
 */
int rh_objects_add_installed(const struct rh_session *session, struct rh_manifest *manifest, struct rh_error *err);
/**
 * Look up the objects that a job names, and add an error for one that is missing.
 * @param[out] ret_lookups owned by the caller; NULL: its kind declares none. @return 0 or RH_ENOMEM
 */
int rh_objects_look_up(const struct rh_session *session, const struct rh_job *job, const struct rh_manifest *manifest,
                       struct rh_lookups **ret_lookups, struct rh_findings *findings);

#endif
