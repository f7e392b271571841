/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file local/preflight/pods.h
 * @brief The pods that a preflight looks at: one of each replica type, as its plugin makes it for this machine.
 */
#ifndef RH_LOCAL_PREFLIGHT_PODS_H
#define RH_LOCAL_PREFLIGHT_PODS_H

#include "host/host.h"
#include "local/preflight/preflight.h"

/** Pods of one job. All zero is empty. */
struct rh_preflight_pods {
	struct rh_json *items[RH_TYPES_MAX]; /**< by job->specs; owned; NULL: no replicas, or the plugin makes none */
};

/** Free what @p pods owns. */
void rh_preflight_pods_deinit(struct rh_preflight_pods *pods);
/** Make the pods of a job; addresses in them are not those of a run. @param files has other objects that the job names
 * (rh_kind.lookups); NULL: none @param[out] ret_pods must be empty; deinitialised by the caller, also after a failure.
 * @return 0 or RH_ENOMEM */
int rh_preflight_pods_make(const struct rh_host *host, const struct rh_job *job, const struct rh_manifest *files,
                           struct rh_preflight_pods *ret_pods, struct rh_error *err);
/** rh_preflight_check() of @p job with its pods. @param source of the job: "job.yaml, document 2". @return 0 or
 * RH_ENOMEM */
int rh_preflight_check_job(const struct rh_preflight *all, const struct rh_host *host, const struct rh_job *job,
                           const char *source, struct rh_findings *findings, struct rh_error *err);
/** @return the absolute folder of the file that an object comes from, "/" where there is none; owned by the caller;
 * NULL: out of memory */
char *rh_preflight_folder(const char *source) __attribute__((warn_unused_result));

/** Local pods that are freed when they go out of scope. */
#define rh_auto_preflight_pods __attribute__((cleanup(rh_preflight_pods_deinit))) struct rh_preflight_pods

#endif
