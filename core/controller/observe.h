/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file controller/observe.h
 * @brief From what engine and client tell to metrics and log lines.
 */
#ifndef RH_CONTROLLER_OBSERVE_H
#define RH_CONTROLLER_OBSERVE_H

#include <stdint.h>

#include "controller/metrics.h"
#include "engine/engine.h"
#include "kube/store/store.h"

/** A new version of a job: count what it means, and log its new conditions. @param now wall-clock microseconds */
void rh_observe_change(struct rh_metrics *metrics, const struct rh_engine_change *change, int64_t now);
/** A plan is carried out: count a deletion by ttlSecondsAfterFinished, log the plan at level debug. */
void rh_observe_plan(struct rh_metrics *metrics, const struct rh_job *job, const struct rh_plan *plan);
/** A request of the store was answered, or not. Watches are counted, but not in the times. */
void rh_observe_call(struct rh_metrics *metrics, const struct rh_kube_call *call);

/** A watch fails with this verb, or with status 200 works again: then no verb of its resource fails any more. */
void rh_observe_problem(struct rh_metrics *metrics, const struct rh_kube_problem *problem);

#endif
