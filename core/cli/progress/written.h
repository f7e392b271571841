/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file cli/progress/written.h
 * @brief How far the replicas of a kept run are, for who has not read their output from the start: from the end of
 * their logs.
 */
#ifndef RH_CLI_PROGRESS_WRITTEN_H
#define RH_CLI_PROGRESS_WRITTEN_H

#include <stdbool.h>

#include "base/str.h"
#include "cli/run/progress.h"
#include "local/keep/kept.h"

/**
 * Read how far one replica is from the last 16 KiB of each of its logs. Blocks for the files.
 * @param job of the run's state. @param replica "worker-1"
 * @return whether it has written any progress there
 */
bool rh_written_replica(const struct rh_kept *kept, const struct rh_json *job, const char *replica,
                        struct rh_progress *ret_progress);
/**
 * Append how far a run is: what its first job reported last, else the progress of the replica that is behind all
 * others. Appends nothing where neither is known. Blocks for the files.
 */
void rh_written_append_run(const struct rh_kept *kept, struct rh_str *out);

#endif
