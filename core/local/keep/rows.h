/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file local/keep/rows.h
 * @brief JSON objects for what a run reports: in its state, in its events and in `run -o json`.
 */
#ifndef RH_LOCAL_KEEP_ROWS_H
#define RH_LOCAL_KEEP_ROWS_H

#include <stddef.h>

#include "base/json.h"
#include "base/map.h"
#include "base/str.h"
#include "job/job.h"
#include "local/run.h"

/** Append text of any bytes so that it is UTF-8 without U+0000: what is not becomes U+FFFD. */
void rh_rows_append_clean(struct rh_str *out, const char *text, size_t length);
/** @return {"type", "time"} of now, owned by the caller; NULL: out of memory */
struct rh_json *rh_rows_new(const char *type) __attribute__((warn_unused_result));
/**
 * @return the containers of each replica type of a job, {"Worker": ["pytorch", "tensorboard"]}, without init containers
 * that end; owned by the caller; NULL: out of memory
 */
struct rh_json *rh_rows_containers(const struct rh_job *job) __attribute__((warn_unused_result));
/** @return a first fault, every member there and null for what is unknown, owned by the caller; NULL: out of memory */
struct rh_json *rh_rows_fault(const struct rh_run_fault *fault) __attribute__((warn_unused_result));
/** Add the members of a replica's result. @return 0 or RH_ENOMEM */
int rh_rows_fill_replica(struct rh_json *row, const struct rh_run_replica *replica);
/**
 * Starts and ends of containers that a pod shows for the first time: {"type": "pod", "job", "replica", "container",
 * "state": "running", "startedAt"}, and with "state": "ended" also "finishedAt", "exitCode", "reason", "signal",
 * "stopped" (true: the pod was to end), "restarts" (so far).
 * @param seen what was returned before, by container; starts empty; its values are freed by rh_rows_forget()
 * @param replica "worker-1"
 * @return an array owned by the caller; NULL: there is nothing, or out of memory
 */
struct rh_json *rh_rows_pod(struct rh_map *seen, const char *replica, const struct rh_json *pod)
	__attribute__((warn_unused_result));
/** Free a map that rh_rows_pod() filled. NULL is ignored. */
void rh_rows_forget(struct rh_map *seen);

#endif
