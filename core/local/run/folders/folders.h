/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file local/run/folders/folders.h
 * @brief The folders of a run: for pods, for logs, and that in which it is kept. For core/local/run alone.
 */
#ifndef RH_LOCAL_RUN_FOLDERS_FOLDERS_H
#define RH_LOCAL_RUN_FOLDERS_FOLDERS_H

#include "base/error.h"
#include "config/config.h"

struct rh_run;

/**
 * Make the private folder, the folder in which the run is kept where it is to be kept, and the folder of logs that the
 * user chose, in which what an earlier run left of a job is moved aside; other runs are kept out of it until the jobs
 * are freed. Sets run->dir, run->pods_dir, run->log_dir and run->claims_dir.
 * @return 0; RH_EINVAL: the folder of logs cannot be made or written, or another run writes there; RH_EIO or RH_ENOMEM
 */
int rh_run_folders_open(struct rh_run *run, struct rh_error *err);
/** Remove the oldest runs that are kept, beyond the limits of @p config. */
void rh_run_folders_rotate(const struct rh_config *config);

#endif
