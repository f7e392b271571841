/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file cli/run/screen/status.h
 * @brief The status line of `roundhouse run`: what it has room for, the most important last to go.
 */
#ifndef RH_CLI_RUN_SCREEN_STATUS_H
#define RH_CLI_RUN_SCREEN_STATUS_H

#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "cli/run/progress.h"
#include "local/devices/gpus.h"
#include "local/run.h"

/** How far each replica is. All zero is empty. */
struct rh_status_replicas {
	struct rh_status_replica *items; /**< owned */
	size_t count;
};

/** What a status line can show. Strings are owned. */
struct rh_status_line {
	char *job;               /**< name of the job that changed last; NULL: nothing is shown */
	struct rh_str state;     /**< "Running" */
	struct rh_str replicas;  /**< "Master 1/1 running  Worker 2/2 running" */
	struct rh_str running;   /**< the same in short: "3/3" */
	struct rh_run_load load; /**< processes 0: unknown */
	struct rh_gpu_total gpu; /**< of all replicas; count 0: they use none, or it is unknown */
	struct rh_status_replicas progress;
	struct rh_str reported; /**< what a replica reported last: it counts before what is read from output; "": nothing */
};

/** Free what @p status has. */
void rh_status_deinit(struct rh_status_line *status);
/**
 * Read a line of a replica for its progress. Does nothing when memory is out. @param name "job/worker-1"
 * @param now monotonic microseconds. @return whether it has any
 */
bool rh_status_read_line(struct rh_status_line *status, const char *name, const char *text, size_t length, int64_t now);
/**
 * Find the progress that stands for all: of the replica that is behind all others. One that has written nothing of it
 * for a minute counts only if all have. @return borrowed; NULL: none
 */
const struct rh_progress *rh_status_progress(const struct rh_status_line *status, int64_t now);
/**
 * Append the line, at most @p width columns: in the order in which they go where it has no room, the replicas by type,
 * processors and memory, GPUs, the state, the number of replicas, the name of the job.
 */
void rh_status_append(const struct rh_status_line *status, size_t width, int64_t now, struct rh_str *out);

#endif
