/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file store/memory.h
 * @brief A store in memory: for local mode, and as the simulated API server of tests.
 *
 * Requests are applied, and events delivered, one at a time and only when the owner calls rh_memory_store_pump(). So a
 * loop chooses the time, and a test the order. The owner sets the time; the store reads no clock.
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
 * @param graceful_pods a deleted pod that has not ended stays, with deletionTimestamp, until it is deleted with grace
 * period 0 (as by a kubelet); else it is removed at once
 * @param ready called (may be NULL) when the pending queue stops being empty, so that a loop can schedule a pump
 * @return 0 or RH_ENOMEM
 */
int rh_memory_store_new(bool graceful_pods, void (*ready)(void *arg), void *arg, struct rh_memory_store **ret_store);
/** Free it; pending callbacks are not called. NULL is allowed. */
void rh_memory_store_free(struct rh_memory_store *store);
RH_DEFINE_CLEANUP(memory_store);
/** @return its rh_store interface, borrowed while the store exists */
struct rh_store *rh_memory_store_face(struct rh_memory_store *store);
/**
 * Called before each request is applied. @return whether it sets the outcome itself: then @p ret_outcome has code,
 * message (borrowed until the next call) and retry_after; with *@p ret_apply set, the request is applied nevertheless,
 * as when only the response is lost
 */
typedef bool rh_memory_gate_fn(void *arg, const struct rh_request *request, struct rh_outcome *ret_outcome,
                               bool *ret_apply);
/** Set the gate (NULL: none) that may refuse requests: admission rules, and faults in tests. */
void rh_memory_store_set_gate(struct rh_memory_store *store, rh_memory_gate_fn *gate, void *arg);
/** @return what the pod's container wrote, all of it, borrowed until the next call; NULL: it has no log */
typedef const char *rh_memory_log_fn(void *arg, const struct rh_request *request);
/** Set where logs of pods come from (NULL: there are none). */
void rh_memory_store_set_logs(struct rh_memory_store *store, rh_memory_log_fn *logs, void *arg);
/**
 * Set whether the objects that a removed object owned are removed, too; on at first. Off, it behaves as an API server
 * without its garbage collector.
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
/** Pump the oldest item until nothing is pending, or memory is out. */
void rh_memory_store_drain(struct rh_memory_store *store);
/**
 * Drop all watches, undelivered outcomes and events, and requests that are not applied, as when the client program is
 * killed.
 */
void rh_memory_store_disconnect(struct rh_memory_store *store);

/** @return the object as it is now, borrowed until the next change, or NULL. For the runner and tests; no request. */
const struct rh_json *rh_memory_store_find(const struct rh_memory_store *store, const struct rh_resource *resource,
                                           const char *namespace_, const char *name);
/** Call @p fn for every object of @p resource in creation order. It must not change the store. */
void rh_memory_store_each(const struct rh_memory_store *store, const struct rh_resource *resource,
                          void (*fn)(void *arg, const struct rh_json *object), void *arg);

#endif
