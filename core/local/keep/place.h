/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file local/keep/place.h
 * @brief Where runs are kept: one folder for each, and what lies in it.
 *
 * The folder of all runs is $XDG_STATE_HOME/roundhouse/runs. A run's folder is called JOB-TIME and appears there when
 * all of the following but the state and the page is in it. Names that start with a dot are folders that are being made
 * or removed.
 */
#ifndef RH_LOCAL_KEEP_PLACE_H
#define RH_LOCAL_KEEP_PLACE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/** @name Files of a run's folder @{ */
#define RH_KEEP_LOCK "lock"           /**< held by flock() while the run goes on; then has a struct rh_keep_end */
#define RH_KEEP_START "run.json"      /**< the state at the start; never changed */
#define RH_KEEP_STATE "state.json"    /**< the newest state, replaced as a whole; has all members of the first one */
#define RH_KEEP_EVENTS "events.jsonl" /**< a JSON object a line, appended */
#define RH_KEEP_JOBS "jobs.yaml"      /**< the objects of the run's files */
#define RH_KEEP_LOGS "logs"           /**< JOB/REPLICA/CONTAINER.log, unless the user chose another folder */
#define RH_KEEP_CLAIMS "claims"       /**< NAMESPACE.CLAIM: folders of the claims of the files; there once mounted */
#define RH_KEEP_COMM "comm"           /**< JOB/rank-N.rhtrace: what each rank did last, of jobs that use rh_comm */
#define RH_KEEP_TIMES "times"         /**< JOB/REPLICA/CONTAINER: when which part of a log was written */
#define RH_KEEP_SAMPLES \
	"samples.jsonl"              /**< what the replicas used (local/samples/samples.h); of a run of some seconds */
#define RH_KEEP_PAGE "view.html" /**< the run for a browser; there once `view` has written it */
/** @} */

/** Value of the member `version` of a state. A reader takes the members that it knows and leaves out the others; the
 * number grows when a member changes its meaning. */
#define RH_KEEP_VERSION 1

/** First byte of folders that are no runs. */
#define RH_KEEP_HIDDEN '.'
/** How the name of a folder begins that is being made. */
#define RH_KEEP_NEW ".new-"

/**
 * Find the folder of all runs, without making it.
 * @param[out] ret_path owned by the caller
 * @return 0, RH_ENOENT (neither $XDG_STATE_HOME nor $HOME is an absolute path) or RH_ENOMEM
 */
int rh_keep_place(char **ret_path, struct rh_error *err);
/**
 * Make the folder of all runs, mode 0700, and check that it is this user's and has room.
 * @return 0, RH_EINVAL (another owner, or others may write), RH_EIO or RH_ENOMEM
 */
int rh_keep_place_make(const char *path, struct rh_error *err);
/** What the removal of old runs needs to know of one, in its lock file: the states of many runs take long to parse. */
struct rh_keep_end {
	int64_t started_at; /**< wall-clock microseconds; 0: unknown */
	int64_t ended_at;   /**< likewise */
	int64_t bytes;      /**< on the disk, of the whole folder but for its page */
};

/** Write the record of the run in @p path, which has ended and whose lock the caller holds. It is not made durable, and
 * a failure is no matter: where it is missing, the state is read. */
void rh_keep_end_write(const char *path, const struct rh_keep_end *end);
/** @return whether the run in @p path has ended and has a record. One that was killed, or that an earlier version kept,
 * may have none */
bool rh_keep_end_read(const char *path, struct rh_keep_end *ret_end);

/** Called for each entry of the folder of all runs. @return 0, or a negative status, which ends the walk */
typedef int rh_keep_entry_fn(void *arg, const char *name);
/** Call @p fn for each folder in @p runs, also hidden ones; a folder @p runs that does not exist has none.
 * @return 0, RH_EIO, or what @p fn returned */
int rh_keep_place_each(const char *runs, rh_keep_entry_fn *fn, void *arg, struct rh_error *err);
/** Remove the folder of a run, whose lock the caller holds; others see all of it or nothing. @return 0, RH_EIO or
 * RH_ENOMEM */
int rh_keep_place_remove(const char *runs, const char *name, struct rh_error *err);
/** @return bytes on the disk of a run's folder and all below it, but for the page, which `view` writes later */
int64_t rh_keep_place_bytes(const char *path);
/** @return bytes on the disk of the page in a run's folder; 0: it has none */
int64_t rh_keep_place_page_bytes(const char *path);
/** @return a descriptor with the lock of the run in @p path, close-on-exec, owned by the caller; -1: another process
 * holds it, or it cannot be opened */
int rh_keep_place_lock(const char *path);
/** @return whether a process has @p pid that was started at @p start, in clock ticks after the boot */
bool rh_keep_is_process(int64_t pid, int64_t start);
/** @return when @p pid was started, in clock ticks after the boot; -1: there is no such process */
int64_t rh_keep_process_start(int64_t pid);

#endif
