/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file local/run/parts.h
 * @brief State of a run, shared by its files. For core/local/run alone.
 */
#ifndef RH_LOCAL_RUN_PARTS_H
#define RH_LOCAL_RUN_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "engine/engine.h"
#include "local/addresses.h"
#include "local/keep/keep.h"
#include "local/progress/endpoint.h"
#include "local/run.h"
#include "local/run/control.h"
#include "local/run/folders/dir.h"
#include "local/run/jobs.h"
#include "local/run/load.h"
#include "local/run/pods.h"
#include "local/run/terminal.h"
#include "local/run/verdict/faults.h"
#include "local/runner.h"
#include "store/memory.h"

/** Progress of a run. */
enum rh_run_state {
	RH_RUN_GOING,
	RH_RUN_JUDGING,  /**< interrupted or timed out: nothing new starts, and ends that are known are still reported */
	RH_RUN_STOPPING, /**< the first faults are known, and all pods are stopped */
	RH_RUN_KILLING   /**< likewise, without grace period */
};

/** One run. */
struct rh_run {
	const struct rh_run_options *options;
	struct rh_keep *keep; /**< NULL: the run is not kept */
	struct rh_loop *loop;
	struct rh_locks *locks;
	struct rh_address_pool *pool;
	struct rh_memory_store *store;
	struct rh_engine *engine;
	struct rh_runner *runner;
	struct rh_run_dir *dir;
	struct rh_map *pods; /**< struct rh_run_pod by UID; owned */
	struct rh_run_sample sample;
	int64_t stalls_due; /**< monotonic time of the next check of the ranks for a stall; 0: there was none */
	struct rh_run_control control;
	struct rh_run_tty tty;
	struct rh_endpoint *endpoint; /**< for reports of progress; NULL: none */
	char *pods_dir;               /**< folder with the pods' folders */
	char *log_dir;                /**< absolute */
	char *claims_dir;             /**< absolute; folder of the claims of the files; made when one is mounted */
	struct rh_run_job *jobs;
	size_t job_count;
	enum rh_run_state state;
	int result;          /**< enum rh_run_result of an interrupted or timed out run */
	bool qualify;        /**< jobs of one name are in several namespaces */
	bool faulty;         /**< a fault of this machine: the run cannot succeed */
	bool lost;           /**< memory was short: an event or a request was lost */
	bool replica_failed; /**< a replica failed though its job Succeeded */
	bool done;
	int64_t
		clock_start; /**< monotonic time of the start; wall time is computed from it, so clock changes do not count */
	int64_t wall_start;  /**< wall-clock time of the start */
	int64_t clock;       /**< monotonic time of the present turn */
	int64_t stop_by;     /**< monotonic time at which stopping pods are killed; RH_NEVER: none are stopping */
	int64_t quiet_since; /**< monotonic time since which only the engine is active; 0: the run is not quiet */
};

/** Report a sentence to the user. */
void rh_run_note(const struct rh_run *run, const char *text);

#endif
