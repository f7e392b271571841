/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file local/run.h
 * @brief One `roundhouse run`: the jobs of a manifest run as processes of this machine until they end.
 *
 * Connects memory store, engine and runner on one libuv loop, and reports events through callbacks (local/run_hooks.h);
 * the command decides what to show.
 */
#ifndef RH_LOCAL_RUN_H
#define RH_LOCAL_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "config/config.h"
#include "host/host.h"
#include "job/manifest.h"
#include "local/progress/server.h"
#include "local/run_hooks.h"

/** How a run ended. Values are exit statuses of the command. */
enum rh_run_result {
	RH_RUN_SUCCEEDED = 0,    /**< every job Succeeded */
	RH_RUN_FAILED = 1,       /**< a job Failed, or a fault of this machine ended the run */
	RH_RUN_TIMED_OUT = 3,    /**< the time limit was reached */
	RH_RUN_INTERRUPTED = 130 /**< SIGINT or SIGTERM */
};

/** A replica that gets the terminal of the user. Borrowed for the run. */
struct rh_run_terminal {
	const struct rh_job *job;
	const char *type; /**< canonical */
	int32_t index;
	int in; /**< the terminal: what is typed, and its size; its settings are changed while the replica runs */
	int out;
};

/** Options of a run. Borrowed for the run. */
struct rh_run_options {
	const struct rh_host *host;
	const struct rh_config *config;
	const struct rh_manifest *manifest; /**< validated by the caller; other objects than jobs, ConfigMaps, Secrets and
	                                       PersistentVolumeClaims are ignored with a note */
	const char *log_dir;  /**< keep logs below it, one file a container: JOB/REPLICA/CONTAINER.log; what an earlier run
	                         left in JOB is moved to JOB.1, JOB.2, ...; NULL: in the folder of a run that is kept, else
	                         in a private folder that is removed at the end */
	int64_t timeout;      /**< microseconds until the run is given up; RH_NEVER: no limit */
	int64_t linger;       /**< microseconds that replicas may continue after their job Succeeded; < 0:
	                         the configuration's grace period */
	int64_t max_restarts; /**< most restarts in a row after the same quick failure; 0: no limit;
	                         < 0: the configuration's */
	/** what is done when ranks wait for one that does not come: RH_ANNOTATION_STALLS of every job; NULL: what the jobs
	 * say */
	const char *stalls;
	bool keep;   /**< keep the run in a folder below $XDG_STATE_HOME; where that fails, a note says why */
	bool strict; /**< a failed replica makes the result RH_RUN_FAILED though its job Succeeded */
	/** replica whose main container gets a terminal; its output goes there as it is, beside the hooks; NULL: none */
	const struct rh_run_terminal *terminal;
	/** server for the endpoint to which replicas report their progress; NULL: there is no endpoint */
	const struct rh_progress_serving *serving;
	struct rh_run_hooks hooks;
};

/**
 * Run all jobs to their end. Blocks; handles SIGINT, SIGTERM and SIGHUP (the first stops gracefully, the second at
 * once) and SIGCHLD while it runs, and waits for every child that the process has. Whatever the result, no process,
 * lock or folder of it remains. A job that cannot run here (missing ConfigMap, no free port), or whose replica keeps
 * failing at once, gets the condition Failed with the reason; a log that cannot be written makes the result
 * RH_RUN_FAILED.
 * @return an enum rh_run_result, or a negative status when nothing was started, with the cause in @p err: RH_EINVAL for
 * what the user can correct (a job that is suspended, managed by another controller, or needs more GPUs than there are;
 * an unusable folder of logs), RH_EIO or RH_ENOMEM
 */
int rh_run(const struct rh_run_options *options, struct rh_error *err);
/** @return "Succeeded", "Failed", "TimedOut" or "Interrupted"; static storage */
const char *rh_run_result_name(int result);

#endif
