/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file build/validate.h
 * @brief All rules that a job must meet before its objects are built.
 */
#ifndef RH_BUILD_VALIDATE_H
#define RH_BUILD_VALIDATE_H

#include "base/error.h"
#include "host/operations.h"
#include "job/rules/findings.h"

/**
 * Check the rules of the core and of the plugin (rh_host_validate()), and that each volumeMount names a volume of the
 * template or one that the plugin adds. May ask the plugin for a pod.
 * @param findings gets an error for each rule that is broken
 * @return 0, RH_ENOMEM or RH_EPLUGIN
 */
int rh_build_validate(const struct rh_snapshot *snapshot, struct rh_findings *findings, struct rh_error *err);

#endif
