/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file paddle/paddle.h
 * @brief What the files of this plugin share.
 */
#ifndef RH_PADDLE_PADDLE_H
#define RH_PADDLE_PADDLE_H

#include <stdint.h>

#include "roundhouse/plugin.h"

/** @see rh_kind.contract */
extern const char paddle_contract[];

/** @see rh_plugin.validate @return 0 or a negative status */
int32_t paddle_validate(void *self, const struct rh_view *view, struct rh_reply *reply);
/** @see rh_plugin.pod @return 0 or a negative status */
int32_t paddle_pod(void *self, const struct rh_view *view, const struct rh_replica *me, struct rh_reply *reply);

#endif
