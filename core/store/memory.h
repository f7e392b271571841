/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file store/memory.h
 * @brief A store in memory: the one of local mode, and the simulated one of the tests.
 *
 * Requests are applied and events delivered only when the owner pumps, one at a time, so a loop decides when and a test
 * decides in which order. Nothing here knows a clock: the owner says what time it is.
 */
#ifndef RH_STORE_MEMORY_H
#define RH_STORE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/store.h"

/** A memory store. */
struct rh_memory_store;

/**
 * @param graceful_pods a deleted pod that has not ended stays, with deletionTimestamp, until somebody deletes it with
 * grace period 0 (as under a kubelet); else it goes at once
 * @param ready called (may be NULL) when the pending queue stops being empty, so that a loop can schedule a pump
 * @return 0 or RH_ENOMEM
 */
int rh_memory_store_new(bool graceful_pods, void (*ready)(void *arg), void *arg, struct rh_memory_store **ret_store);
/** Free it; pending callbacks are not called. NULL is nothing. */
void rh_memory_store_free(struct rh_memory_store *store);
RH_DEFINE_CLEANUP(memory_store);
/** @return its rh_store face, as long-lived as the store */
struct rh_store *rh_memory_store_face(struct rh_memory_store *store);
/**
 * Asked before each request is applied. @return whether it settles the request itself: then it has filled @p
 * ret_outcome (code, message, borrowed until it is called again, and retry_after), and the request is carried out all
 * the same when *@p ret_apply was set, as when only the answer is lost
 */
typedef bool rh_memory_gate_fn(void *arg, const struct rh_request *request, struct rh_outcome *ret_outcome,
                               bool *ret_apply);
/** Let @p gate (NULL: none) refuse requests: admission rules, and faults in tests. */
void rh_memory_store_set_gate(struct rh_memory_store *store, rh_memory_gate_fn *gate, void *arg);
/**
 * Say whether what a removed object owned is removed too, as it is at first. Off, it is an API server without its
 * controllers.
 */
void rh_memory_store_set_collector(struct rh_memory_store *store, bool on);
/** Set the time that new objects and deletions get, wall-clock microseconds. */
void rh_memory_store_set_time(struct rh_memory_store *store, int64_t now);

/**
 * The pending queue holds requests that are not applied, and outcomes and watch events that are not delivered. Order is
 * kept within one watch, and between a request and its outcome; all other items are independent. @return how many
 * independent heads can be pumped now
 */
size_t rh_memory_store_pending(const struct rh_memory_store *store);
/**
 * Pump the head number @p choice (0 … pending-1; 0 is the oldest). @return false when there is none, or memory is
 * out: then it stays pending
 */
bool rh_memory_store_pump(struct rh_memory_store *store, size_t choice);
/** Pump the oldest until nothing is pending, or memory is out. */
void rh_memory_store_drain(struct rh_memory_store *store);
/**
 * Drop all watches, undelivered outcomes and events, as when the program that used the store is killed; requests not
 * yet applied are lost too.
 */
void rh_memory_store_disconnect(struct rh_memory_store *store);

/** @return the object as it is now, borrowed until the next change, or NULL. For the runner and tests; no request. */
const struct rh_json *rh_memory_store_find(const struct rh_memory_store *store, const struct rh_resource *resource,
                                           const char *namespace_, const char *name);
/** Call @p fn for every object of @p resource in creation order. It must not change the store. */
void rh_memory_store_each(const struct rh_memory_store *store, const struct rh_resource *resource,
                          void (*fn)(void *arg, const struct rh_json *object), void *arg);

#endif
