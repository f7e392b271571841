/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file build/shadow.h
 * @brief Variables of a job file that the job's own take the place of.
 */
#ifndef RH_BUILD_SHADOW_H
#define RH_BUILD_SHADOW_H

#include "host/operations.h"

/**
 * Warn of each variable of a container (WORLD_SIZE, RANK, MASTER_ADDR, ...) that has another value in the pod: plugins
 * append theirs as V1 does (v1-behaviour C.4), so these win. Looks at the first replica of each type. Pure.
 * @param snapshot job and addresses are used
 * @return 0, RH_ENOMEM or RH_EPLUGIN
 */
int rh_build_find_shadowed(const struct rh_snapshot *snapshot, struct rh_findings *findings, struct rh_error *err);

#endif
