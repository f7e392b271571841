/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file controller/observe.h
 * @brief Writes metrics and log lines for events of engine and client.
 */
#ifndef RH_CONTROLLER_OBSERVE_H
#define RH_CONTROLLER_OBSERVE_H

#include <stdint.h>

#include "controller/metrics.h"
#include "engine/engine.h"
#include "kube/store/store.h"

/** Count a new version of a job, and log its new conditions. @param now wall-clock microseconds */
void rh_observe_change(struct rh_metrics *metrics, const struct rh_engine_change *change, int64_t now);
/** The job was counted as created before, by this program: it is only read again. */
void rh_observe_known(const struct rh_engine_change *change);
/** Count deletions by ttlSecondsAfterFinished of an executed plan, and log the plan at level debug. */
void rh_observe_plan(struct rh_metrics *metrics, const struct rh_job *job, const struct rh_plan *plan);
/** Count a completed request of the store. Watches are counted, but not in the latencies. */
void rh_observe_call(struct rh_metrics *metrics, const struct rh_kube_call *call);

/** Record that a watch fails with this verb; status 200: all verbs of its resource work again. */
void rh_observe_problem(struct rh_metrics *metrics, const struct rh_kube_problem *problem);

#endif
