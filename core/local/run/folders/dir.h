/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file local/run/folders/dir.h
 * @brief The private folder of one run, for files without a configured place; removed at the end.
 *
 * It is below $TMPDIR or /tmp, because volumes and logs may be too large for a runtime folder in memory. A killed run
 * leaves it; the next run removes it when its lock shows that no process uses it.
 */
#ifndef RH_LOCAL_RUN_FOLDERS_DIR_H
#define RH_LOCAL_RUN_FOLDERS_DIR_H

#include "base/error.h"
#include "base/mem.h"

/** Opaque folder. */
struct rh_run_dir;

/** Remove the folders of killed runs, then create a folder with mode 0700. @return 0, RH_EINVAL (another owner), RH_EIO
 * or RH_ENOMEM */
int rh_run_dir_new(struct rh_run_dir **ret_dir, struct rh_error *err);
/** Remove the folder with its content, and free @p dir. NULL is ignored. */
void rh_run_dir_free(struct rh_run_dir *dir);
RH_DEFINE_CLEANUP(run_dir);
/** @return its path, absolute, borrowed */
const char *rh_run_dir_path(const struct rh_run_dir *dir);
/** Receives the absolute path of the folder of one run, borrowed. */
typedef void rh_run_dir_fn(void *arg, const char *path);
/** Call @p fn for the folder of each run of this user, those of killed runs included. @return 0 or RH_ENOMEM */
int rh_run_dir_each(rh_run_dir_fn *fn, void *arg);

#endif
