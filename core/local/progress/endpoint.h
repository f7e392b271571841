/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file local/progress/endpoint.h
 * @brief The endpoint to which the replicas of a run report their progress, by the protocol of Kubeflow Trainer 2.3.
 *
 * Each job has a token and a path of its own. What a replica can do to the run is bounded: the size of a report by
 * RH_REPORT_MAX, their rate by RH_ENDPOINT_BURST and RH_ENDPOINT_PERIOD, memory by the newest report of each job.
 */
#ifndef RH_LOCAL_PROGRESS_ENDPOINT_H
#define RH_LOCAL_PROGRESS_ENDPOINT_H

#include <stddef.h>
#include <stdint.h>

#include "base/json.h"
#include "base/mem.h"
#include "local/progress/server.h"

/** Reports of one job that are taken at once; then one each RH_ENDPOINT_PERIOD microseconds. Transformers' callback
 * sends one in 5 s, and one more at the start and at the end. */
#define RH_ENDPOINT_BURST 20
#define RH_ENDPOINT_PERIOD INT64_C(500000)
/** Number of variables by which a job finds it. */
#define RH_ENDPOINT_VARIABLES 3

/** Opaque endpoint. */
struct rh_endpoint;

/** A valid report for the job @p index has come: @p status is what its trainerStatus has (local/progress/report.h),
 * borrowed. */
typedef void rh_endpoint_report_fn(void *arg, size_t index, const struct rh_json *status);

/** Options. Borrowed during the call. */
struct rh_endpoint_options {
	const struct rh_progress_serving *serving; /**< borrowed for the endpoint's life */
	struct rh_loop *loop;                      /**< likewise */
	const char *folder;                        /**< absolute; is made, for certificate and tokens */
	rh_endpoint_report_fn *report;
	void *arg;
	int64_t (*now)(void); /**< the clock of the rate limit, monotonic microseconds */
};

/** Open an endpoint without jobs. Blocks for files. @param[out] ret_endpoint owned by the caller. @return 0, RH_EIO or
 * RH_ENOMEM */
int rh_endpoint_new(const struct rh_endpoint_options *options, struct rh_endpoint **ret_endpoint, struct rh_error *err);
/** Close it; its files stay. NULL is ignored. */
void rh_endpoint_free(struct rh_endpoint *endpoint);
RH_DEFINE_CLEANUP(endpoint);
/** Add the next job: index 0, 1, ... Makes its token and the file of it. @return 0, RH_EIO or RH_ENOMEM */
int rh_endpoint_add(struct rh_endpoint *endpoint, const char *namespace_, const char *name, struct rh_error *err);
/** @return KUBEFLOW_TRAINER_SERVER_URL, _CA_CERT and _TOKEN of job @p index as "NAME=value", NULL-terminated; borrowed
 */
const char *const *rh_endpoint_variables(const struct rh_endpoint *endpoint, size_t index);

#endif
