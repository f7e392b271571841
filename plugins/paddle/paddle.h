/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file paddle/paddle.h
 * @brief What the files of this plugin share.
 */
#ifndef RH_PADDLE_PADDLE_H
#define RH_PADDLE_PADDLE_H

#include <stdint.h>

#include "roundhouse/plugin.h"

/** @name Embedded JSON files of this folder: static, zero-terminated @{ */
extern const char paddle_schema[];   /**< schema.json: rh_kind.spec_schema */
extern const char paddle_contract[]; /**< contract.json: rh_kind.contract */
/** @} */

/** @see rh_plugin.validate @return 0 or a negative status */
int32_t paddle_validate(void *self, const struct rh_view *view, struct rh_reply *reply);
/** @see rh_plugin.pod @return 0 or a negative status */
int32_t paddle_pod(void *self, const struct rh_view *view, const struct rh_replica *me, struct rh_reply *reply);

#endif
