/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file pytorch/pytorch.h
 * @brief What the files of this plugin share.
 */
#ifndef RH_PYTORCH_PYTORCH_H
#define RH_PYTORCH_PYTORCH_H

#include <stdint.h>

#include "roundhouse/plugin.h"

/** @name Paths of a PyTorchJob that more than one file reads @{ */
#define PYTORCH_ELASTIC "spec.elasticPolicy"
#define PYTORCH_NPROC "spec.nprocPerNode"
#define PYTORCH_ELASTIC_NPROC PYTORCH_ELASTIC ".nProcPerNode"
/** @} */

/** Bounds of an elastic job. */
struct pytorch_bounds {
	int64_t min;
	int64_t max;
};

/** Read the bounds with V1's defaults (v1-behaviour A.3-7): one takes the other's place, both that of the workers. */
void pytorch_read_bounds(const struct rh_services *host, const struct rh_view *view, struct pytorch_bounds *ret_bounds);
/** @return whether the job has an elastic policy */
int pytorch_is_elastic(const struct rh_services *host, const struct rh_view *view);

/** @name Embedded JSON files of this folder: static, zero-terminated @{ */
extern const char pytorch_schema[];   /**< schema.json: rh_kind.spec_schema */
extern const char pytorch_cel[];      /**< cel.json: rh_kind.cel_rules; v1-behaviour A.5, rules 13 and 14 */
extern const char pytorch_rbac[];     /**< rbac.json: rh_kind.rbac_rules */
extern const char pytorch_contract[]; /**< contract.json: rh_kind.contract */
extern const char pytorch_settings[]; /**< settings.json: rh_plugin.settings */
/** @} */

/**
 * Append to the pod of a Worker what waits until the Master's name resolves: the built-in container, or those of
 * init-container-template-file. Where replicas have addresses there is nothing to wait for.
 * @return 0 or a negative status
 */
int32_t pytorch_add_init(const struct rh_services *host, const struct rh_view *view, struct rh_reply *reply);

/**
 * Warn of nprocPerNode where the command of a replica starts one process: the ranks that WORLD_SIZE counts would never
 * come.
 * @return 0 or a negative status
 */
int32_t pytorch_check_launch(const struct rh_services *host, const struct rh_view *view, struct rh_reply *reply);

/** @see rh_plugin.validate @return 0 or a negative status */
int32_t pytorch_validate(void *self, const struct rh_view *view, struct rh_reply *reply);
/** @see rh_plugin.pod @return 0 or a negative status */
int32_t pytorch_pod(void *self, const struct rh_view *view, const struct rh_replica *me, struct rh_reply *reply);
/** @see rh_plugin.objects @return 0 or a negative status */
int32_t pytorch_objects(void *self, const struct rh_view *view, struct rh_reply *reply);
/** @see rh_plugin.judge @return 0 or a negative status */
int32_t pytorch_judge(void *self, const struct rh_view *view, struct rh_reply *reply);

#endif
