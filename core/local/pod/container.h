/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file local/pod/container.h
 * @brief The plan of one container.
 */
#ifndef RH_LOCAL_POD_CONTAINER_H
#define RH_LOCAL_POD_CONTAINER_H

#include "local/pod/context.h"
#include "local/pod/volumes.h"

/** Input of a container's plan. All borrowed. */
struct rh_container_input {
	const struct rh_pod_context *context;
	const struct rh_volumes *volumes;
	const struct rh_json *json; /**< the container of the pod */
	bool init;                  /**< one of initContainers */
	const char *hosts;          /**< file that replaces /etc/hosts; NULL: none */
	const char *const *gpus;    /**< this container's devices */
	size_t gpu_count;
};

/** @return number of GPUs of the container, or RH_EINVAL when it is not an integer from 0 to RH_DEVICES_MAX */
int rh_container_gpus(const struct rh_json *container, struct rh_error *err);
/** @return whether one of a pod's initContainers is a sidecar, which runs beside the containers */
bool rh_container_is_sidecar(const struct rh_json *container);
/** Make the plan. @param[out] ret_plan owned by the caller. @return as rh_runtime_spec_make() */
int rh_container_plan(const struct rh_container_input *input, struct rh_json **ret_plan, struct rh_error *err);

#endif
