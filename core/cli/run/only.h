/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file cli/run/only.h
 * @brief Which replicas' output is shown: the option --only.
 */
#ifndef RH_CLI_RUN_ONLY_H
#define RH_CLI_RUN_ONLY_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/cli.h"
#include "cli/jobs.h"
#include "local/run.h"

/** What rh_output_is_replica() reads, each. Borrowed from the command line. */
struct rh_only {
	const char *words[RH_GIVEN_MAX];
	size_t count; /**< 0: all are shown */
};

/** Read --only. @return 0 or RH_EINVAL: no replica of @p jobs is meant by one of them; the message has those there are
 */
int rh_only_read(const struct rh_cli *cli, const struct rh_jobs *jobs, struct rh_only *ret_only, struct rh_error *err);
/** Read --attach: find its one replica. @param[out] ret_terminal job, type and index are set, borrowed from @p jobs.
 * @return 0 or RH_EINVAL */
int rh_only_find(const struct rh_jobs *jobs, const char *word, struct rh_run_terminal *ret_terminal,
                 struct rh_error *err);
/** @return whether the output of a replica is shown */
bool rh_only_shows(const struct rh_only *only, const char *job, const char *replica);

#endif
