/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file local/keep/kept.h
 * @brief Reads the runs that are kept: those that go on, that have ended, and that were killed.
 */
#ifndef RH_LOCAL_KEEP_KEPT_H
#define RH_LOCAL_KEEP_KEPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"

/** Whether a run goes on. */
enum rh_kept_life {
	RH_KEPT_RUNNING, /**< its process lives */
	RH_KEPT_ENDED,   /**< it wrote its result */
	RH_KEPT_KILLED,  /**< its process is gone, and it wrote no result */
	RH_KEPT_UNREAD   /**< its state cannot be read, or a later version wrote it */
};

/** One run. Strings are owned. */
struct rh_kept {
	char *name;            /**< of its folder */
	char *path;            /**< of its folder, absolute */
	struct rh_json *state; /**< the newest that can be read (local/keep/place.h); owned; NULL: none */
	enum rh_kept_life life;
	int64_t started_at; /**< wall-clock microseconds; 0: unknown */
	int64_t ended_at;   /**< likewise; of a killed run that of its last event or sample; 0: unknown, or it goes on */
	int64_t pid;        /**< of its process while it runs; else 0 */
};

/** Runs, the newest first. All zero is none. */
struct rh_kept_list {
	struct rh_kept *items; /**< owned */
	size_t count;
};

/** Free what @p kept has. */
void rh_kept_deinit(struct rh_kept *kept);
/** Read the run in @p path. Blocks for the files. @return 0 or RH_ENOMEM */
int rh_kept_read(const char *path, struct rh_kept *ret_kept);
/** Read all runs of this user. Where none was ever kept there is none. @return 0, RH_ENOENT (as rh_keep_place()),
 * RH_EIO or RH_ENOMEM */
int rh_kept_list(struct rh_kept_list *ret_list, struct rh_error *err);
/** Free what @p list has. */
void rh_kept_list_deinit(struct rh_kept_list *list);
/**
 * Find the run that @p word means: the name of a run; or the name of a job, which means its newest run, and one that
 * goes on before all others.
 * @param running look only among runs that go on; several of one job are refused then, because the word does not say
 * which
 * @param[out] ret_kept owned by the caller
 * @return 0, RH_ENOENT (with what there is), RH_EINVAL (several), RH_EIO or RH_ENOMEM
 */
int rh_kept_find(const char *word, bool running, struct rh_kept *ret_kept, struct rh_error *err);
/** @return "Running", "Succeeded", "Failed", "TimedOut", "Interrupted", "Killed" or "Unreadable", borrowed from @p kept
 */
const char *rh_kept_state(const struct rh_kept *kept);
/** @return the folder of its logs, owned by the caller; NULL: out of memory */
char *rh_kept_logs(const struct rh_kept *kept) __attribute__((warn_unused_result));

/** A run that is freed when it goes out of scope. */
#define rh_auto_kept __attribute__((cleanup(rh_kept_deinit))) struct rh_kept
/** Runs that are freed when they go out of scope. */
#define rh_auto_kept_list __attribute__((cleanup(rh_kept_list_deinit))) struct rh_kept_list

#endif
