/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file cli/sweep/state.h
 * @brief What a sweep has done so far: a file beside the runs, from which it goes on after any end.
 *
 * A line is a JSON object. The first one is the plan: {"version", "job", "params", "combinations"}. Then come, as they
 * happen, {"trial": N, "run": PATH} before anything of trial N starts, and {"trial": N, "state", "metric", "seconds"}
 * when it has ended. Each is one write, and what has no newline does not count.
 */
#ifndef RH_CLI_SWEEP_STATE_H
#define RH_CLI_SWEEP_STATE_H

#include <stddef.h>

#include "base/error.h"
#include "base/json.h"

/** The state of a sweep. All zero is none. */
struct rh_sweep_state {
	char *path;             /**< of the file, absolute; owned */
	int fd;                 /**< for appends, with a lock while the sweep or a run of it goes on; < 1: closed */
	struct rh_json *plan;   /**< the first line; owned */
	struct rh_json *trials; /**< array, trial N at N - 1: all members of its lines; owned */
};

/** Close and free what @p state has. */
void rh_sweep_state_close(struct rh_sweep_state *state);
/**
 * Begin a file JOB-TIME.jsonl. @param plan has "job" and "combinations"; taken, also on error
 * @return 0, RH_EINVAL, RH_ENOENT, RH_EIO or RH_ENOMEM
 */
int rh_sweep_state_new(struct rh_json *plan, struct rh_sweep_state *ret_state, struct rh_error *err);
/**
 * Open the newest file of a job, and wait up to a minute for runs that still end after their sweep was killed.
 * @return 0; RH_ENOENT: there is none; RH_EINVAL: it goes on, or cannot be read; RH_EIO or RH_ENOMEM
 */
int rh_sweep_state_resume(const char *job, struct rh_sweep_state *ret_state, struct rh_error *err);
/** Append @p row (taken): one write. @return 0, RH_EIO or RH_ENOMEM */
int rh_sweep_state_add(const struct rh_sweep_state *state, struct rh_json *row, struct rh_error *err);
/** Read all trials again. @return 0, RH_EINVAL, RH_EIO or RH_ENOMEM */
int rh_sweep_state_read(struct rh_sweep_state *state, struct rh_error *err);
/** @return the text of a member of trial @p number, borrowed, or NULL */
const char *rh_sweep_state_text(const struct rh_sweep_state *state, size_t number, const char *member);

/** A state that is closed when it goes out of scope. */
#define rh_auto_sweep_state __attribute__((cleanup(rh_sweep_state_close))) struct rh_sweep_state

#endif
