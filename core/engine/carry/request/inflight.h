/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file engine/carry/request/inflight.h
 * @brief Requests for children that are in flight; for core/engine/carry.
 */
#ifndef RH_ENGINE_CARRY_REQUEST_INFLIGHT_H
#define RH_ENGINE_CARRY_REQUEST_INFLIGHT_H

#include "engine/carry/request/inflight_state.h"
#include "engine/plan.h"
#include "store/store.h"

struct rh_cached;
struct rh_entry;

/**
 * @param uid of the object, or NULL; texts are copied. @param resource borrowed; NULL: memory is out
 * @return a new action that is not sent; rh_inflight_free() it; NULL when memory is out
 */
struct rh_inflight *rh_inflight_new(struct rh_entry *entry, enum rh_action_verb verb,
                                    const struct rh_resource *resource, const char *name, const char *uid);
/** Send the first request of @p inflight (taken) and list it among those of its job. @return 0 or RH_ENOMEM */
int rh_inflight_start(struct rh_inflight *inflight, struct rh_request *request);
/** Send one request of @p inflight: resource and names are filled in, the body is taken. @return 0 or RH_ENOMEM */
int rh_inflight_send(struct rh_inflight *inflight, struct rh_request *request);
/** Send the read of what @p inflight is about, in the given state. @return 0 or RH_ENOMEM */
int rh_inflight_read(struct rh_inflight *inflight, enum rh_inflight_state state);
/** Free it; a request in flight is cancelled. NULL is allowed. */
void rh_inflight_free(struct rh_inflight *inflight);
/** Ignore the responses to all requests in flight: their job is gone. */
void rh_inflight_abandon_all(struct rh_entry *entry);

/** @return the cached object that @p inflight deletes or updates, borrowed; NULL when its name has another UID now */
struct rh_cached *rh_inflight_target(const struct rh_inflight *inflight);

/**
 * The pod, Service or PodGroup @p name was deleted or left the job: a response that arrives later must not add it
 * again. @param verb creates such an object. Without memory engine->lost is set
 */
void rh_inflight_add_tombstones(struct rh_entry *entry, enum rh_action_verb verb, const char *name, const char *uid);
/** @return whether @p inflight has a tombstone of the UID */
bool rh_inflight_has_tombstone(const struct rh_inflight *inflight, const char *uid);

#endif
