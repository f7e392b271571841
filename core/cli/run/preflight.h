/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file cli/run/preflight.h
 * @brief What `run` does before it starts anything: the preflight, and the plan of --dry-run.
 */
#ifndef RH_CLI_RUN_PREFLIGHT_H
#define RH_CLI_RUN_PREFLIGHT_H

#include "cli/cli.h"
#include "cli/jobs.h"
#include "cli/session.h"

/**
 * Take the options --image and --volume, each "NAME=FOLDER" and as often as given, into the configuration of @p
 * session. @return 0, RH_EINVAL (no such form, or no such folder) or RH_ENOMEM
 */
int rh_run_mappings(const struct rh_cli *cli, struct rh_session *session, struct rh_error *err);
/**
 * Print on standard error all that would make the jobs fail on this machine (local/preflight/preflight.h).
 * @param log_dir folder that the user chose for logs; NULL: none
 * @return 0; RH_EINVAL: there were errors, @p err has their number; or RH_ENOMEM
 */
int rh_run_preflight(const struct rh_session *session, const struct rh_jobs *jobs, const char *log_dir,
                     struct rh_error *err);
/**
 * Print the jobs on standard output: replicas, commands, and what images are mapped to; @p json: one object a line for
 * each job. @return 0 or RH_ENOMEM
 */
int rh_run_print_plan(const struct rh_session *session, const struct rh_jobs *jobs, bool json, struct rh_error *err);

#endif
