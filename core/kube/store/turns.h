/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file kube/store/turns.h
 * @brief Requests that wait for the window, in fair turns by namespace; for core/kube alone.
 *
 * Each namespace with requests that wait is a flow, and the flows have turns one after the other (round robin), so a
 * namespace of few requests waits for one of each other namespace, however many those have. Within a flow the class
 * decides (rh_window_pick()), and within a class who came first. Where the window is full, a namespace with few
 * requests in flight may still have one of the window's spare places.
 */
#ifndef RH_KUBE_STORE_TURNS_H
#define RH_KUBE_STORE_TURNS_H

#include "base/map.h"
#include "kube/store/call.h"

/** The requests of one namespace. */
struct rh_turns_flow;

/** Requests that wait. All zero is none; rh_turns_deinit() frees what it holds. Read only. */
struct rh_turns {
	struct rh_map *flows;       /**< namespace to struct rh_turns_flow; NULL: there was none yet */
	struct rh_turns_flow *next; /**< whose turn it is, in a ring; NULL: nothing waits */
	size_t count;               /**< requests that wait */
};

/** Free all requests that wait. */
void rh_turns_deinit(struct rh_turns *turns);
/** Let @p call wait; it is owned by @p turns now. @return 0, or RH_ENOMEM: then it is still the caller's */
int rh_turns_add(struct rh_turns *turns, struct rh_call *call);
/**
 * @param room bytes that one more request may keep in memory, see rh_call.weight
 * @param spare whether only namespaces with few requests in flight (fewer than 8) have a turn
 * @return whose turn it is, borrowed; NULL when nothing waits that has room
 */
struct rh_call *rh_turns_next(struct rh_turns *turns, size_t room, bool spare);
/** Take out @p call, which waits: its flow has had its turn. The caller owns it. */
void rh_turns_take(struct rh_turns *turns, struct rh_call *call);
/** The same, and @p call counts as in flight until rh_turns_end(). */
void rh_turns_send(struct rh_turns *turns, struct rh_call *call);
/** @p call, which was in flight, is over. It stays the caller's. */
void rh_turns_end(struct rh_turns *turns, const struct rh_call *call);
/** @return the request @p id, borrowed, or NULL when it does not wait */
struct rh_call *rh_turns_find(const struct rh_turns *turns, uint64_t id);

#endif
