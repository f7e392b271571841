/* SPDX-License-Identifier: Apache-2.0 */
/**
 * @file kube/watch/watch.h
 * @brief One watch as a state machine: list, watch, and recover from all server behaviour. Pure.
 *
 * The caller sends the request from rh_kube_watch_begin() at rh_kube_watch_due(), passes the received bytes to
 * rh_kube_watch_feed() and the end to rh_kube_watch_end(). The watch reports each change of an object once, even when
 * the server repeats it; after a gap it lists again and reports the difference. The module uses no clock and no
 * connection.
 */
#ifndef RH_KUBE_WATCH_WATCH_H
#define RH_KUBE_WATCH_WATCH_H

#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "kube/http/http.h"
#include "kube/store/store.h"
#include "store/store.h"

/** Opaque watch. */
struct rh_kube_watch;

/** Options of a watch. Strings are copied. */
struct rh_kube_watch_options {
	const struct rh_resource *resource;
	const char *namespace_; /**< NULL: all */
	const char *label;      /**< only objects with this label key; NULL: all */
	rh_watch_fn *fn;
	void *arg;
	/** Called once for each change of the failure that stops the watch; may be NULL. */
	void (*problem)(void *arg, const struct rh_kube_problem *problem);
	void *problem_arg;
	uint64_t seed; /**< of the jitter */
	bool pages;    /**< list in pages even where the server could stream the list */
	bool writers;  /**< as rh_store.watch_writers */
};

/** @return owned by the caller; NULL: out of memory */
struct rh_kube_watch *rh_kube_watch_new(const struct rh_kube_watch_options *options)
	__attribute__((warn_unused_result));
/** Free @p watch. NULL is ignored. */
void rh_kube_watch_free(struct rh_kube_watch *watch);
RH_DEFINE_CLEANUP(kube_watch);
/** End a reported problem, if there is one: the watch works, or is not needed any more. */
void rh_kube_watch_clear_problem(struct rh_kube_watch *watch);

/**
 * Take @p object, of any kind, from a response of the server. If the watch misses it because it is deleted in a gap,
 * the watch reports DELETED; it reports DELETED at once for an older object of the same name.
 */
void rh_kube_watch_learn(struct rh_kube_watch *watch, const struct rh_json *object);

/** @return monotonic microseconds when the next request is due; RH_NEVER while one is in progress */
int64_t rh_kube_watch_due(const struct rh_kube_watch *watch);
/**
 * Get the request to send now. @param[out] path receives the path; @p ret_request points into it
 * @return 0, then the request is in progress, or RH_ENOMEM: it is due again after a pause
 */
int rh_kube_watch_begin(struct rh_kube_watch *watch, int64_t now, struct rh_str *path,
                        struct rh_http_request *ret_request);
/**
 * Process the next piece of the response; an empty piece reports the start of a successful response.
 * @return 0, or a negative status: end the request and call rh_kube_watch_end(), which has the cause
 */
int rh_kube_watch_feed(struct rh_kube_watch *watch, const char *data, size_t length, int64_t now);
/** Report the end of the request. */
void rh_kube_watch_end(struct rh_kube_watch *watch, const struct rh_http_response *response, int64_t now);

/** State of a watch, for metrics and tests. */
struct rh_kube_watch_state {
	bool synced;         /**< all existing objects have been reported at least once */
	bool listing;        /**< the next request, or the one in progress, is a page of a list, not a watch */
	bool works;          /**< synced, and no problem is reported */
	size_t kept;         /**< known objects */
	const char *version; /**< last resource version; "" when it has to list; borrowed */
};
/** Get the state. */
void rh_kube_watch_look(const struct rh_kube_watch *watch, struct rh_kube_watch_state *ret_state);

#endif
