/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file engine/carry/request/logs.h
 * @brief Reading what failed containers wrote; for core/engine/carry.
 *
 * The last lines of each container come one after the other, and then the pod, which is parsed again with them. Whether
 * there is the right to read logs in a namespace shows the first request there; the others wait for its answer. What a
 * server has no time for (429, 503) is sent again when it says, if that is while the answer is awaited.
 */
#ifndef RH_ENGINE_CARRY_REQUEST_LOGS_H
#define RH_ENGINE_CARRY_REQUEST_LOGS_H

#include <stdbool.h>

#include "base/map.h"
#include "engine/plan.h"

struct rh_engine;
struct rh_entry;
struct rh_log_read;

/** What is being read. All zero: nothing. */
struct rh_log_queue {
	struct rh_log_read *first; /**< the pods, the oldest request first; owned */
	struct rh_map *rights;     /**< namespace to what is known of the right there; owned; NULL: nothing yet */
};

/** @return whether logs of the job's pods may be read, as far as known */
bool rh_logs_may_read(const struct rh_entry *entry);
/** Begin to read what the plan wants; each of these pods shows until when the answer is awaited. */
void rh_logs_ask(struct rh_entry *entry, const struct rh_plan *plan);
/** End what has taken too long, and send again what a server had no time for. */
void rh_logs_step(struct rh_engine *engine);
/** @return when a request is to be sent again, wall clock microseconds; RH_NEVER: none is */
int64_t rh_logs_deadline(const struct rh_engine *engine);
/** End everything. */
void rh_logs_deinit(struct rh_engine *engine);

#endif
