/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file controller/process.h
 * @brief Metrics of this process from /proc.
 */
#ifndef RH_CONTROLLER_PROCESS_H
#define RH_CONTROLLER_PROCESS_H

#include "controller/metrics.h"

/** Set the process metrics; unreadable values are left out. Blocks to read /proc. */
void rh_process_measure(struct rh_metrics *metrics);

#endif
