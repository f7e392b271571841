/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file local/run/verdict/faults.h
 * @brief The first fault of each job. For core/local/run alone.
 */
#ifndef RH_LOCAL_RUN_VERDICT_FAULTS_H
#define RH_LOCAL_RUN_VERDICT_FAULTS_H

#include "base/json.h"
#include "local/run/jobs.h"

/**
 * Determine once which replica caused @p job to fail or to be given up, from what all replicas wrote until now. Blocks
 * to read the ends of their logs.
 * @param object the job in the store; NULL: it is not stored
 */
void rh_run_faults_judge(struct rh_run *run, struct rh_run_job *job, const struct rh_json *object);
/** Call rh_run_faults_judge() for every job that has not finished. */
void rh_run_faults_give_up(struct rh_run *run);
/** Report the first fault of every job that has one. */
void rh_run_faults_report(const struct rh_run *run);
/** Free @p judged. NULL is ignored. */
void rh_run_judged_free(struct rh_run_judged *judged);
/** Write the name of a replica of a stored job: "worker-1". @return @p buffer */
const char *rh_run_job_replica(const struct rh_run_job *job, const char *type, int32_t index,
                               char buffer[RH_NAME_SIZE]);
/** @return path of the log of a replica's main container, owned by the caller; NULL: out of memory */
char *rh_run_log_path(const struct rh_run *run, const struct rh_run_job *job, const struct rh_run_record *record);

#endif
