/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file engine/carry/request/backoff.h
 * @brief Back-off of single writes to children; one that backs off does not delay others. For core/engine/carry.
 */
#ifndef RH_ENGINE_CARRY_REQUEST_BACKOFF_H
#define RH_ENGINE_CARRY_REQUEST_BACKOFF_H

#include "engine/plan.h"

struct rh_entry;
struct rh_inflight;

/** Back-off of the write of @p inflight: for @p delay microseconds, or, when negative, exponentially. */
void rh_backoff_add(const struct rh_inflight *inflight, int64_t delay);
/** End the back-off of the write of @p inflight. */
void rh_backoff_clear(const struct rh_inflight *inflight);
/** @return whether such a write backs off; then the job is due when the back-off ends */
bool rh_backoff_is_waiting(struct rh_entry *entry, enum rh_action_verb verb, const char *kind, const char *name);
/**
 * The name @p name of a pod, Service or PodGroup is free: end the back-off of its create and forget its refusal.
 * @param verb creates such an object
 */
void rh_backoff_clear_child(struct rh_entry *entry, enum rh_action_verb verb, const char *name);
/** End all back-offs of the job. */
void rh_backoff_clear_all(struct rh_entry *entry);

#endif
