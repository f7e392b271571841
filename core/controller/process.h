/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file controller/process.h
 * @brief What the system says about this process, for metrics.
 */
#ifndef RH_CONTROLLER_PROCESS_H
#define RH_CONTROLLER_PROCESS_H

#include "controller/metrics.h"

/** Set the process metrics to what holds now; what cannot be read is left out. Reads /proc. */
void rh_process_measure(struct rh_metrics *metrics);

#endif
