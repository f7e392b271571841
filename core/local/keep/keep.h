/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file local/keep/keep.h
 * @brief Keeps a run: writes its folder (local/keep/place.h) while it goes on, so that nothing of it is lost.
 *
 * It stands between a run and who shows it: its hooks record what they are called with and pass it on. A write that
 * fails is reported once as a note and ends the recording; the run goes on.
 */
#ifndef RH_LOCAL_KEEP_KEEP_H
#define RH_LOCAL_KEEP_KEEP_H

#include <stddef.h>

#include "base/error.h"
#include "base/mem.h"
#include "job/job.h"
#include "job/manifest.h"
#include "local/run.h"

/** Opaque recording. */
struct rh_keep;

/** One job of the run. Strings are borrowed for the call. */
struct rh_keep_job {
	const struct rh_job *job;
	const char *log_name; /**< name of its folder of logs */
};

/** What is known of a run before it starts. Borrowed for the call. */
struct rh_keep_start {
	const struct rh_keep_job *jobs;
	size_t count;
	const struct rh_manifest *manifest;
	const char *run_dir; /**< private folder of the run, which has the pods' folders */
	const char *log_dir; /**< folder of logs that the user chose; NULL: that of the run's folder */
};

/** @param next hooks that get all calls, too; copied. @return a recording without a folder, owned by the caller; NULL:
 * out of memory */
struct rh_keep *rh_keep_new(const struct rh_run_hooks *next) __attribute__((warn_unused_result));
/** Unlock the folder, which stays, and free @p keep. NULL is ignored. */
void rh_keep_free(struct rh_keep *keep);
RH_DEFINE_CLEANUP(keep);
/** @return hooks for the run; their arg is @p keep */
struct rh_run_hooks rh_keep_hooks(struct rh_keep *keep);
/**
 * Make the run's folder, write the state and the jobs, and call the hook `kept`. Blocks until the disk has the state.
 * @return 0; RH_ENOENT, RH_EINVAL, RH_EIO or RH_ENOMEM: nothing is kept, and the hooks pass on only
 */
int rh_keep_open(struct rh_keep *keep, const struct rh_keep_start *start, struct rh_error *err);
/** @return the folder of logs in the run's folder, absolute, borrowed; NULL: nothing is kept */
const char *rh_keep_logs(const struct rh_keep *keep);
/** @return the run's folder, absolute, borrowed; NULL: nothing is kept */
const char *rh_keep_folder(const struct rh_keep *keep);
/** Write how the run ended. Blocks until the disk has it. @param result an enum rh_run_result */
void rh_keep_finish(struct rh_keep *keep, int result);

#endif
