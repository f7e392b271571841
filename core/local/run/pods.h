/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file local/run/pods.h
 * @brief The pods of a run. For core/local/run alone.
 */
#ifndef RH_LOCAL_RUN_PODS_H
#define RH_LOCAL_RUN_PODS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/json.h"
#include "local/run/jobs.h"
#include "local/shim.h"

/** One pod that may have to be stopped. Strings are owned. */
struct rh_run_pod {
	struct rh_run_job *job;
	struct rh_run_record *record; /**< of its replica; NULL: no replica has its index */
	char *namespace_;
	char *name;
	char *uid;
	bool finished;
	bool deleting;
};

/** Watch the pods. @return 0 or a negative status */
int rh_run_pods_watch(struct rh_run *run, struct rh_error *err);
/**
 * Delete every running pod of @p job (NULL: of all jobs) whose deletion was not requested yet.
 * @return number of pods that have not ended
 */
size_t rh_run_pods_stop(struct rh_run *run, const struct rh_run_job *job);
/** @return number of pods of @p job (NULL: of all jobs) that have not ended */
size_t rh_run_pods_left(const struct rh_run *run, const struct rh_run_job *job);
/**
 * Record that a container of pod @p uid failed without being asked to stop (struct rh_runner_hooks). Fails the job if
 * nothing else can end it.
 */
void rh_run_pods_failed(struct rh_run *run, const char *uid, const struct rh_shim_report *report);
/** Report the result of every replica, and warn of failed ones in jobs that Succeeded. @return number of the latter */
size_t rh_run_pods_report(const struct rh_run *run);
/** Process the present state of all pods, and pass them to the runner. */
void rh_run_pods_see(struct rh_run *run);
/** Write the name of the replica that @p pod is: "worker-1"; of a pod without a job its own. @return @p buffer */
const char *rh_run_replica_name(const struct rh_run *run, const struct rh_json *pod, char buffer[RH_NAME_SIZE]);
/** Free the pods. */
void rh_run_pods_deinit(struct rh_run *run);

#endif
