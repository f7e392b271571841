/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file engine/carry/request/report.h
 * @brief Events about actions on children; for core/engine/carry.
 */
#ifndef RH_ENGINE_CARRY_REQUEST_REPORT_H
#define RH_ENGINE_CARRY_REQUEST_REPORT_H

#include "engine/world.h"

struct rh_inflight;

/** @return what the store refuses when it denies the current request of @p inflight */
enum rh_refused rh_report_refused(const struct rh_inflight *inflight);
/** Emit the Event of an action that succeeded. */
void rh_report_success(const struct rh_inflight *inflight);
/** Emit the Event of an action that failed. @param what failed, not RH_REFUSED_NAME. @param detail why */
void rh_report_failure(const struct rh_inflight *inflight, enum rh_refused what, const char *detail);

#endif
