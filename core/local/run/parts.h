/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file local/run/parts.h
 * @brief What the files of a run share. For them alone.
 */
#ifndef RH_LOCAL_RUN_PARTS_H
#define RH_LOCAL_RUN_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/map.h"
#include "engine/engine.h"
#include "job/job.h"
#include "local/addresses.h"
#include "local/run.h"
#include "local/run/dir.h"
#include "local/runner.h"
#include "store/memory.h"

/** A container that failed by itself. */
struct rh_run_fall {
	char container[64]; /**< "": none did */
	int32_t exit_code;
	int32_t times; /**< how often in a row in this way, each time soon after its start; 0: not soon */
	int64_t at;    /**< wall-clock microseconds */
};

/** What is known of one replica, from its pods. */
struct rh_run_record {
	char *type; /**< canonical; owned */
	char *uid;  /**< of the pod that what follows is of; owned; NULL: there was none yet */
	int32_t index;
	int32_t phase;           /**< RH_PHASE_* */
	int32_t exit_code;       /**< -1: unknown */
	int32_t pods;            /**< how many there were */
	int32_t restarts;        /**< in place, in the present pod */
	int32_t restarts_before; /**< in place, in the pods before */
	int64_t first_start;     /**< wall-clock microseconds, likewise below; 0: never */
	int64_t started_at;      /**< last start of its main container; 0: never */
	int64_t finished_at;
	const char *main;       /**< name of its main container; borrowed from the job */
	char failed[64];        /**< the container that made its pod fail */
	bool deleting;          /**< it was asked to end before it had */
	struct rh_run_fall own; /**< how it failed last by itself */
	/** @name Its last bad end @{ */
	int32_t blame;       /**< enum rh_blame; RH_BLAME_NONE: there was none */
	int32_t failed_code; /**< -1: unknown */
	int32_t rank;        /**< as rh_pod has it, likewise the next */
	int32_t accused;
	int64_t failed_at; /**< wall-clock microseconds */
	char *reason;      /**< owned, likewise below; NULL: there was no bad end */
	char *container;
	char *lines;
	/** @} */
};

/** The first fault of a job, judged when it failed or was given up. Texts are owned. */
struct rh_run_judged {
	struct rh_run_fault fault; /**< what is told of it; borrows from below */
	char *job;
	char *replica;
	char *container;
	char *reason;
	char *text;
	char *lines;
};

/** One job of the run. */
struct rh_run_job {
	struct rh_job *job;          /**< as the manifest has it; owned */
	struct rh_resource resource; /**< of its kind */
	char *api_version;           /**< owned */
	char *folder;                /**< that its file is in, absolute; owned */
	char *log_name;              /**< of its folder of logs; owned */
	char *uid;                   /**< owned; NULL before it is stored */
	char *refusal; /**< why it cannot run here, still to be written into its status; owned; NULL: nothing */
	struct rh_run_record *records;
	size_t record_count;
	bool refused; /**< a refusal was made, written or not */
	bool finished;
	bool succeeded;
	int64_t finished_at;          /**< monotonic */
	struct rh_run_judged *judged; /**< owned; NULL: it has not failed, or nobody is to blame */
};

/** One pod that may have to be stopped. Texts are owned. */
struct rh_run_pod {
	struct rh_run_job *job;
	struct rh_run_record *record; /**< of its replica; NULL: there is none of its index */
	char *namespace_;
	char *name;
	char *uid;
	bool finished;
	bool deleting;
};

/** How a run is going. */
enum rh_run_state {
	RH_RUN_GOING,
	RH_RUN_STOPPING, /**< interrupted or timed out: nothing new starts, all is stopped */
	RH_RUN_KILLING   /**< likewise, at once */
};

/** One run. */
struct rh_run {
	const struct rh_run_options *options;
	struct rh_loop *loop;
	struct rh_locks *locks;
	struct rh_address_pool *pool;
	struct rh_memory_store *store;
	struct rh_engine *engine;
	struct rh_runner *runner;
	struct rh_run_dir *dir;
	struct rh_map *pods; /**< struct rh_run_pod by UID; owned */
	char *pods_dir;      /**< pods' folders */
	char *log_dir;       /**< absolute */
	struct rh_run_job *jobs;
	size_t job_count;
	enum rh_run_state state;
	int result;   /**< of an interrupted or timed out run */
	bool qualify; /**< jobs of one name are in several namespaces */
	bool faulty;  /**< a fault of this machine: the run cannot have succeeded */
	bool lost;    /**< memory was short: what the store told, or what it was to be asked, is lost */
	bool fell;    /**< a replica failed though its job Succeeded */
	bool done;
	int64_t clock_start; /**< monotonic and wall time of the start: wall time goes on evenly from there, whatever is
	                        done to the clock */
	int64_t wall_start;
	int64_t
		stop_by; /**< monotonic time at which what was to be stopped is killed; RH_NEVER: nothing is being stopped */
	int64_t quiet_since; /**< monotonic time since which only the engine has something to do; 0: more than that */
};

