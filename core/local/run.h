/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file local/run.h
 * @brief One `roundhouse run`: the jobs of a manifest run as processes of this machine until they end.
 *
 * Connects memory store, engine and runner on one libuv loop, and reports events through callbacks; the command decides
 * what to show.
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

/** How a run ended. Values are exit statuses of the command. */
enum rh_run_result {
	RH_RUN_SUCCEEDED = 0,    /**< every job Succeeded */
	RH_RUN_FAILED = 1,       /**< a job Failed, or a fault of this machine ended the run */
	RH_RUN_TIMED_OUT = 3,    /**< the time limit was reached */
	RH_RUN_INTERRUPTED = 130 /**< SIGINT or SIGTERM */
};

/** Result of one replica, for the closing table. Strings are borrowed from the run. */
struct rh_run_replica {
	const char *job;  /**< job's name */
	const char *type; /**< canonical type */
	int32_t index;
	/** "Succeeded", "Failed", "Stopped" (stopped while it ran, because its job had finished or the run ended) or "Never
	 * started". In a failed job a replica that had failed by itself is Failed, even if it was running again. */
	const char *outcome;
	const char *container; /**< the failed container if it is not the main one; NULL */
	int32_t exit_code;     /**< of that failure, or of the main container; -1 when it never ran */
	int32_t restarts;      /**< in place and by re-creation */
	int64_t duration;      /**< microseconds from the first start of the replica to its last end; 0 when it never ran */
	const char *log;       /**< path of its last main container's log */
};

/** First fault of a job that failed or was given up. Strings are borrowed from the run. */
struct rh_run_fault {
	const char *job;       /**< job's name */
	const char *replica;   /**< "Worker-1"; NULL: no single replica caused it */
	const char *container; /**< the failed container; "": none */
	int32_t rank;          /**< of the process in it that failed; -1: unknown */
	int32_t exit_code;     /**< -1: unknown, or it has not ended */
	int32_t signal;        /**< 0: none */
	const char *reason;    /**< as in Kubernetes: "Error", "OOMKilled"; "" for none */
	const char *blame;     /**< rh_blame_name() */
	int64_t at;            /**< wall-clock microseconds; 0: it has not ended */
	const char *text;      /**< description in one sentence */
	const char *lines;     /**< its traceback or its last lines, unchanged; "" for none */
};

/** What the processes of one replica use. Strings are borrowed for the call. */
struct rh_run_use {
	const char *job;     /**< name of its folder of logs */
	const char *replica; /**< "worker-1" */
	size_t processes;
	double cpu;     /**< processors, since the last look */
	double read;    /**< from disks, bytes a second since then; 0 where the kernel does not show it */
	double written; /**< to disks, likewise */
	int64_t memory; /**< resident, bytes */
};

/** What the processes of all replicas use together, and each. */
struct rh_run_load {
	size_t processes;
	double cpu;                    /**< processors, since the last look */
	int64_t memory;                /**< resident, bytes */
	int64_t time;                  /**< since the last look, microseconds */
	const struct rh_run_use *uses; /**< of the replicas that have a process; borrowed for the call */
	size_t use_count;
};

/** How long the start of a line waits for its end before it is passed on, microseconds. */
#define RH_RUN_PARTIAL (INT64_C(200) * 1000)

/** Callbacks of a run, called on the loop's thread. Each may be NULL; strings are borrowed during the call. */
struct rh_run_hooks {
	/** One line of output of a container, without its newline; @p replica is "worker-1". Lines over 64 KiB are split
	 * into pieces, each but the last ending with RH_LOG_SPLIT. */
	void (*line)(void *arg, const char *job, const char *replica, const char *container, const char *text,
	             size_t length);
	/** The start of a line that has had no end for RH_RUN_PARTIAL, as a prompt or a progress bar; again when there is
	 * more of it. The whole line is passed to line() when it ends. */
	void (*partial)(void *arg, const char *job, const char *replica, const char *container, const char *text,
	                size_t length);
	/** The log of a container has more bytes, from byte @p from on; lines of them were passed before. */
	void (*grown)(void *arg, const char *job, const char *replica, const char *container, int64_t from);
	/** While replicas run, once a second at most, and so seldom that the look costs less than a hundredth of a
	 * processor. Without it nobody looks. @return time until the next look is wanted, microseconds; RH_NEVER: none is
	 */
	int64_t (*load)(void *arg, const struct rh_run_load *load);
	/** Once, before anything starts: the run is kept in the folder @p path (local/keep/place.h). */
	void (*kept)(void *arg, const char *path);
	/** An Event object was written or its count raised. */
	void (*event)(void *arg, const struct rh_json *event);
	/**
	 * The job changed: the object as kubectl get -o json would show it. @p fault is as first_fault() gives it at the
	 * end; NULL: the job has not failed
	 */
	void (*job)(void *arg, const struct rh_json *job, const struct rh_run_fault *fault);
	/** A pod changed: the whole object. */
	void (*pod)(void *arg, const struct rh_json *pod);
	/** A replica of the job reported its progress: what `trainerStatus` of its report has (local/progress/report.h). */
	void (*progress)(void *arg, const char *namespace_, const char *job, const struct rh_json *status);
	/** At the end, once for each job that failed or was given up. */
	void (*first_fault)(void *arg, const struct rh_run_fault *fault);
	/** At the end, once for each replica, job by job. */
	void (*replica)(void *arg, const struct rh_run_replica *replica);
	/** After the replicas, for a job that Succeeded by the rules of its kind although replicas failed. */
	void (*warning)(void *arg, const char *text);
	/** A note to the user about this machine: "cpu limits are not enforced: …". */
	void (*note)(void *arg, const char *text);
	void *arg;
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
	bool keep;            /**< keep the run in a folder below $XDG_STATE_HOME; where that fails, a note says why */
	bool strict;          /**< a failed replica makes the result RH_RUN_FAILED though its job Succeeded */
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
