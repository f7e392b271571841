/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file local/run/jobs.h
 * @brief The jobs of a run. For core/local/run alone.
 */
#ifndef RH_LOCAL_RUN_JOBS_H
#define RH_LOCAL_RUN_JOBS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "job/job.h"
#include "local/progress/endpoint.h"
#include "local/run/stalls.h"
#include "local/run/verdict/record.h"
#include "store/store.h"

struct rh_run;

/** One job of the run. */
struct rh_run_job {
	struct rh_job *job;          /**< as in the manifest; owned */
	struct rh_resource resource; /**< of its kind */
	char *api_version;           /**< owned */
	char *folder;                /**< absolute path of the manifest's folder; owned */
	char *log_name;              /**< name of its folder of logs; owned */
	char *traces;                /**< folder for the traces of its ranks by rh_comm, absolute; owned; NULL: none */
	char *trace_variable;        /**< RH_COMM_TRACE=FOLDER; owned; NULL: none */
	/** That its pods get, that of the trace first; NULL-terminated, borrowed. */
	const char *variables[RH_ENDPOINT_VARIABLES + 2];
	struct rh_run_stall stall; /**< whether its ranks stand still */
	int log_lock;              /**< keeps other runs out of that folder; -1: not needed */
	char *uid;                 /**< owned; NULL before it is stored */
	char *refusal; /**< why it cannot run here, not yet written to its status; owned; NULL: nothing to write */
	struct rh_run_record *records;
	size_t record_count;
	bool refused;    /**< it was refused; the status may not be written yet */
	bool stopped;    /**< somebody stopped it alone */
	int64_t stop_by; /**< monotonic time at which its stopping pods are killed; 0: none are stopping */
	bool killed;     /**< they were */
	bool wait_noted; /**< the note about replicas that continue after its success was given */
	bool finished;
	bool succeeded;
	int64_t finished_at;          /**< monotonic microseconds */
	struct rh_run_judged *judged; /**< owned; NULL: it has not failed, or no first fault was found */
};

/** @return the resource of a kind whose objects pods may name (ConfigMap, Secret, PersistentVolumeClaim), static
 * storage; NULL: another kind */
const struct rh_resource *rh_run_core_resource(const char *api_version, const char *kind);
/** Parse the jobs of the manifest and check that each can run. @return 0, or negative for what the user can correct */
int rh_run_jobs_load(struct rh_run *run, struct rh_error *err);
/** Store the objects of the manifest, and watch jobs and events. @return 0 or a negative status */
int rh_run_jobs_store(struct rh_run *run, struct rh_error *err);
/** @return the job that owns @p pod, borrowed, or NULL */
struct rh_run_job *rh_run_job_of_pod(const struct rh_run *run, const struct rh_json *pod);
/** @return the job with @p uid, borrowed, or NULL */
struct rh_run_job *rh_run_job_of(const struct rh_run *run, const char *uid);
/** Let a job fail for a reason that exists only in local runs. @param message complete condition message, copied */
void rh_run_job_fail(struct rh_run *run, struct rh_run_job *job, const char *message);
/** Let a job fail because it cannot run on this machine. @param message the reason, copied */
void rh_run_job_refuse(struct rh_run *run, struct rh_run_job *job, const char *message);
/** Write pending refusals to the jobs' status. @param now monotonic microseconds */
void rh_run_jobs_write(struct rh_run *run, int64_t now);
/** Process the present state of all jobs, as if a watch event had come for each. */
void rh_run_jobs_see(struct rh_run *run);
/** Free the jobs. */
void rh_run_jobs_deinit(struct rh_run *run);

#endif
