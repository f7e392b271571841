/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file cli/commands/runs/summary.h
 * @brief What `ls` and `describe` say of a kept run and its jobs.
 */
#ifndef RH_CLI_COMMANDS_RUNS_SUMMARY_H
#define RH_CLI_COMMANDS_RUNS_SUMMARY_H

#include <stdint.h>

#include "base/json.h"
#include "base/str.h"
#include "local/keep/kept.h"

/** @return what became of a job of the run: its own state, or that of the run where it had not finished; borrowed */
const char *rh_summary_state(const struct rh_kept *kept, const struct rh_json *job);
/** Append the replicas of a job: "2/3 running", "3 succeeded", "1 failed, 2 stopped". */
void rh_summary_replicas(const struct rh_kept *kept, const struct rh_json *job, struct rh_str *out);
/** @return the sentence about the first fault of a job, borrowed; "" for none */
const char *rh_summary_fault(const struct rh_json *job);
/** @return time since the run was started, microseconds; 0: unknown */
int64_t rh_summary_age(const struct rh_kept *kept);
/** @return how long the run took, or takes so far, microseconds; 0: unknown */
int64_t rh_summary_duration(const struct rh_kept *kept);
/** @return the run for programs: its state with name, path, state and the jobs' states, owned by the caller; NULL: out
 * of memory */
struct rh_json *rh_summary_json(const struct rh_kept *kept) __attribute__((warn_unused_result));

#endif
