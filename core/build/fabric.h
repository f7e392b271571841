/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file build/fabric.h
 * @brief What the processes of a job need for communication by rh_comm: the backend, /dev/shm, network resources.
 *
 * The annotation roundhouse.dev/comm names the backend of a job, [comm] backend that of all jobs without it. [comm]
 * defines what their pods get; a section [comm NAME] defines it for the pods of one class of nodes, those whose
 * template has all of node-selector in its nodeSelector. The first section that matches is used, and [comm] for
 * settings that it does not have. A value of the job itself always wins.
 */
#ifndef RH_BUILD_FABRIC_H
#define RH_BUILD_FABRIC_H

#include <stdbool.h>

#include "base/error.h"
#include "base/json.h"
#include "job/job.h"

struct rh_config;

/** Where a pod runs, and in which attempt. */
struct rh_fabric_place {
	bool local;      /**< on this machine: all replicas use its /dev/shm and devices */
	int32_t attempt; /**< of the job */
};

/** @return the backend of @p job, static storage or borrowed from the job; NULL: none, its pods get nothing */
const char *rh_fabric_backend(const struct rh_config *config, const struct rh_job *job);
/** Add a variable to all containers of a pod that do not have it. @return 0 or RH_ENOMEM */
int rh_fabric_add_env(struct rh_json *pod_spec, const char *name, const char *value);
/**
 * Add to @p pod, the body of any pod of @p spec, what its backend needs: RH_COMM_BACKEND, RH_COMM_JOB and the
 * profile's variables; on a cluster also the library, by an init container where the profile names an image, /dev/shm,
 * and in the main container resources and capabilities.
 * @return 0 or RH_ENOMEM
 */
int rh_fabric_decorate(const struct rh_config *config, const struct rh_job *job, const struct rh_replica_spec *spec,
                       const struct rh_fabric_place *place, struct rh_json *pod);

#endif