/** @name jobs.c @{ */
/** Parse the manifest's jobs and see that each can be run. @return 0 or a negative status that the user can mend */
int rh_run_jobs_load(struct rh_run *run, struct rh_error *err);
/** Put what the manifest holds into the store, and watch jobs and events. @return 0 or a negative status */
int rh_run_jobs_store(struct rh_run *run, struct rh_error *err);
/** @return the job that owns @p pod, or NULL */
struct rh_run_job *rh_run_job_of_pod(const struct rh_run *run, const struct rh_json *pod);
/** @return the job with @p uid, or NULL */
struct rh_run_job *rh_run_job_of(const struct rh_run *run, const char *uid);
/** A job is to fail here for a reason that no cluster has. @p message is the whole one. */
void rh_run_job_fail(struct rh_run *run, struct rh_run_job *job, const char *message);
/** A job cannot run on this machine: it is to fail, for that reason. */
void rh_run_job_refuse(struct rh_run *run, struct rh_run_job *job, const char *message);
/** Write the refusals that are not written yet. */
void rh_run_jobs_write(struct rh_run *run, int64_t now);
/** Look at all jobs again. */
void rh_run_jobs_see(struct rh_run *run);
/** Free the jobs. */
void rh_run_jobs_deinit(struct rh_run *run);
/** @} */

/** @name pods.c @{ */
/** Watch the pods. @return 0 or a negative status */
int rh_run_pods_watch(struct rh_run *run, struct rh_error *err);
/** Ask for the end of every pod of @p job (NULL: of all) that has not ended and was not asked yet. @return how many
 * have not ended */
size_t rh_run_pods_stop(struct rh_run *run, const struct rh_run_job *job);
/** @return how many pods of @p job (NULL: of all) have not ended */
size_t rh_run_pods_left(const struct rh_run *run, const struct rh_run_job *job);
/** A container of a pod failed by itself (struct rh_runner_hooks). Ends its job when that has no end else. */
void rh_run_pods_failed(struct rh_run *run, const char *uid, const struct rh_shim_report *report);
/** Tell how every replica ended, and warn of those that failed in jobs that Succeeded. @return how many did */
size_t rh_run_pods_report(const struct rh_run *run);
/** Look at all pods again, and show them to the runner. */
void rh_run_pods_see(struct rh_run *run);
/** Free what is known of pods. */
void rh_run_pods_deinit(struct rh_run *run);
/** @} */

/** @name faults.c @{ */
/**
 * Judge who is to blame that @p job failed, or is given up, by what all replicas wrote until now; once. Reads the ends
 * of their logs, and blocks for that.
 * @param object the job as the store has it; NULL: there is none
 */
void rh_run_faults_judge(struct rh_run *run, struct rh_run_job *job, const struct rh_json *object);
/** Judge every job that has not finished. */
void rh_run_faults_give_up(struct rh_run *run);
/** Tell the first fault of every job that has one. */
void rh_run_faults_report(const struct rh_run *run);
/** Free what was judged. NULL is nothing. */
void rh_run_judged_free(struct rh_run_judged *judged);
/** @return path of the log of the main container of a replica; owned by the caller; NULL: out of memory */
char *rh_run_log_path(const struct rh_run *run, const struct rh_run_job *job, const struct rh_run_record *record);
/** @} */

/**
 * Write what a pod's /etc/hosts says of this machine: @p text, the machine's own file (NULL: it has none), and @p name,
 * the machine's name, where that is not in it: torchrun hands it to its peers, and without it a machine whose name no
 * server knows could not be reached by itself.
 */
void rh_run_hosts_machine(struct rh_str *out, const char *text, const char *name);

/** Tell the user something. */
void rh_run_note(const struct rh_run *run, const char *text);

#endif
