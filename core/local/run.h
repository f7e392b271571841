/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file local/run.h
 * @brief One `roundhouse run`: jobs of a manifest as processes of this machine, to their end.
 *
 * Puts together memory store, engine and runner on one libuv loop, and tells what happens through callbacks; what is
 * shown is the command's business.
 */
#ifndef RH_LOCAL_RUN_H
#define RH_LOCAL_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "config/config.h"
#include "host/host.h"
#include "job/manifest.h"

/** How a run ended. Values are exit statuses of the command. */
enum rh_run_result {
	RH_RUN_SUCCEEDED = 0,    /**< every job Succeeded */
	RH_RUN_FAILED = 1,       /**< a job Failed, or a fault of this machine ended the run */
	RH_RUN_TIMED_OUT = 3,    /**< the time limit came first */
	RH_RUN_INTERRUPTED = 130 /**< SIGINT or SIGTERM */
};

/** How one replica ended, for the closing table. Texts are borrowed from the run. */
struct rh_run_replica {
	const char *job;  /**< job's name */
	const char *type; /**< canonical type */
	int32_t index;
	/** "Succeeded", "Failed", "Stopped" (asked to end while it ran: its job had finished, or the run was ended), "Never
	 * started". A replica of a failed job that had failed by itself has Failed, also where it was running again. */
	const char *outcome;
	const char *container; /**< the container that failed, where it is not the main one; NULL */
	int32_t exit_code;     /**< of that failure, or of the end of the main container; -1 when it never ran */
	int32_t restarts;      /**< in place and by re-creation */
	int64_t duration;      /**< microseconds from the first start of the replica to its last end; 0 when it never ran */
	const char *log;       /**< path of its last main container's log */
};

/** Who is to blame that a job failed, or was given up. Texts are borrowed from the run. */
struct rh_run_fault {
	const char *job;       /**< job's name */
	const char *replica;   /**< "Worker-1"; NULL: nobody is to blame alone */
	const char *container; /**< that failed; "": none did */
	int32_t rank;          /**< of the process in it that failed; -1: unknown */
	int32_t exit_code;     /**< -1: unknown, or it has not ended */
	int32_t signal;        /**< 0: none */
	const char *reason;    /**< Kubernetes' word: "Error", "OOMKilled"; "" where there is none */
	const char *blame;     /**< rh_blame_name() */
	int64_t at;            /**< wall-clock microseconds; 0: it has not ended */
	const char *text;      /**< what is known, in one sentence */
	const char *lines;     /**< its traceback, or its last lines, as it wrote them; "" where there are none */
};

/** What a run tells. All called on the loop's thread; each may be NULL; texts are borrowed during the call. */
struct rh_run_hooks {
	/** One line of output of a container, without its newline; @p replica is "worker-1". Lines over 64 KiB come in
	 * pieces, with RH_LOG_SPLIT behind each but the last. */
	void (*line)(void *arg, const char *job, const char *replica, const char *container, const char *text,
	             size_t length);
	/** An Event object was written or its count raised. */
	void (*event)(void *arg, const struct rh_json *event);
	/**
	 * The job changed: its whole object as kubectl get -o json would show it. @p fault is as first_fault() gives it at
	 * the end; NULL: the job has not failed
	 */
	void (*job)(void *arg, const struct rh_json *job, const struct rh_run_fault *fault);
	/** A pod changed: its whole object. */
	void (*pod)(void *arg, const struct rh_json *pod);
	/** The end: once for each job that failed or was given up. */
	void (*first_fault)(void *arg, const struct rh_run_fault *fault);
	/** The end: once for each replica, job by job. */
	void (*replica)(void *arg, const struct rh_run_replica *replica);
	/** After the replicas: a job Succeeded by the rules of its kind, and replicas of it failed. */
	void (*warning)(void *arg, const char *text);
	/** A note to the user about this machine: "cpu limits are not enforced: …". */
	void (*note)(void *arg, const char *text);
	void *arg;
};

/** What to run and how. Borrowed for the run. */
struct rh_run_options {
	const struct rh_host *host;
	const struct rh_config *config;
	const struct rh_manifest *manifest; /**< validated by the caller; every object that is no job, ConfigMap or Secret
	                                       is ignored with a note */
	const char *log_dir; /**< keep logs below it, one file a container: JOB/REPLICA/CONTAINER.log; NULL: in a private
	                        folder that is removed at the end */
	int64_t timeout;     /**< microseconds until the run is given up; RH_NEVER is none */
	int64_t linger; /**< microseconds that replicas may go on after their job Succeeded, before they are stopped; < 0:
	                   the configuration's grace period */
	int64_t max_restarts; /**< how often in a row a replica may be restarted after the same quick failure; 0: for ever;
	                         < 0: the configuration's */
	bool strict;          /**< a failed replica makes the result RH_RUN_FAILED though its job Succeeded */
	struct rh_run_hooks hooks;
};

/**
 * Run all jobs to their end. Blocks; handles SIGINT, SIGTERM and SIGHUP (the first stops gracefully, the second at
 * once) and SIGCHLD while it runs, and waits for every child that the process has. Whatever the result, no process,
 * port lock, or folder of it is left behind. A job that turns out not to be possible here (a ConfigMap that is missing,
 * no free port), or whose replica fails again and again at once, gets the condition Failed with the reason; a log that
 * cannot be written makes the result RH_RUN_FAILED.
 * @return an enum rh_run_result, or a negative status when nothing was started, then @p err tells: RH_EINVAL for what
 * the user can mend (a job that is suspended, managed by another controller, or asks for more GPUs than there are; a
 *         folder of logs that cannot be had), RH_EIO or RH_ENOMEM
 */
int rh_run(const struct rh_run_options *options, struct rh_error *err);

#endif
