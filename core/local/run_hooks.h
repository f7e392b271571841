/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file local/run_hooks.h
 * @brief What a run reports while it goes on and at its end, for who shows it.
 */
#ifndef RH_LOCAL_RUN_HOOKS_H
#define RH_LOCAL_RUN_HOOKS_H

#include <stddef.h>
#include <stdint.h>

#include "base/json.h"

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
	size_t message_offset; /**< bytes of the Failed condition's message that say why the job failed; 0: all */
	const char *lines;     /**< its traceback or its last lines, unchanged; "" for none */
};

/** What the processes of one replica use. Strings are borrowed for the call. */
struct rh_run_use {
	const char *job;     /**< name of its folder of logs */
	const char *replica; /**< "worker-1" */
	size_t processes;
	double cpu;     /**< processors, since the last sample */
	double read;    /**< from disks, bytes a second since then; 0 where the kernel does not show it */
	double written; /**< to disks, likewise */
	int64_t memory; /**< resident, bytes */
};

struct rh_usage; /* local/keep/usage.h */

/** What the processes of all replicas use together, and each. */
struct rh_run_load {
	size_t processes;
	double cpu;                    /**< processors, since the last sample */
	int64_t memory;                /**< resident, bytes */
	int64_t time;                  /**< since the last sample, microseconds */
	uint64_t operations;           /**< of rh_comm, of the rank that is behind the others; 0: none are counted */
	double operation_rate;         /**< a second, since the last sample */
	char stalled[200];             /**< which rank does not come, if all others wait; "": none; cut */
	const struct rh_run_use *uses; /**< of the replicas that have a process; borrowed for the call */
	size_t use_count;
	const struct rh_usage *usage; /**< the sample itself: which processes there are; borrowed for the call */
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
	/** While replicas run, at most once a second, and so seldom that a sample costs less than 1 % of a processor.
	 * Without this hook nothing is sampled. @return time until the next sample, microseconds; RH_NEVER: none is wanted
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
	/** A pod changed: the whole object. @p replica is "worker-1" */
	void (*pod)(void *arg, const char *replica, const struct rh_json *pod);
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

#endif
