/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file engine/carry/request/completion.h
 * @brief Responses to the requests of inflight.h; for core/engine/carry.
 */
#ifndef RH_ENGINE_CARRY_REQUEST_COMPLETION_H
#define RH_ENGINE_CARRY_REQUEST_COMPLETION_H

#include "store/store.h"

/** Callback of all requests of inflight.h; @p arg is a struct rh_inflight, which may be freed. */
void rh_completion_on_done(void *arg, const struct rh_outcome *outcome);

#endif
