/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file local/run/dir.h
 * @brief The private folder of one run: what its pods write where nobody named a place, gone at the end.
 *
 * It lies below $TMPDIR or /tmp, since volumes and logs can be larger than a runtime folder in memory. A run that was
 * killed leaves it; the next one sees by a lock that nobody uses it any more, and removes it.
 */
#ifndef RH_LOCAL_RUN_DIR_H
#define RH_LOCAL_RUN_DIR_H

#include "base/error.h"
#include "base/mem.h"

/** Opaque folder. */
struct rh_run_dir;

/** Remove what killed runs left, then make a folder with mode 0700. @return 0, RH_EINVAL (the place belongs to somebody
 * else), RH_EIO or RH_ENOMEM */
int rh_run_dir_new(struct rh_run_dir **ret_dir, struct rh_error *err);
/** Remove the folder with all that is in it. NULL is nothing. */
void rh_run_dir_free(struct rh_run_dir *dir);
RH_DEFINE_CLEANUP(run_dir);
/** @return its path, absolute, borrowed */
const char *rh_run_dir_path(const struct rh_run_dir *dir);
/** Told of the folder of one run, an absolute path, borrowed. */
typedef void rh_run_dir_fn(void *arg, const char *path);
/** Tell the folders of all runs of this user, also of those that were killed and left them. @return 0 or RH_ENOMEM */
int rh_run_dir_each(rh_run_dir_fn *fn, void *arg);

#endif
