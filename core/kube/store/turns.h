/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file kube/store/turns.h
 * @brief Queue of requests that wait for the window, fair among namespaces; for core/kube alone.
 *
 * Each namespace with queued requests is a flow. Flows are served round robin, so a namespace with few requests waits
 * for one request of each other namespace, however many those have. Within a flow the class decides (rh_window_pick()),
 * and within a class the order of arrival. When the window is full, a namespace with few requests in flight may use one
 * of the window's spare places.
 */
#ifndef RH_KUBE_STORE_TURNS_H
#define RH_KUBE_STORE_TURNS_H

#include "base/map.h"
#include "kube/store/call.h"

/** The requests of one namespace. */
struct rh_turns_flow;

/** The queue. All zero is empty; rh_turns_deinit() frees it. Members are read only. */
struct rh_turns {
	struct rh_map *flows;       /**< namespace to struct rh_turns_flow; NULL: none yet */
	struct rh_turns_flow *next; /**< next flow of the ring; NULL: the queue is empty */
	size_t count;               /**< queued requests */
};

/** Free all queued requests. */
void rh_turns_deinit(struct rh_turns *turns);
/** Queue @p call and take ownership. @return 0, or RH_ENOMEM: then the caller still owns it */
int rh_turns_add(struct rh_turns *turns, struct rh_call *call);
/**
 * @param room largest weight of the next request, see rh_call.weight
 * @param spare whether only namespaces with few requests in flight (fewer than 8) are served
 * @return the next request, borrowed; NULL when no queued request fits
 */
struct rh_call *rh_turns_next(struct rh_turns *turns, size_t room, bool spare);
/** Remove the queued @p call and end the turn of its flow. The caller takes ownership. */
void rh_turns_take(struct rh_turns *turns, struct rh_call *call);
/** Like rh_turns_take(), and count @p call as in flight until rh_turns_end(). */
void rh_turns_send(struct rh_turns *turns, struct rh_call *call);
/** Report the end of @p call, which was in flight. The caller keeps ownership. */
void rh_turns_end(struct rh_turns *turns, const struct rh_call *call);
/** @return the queued request with @p id, borrowed, or NULL */
struct rh_call *rh_turns_find(const struct rh_turns *turns, uint64_t id);

#endif
